"use strict";
// What is remembered of a turn, what an unjudged call may do, what the host's configuration says: `node rule_cases.js FOLDER`.

const assert = require("node:assert/strict");
const { run } = require("./host.js");
const { unjudged } = require("../../hooks/openclaw/gate.js");
const { configOf, envOf, mayPrompt, workspacesOf } = require("../../hooks/openclaw/hostconfig.js");
const { Turns } = require("../../hooks/openclaw/turns.js");
const { socketPath } = require("../../hooks/openclaw/worker.js");

const MAIN = "agent:main:main";

// A plugin's session: messages (`[id, sender, isGroup]`), runs and ends as they come.
function session(told = true) {
  const turns = new Turns();
  return {
    turns,
    message: (id, sender, isGroup = null, text = "") => turns.message(MAIN, { id, sender, isGroup, text, channel: "telegram" }, told),
    run: (runId, sender) => turns.run(MAIN, { runId, sender }),
    end: (runId) => turns.end(MAIN, runId),
    senders: () => turns.senders(MAIN).sort().join(),
    isGroup: () => turns.isGroup(MAIN),
    // Turns of the host's own, as many as a message may outlive that no run was seen to take in.
    settle: () => ["a", "b", "c", "d"].forEach((id) => (turns.run(MAIN, { runId: id }), id === "d" || turns.end(MAIN, id))),
  };
}

const cases = {
  senders_of_a_turn_are_united() {
    const one = session();
    one.message("1", "ann", false);
    one.message("2", "bob", true);
    assert.deepEqual([one.senders(), one.isGroup()], ["ann,bob", true]);
    one.message("3", "ann", false);
    assert.equal(one.isGroup(), true, "one message from a group is enough");
  },

  a_turns_end_clears_it() {
    const one = session();
    one.message("1", "ann", false, "hello");
    one.run("r1", "ann");
    one.end("r1");
    assert.equal(one.senders(), "ann", "until another run begins, what comes is about this one");
    one.run("r2", "");
    assert.deepEqual([one.senders(), one.isGroup(), one.turns.at(MAIN).text], ["", null, ""]);
  },

  a_new_session_forgets_what_was_written_up_to_the_command_and_no_more() {
    const one = session();
    one.message("1", "bob", true, "hello");
    one.message("2", "ann", false, "/new");
    one.message("3", "eve", true, "wait");
    one.turns.renew(MAIN);
    assert.deepEqual([one.senders(), one.isGroup()], ["eve", true]);
    one.turns.renew(MAIN);
    assert.equal(one.senders(), "eve", "an end that nobody asked for forgets nothing");
  },

  what_came_during_a_run_stays_for_the_next() {
    const one = session();
    one.message("1", "ann", false);
    one.run("r1", "ann");
    one.message("2", "bob", true);
    one.run("r1", "ann");
    assert.equal(one.senders(), "ann,bob", "it may have been added to the running turn");
    one.end("r1");
    one.run("r2", "bob");
    assert.deepEqual([one.senders(), one.isGroup()], ["bob", true]);
    one.end("r2");
    assert.equal(one.isGroup(), true);
    one.run("r3", "");
    assert.equal(one.senders(), "");
  },

  a_message_during_a_run_taken_up_again_stays() {
    const one = session();
    one.run("r1", "ann");
    one.message("1", "ann", true);
    one.end("r1");
    one.run("r2", "");
    assert.deepEqual([one.senders(), one.isGroup()], ["ann", true]);
  },

  a_private_message_before_the_end_of_a_groups_turn_is_private() {
    const one = session();
    one.message("1", "ann", true);
    one.run("r1", "ann");
    one.message("2", "ann", false);
    one.end("r1");
    one.run("r2", "ann");
    assert.deepEqual([one.senders(), one.isGroup()], ["ann", false]);
  },

  a_late_end_of_an_earlier_run_changes_nothing() {
    const one = session();
    one.message("1", "ann");
    one.run("r1", "ann");
    one.message("2", "bob");
    one.run("r2", "bob");
    one.end("r1");
    assert.equal(one.senders(), "ann,bob");
    one.end("r2");
    one.settle();
    assert.equal(one.senders(), "");
  },

  an_end_that_never_came_is_made_good_by_the_next() {
    const one = session();
    one.message("1", "stranger");
    one.run("r1", "stranger");
    one.message("2", "ann");
    one.run("r2", "ann");
    assert.equal(one.senders(), "ann,stranger");
    one.end("r2");
    assert.equal(one.senders(), "ann,stranger");
    one.settle();
    assert.equal(one.senders(), "");
  },

  one_message_is_told_of_more_than_once() {
    const one = session();
    one.message("1", "ann");
    one.run("r1", "ann");
    one.message("1", "ann", true, "the same");
    assert.equal(one.isGroup(), true);
    one.end("r1");
    one.run("r2", "");
    assert.deepEqual([one.senders(), one.isGroup()], ["", null]);
    one.message("1", "ann", true, "once more, much too late");
    assert.deepEqual([one.senders(), one.isGroup()], ["", null]);
  },

  where_no_end_is_told_the_next_message_begins_a_turn() {
    const one = session(false);
    one.message("1", "ann");
    one.message("2", "bob");
    one.run("", "");
    assert.equal(one.senders(), "ann,bob");
    one.message("3", "ann");
    assert.equal(one.senders(), "ann,bob", "two turns together: nothing told where the first one ended");
    one.run("", "");
    one.message("4", "ann");
    one.run("", "");
    one.message("5", "ann");
    assert.equal(one.senders(), "ann");
  },

  a_message_without_an_id_counts_too() {
    const one = session();
    one.message("", "ann");
    one.message("", "bob");
    one.run("r1", "");
    assert.equal(one.senders(), "ann,bob");
    one.end("r1");
    one.settle();
    assert.equal(one.senders(), "");
  },

  a_chat_stays_a_group() {
    const one = session();
    one.turns.message("agent:main:x", { id: "9", sender: "ann", isGroup: true, channel: "telegram", chat: "-1:topic:4" }, true);
    one.turns.run(MAIN, { runId: "r1", sender: "ann", channel: "telegram", chat: "-1" });
    assert.equal(one.isGroup(), true);
    one.turns.run("agent:main:y", { runId: "r1", sender: "ann", channel: "slack", chat: "-1" });
    assert.equal(one.turns.isGroup("agent:main:y"), null);
  },

  no_run_forgets_whom_it_took_in() {
    let seed = 1;
    const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
    for (let round = 0; round < 400; round += 1) {
      const one = session();
      const [queue, late] = [[], []];
      let [run, number] = [null, 0];
      const tell = (message) => one.message(message.id, message.sender, message.isGroup);
      const begin = (taken) => {
        run = { id: `r${(number += 1)}`, taken };
        const last = taken.at(-1);
        one.turns.run(MAIN, { runId: run.id, sender: last.sender, channel: "telegram", chat: "" });
      };
      for (let step = 0; step < 60; step += 1) {
        const what = random(6);
        const message = { id: `m${round}.${step}`, sender: `s${random(6)}`, isGroup: random(4) === 0 };
        if (what <= 1) {
          // It goes into the running turn, waits for the next, or begins one, before which others may come.
          tell(message);
          if (run && random(3) === 0) run.taken.push(message);
          else if (run || queue.length) queue.push(message);
          else {
            for (let more = random(3); more > 0; more -= 1) queue.push({ id: `${message.id}.${more}`, sender: `s${random(6)}`, isGroup: random(4) === 0 });
            queue.forEach(tell);
            begin([message]);
          }
        } else if (what === 2 && run) one.run("", "");
        else if (what === 3 && run) tell(run.taken[random(run.taken.length)]);
        else if (what === 4 && late.length) one.end(late.shift());
        else if (what === 5 && run) {
          if (random(3) === 0) late.push(run.id);
          else if (random(4) > 0) one.end(run.id);
          run = null;
          if (queue.length) begin(queue.splice(0));
        }
        if (!run) continue;
        if (run.taken.some((message) => message.isGroup)) assert.equal(one.isGroup(), true, `round ${round}, step ${step}`);
        const missing = run.taken.filter(({ sender }) => !one.senders().split(",").includes(sender));
        assert.deepEqual(missing, [], `round ${round}, step ${step}`);
      }
      one.settle();
      assert.deepEqual([one.senders(), one.isGroup()], ["", null], "and none remembers for ever");
    }
  },

  memory_is_bounded() {
    const turns = new Turns();
    turns.message(MAIN, { id: "1", sender: "ann" }, true);
    for (let number = 0; number < 5000; number += 1) {
      turns.message(`agent:main:direct:${number}`, { id: "1", sender: "x" }, true);
      if (number % 500 === 0) turns.at(MAIN);
    }
    assert.equal(turns.turns.size, 1000);
    assert.deepEqual(turns.senders(MAIN), ["ann"], "what is used stays");
    for (let number = 2; number < 5000; number += 1) turns.message(MAIN, { id: `${number}`, sender: `s${number % 499}` }, true);
    assert.equal(turns.senders(MAIN).length, 500);
    turns.message(MAIN, { id: "one more", sender: "bob" }, true);
    assert.ok(turns.senders(MAIN).includes("ann"), "nobody is pushed out by others");
    assert.ok(turns.at(MAIN).ids.size <= 50);
  },

  facts_of_a_session_outlive_its_turns() {
    const turns = new Turns();
    turns.learn(MAIN, { workspace: "/w", window: 5 });
    turns.learn(MAIN, { workspace: "", window: null, usage: 7 });
    turns.run(MAIN, { runId: "r1" });
    turns.end(MAIN, "r1");
    const { workspace, window, usage } = turns.at(MAIN);
    assert.deepEqual([workspace, window, usage], ["/w", 5, 7]);
  },

  an_unjudged_call() {
    const free = (key, isGroup, senders, peers = ["501"], tool = "read") =>
      unjudged(tool, { session_key: key, is_group: isGroup, senders, channel: "telegram" }, peers) === "";
    assert.ok(free(MAIN, null, []));
    assert.ok(free(MAIN, false, ["501"]));
    assert.ok(free("agent:main:main:thread:501:77", false, []));
    assert.ok(free("agent:main:direct:501", false, ["501"]));
    assert.ok(free("agent:main:telegram:direct:501", null, []));
    assert.ok(free("agent:main:telegram:default:direct:501", null, []));
    assert.ok(free("agent:main:matrix:direct:@me:example.org", null, [], ["@Me:example.org"]));
    assert.ok(free("agent:main:telegram:direct:9", null, ["9"], ["*"]));
    assert.ok(free("agent:main:telegram:direct:501", null, ["501"], ["telegram:501"]));
    assert.ok(free("agent:main:direct:501", null, [], ["Telegram:501"]));
    assert.ok(free(MAIN, false, ["501"], ["telegram:501"]));
    assert.ok(!free("agent:main:matrix:direct:501", null, [], ["telegram:501"]));
    assert.ok(!free(MAIN, false, ["501"], ["matrix:501"]));
    assert.ok(free("agent:main:telegram:group:-1", true, ["501"], ["501"], "web_search"));
    const shut = [
      [MAIN, true, []], [MAIN, null, ["9"]], [MAIN, false, ["501", "9"]], [MAIN, false, ["501"], []], ["agent:main:direct:9", null, []],
      ["agent:main:direct:501", true, []], ["agent:main:direct:501", null, ["9"]], ["agent:main:direct:501", null, [], []],
      ["agent:main:telegram:group:-1", true, ["501"]], ["agent:main:telegram:group:direct:501", null, []], ["agent:main:subagent:1", null, []],
      ["agent:main:internal-session-effects:1", null, []], ["agent:main:cron:x:run:1", null, []], ["global", null, []], ["", null, []], [null, null, []],
      ["agent:main:main2", null, []], ["agent:main:mainly:main", null, []],
    ]; // fmt: skip
    for (const one of shut) assert.ok(!free(...one), JSON.stringify(one));
    for (const tool of ["exec", "process", "apply_patch", "memory_get", "sessions_history", "message", "tool_call", ""]) {
      assert.ok(!free("agent:main:telegram:group:-1", true, [], ["501"], tool), tool);
    }
  },

  the_hosts_configuration() {
    assert.equal(configOf("cfg"), null);
    assert.deepEqual(configOf({}), { dm_scope: "", group_scope: "", dm_policy: "disabled", allow_from: [], memory_flush: null });
    const policy = (channels) => configOf({ channels }).dm_policy;
    assert.equal(policy({ telegram: {} }), "pairing");
    assert.equal(policy({ telegram: { dmPolicy: "allowlist" }, defaults: { dmPolicy: "open" } }), "allowlist");
    assert.equal(policy({ telegram: { dmPolicy: "allowlist", accounts: { two: { dmPolicy: "open" } } } }), "open");
    assert.equal(policy({ telegram: { dmPolicy: "allowlist", accounts: { two: {} } } }), "allowlist");
    assert.equal(policy({ discord: { dm: { policy: "allowlist" } } }), "allowlist");
    assert.equal(policy({ telegram: { dmPolicy: "something new" } }), "open");
    const accounts = { a: { allowFrom: ["2"] }, b: { enabled: false, allowFrom: ["3"] } };
    const channels = { telegram: { allowFrom: [1, "x", null], accounts }, slack: { dm: { allowFrom: ["U1"] } } };
    assert.deepEqual(configOf({ channels }).allow_from, ["1", "x", "2", "U1"]);
    const flush = { agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } };
    assert.equal(configOf(flush).memory_flush, false);
    assert.equal(configOf({ session: { dmScope: "per-peer" }, bindings: [{ session: { dmScope: "main" } }] }).dm_scope, "main");
    for (const odd of [{ channels: [] }, { channels: { a: 1 } }, { session: 1, bindings: [1, null] }, { agents: { list: [null] } }]) {
      assert.ok(configOf(odd));
      assert.deepEqual(workspacesOf(odd), []);
    }
    const agents = { defaults: { workspace: "/a" }, list: [{ id: "two", workspace: "/b" }, { id: "three" }] };
    assert.deepEqual(workspacesOf({ agents }), [["main", "/a"], ["two", "/b"]]);
    assert.deepEqual(envOf({ plugins: { entries: { "apm-hooks": { config: { env: { APM_X: "1", HOME: "/" } } } } } }), { APM_X: "1" });
    const entry = (hooks) => ({ plugins: { entries: { "apm-hooks": { hooks } } } });
    assert.equal(mayPrompt(entry({ allowConversationAccess: true }), "apm-hooks"), true);
    assert.equal(mayPrompt(entry({ allowConversationAccess: true, allowPromptInjection: false }), "apm-hooks"), false);
    for (const odd of [undefined, null, {}, entry(undefined), entry({})]) assert.equal(mayPrompt(odd, "apm-hooks"), false);
  },

  the_place_of_the_socket() {
    assert.equal(socketPath({ socket: "relative" }, {}), "");
    assert.equal(socketPath({ socket: `/${"x".repeat(107)}` }, {}), "");
    assert.equal(socketPath({ socket: "" }, {}), "");
    assert.equal(socketPath({ socket: "/run/one.sock" }, {}), "/run/one.sock");
  },
};

if (process.argv[2] === "--socket") console.log(socketPath({ socket: "" }, JSON.parse(process.argv[3])));
else run(cases, (action) => action());
