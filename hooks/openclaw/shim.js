"use strict";
// apm-hooks inside the host's process: turns host events into questions to Python, and answers into what the host takes.
//
// The hook pack and the plugin are two front doors to this one file. They may both be loaded, each with its own copy of
// it, so what is known of turns and the connection to Python hang on the process, and an event is answered once.

const fs = require("node:fs");
const path = require("node:path");
const { performance } = require("node:perf_hooks");
const { isOwners, unjudged } = require("./gate.js");
const { PLUGIN, configOf, envOf, mayPrompt, object, workspacesOf } = require("./hostconfig.js");
const { Transport, oneLine } = require("./transport.js");
const { Turns } = require("./turns.js");

const SHARED = Symbol.for("apm-hooks.openclaw");
const MESSAGE_CHARS = 20_000;
const FILES = 8;
const FILES_CHARS = 60_000; // what the host takes for all bootstrap files together
const CONTEXT_CHARS = 60_000;
const DENY_CHARS = 2000;
const LIMIT_MS = [100, 14_000]; // the host blocks a tool call by itself after 15 s
const LOG_AGAIN_MS = 300_000;
const LOG_KINDS = 200;
const CONFIG_AGE_MS = 1000;
const SAME_END_MS = 10_000;
const ENDED = 200;
const AGENTS = 1000;

const string = (value) => (typeof value === "string" ? value.toWellFormed() : "");
const number = (value) => (Number.isFinite(value) && value >= 0 ? value : null);
const strings = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);
const identifier = (value) => (Number.isFinite(value) ? String(value) : string(value).slice(0, 500));

// One for all copies in this process. `contexts` answers an event once, whoever hears of it first.
function shared() {
  globalThis[SHARED] ??= {};
  globalThis[SHARED].v1 ??= {
    turns: new Turns(),
    transport: null,
    contexts: new WeakMap(),
    plugin: null,
    logger: null,
    said: new Map(),
    ended: new Map(),
    workspaces: new Map(),
    config: null,
    env: {},
  };
  return globalThis[SHARED].v1;
}

class Shim {
  // `folder` holds apm-hooks.json.
  constructor(folder) {
    this.folder = folder;
    this.state = shared();
    this.state.transport ??= new Transport((kind, text) => this.log(kind, text));
    this.readAt = -Infinity;
    this.stamp = "";
    this.settings = null;
    this.version = null;
  }

  // One line for the operator: the same kind of trouble again after minutes only.
  log(kind, text) {
    const { said, logger } = this.state;
    const now = performance.now();
    if (now - (said.get(kind) ?? -Infinity) < LOG_AGAIN_MS) return;
    said.delete(kind);
    said.set(kind, now);
    if (said.size > LOG_KINDS) said.delete(said.keys().next().value);
    try {
      const line = `apm-hooks: ${oneLine(text, 500)}`;
      if (logger && typeof logger.warn === "function") logger.warn(line);
      else console.warn(line);
    } catch {
      // A log that cannot be written to is no reason to disturb a turn.
    }
  }

  // apm-hooks.json as it stands now: an upgrade rewrites it while the host runs. Without one, nothing can be asked.
  read() {
    const now = performance.now();
    if (now - this.readAt < CONFIG_AGE_MS) return this.settings;
    this.readAt = now;
    const file = path.join(this.folder, "apm-hooks.json");
    try {
      const { mtimeMs, ctimeMs, size, ino } = fs.statSync(file);
      const stamp = [mtimeMs, ctimeMs, size, ino].join(" ");
      if (stamp === this.stamp) return this.settings;
      this.settings = settingsOf(JSON.parse(fs.readFileSync(file, "utf8")));
      this.stamp = stamp;
    } catch (error) {
      Object.assign(this, { settings: null, stamp: "" });
      this.log("config", `memory is off: ${file}: ${error.message}`);
    }
    return this.settings;
  }

  // The host's configuration, wherever an event shows it.
  configure(cfg) {
    const config = configOf(cfg);
    if (!config) return;
    Object.assign(this.state, { config, env: envOf(cfg) });
    for (const [agentId, workspace] of workspacesOf(cfg)) this.settle(agentId, workspace);
  }

  // Where a session works: as its own events said, else as other events of its agent did, else the installed default.
  workspace(key, agentId) {
    const known = this.state.turns.at(key).workspace || this.state.workspaces.get(agentId);
    if (known) return known;
    const first = (this.read() || { workspaces: [] }).workspaces[0];
    return ["", "main"].includes(agentId) && first ? first : null;
  }

  settle(agentId, workspace) {
    const { workspaces } = this.state;
    if (path.isAbsolute(workspace) && (workspaces.has(agentId) || workspaces.size < AGENTS)) {
      workspaces.set(agentId, workspace);
    }
  }

  learn(key, facts) {
    const workspace = string(facts.workspace);
    const agentId = identifier(facts.agentId) || agentOf(key);
    this.settle(agentId, workspace);
    this.state.turns.learn(key, {
      workspace: path.isAbsolute(workspace) ? workspace : "",
      sessionId: identifier(facts.sessionId),
      agentId,
      window: number(facts.window),
      usage: number(facts.usage),
      parent: string(facts.parent),
    });
  }

  payload(name, key, more) {
    const turn = this.state.turns.at(key);
    const agentId = turn.agentId || agentOf(key);
    this.version ??= hostVersion();
    return {
      hook_event_name: name,
      via: this.answers() ? "plugin" : "pack",
      host_version: this.version,
      session_key: key || null,
      session_id: turn.sessionId,
      agent_id: agentId,
      run_id: turn.runId,
      workspace: this.workspace(key, agentId),
      is_group: this.state.turns.isGroup(key),
      senders: this.state.turns.senders(key),
      channel: turn.channel,
      trigger: turn.trigger,
      config: this.state.config,
      message: turn.text,
      message_id: turn.messageId,
      tool: null,
      usage_tokens: turn.usage,
      context_window: turn.window,
      messages: null,
      transcript: "",
      reason: "",
      parent_session_key: turn.parent,
      env: this.state.env,
      ...more,
    };
  }

  // Whether what belongs beside the message can go there: the plugin is loaded, and the host lets its prompt hook run.
  answers() {
    return this.state.plugin !== null && this.state.plugin.prompts;
  }

  // Python's answer, an object of the known parts, or null. Never rejects.
  async ask(payload) {
    try {
      const settings = this.read();
      if (!settings) return null;
      const limit = payload.hook_event_name === "tool_call" ? settings.gateLimit : settings.limit;
      const answer = await this.state.transport.ask(settings, payload, limit);
      if (answer && string(answer.log)) this.log(`python ${answer.log.slice(0, 100)}`, answer.log);
      return answer;
    } catch (error) {
      this.log("shim", `memory is off for this event: ${error}`);
      return null;
    }
  }

  message(key, facts, send) {
    const { turns } = this.state;
    const text = string(facts.text).slice(0, MESSAGE_CHARS);
    const sender = identifier(facts.sender);
    const id = identifier(facts.id);
    const channel = identifier(facts.channel);
    const chat = identifier(facts.chat);
    turns.message(key, { id, sender, isGroup: facts.isGroup, text, channel, chat }, this.answers());
    if (!send) return undefined;
    // A message is noted for whoever wrote it; what it may be used for is decided by all of the turn that takes it in.
    const own = { senders: sender ? [sender] : [], is_group: facts.isGroup ?? turns.isGroup(key) };
    return this.ask(this.payload("message", key, { message: text, message_id: id, ...own })).then(() => undefined);
  }

  // Put the session's memory behind the host's own files. The host hands each hook the same context.
  bootstrap(event) {
    const { contexts, turns } = this.state;
    const context = object(event.context);
    if (!contexts.has(context)) {
      const key = string(event.sessionKey) || string(context.sessionKey);
      this.configure(context.cfg);
      this.learn(key, { workspace: context.workspaceDir, sessionId: context.sessionId, agentId: context.agentId });
      turns.run(key, {});
      const payload = this.payload("bootstrap", key, {});
      const asked = this.ask(payload).then((answer) => this.place(context, answer || this.withheld(payload)));
      contexts.set(context, asked.catch((error) => this.log("shim", `memory is off for this event: ${error}`)));
    }
    return contexts.get(context);
  }

  place(context, answer) {
    if (!Array.isArray(context.bootstrapFiles)) return;
    const files = this.files(answer);
    const ours = new Set(files.map((file) => file.path));
    const owners = answer.withhold === true ? ownersFiles(string(context.workspaceDir)) : () => false;
    const stays = (file) => !ours.has(file.path) && !owners(file);
    // A new list: the host may keep the old one for other sessions and turns, and there ours would pile up.
    context.bootstrapFiles = [...context.bootstrapFiles.filter((file) => stays(object(file))), ...files];
  }

  // What a bootstrap gets that could not be answered: privacy fails closed.
  withheld(payload) {
    const { workspaces, ownerPeers } = this.read() || { workspaces: [], ownerPeers: [] };
    const owners = isOwners(payload, ownerPeers);
    return { withhold: !owners && workspaces.includes(payload.workspace) };
  }

  // Files that the host can take: anything but a string as content fails its whole turn, and it shows a path raw.
  files(answer) {
    const given = Array.isArray(object(answer).files) ? answer.files.slice(0, FILES) : [];
    const files = [];
    let chars = 0;
    for (const { name, path: place, content } of given.map(object)) {
      const clean = { name: fileName(name), path: relativePath(place), content: string(content), missing: false };
      chars += clean.content.length;
      if (clean.name && clean.path && clean.content && chars <= FILES_CHARS) files.push(clean);
      else this.log("answer", "a file of an answer was left out: not usable, or too large");
    }
    return files;
  }

  async prompt(key, facts) {
    const text = string(facts.text).slice(0, MESSAGE_CHARS);
    const more = { message: text, messages: number(facts.messages) };
    // The latest message is not this turn's where one came in meanwhile.
    const { turns } = this.state;
    more.message_id = identifier(facts.id) || (turns.at(key).text === text ? turns.at(key).messageId : "");
    const answer = await this.ask(this.payload("prompt", key, more));
    const context = string(object(answer).context);
    if (context.length > CONTEXT_CHARS) this.log("answer", "a context was left out: too large");
    return context && context.length <= CONTEXT_CHARS ? { prependContext: context } : undefined;
  }

  // The reason to block a tool call with, or "". `tool` is {name, arguments}.
  async toolCall(key, tool) {
    const payload = this.payload("tool_call", key, {});
    payload.tool = { ...tool, directory: payload.workspace || "" };
    const answer = await this.ask(payload);
    const deny = object(answer).deny;
    if (answer === null || (deny !== undefined && typeof deny !== "string")) {
      return unjudged(tool.name, payload, (this.read() || { ownerPeers: [] }).ownerPeers);
    }
    return string(deny).replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, " ").slice(0, DENY_CHARS);
  }

  async tell(name, key, more) {
    await this.ask(this.payload(name, key, more));
  }

  // A session's end is told by more than one event.
  async ended(key, reason, more) {
    const { ended } = this.state;
    const now = performance.now();
    const name = `${reason} ${key}`;
    const { textAt } = this.state.turns.at(key);
    const last = ended.get(name);
    // With a message in between it is another end, however soon it comes.
    if (last && now - last.at < SAME_END_MS && last.textAt === textAt) return;
    ended.delete(name);
    ended.set(name, { at: now, textAt });
    if (ended.size > ENDED) ended.delete(ended.keys().next().value);
    const payload = this.payload("session_end", key, { ...more, reason });
    if (this.state.plugin) this.state.turns.renew(key);
    await this.ask(payload);
  }

  close() {
    this.state.transport.close();
  }

  // Whatever goes wrong in a hook of ours stays here.
  async safely(action, otherwise) {
    try {
      return await action();
    } catch (error) {
      this.log("shim", `memory is off for this event: ${error}`);
      return otherwise;
    }
  }
}

function settingsOf(document) {
  const given = object(document);
  const command = strings(given.command);
  if (!command.length) throw new Error('it names no "command"');
  const limit = (value, otherwise) => Math.min(Math.max(number(value) ?? otherwise, LIMIT_MS[0]), LIMIT_MS[1]);
  const env = Object.entries(object(given.env)).filter(([, value]) => typeof value === "string");
  return {
    command,
    serve: strings(given.serve),
    version: string(given.version),
    socket: string(given.socket),
    worker: given.worker !== false,
    workspaces: strings(given.workspaces),
    ownerPeers: strings(given.owner_peers),
    processes: Math.min(Math.max(Math.trunc(number(given.max_processes) ?? 4), 1), 32),
    limit: limit(given.timeout_ms, 8000),
    gateLimit: limit(given.gate_timeout_ms, 10_000),
    env: Object.fromEntries(env),
  };
}

// Which of the host's files are the owner's memory. The host loads MEMORY.md into every direct session, a stranger's too,
// and another hook may have added more.
function ownersFiles(workspace) {
  const roots = [workspace];
  try {
    roots.push(fs.realpathSync(workspace));
  } catch {
    // A workspace that is not there has no other name.
  }
  return ({ name, path: place }) => {
    if ([name, path.basename(string(place))].some((one) => string(one).toLowerCase() === "memory.md")) return true;
    const places = roots.map((root) => path.relative(root, path.resolve(root, string(place))).toLowerCase());
    return places.some((one) => /^(?:memory|log)(?:[\\/]|$)/.test(one));
  };
}

const agentOf = (key) => (/^agent:([^:]+):/.exec(key) || ["", ""])[1];

function fileName(value) {
  return oneLine(string(value), 100).replaceAll("/", "_").replaceAll("\\", "_");
}

// A path below the workspace, on one line; "" for any other.
function relativePath(value) {
  const clean = oneLine(string(value), 300);
  const parts = clean.split(/[\\/]/);
  return path.isAbsolute(clean) || clean.startsWith("~") || parts.includes("..") ? "" : clean;
}

// The host's own version: its package lies beside the program that runs.
function hostVersion() {
  try {
    const file = path.join(path.dirname(fs.realpathSync(process.argv[1])), "package.json");
    const { name, version } = JSON.parse(fs.readFileSync(file, "utf8"));
    return name === "openclaw" ? string(version) : "";
  } catch {
    return "";
  }
}

module.exports = { PLUGIN, Shim, identifier, mayPrompt, number, object, string };
