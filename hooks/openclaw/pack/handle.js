"use strict";
// The hook pack's door: the host's internal events. Each folder beside this file brings some of them here.
//
// Where the plugin is loaded too, it hears the same things with more detail and says them; the pack then only remembers.

const { Shim, identifier, number, object, string } = require("./shim.js");

const shim = new Shim(__dirname);
const GROUPS = { group: true, channel: true, direct: false };

function received(event, context) {
  const metadata = object(context.metadata);
  const sender = context.senderId ?? metadata.senderId;
  const facts = { id: context.messageId, sender, text: context.content, channel: context.channelId };
  return shim.message(event.sessionKey, { ...facts, isGroup: null }, false);
}

function preprocessed(event, context) {
  shim.configure(context.cfg);
  const text = string(context.bodyForAgent) || string(context.body);
  const isGroup = typeof context.isGroup === "boolean" ? context.isGroup : null;
  const facts = { id: context.messageId, sender: context.senderId, text, channel: context.channelId, isGroup };
  return shim.message(event.sessionKey, facts, !shim.state.plugin);
}

function compaction(name, event, context) {
  const facts = { sessionId: context.sessionId, usage: context.tokenCount };
  shim.learn(event.sessionKey, facts);
  if (shim.state.plugin) return undefined;
  const more = { messages: number(context.messageCount), usage_tokens: number(context.tokenCount) };
  return shim.tell(name, event.sessionKey, more);
}

function ended(event, context) {
  shim.configure(context.cfg);
  // The session that ends, where the host tells of two; what it was stands in both.
  const entry = { ...object(context.sessionEntry), ...object(context.previousSessionEntry) };
  shim.learn(event.sessionKey, {
    workspace: context.workspaceDir,
    agentId: context.agentId,
    sessionId: entry.sessionId,
    usage: entry.totalTokens,
    window: entry.contextTokens,
  });
  if (shim.state.plugin) return undefined;
  const known = shim.state.turns.isGroup(event.sessionKey);
  const more = { is_group: known === true ? true : (GROUPS[entry.chatType] ?? known), transcript: string(entry.sessionFile) };
  const sender = identifier(context.senderId);
  if (sender) more.senders = [...new Set([...shim.state.turns.senders(event.sessionKey), sender])];
  return shim.ended(event.sessionKey, string(context.reason) || event.action, more);
}

function startup(event, context) {
  shim.configure(context.cfg);
  shim.learn("", { workspace: context.workspaceDir, agentId: "main" });
  return shim.state.plugin ? undefined : shim.tell("startup", "", {});
}

const ACTIONS = {
  "agent:bootstrap": (event) => shim.bootstrap(event),
  "message:received": received,
  "message:preprocessed": preprocessed,
  "session:compact:before": (event, context) => compaction("compaction", event, context),
  "session:compact:after": (event, context) => compaction("compacted", event, context),
  "command:new": ended,
  "command:reset": ended,
  "session:auto-reset": ended,
  "gateway:startup": startup,
  "gateway:shutdown": () => shim.close(),
};

// Several folders hear of some events, so that each works without the others; an event is one object, and acted on once.
const heard = new WeakMap();

function act(event) {
  const action = ACTIONS[`${event.type}:${event.action}`];
  const context = object(event.context);
  return action && action({ action: event.action, sessionKey: string(event.sessionKey), context }, context);
}

module.exports = function handle(given) {
  const event = object(given);
  if (!heard.has(event)) heard.set(event, shim.safely(() => act(event), undefined));
  return heard.get(event);
};
