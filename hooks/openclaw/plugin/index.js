"use strict";
// The plugin's door: the host's typed hooks. They name the sender and the workspace, can block a tool call, and are the
// only ones that run without a gateway. The bootstrap files stay with the internal event, which alone may add to them.

const { REASON } = require("./gate.js");
const { PLUGIN, Shim, mayPrompt, number, object, string } = require("./shim.js");

const shim = new Shim(__dirname);
const { turns } = shim.state;
// Ends that are none (the model's context goes on), or that leave no time to act on.
const NO_ENDS = new Set(["compaction", "shutdown", "restart"]);

function usageOf(messages) {
  if (!Array.isArray(messages)) return null;
  for (const message of messages.slice(-50).reverse()) {
    const usage = object(object(message).usage);
    if (object(message).role === "assistant" && number(usage.totalTokens)) return usage.totalTokens;
  }
  return null;
}

const count = (messages) => (Array.isArray(messages) ? messages.length : null);
const keyOf = (event, ctx) => string(ctx.sessionKey) || string(event.sessionKey);

// What the context of most typed hooks tells of a session and the run in it.
function learn(event, ctx, inRun) {
  const key = keyOf(event, ctx);
  shim.learn(key, {
    workspace: ctx.workspaceDir,
    sessionId: ctx.sessionId,
    agentId: ctx.agentId,
    usage: usageOf(event.messages) ?? event.tokenCount,
    window: event.contextTokenBudget ?? ctx.contextTokenBudget,
  });
  if (inRun) {
    const run = { runId: string(ctx.runId), sender: string(ctx.senderId), channel: string(ctx.channel) };
    turns.run(key, { ...run, chat: string(ctx.chatId), trigger: string(ctx.trigger) });
  }
  return key;
}

function arrived(event, ctx, send) {
  const facts = {
    id: event.messageId ?? ctx.messageId,
    sender: event.senderId ?? ctx.senderId,
    isGroup: typeof event.isGroup === "boolean" ? event.isGroup : null,
    text: string(event.content) || string(event.body),
    channel: event.channel ?? ctx.channelId,
    chat: ctx.conversationId,
  };
  // Not waited for: the session's next question waits for this one by itself, and the host need not.
  shim.message(keyOf(event, ctx), facts, send);
}

function prompt(event, ctx) {
  const key = learn(event, ctx, true);
  // The request itself where the host tells it apart from what stands around it.
  const text = typeof event.currentUserMessage === "string" ? event.currentUserMessage : event.prompt;
  return shim.prompt(key, { text, id: event.currentUserMessageId, messages: count(event.messages) });
}

async function toolCall(event, ctx) {
  const key = learn(event, ctx, false);
  const requester = object(ctx.requester);
  const run = { runId: string(ctx.runId) || string(event.runId), sender: string(requester.senderId) };
  turns.run(key, { ...run, channel: string(requester.channel) });
  const reason = await shim.toolCall(key, { name: string(event.toolName), arguments: object(event.params) });
  return reason ? { block: true, blockReason: reason } : undefined;
}

function turnEnd(event, ctx) {
  const key = learn(event, ctx, true);
  const told = shim.tell("turn_end", key, { messages: count(event.messages), reason: event.success === false ? "failed" : "ok" });
  turns.end(key, string(ctx.runId) || string(event.runId));
  return told;
}

function compaction(name) {
  return (event, ctx) => {
    const key = learn(event, ctx, false);
    const more = { messages: number(event.messageCount), transcript: string(event.sessionFile) };
    if (ctx.trigger || event.trigger) more.trigger = string(event.trigger ?? ctx.trigger);
    return shim.tell(name, key, more);
  };
}

function reset(event, ctx) {
  const key = learn(event, ctx, false);
  const more = { transcript: string(event.sessionFile), messages: count(event.messages) };
  return shim.ended(key, string(event.reason) || "reset", more);
}

function sessionEnd(event, ctx) {
  const key = learn(event, ctx, false);
  if (NO_ENDS.has(event.reason)) return undefined;
  const more = { session_id: string(event.sessionId), messages: number(event.messageCount) || null };
  return shim.ended(key, string(event.reason) || "unknown", more);
}

function gatewayStart(event, ctx) {
  shim.configure(ctx.config);
  shim.learn("", { workspace: ctx.workspaceDir, agentId: "main" });
  return shim.tell("startup", "", {});
}

const HOOKS = {
  message_received: (event, ctx) => arrived(event, ctx, false),
  before_dispatch: (event, ctx) => arrived(event, ctx, true),
  before_model_resolve: (event, ctx) => void learn(event, ctx, true),
  before_prompt_build: prompt,
  llm_output: (event, ctx) => void learn(event, ctx, false),
  agent_end: turnEnd,
  before_compaction: compaction("compaction"),
  after_compaction: compaction("compacted"),
  before_reset: reset,
  session_end: sessionEnd,
  subagent_spawned: (event, ctx) => shim.learn(string(event.childSessionKey), { parent: ctx.requesterSessionKey }),
  gateway_start: gatewayStart,
  gateway_stop: () => shim.close(),
};

function register(api) {
  const mine = { prompts: mayPrompt(api.config, PLUGIN) };
  // The host also loads plugins only to look at them; then nothing of theirs runs, and the pack must go on. It may still
  // call one that it has stopped.
  let stopped = false;
  const loaded = () => stopped || (shim.state.plugin = mine);
  if (api.registrationMode === undefined || api.registrationMode === "full") loaded();
  if (api.logger) shim.state.logger = api.logger;
  shim.configure(api.config);

  const on = (name, action, otherwise) => {
    const handler = (event, ctx) => {
      loaded();
      return shim.safely(() => action(object(event), object(ctx)), otherwise);
    };
    // A hook that this host does not know takes no other with it.
    try {
      api.on(name, handler);
    } catch (error) {
      shim.log(`register ${name}`, `the host does not take the hook ${name}: ${error}`);
    }
  };
  on("before_tool_call", toolCall, { block: true, blockReason: REASON });
  for (const [name, action] of Object.entries(HOOKS)) on(name, action, undefined);

  const bootstrap = (event) => {
    loaded();
    return shim.safely(() => shim.bootstrap(object(event)), undefined);
  };
  const description = "Adds the memory that belongs to a session to its bootstrap files";
  api.registerHook(["agent:bootstrap"], bootstrap, { name: "apm-hooks-bootstrap", description });
  if (object(object(object(api.config).hooks).internal).enabled === false) {
    shim.log("internal", "no session gets memory: hooks.internal.enabled is false in the host's configuration");
  }
  // Its stop is how a plugin hears that it is switched off while the host runs on: the pack takes over again.
  if (typeof api.registerService !== "function") return;
  const stop = () => {
    stopped = true;
    Object.assign(shim.state, { plugin: null, logger: null });
    shim.close();
  };
  const start = () => {
    stopped = false;
    loaded();
  };
  api.registerService({ id: PLUGIN, start, stop });
}

module.exports = {
  id: PLUGIN,
  name: "apm-hooks",
  description: "Memory for agents, kept apart per conversation",
  register(api) {
    try {
      register(api);
    } catch (error) {
      shim.log("register", `the plugin could not be registered: ${error}`);
    }
  },
};
