"use strict";
// Very many events at a broken Python, fired as a busy gateway would; prints what became of them as JSON.
//
//     node storm.js FOLDER EVENTS HANGING

const path = require("node:path");
const { performance } = require("node:perf_hooks");
const broken = require("./broken.js");
const { Host, WORKSPACE, children, escaped, install, pause, restart } = require("./host.js");

const KINDS = ["killed", "garbage", "flood", "missing"];
const LIMIT_MS = 2000;
const SLACK_MS = 4000; // a busy machine's, not the shim's
const AT_ONCE = 20;
const PROCESS_EACH = 25; // for every so many events, a process is started although the ones before it failed
const GROUP = "agent:main:telegram:group:-100777";

const figures = { events: 0, lost: 0, slowest_ms: 0, processes: 0, peak: 0, blocked: 0, log_lines: 0 };

function intact(files) {
  return files.length === 1 && files[0].name === "AGENTS.md";
}

const EVENTS = [
  async (host, key) => intact(await host.bootstrap(key)),
  async (host, key) => (await host.call("before_prompt_build", { prompt: "hello", messages: [] }, host.ctx(key, "501", "r1"))) === undefined,
  async (host) => (await tool(host, GROUP)).block === true && (figures.blocked += 1) > 0,
  async (host) => (await tool(host, "agent:main:main")) === undefined,
  async (host, key) => (await host.dispatch(key, `${Math.random()}`, "501", true, "x".repeat(5000))) === undefined,
  async (host, key) => (await host.call("before_compaction", { messageCount: 16, tokenCount: 109 }, host.ctx(key, "501", "r1"))) === undefined,
  async (host, key) => (await host.call("agent_end", { messages: [], success: true }, host.ctx(key, "501", "r1"))) === undefined,
  async (host, key) => intact(await host.bootstrap(key, { cfg: null })),
];

function tool(host, key) {
  const ctx = { sessionKey: key, agentId: "main", workspaceDir: WORKSPACE };
  return host.call("before_tool_call", { toolName: "read", params: { path: "MEMORY.md" } }, ctx);
}

async function one(host, number) {
  const begun = performance.now();
  let good = false;
  try {
    good = await EVENTS[number % EVENTS.length](host, `agent:main:telegram:direct:${number}`);
  } catch (error) {
    escaped.push(String(error));
  }
  const took = performance.now() - begun;
  figures.events += 1;
  figures.slowest_ms = Math.max(figures.slowest_ms, Math.round(took));
  if (!good || took > LIMIT_MS + SLACK_MS) figures.lost += 1;
}

function begin(folder, kind) {
  restart();
  const settings = { version: "1", command: broken[kind], workspaces: [WORKSPACE], worker: false };
  const root = install(path.join(folder, kind), { ...settings, timeout_ms: LIMIT_MS, gate_timeout_ms: LIMIT_MS });
  const host = new Host(root).loadPack().loadPlugin();
  const spawn = host.transport.spawn.bind(host.transport);
  host.transport.spawn = (job) => {
    figures.processes += 1;
    return spawn(job);
  };
  return host;
}

async function main([folder, events, hanging]) {
  const watch = setInterval(() => (figures.peak = Math.max(figures.peak, children().length)), 10);
  for (const kind of KINDS) {
    const host = begin(folder, kind);
    const share = Number(events) / KINDS.length;
    let next = 0;
    const line = async () => {
      while (next < share) {
        const number = (next += 1);
        if (number % PROCESS_EACH === 0) {
          while (host.transport.processes.size >= 4) await pause(1);
          Object.assign(host.transport, { failures: 0, waitUntil: 0 });
        }
        await one(host, number);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, line));
    figures.log_lines += host.logged.length;
  }
  const host = begin(folder, "hangs");
  await Promise.all(Array.from({ length: Number(hanging) }, (_, number) => one(host, number)));
  figures.log_lines += host.logged.length;
  for (let waited = 0; children().length && waited < 5000; waited += 20) await pause(20);
  clearInterval(watch);
  console.log(JSON.stringify({ ...figures, left: children().length, escaped }));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
