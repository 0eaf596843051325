"use strict";
// Turns of one gateway, with the plugin over the worker, over one process per event, and with hooks that do nothing.
//
//     node openclaw_turn.js WORKER PROCESS RUNS       two installed copies; prints the milliseconds of each turn as JSON

const { performance } = require("node:perf_hooks");
const { Host, pause } = require("../tests/openclaw_shim/host.js");

const MAIN = "agent:main:main";
const CONFIG = { plugins: { entries: { "apm-hooks": { hooks: { allowConversationAccess: true } } } } };
const [worker, oneProcess, runs] = process.argv.slice(2);

function bare() {
  const host = new Host("", CONFIG);
  const names = ["before_dispatch", "before_model_resolve", "before_prompt_build", "before_tool_call", "agent_end"];
  for (const name of names) host.typed.set(name, async () => undefined);
  host.listen("agent:bootstrap", async () => undefined);
  return host;
}

async function turn(host, workspace, number) {
  const ctx = { ...host.ctx(MAIN, undefined, `r${number}`), workspaceDir: workspace, channel: "webchat" };
  const begun = performance.now();
  await host.call("before_dispatch", { messageId: `${number}`, content: "hello", channel: "webchat", isGroup: false, sessionKey: MAIN }, ctx);
  await host.call("before_model_resolve", { prompt: "hello" }, ctx);
  const files = await host.bootstrap(MAIN, { workspaceDir: workspace });
  await host.call("before_prompt_build", { prompt: "hello", messages: [] }, ctx);
  const blocked = await host.call("before_tool_call", { toolName: "read", params: { path: "AGENTS.md" } }, ctx);
  await host.call("agent_end", { messages: [], success: true }, ctx);
  return { ms: performance.now() - begun, files: files.length, blocked: Boolean(blocked) };
}

// The worker is started by an event that a process answers, and is used once it listens.
async function warm(host, workspace) {
  for (let waited = 0; !host.transport.worker.socket; waited += 1) {
    if (waited === 100) throw new Error(`the worker does not come: ${host.logged}`);
    await pause(100);
    await turn(host, workspace, -waited);
  }
}

async function main() {
  const kinds = { bare: bare(), worker: new Host(worker, CONFIG).loadPlugin(), process: new Host(oneProcess, CONFIG).loadPlugin() };
  const { workspaces } = require(`${worker}/plugin/apm-hooks.json`);
  const taken = { bare: [], worker: [], process: [] };
  let number = 0;
  while (taken.process.length < Number(runs)) {
    for (const [kind, host] of Object.entries(kinds)) {
      number += 1;
      if (kind === "worker") await warm(host, workspaces[0]);
      const { ms, files, blocked } = await turn(host, workspaces[0], number);
      if (blocked || (kind !== "bare" && files < 2)) throw new Error(`a turn went wrong (${kind}): ${host.logged}`);
      // A worker ends when the library's files change; the turn in which it did is not one of its own.
      if (kind !== "worker" || host.transport.worker.socket) taken[kind].push(ms);
    }
  }
  console.log(JSON.stringify(taken));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
