"use strict";
// A stand-in for the gateway: loads the installed pack and plugin, fires events at them, and fails on whatever escapes.

const path = require("node:path");
const fs = require("node:fs");

const escaped = [];
for (const kind of ["uncaughtException", "unhandledRejection"]) {
  process.on(kind, (error) => {
    escaped.push(`${kind}: ${(error && error.stack) || error}`);
    process.exitCode = 90;
  });
}

const SOURCE = path.join(__dirname, "../../hooks/openclaw");
const WORKSPACE = "/home/user/.openclaw/workspace";

// The pack and the plugin as the installer lays them out below `root`, with what it writes into apm-hooks.json.
function install(root, settings) {
  for (const part of ["pack", "plugin"]) {
    const folder = path.join(root, part);
    fs.cpSync(path.join(SOURCE, part), folder, { recursive: true });
    for (const name of fs.readdirSync(SOURCE).filter((one) => one.endsWith(".js"))) {
      fs.copyFileSync(path.join(SOURCE, name), path.join(folder, name));
    }
    fs.writeFileSync(path.join(folder, "apm-hooks.json"), JSON.stringify(settings));
  }
  return root;
}

// As after a restart of the gateway: nothing is loaded, nothing is known.
function restart() {
  delete globalThis[Symbol.for("apm-hooks.openclaw")];
  for (const name of Object.keys(require.cache)) if (/\/(pack|plugin)\//.test(name)) delete require.cache[name];
}

class Host {
  // `root` holds pack/ and plugin/, each as the installer leaves it.
  constructor(root, config = {}) {
    this.root = root;
    this.config = config;
    this.logged = [];
    this.typed = new Map();
    this.internal = new Map();
    this.services = [];
    console.warn = (line) => this.logged.push(line);
  }

  loadPack() {
    const { openclaw } = require(path.join(this.root, "pack/package.json"));
    for (const folder of openclaw.hooks) {
      const place = path.join(this.root, "pack", folder);
      const text = fs.readFileSync(path.join(place, "HOOK.md"), "utf8");
      const metadata = /^metadata:\s*(\{.*\})$/ms.exec(text.split("\n---")[0])[1];
      for (const event of JSON.parse(metadata).openclaw.events) this.listen(event, require(path.join(place, "handler.js")));
    }
    return this;
  }

  loadPlugin(more = {}) {
    const plugin = require(path.join(this.root, "plugin/index.js"));
    plugin.register({
      id: plugin.id,
      config: this.config,
      registrationMode: "full",
      logger: { warn: (line) => this.logged.push(line) },
      on: (name, handler) => this.typed.set(name, handler),
      // The host hands plugins a copy of the event around the same context.
      registerHook: (names, handler) => names.forEach((name) => this.listen(name, (event) => handler({ ...event }))),
      registerService: (service) => this.services.push(service),
      ...more,
    });
    return this;
  }

  listen(name, handler) {
    this.internal.set(name, [...(this.internal.get(name) || []), handler]);
  }

  // An internal event, as the host fires it: handlers one after the other, on the same object.
  async fire(name, sessionKey, context) {
    const [type, ...action] = name.split(":");
    const event = { type, action: action.join(":"), sessionKey, context, timestamp: new Date(), messages: [] };
    for (const handler of this.internal.get(name) || []) await handler(event);
    return event;
  }

  call(name, event, ctx) {
    const handler = this.typed.get(name);
    return handler ? handler(event, ctx) : undefined;
  }

  async bootstrap(sessionKey, more = {}) {
    const own = { name: "AGENTS.md", path: `${WORKSPACE}/AGENTS.md`, content: "# AGENTS\n", missing: false };
    const context = { workspaceDir: WORKSPACE, bootstrapFiles: [own], sessionKey, sessionId: "s1", agentId: "main" };
    const event = await this.fire("agent:bootstrap", sessionKey, Object.assign(context, { cfg: this.config }, more));
    return event.context.bootstrapFiles;
  }

  dispatch(sessionKey, id, senderId, isGroup, content) {
    const ctx = { messageId: id, channelId: "telegram", accountId: "default", sessionKey, senderId };
    return this.call("before_dispatch", { ...ctx, content, body: content, channel: "telegram", isGroup }, ctx);
  }

  ctx(sessionKey, senderId, runId, more = {}) {
    const base = { runId, agentId: "main", sessionKey, sessionId: "s1", workspaceDir: WORKSPACE, trigger: "user" };
    return { ...base, channel: "telegram", senderId, ...more };
  }

  get transport() {
    return globalThis[Symbol.for("apm-hooks.openclaw")].v1.transport;
  }
}

// The processes that this one has started and not seen off.
function children() {
  const listed = fs.readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return listed.split(" ").filter(Boolean).map(Number);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Run cases one after the other, each in a folder of its own, and print what became of each as a line of JSON.
//
//     node SCRIPT FOLDER [PART PARTS | NAME]
async function run(cases, within) {
  const [root, part, parts] = process.argv.slice(2);
  const names = Object.keys(cases).filter((name, at) => !part || name === part || at % Number(parts) === Number(part));
  for (const name of names) {
    const folder = path.join(root, name);
    fs.mkdirSync(folder, { recursive: true });
    restart();
    let error = "";
    try {
      await within(cases[name], folder);
    } catch (caught) {
      error = caught.stack;
    }
    // What escapes does so a little later.
    await pause(5);
    console.log(JSON.stringify({ name, error: [error, ...escaped.splice(0)].join("\n").trim() }));
  }
}

module.exports = { Host, WORKSPACE, children, escaped, install, pause, restart, run };
