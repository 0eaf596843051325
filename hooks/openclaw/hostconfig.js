"use strict";
// What of the host's configuration decides who shares a session, and the operator's own APM_* variables in it.

const os = require("node:os");
const path = require("node:path");

const HOOKS = ["apm_session_start", "remem-flush", "precompact-remem", "idle-flush"];
const PLUGIN = "apm-hooks";
const POLICIES = ["disabled", "allowlist", "pairing", "open"]; // from closed to open
const NOT_CHANNELS = new Set(["defaults", "modelByChannel"]);
const PEERS = 200;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value) => (isObject(value) ? value : {});
const word = (value) => (typeof value === "string" ? value.slice(0, 200) : "");

// One session for all peers ("main") wins over any narrower word: a binding may widen what the default keeps apart.
function widest(cfg, name) {
  const bindings = Array.isArray(cfg.bindings) ? cfg.bindings : [];
  const words = [cfg, ...bindings].map((place) => word(object(object(place).session)[name]));
  return words.includes("main") ? "main" : words[0];
}

function channelFacts(cfg) {
  const peers = new Set();
  let policy = 0;
  for (const [name, value] of Object.entries(object(cfg.channels))) {
    const channel = object(value);
    if (NOT_CHANNELS.has(name) || channel.enabled === false) continue;
    const inherited = word(channel.dmPolicy) || word(object(channel.dm).policy) || "pairing";
    for (const place of [channel, ...Object.values(object(channel.accounts)).map(object)]) {
      if (place.enabled === false) continue;
      const dm = object(place.dm);
      const said = word(place.dmPolicy) || word(dm.policy) || inherited;
      // A word that is not known yet counts as the widest.
      policy = Math.max(policy, POLICIES.includes(said) ? POLICIES.indexOf(said) : POLICIES.length - 1);
      for (const list of [place.allowFrom, dm.allowFrom]) {
        for (const peer of Array.isArray(list) ? list : []) {
          if (["string", "number"].includes(typeof peer) && peers.size < PEERS) peers.add(String(peer).slice(0, 200));
        }
      }
    }
  }
  return { dm_policy: POLICIES[policy], allow_from: [...peers] };
}

// The "config" of an event, or null where the host gave none.
function configOf(cfg) {
  if (!isObject(cfg)) return null;
  const flush = object(object(object(object(cfg.agents).defaults).compaction).memoryFlush).enabled;
  return {
    dm_scope: widest(cfg, "dmScope"),
    group_scope: widest(cfg, "groupScope"),
    ...channelFacts(cfg),
    memory_flush: typeof flush === "boolean" ? flush : null,
  };
}

// The host does not put a hook's `env` into the process; the variables that are ours go with the event instead.
function envOf(cfg) {
  const found = {};
  const hooks = object(object(object(object(cfg).hooks).internal).entries);
  const plugin = object(object(object(cfg).plugins).entries)[PLUGIN];
  const places = [...HOOKS.map((name) => object(hooks[name]).env), object(object(plugin).config).env];
  for (const place of places) {
    for (const [name, value] of Object.entries(object(place))) {
      if (/^APM_[A-Z0-9_]{1,60}$/.test(name) && typeof value === "string") found[name] = value.slice(0, 4096);
    }
  }
  return found;
}

// [agent id, workspace] where the configuration says so; the default one is that of the agent "main".
function workspacesOf(cfg) {
  const agents = object(object(cfg).agents);
  const list = Array.isArray(agents.list) ? agents.list.map(object) : [];
  const named = list.map((agent) => [word(agent.id), agent.workspace]);
  return [["main", object(agents.defaults).workspace], ...named]
    .filter(([id, place]) => id && typeof place === "string" && place)
    .map(([id, place]) => [id, place.startsWith("~/") ? path.join(os.homedir(), place.slice(2)) : place]);
}

// Whether the host lets this plugin's prompt hooks run: without it nothing can be said beside a message.
function mayPrompt(cfg, id) {
  const hooks = object(object(object(object(object(cfg).plugins).entries)[id]).hooks);
  return hooks.allowConversationAccess === true && hooks.allowPromptInjection !== false;
}

module.exports = { PLUGIN, configOf, envOf, mayPrompt, object, workspacesOf };
