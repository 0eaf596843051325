"use strict";
// What the shim does for the host, case by case: `node cases.js FOLDER` runs all.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const broken = require("./broken.js");
const { GROUP, MAIN, READ, allowed, both, call, packAlone, runIn, says, sent, settings } = require("./fixture.js");
const { Host, WORKSPACE, install, pause, restart } = require("./host.js");

const cases = {
  async a_pack_gives_a_session_its_memory() {
    const host = packAlone();
    const files = await host.bootstrap(MAIN);
    const memory = { name: "APM.md", path: "apm/dm.md", content: `memory of ${MAIN}\n`, missing: false };
    assert.deepEqual(files.slice(1), [memory]);
    const [event] = sent();
    assert.equal(event.via, "pack");
    assert.equal(event.workspace, WORKSPACE);
    assert.deepEqual([event.session_id, event.agent_id, event.senders, event.is_group], ["s1", "main", [], null]);
  },

  async b_both_are_loaded_and_one_answers(folder) {
    for (const order of [["loadPack", "loadPlugin"], ["loadPlugin", "loadPack"]]) {
      restart();
      fs.rmSync(path.join(folder, "log"), { force: true });
      const host = new Host(install(folder, settings()), allowed());
      for (const load of order) host[load]();
      const files = await host.bootstrap(MAIN);
      assert.equal(files.filter((file) => file.name === "APM.md").length, 1);
      await host.fire("session:compact:before", MAIN, { sessionId: "s1", messageCount: 12, tokenCount: 900 });
      await host.call("before_compaction", { messageCount: 12, tokenCount: 900 }, host.ctx(MAIN, "501", "r1"));
      await host.fire("message:preprocessed", MAIN, { messageId: "1", senderId: "501", isGroup: false, body: "x" });
      assert.deepEqual(sent().map((event) => event.hook_event_name), ["bootstrap", "compaction"]);
      assert.deepEqual(sent().map((event) => event.via), ["plugin", "plugin"]);
    }
  },

  async the_plugin_is_switched_off_and_the_pack_goes_on() {
    const host = both();
    const compacts = () => host.fire("session:compact:before", MAIN, { sessionId: "s1", messageCount: 12 });
    await compacts();
    await host.services[0].stop();
    // The host calls this one after it.
    await host.call("gateway_stop", { reason: "reload" }, {});
    await compacts();
    await host.services[0].start();
    await compacts();
    assert.deepEqual(sent().map((event) => [event.hook_event_name, event.via]), [["compaction", "pack"]]);
  },

  async a_plugin_that_is_only_looked_at_does_not_count() {
    const host = packAlone();
    host.loadPlugin({ registrationMode: "discovery" });
    await host.fire("session:compact:after", MAIN, { sessionId: "s1", messageCount: 2 });
    assert.deepEqual(sent().map((event) => [event.hook_event_name, event.via]), [["compacted", "pack"]]);
  },

  async a_plugin_without_access_to_prompts_says_pack() {
    const host = both({}, {});
    await host.bootstrap(MAIN);
    assert.equal(sent()[0].via, "pack");
  },

  async a_turn_in_the_plugin() {
    const host = both();
    const ctx = host.ctx(GROUP, "501", "r1");
    const text = "what did we decide";
    await host.dispatch(GROUP, "7", "501", true, text);
    await host.call("before_model_resolve", { prompt: text }, ctx);
    await host.bootstrap(GROUP);
    const usage = { role: "assistant", usage: { totalTokens: 1234 } };
    const added = await host.call("before_prompt_build", { prompt: text, messages: [usage, { role: "user" }] }, ctx);
    assert.deepEqual(added, { prependContext: "remember this" });
    await host.call("llm_output", { contextTokenBudget: 200000 }, ctx);
    await call(host, GROUP, { requester: { channel: "telegram", senderId: "502" } });
    await host.call("agent_end", { messages: [usage], success: true }, ctx);
    const events = sent();
    assert.deepEqual(events.map((event) => event.hook_event_name), ["message", "bootstrap", "prompt", "tool_call", "turn_end"]);
    for (const event of events) assert.deepEqual([event.is_group, event.channel, event.message_id], [true, "telegram", "7"]);
    assert.deepEqual(events.map((event) => event.run_id), ["", "r1", "r1", "r1", "r1"]);
    assert.deepEqual(events.map((event) => event.trigger), ["", "user", "user", "user", "user"]);
    assert.deepEqual(events.map((event) => event.senders), [["501"], ["501"], ["501"], ["501", "502"], ["501", "502"]]);
    assert.equal(events[2].usage_tokens, 1234);
    assert.equal(events[2].messages, 2);
    assert.equal(events[3].context_window, 200000);
    assert.deepEqual(events[3].tool, { name: "read", arguments: READ.params, directory: WORKSPACE });
    await host.bootstrap(GROUP);
    assert.deepEqual([sent().at(-1).senders, sent().at(-1).is_group], [["501", "502"], true], "compaction after the answer");
    await host.call("before_model_resolve", { prompt: "x" }, host.ctx(GROUP, undefined, "r2"));
    await host.bootstrap(GROUP);
    assert.deepEqual([sent().at(-1).senders, sent().at(-1).is_group, sent().at(-1).message], [[], null, ""]);
  },

  async a_turn_in_the_pack() {
    const host = packAlone();
    const common = { messageId: "3", channelId: "telegram", conversationId: "telegram:-100777" };
    await host.fire("message:received", GROUP, { ...common, content: "raw", metadata: { senderId: "501" } });
    const text = { body: "[Telegram Ann] hello", bodyForAgent: "hello" };
    await host.fire("message:preprocessed", GROUP, { ...common, ...text, senderId: "501", isGroup: true, cfg: {} });
    await host.bootstrap(GROUP);
    const [message, bootstrap] = sent();
    assert.deepEqual([message.hook_event_name, message.message, message.message_id], ["message", "hello", "3"]);
    assert.deepEqual([message.senders, message.is_group], [["501"], true]);
    assert.deepEqual([bootstrap.senders, bootstrap.is_group, bootstrap.channel], [["501"], true, "telegram"]);
  },

  async a_message_is_its_senders_own() {
    const host = both();
    host.dispatch(MAIN, "1", "501", false, "x");
    host.dispatch(MAIN, "2", "502", true, "y");
    await host.bootstrap(MAIN);
    const told = sent().map((event) => [event.hook_event_name, event.senders, event.is_group]);
    assert.deepEqual(told, [["message", ["501"], false], ["message", ["502"], true], ["bootstrap", ["501", "502"], true]]);
  },

  async a_denied_tool_call_is_blocked_with_its_reason() {
    const host = both({ command: says({ deny: "no\n\u0007" }) });
    assert.deepEqual(await call(host, MAIN), { block: true, blockReason: "no\n " });
  },

  async answers_of_wrong_shape_are_dropped(folder) {
    const odd = [
      { files: "x" }, { files: [null, 1, {}] }, { files: [{ name: 1, path: "apm/a.md", content: "c" }] },
      { files: [{ name: "A", path: "apm/a.md", content: { length: 3 } }] }, { files: [{ name: "A", path: "../a.md", content: "c" }] },
      { files: [{ name: "A", path: "/etc/a.md", content: "c" }] }, { files: [{ name: "A", path: "~/a.md", content: "c" }] },
      { files: [{ name: "A", path: "apm/a.md", content: "c".repeat(60001) }] }, { context: 7 }, { context: ["a"] }, { log: {} },
      { context: "c".repeat(60001) }, { withhold: "yes" }, { withhold: 1 }, [], [1],
    ];
    for (const answer of odd) {
      restart();
      const root = install(folder, settings({ command: says(answer) }));
      const host = new Host(root, allowed()).loadPack().loadPlugin();
      assert.equal((await host.bootstrap(MAIN)).length, 1, JSON.stringify(answer).slice(0, 80));
      assert.equal(await host.call("before_prompt_build", { prompt: "x", messages: [] }, host.ctx(MAIN, "501", "r1")), undefined);
    }
  },

  async a_denial_that_is_no_text_is_no_judgement() {
    const host = both({ command: says({ deny: 3 }) });
    assert.equal((await call(host, GROUP)).block, true);
    assert.equal(await call(host, MAIN), undefined);
  },

  async names_and_paths_are_one_line() {
    const file = { name: "A\n# B/\u2028", path: "apm/a\n## b.md", content: "c" };
    const host = both({ command: says({ files: [file] }) });
    const [, added] = await host.bootstrap(MAIN);
    assert.deepEqual(added, { name: "A # B_", path: "apm/a ## b.md", content: "c", missing: false });
  },

  async the_owners_files_are_taken_out() {
    const host = both({ command: says({ withhold: true, files: [{ name: "APM.md", path: "apm/a.md", content: "c" }] }) });
    const names = ["AGENTS.md", "MEMORY.md", "memory/2026-01-01.md", "log/a.md", "sub/memory.md", "logbook.md", "../memory/x.md"];
    const own = names.map((name) => ({ name: path.basename(name), path: path.join(WORKSPACE, name), content: "x", missing: false }));
    own.push({ name: "daily", path: "memory/relative.md", content: "x", missing: false });
    const kept = await host.bootstrap("agent:main:telegram:direct:9", { bootstrapFiles: own });
    assert.deepEqual(kept.map((file) => file.name), ["AGENTS.md", "logbook.md", "x.md", "APM.md"]);
    assert.equal(own.length, 8, "the host's own list is its own");
  },

  async without_python_the_owners_file_stays_with_the_owner() {
    const host = both({ command: ["/nonexistent"], owner_peers: ["501"] });
    const own = ["AGENTS.md", "MEMORY.md"].map((name) => ({ name, path: `${WORKSPACE}/${name}`, content: "x", missing: false }));
    const kept = async (key) => (await host.bootstrap(key, { bootstrapFiles: own })).length;
    assert.deepEqual([await kept(MAIN), await kept("agent:main:telegram:direct:501")], [2, 2]);
    assert.deepEqual([await kept("agent:main:telegram:direct:9"), await kept(GROUP)], [1, 1]);
  },

  async a_repeated_push_does_not_pile_up() {
    const host = packAlone();
    const first = await host.bootstrap(MAIN);
    const again = await host.bootstrap(MAIN, { bootstrapFiles: first });
    assert.equal(again.length, 2);
  },

  async a_session_is_asked_in_order(folder) {
    const slow = `const fs = require("fs"); const p = JSON.parse(fs.readFileSync(0)); setTimeout(() => {
      fs.appendFileSync(process.argv[1], p.message_id + "\\n"); console.log("{}"); }, p.message_id === "1" ? 300 : 0)`;
    const host = both({ command: [process.execPath, "-e", slow, path.join(folder, "order")] });
    for (const id of ["1", "2", "3"]) host.dispatch(MAIN, id, "501", false, "x");
    await host.call("agent_end", { messages: [] }, host.ctx(MAIN, "501", "r1"));
    assert.equal(fs.readFileSync(path.join(folder, "order"), "utf8"), "1\n2\n3\n3\n");
  },

  async a_refused_line_of_events_is_not_deep() {
    const host = both({ command: broken.hangs, timeout_ms: 300 });
    const all = Array.from({ length: 8000 }, (_, id) => host.call("before_compaction", {}, host.ctx(MAIN, "501", `${id}`)));
    await Promise.all(all);
    assert.equal(host.transport.tails.size, 0);
    assert.deepEqual(host.logged, ["apm-hooks: memory is off for this event: no answer in time"]);
  },

  async ends_are_told_once() {
    const host = both();
    const ctx = host.ctx(MAIN, "501", "");
    await host.call("before_reset", { reason: "new", messages: [{}, {}] }, ctx);
    await host.call("session_end", { reason: "new", sessionId: "s1", messageCount: 0 }, ctx);
    for (const reason of ["shutdown", "restart", "compaction"]) await host.call("session_end", { reason, sessionId: "s1" }, ctx);
    await host.call("session_end", { reason: "idle", sessionId: "s1", messageCount: 0 }, ctx);
    assert.deepEqual(sent().map((event) => [event.hook_event_name, event.reason, event.messages]), [["session_end", "new", 2], ["session_end", "idle", null]]);
  },

  async two_ends_that_were_asked_for_are_two() {
    const host = both();
    for (const id of ["1", "2"]) {
      await host.call("message_received", { messageId: id, senderId: "501", content: "/new" }, host.ctx(MAIN, "501", ""));
      await host.call("before_reset", { reason: "new", messages: [] }, host.ctx(MAIN, "501", ""));
      await host.call("session_end", { reason: "new", sessionId: "s1", messageCount: 0 }, host.ctx(MAIN, "501", ""));
    }
    assert.deepEqual(sent().map((event) => [event.hook_event_name, event.reason]), [["session_end", "new"], ["session_end", "new"]]);
  },

  async the_pack_tells_ends_by_itself() {
    const host = packAlone();
    const entry = { sessionId: "s9", chatType: "group", totalTokens: 77, contextTokens: 200000 };
    const context = { agentId: "main", previousSessionEntry: entry, sessionEntry: {}, senderId: "501", workspaceDir: WORKSPACE };
    await host.fire("command:reset", GROUP, context);
    await host.fire("session:auto-reset", MAIN, { agentId: "main", sessionEntry: { sessionId: "s1" }, reason: "daily", workspaceDir: WORKSPACE });
    const [reset, daily] = sent();
    assert.deepEqual([reset.reason, reset.session_id, reset.is_group, reset.senders], ["reset", "s9", true, ["501"]]);
    assert.deepEqual([reset.usage_tokens, reset.context_window], [77, 200000]);
    assert.deepEqual([daily.hook_event_name, daily.reason, daily.workspace], ["session_end", "daily", WORKSPACE]);
  },

  async compaction_knows_its_workspace() {
    const host = packAlone({ workspaces: [] });
    await host.bootstrap(GROUP, { workspaceDir: "/other/place" });
    await host.fire("session:compact:before", GROUP, { sessionId: "s1", messageCount: 12, tokenCount: 900 });
    const event = sent().at(-1);
    assert.deepEqual([event.workspace, event.messages, event.usage_tokens], ["/other/place", 12, 900]);
    await host.fire("session:compact:before", "agent:second:main", { sessionId: "s2", messageCount: 12 });
    assert.equal(sent().at(-1).workspace, null);
  },

  async start_up_comes_with_the_configuration() {
    const channels = { telegram: { dmPolicy: "allowlist", allowFrom: [501] }, slack: { enabled: false, dmPolicy: "open", allowFrom: ["*"] } };
    const hooks = { internal: { entries: { "remem-flush": { env: { APM_TOKENIZER: "x", PATH: "/evil" } } } } };
    const host = both({}, allowed({ channels, hooks, session: { dmScope: "per-peer" }, bindings: [{ session: { groupScope: "main" } }] }));
    await host.call("gateway_start", { port: 1 }, { config: host.config, workspaceDir: WORKSPACE });
    const [event] = sent();
    assert.deepEqual(event.config, { dm_scope: "per-peer", group_scope: "main", dm_policy: "allowlist", allow_from: ["501"], memory_flush: null });
    assert.deepEqual(event.env, { APM_TOKENIZER: "x" });
    assert.deepEqual([event.hook_event_name, event.session_key, event.workspace], ["startup", null, WORKSPACE]);
  },

  async a_subagent_names_its_parent() {
    const host = both();
    const child = "agent:main:subagent:1";
    await host.call("subagent_spawned", { childSessionKey: child }, { requesterSessionKey: GROUP });
    await call(host, child);
    assert.equal(sent()[0].parent_session_key, GROUP);
  },

  async the_settings_are_read_anew(folder) {
    const host = both({ command: ["/nonexistent"] });
    assert.equal((await host.bootstrap(MAIN)).length, 1);
    install(folder, settings());
    await pause(1050);
    assert.equal((await host.bootstrap(MAIN)).length, 2);
  },

  async a_host_that_does_not_know_a_hook(folder) {
    const host = new Host(install(folder, settings()), { hooks: { internal: { enabled: false } } });
    const on = (name, handler) => {
      if (name === "subagent_spawned") throw new Error("unknown");
      host.typed.set(name, handler);
    };
    host.loadPlugin({ on, registerService: undefined });
    assert.equal((await host.bootstrap(MAIN)).length, 2);
    assert.equal(await call(host, GROUP), undefined);
    assert.equal(host.typed.has("gateway_stop"), true);
    assert.match(host.logged.join(), /does not take the hook subagent_spawned.*hooks.internal.enabled is false/);
  },
};

runIn(cases);
