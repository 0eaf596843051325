"use strict";
// What the shim does with a resident worker, sound or broken: `node worker_cases.js FOLDER` runs all.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { performance } = require("node:perf_hooks");
const { Host, WORKSPACE, install, pause, run } = require("./host.js");

const MAIN = "agent:main:main";
const GROUP = "agent:main:telegram:group:-100777";

let folder = "";
let place = "";

// What apm-hooks.json says where the worker is of that kind.
function settings(kind, more = {}) {
  const log = path.join(folder, "log");
  const command = ["/bin/sh", path.join(__dirname, "answer.sh"), log];
  const serve = [process.execPath, path.join(__dirname, "worker.js"), log, kind];
  return { version: "1.2", command, serve, socket: place, workspaces: [WORKSPACE], timeout_ms: 8000, ...more };
}

const config = { plugins: { entries: { "apm-hooks": { hooks: { allowConversationAccess: true } } } } };
const gateway = (kind, more) => new Host(install(folder, settings(kind, more)), config).loadPack().loadPlugin();

function sent() {
  const file = path.join(folder, "log");
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
}

// A socket is there a moment before anybody listens to it.
async function listening() {
  for (let waited = 0; ; waited += 10) {
    assert.ok(waited < 8000, "the worker does not come");
    const found = await new Promise((resolve) => {
      const socket = net.createConnection({ path: place });
      socket.on("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (found) return;
    await pause(10);
  }
}

// The gateway with a worker that listens; the event that started it was answered by a process.
async function warm(kind, more) {
  const host = gateway(kind, more);
  await host.call("gateway_start", {}, { config, workspaceDir: WORKSPACE });
  await listening();
  fs.rmSync(path.join(folder, "log"), { force: true });
  return host;
}

const by = () => sent().map((event) => event.by);

const cases = {
  async a_worker_is_started_on_demand_and_gives_the_same() {
    const host = gateway("sound");
    const first = await host.bootstrap(MAIN);
    await listening();
    const second = await host.bootstrap(MAIN);
    assert.deepEqual(second, first);
    assert.equal(second.length, 2);
    assert.deepEqual(by(), ["process", "worker"]);
    assert.deepEqual(host.logged, []);
  },

  async many_sessions_over_one_connection() {
    const host = await warm("sound");
    const keys = Array.from({ length: 200 }, (_, number) => `agent:main:direct:${number}`);
    const all = await Promise.all(keys.map((key) => host.bootstrap(key)));
    all.forEach((files, number) => assert.equal(files[1].content, `memory of ${keys[number]}\n`));
    assert.equal(new Set(by()).size, 1);
    assert.equal(sent().length, 200);
  },

  async an_answer_in_pieces_is_whole() {
    const host = await warm("pieces");
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    assert.deepEqual(by(), ["worker"]);
  },

  async an_answer_to_nobody_is_passed_over() {
    const host = await warm("strange");
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    assert.deepEqual(by(), ["worker"]);
  },

  async a_worker_that_hangs_is_left_alone() {
    const host = await warm("hangs", { timeout_ms: 3000, gate_timeout_ms: 3000 });
    const keys = [MAIN, GROUP, "agent:main:direct:1"];
    for (const files of await Promise.all(keys.map((key) => host.bootstrap(key)))) assert.equal(files.length, 2);
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    assert.equal(host.transport.worker.socket, null, "it is not asked again at once");
    assert.deepEqual(by().slice(-4), ["process", "process", "process", "process"]);
    assert.match(host.logged.join(), /worker: does not answer/);
  },

  async a_socket_that_nobody_listens_to() {
    const server = net.createServer();
    await new Promise((resolve) => server.listen(`${place}.old`, resolve));
    // As a worker that was killed leaves it.
    fs.linkSync(`${place}.old`, place);
    await new Promise((resolve) => server.close(resolve));
    const host = gateway("sound");
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    for (let waited = 0; by().at(-1) !== "worker"; waited += 50) {
      assert.ok(waited < 5000, "no worker takes the place");
      await pause(50);
      await host.bootstrap(MAIN);
    }
  },

  async a_socket_that_others_could_have_made() {
    const host = await warm("sound");
    fs.chmodSync(path.dirname(place), 0o777);
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    assert.deepEqual(by(), ["process"]);
    assert.match(host.logged.join(), /others could have made it/);
  },

  async a_worker_is_not_started_again_and_again() {
    const count = path.join(folder, "starts");
    const host = gateway("", { serve: ["/bin/sh", "-c", `echo x >>${count}`], command: ["/bin/sh", "-c", "cat >/dev/null; echo '{}'"] });
    for (let number = 0; number < 30; number += 1) await host.bootstrap(MAIN);
    await pause(200);
    assert.equal(fs.readFileSync(count, "utf8"), "x\n");
  },

  async a_worker_that_cannot_be_started() {
    const host = gateway("", { serve: ["/nonexistent"] });
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    await pause(50);
    assert.match(host.logged.join(), /worker cannot be started/);
  },

  async no_worker_is_wanted() {
    const host = await warm("sound");
    install(folder, settings("sound", { worker: false }));
    await pause(1050);
    await host.bootstrap(MAIN);
    assert.deepEqual(by(), ["process"]);
  },

  async the_gateway_goes_down_while_it_waits() {
    const host = await warm("hangs");
    const asked = host.bootstrap(MAIN);
    await pause(100);
    await host.call("gateway_stop", { reason: "x" }, {});
    assert.equal((await asked).length, 2);
  },
};

for (const kind of ["half", "garbage", "null", "closes", "endless", "version", "busy", "list", "dies"]) {
  cases[`a_worker_that_fails_${kind}`] = async () => {
    const host = await warm(kind);
    const keys = [MAIN, GROUP, "agent:main:direct:1"];
    const begun = performance.now();
    for (const files of await Promise.all(keys.map((key) => host.bootstrap(key)))) assert.equal(files.length, 2, kind);
    assert.ok(performance.now() - begun < 3500, "nobody waits for what cannot come");
    const call = host.call("before_tool_call", { toolName: "read", params: {} }, { sessionKey: GROUP });
    assert.equal(await call, undefined, "a process has judged it");
    assert.deepEqual(by().filter((one) => one === "process").length, 4);
    assert.ok(host.logged.length <= 1, String(host.logged));
  };
}

run(cases, async (action, given) => {
  folder = given;
  // Short enough for a socket, whatever the folder is.
  const short = fs.mkdtempSync(path.join(os.tmpdir(), "oc-"));
  place = path.join(short, "w.sock");
  try {
    await action();
  } finally {
    fs.rmSync(short, { recursive: true, force: true });
  }
});
