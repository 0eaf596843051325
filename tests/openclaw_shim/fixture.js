"use strict";
// The pack and the plugin installed for a case, each with a Python that works unless the case says otherwise.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Host, WORKSPACE, children, install, pause, run } = require("./host.js");

const MAIN = "agent:main:main";
const GROUP = "agent:main:telegram:group:-100777";
const ANSWERS = path.join(__dirname, "answer.sh");
const READ = { toolName: "read", params: { path: "memory/main/index.md" } };

let folder = "";

// What apm-hooks.json says where Python works.
function settings(more = {}) {
  const command = ["/bin/sh", ANSWERS, path.join(folder, "log")];
  return { version: "1.2", command, workspaces: [WORKSPACE], worker: false, timeout_ms: 8000, ...more };
}

const allowed = (more = {}) => ({ plugins: { entries: { "apm-hooks": { hooks: { allowConversationAccess: true } } } }, ...more });
const both = (more, config = allowed()) => new Host(install(folder, settings(more)), config).loadPack().loadPlugin();
const packAlone = (more, config) => new Host(install(folder, settings(more)), config).loadPack();

// The events that reached Python, in order.
function sent() {
  const file = path.join(folder, "log");
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
}

function call(host, key, more = {}) {
  return host.call("before_tool_call", READ, { sessionKey: key, agentId: "main", runId: "r1", ...more });
}

// A Python that gives one answer to everything.
const says = (answer) => ["/bin/sh", "-c", `cat >/dev/null; cat <<'END'\n${JSON.stringify(answer)}\nEND`];

async function gone() {
  for (let waited = 0; children().length && waited < 3000; waited += 10) await pause(10);
  assert.deepEqual(children(), []);
}

// Run cases with a folder for each, and see that no process is left after any.
function runIn(cases) {
  return run(cases, async (action, place) => {
    folder = place;
    await action(place);
    await gone();
  });
}

module.exports = { GROUP, MAIN, READ, allowed, both, call, gone, packAlone, runIn, says, sent, settings };
