"use strict";
// What the shim does when Python, its settings or the host are not as they should be: `node fault_cases.js FOLDER`.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { performance } = require("node:perf_hooks");
const broken = require("./broken.js");
const { GROUP, MAIN, both, call, gone, runIn } = require("./fixture.js");
const { children, pause, restart } = require("./host.js");

const cases = {
  async no_settings_at_all(folder) {
    const host = both();
    for (const part of ["pack", "plugin"]) fs.rmSync(path.join(folder, part, "apm-hooks.json"));
    assert.equal((await host.bootstrap(MAIN)).length, 1);
    assert.equal((await call(host, GROUP)).block, true);
    assert.equal(await call(host, MAIN), undefined);
    assert.match(host.logged[0], /memory is off: .*apm-hooks\.json/);
    assert.equal(host.logged.length, 1);
  },

  async events_of_any_shape_do_no_harm() {
    const host = both({ timeout_ms: 300, command: broken.missing });
    const cyclic = {};
    cyclic.self = cyclic;
    const odd = [undefined, null, 7, "x", [], {}, { sessionKey: 7, context: 3 }, cyclic, { toJSON() { throw new Error("no"); } }, { n: 1n },
      new Proxy({}, { get() { throw new Error("trap"); } })]; // fmt: skip
    for (const one of odd) {
      for (const name of host.typed.keys()) {
        const answer = await host.call(name, one, one);
        if (name === "before_tool_call") assert.equal(answer.block, true);
        else assert.equal(answer, undefined);
      }
      for (const handlers of host.internal.values()) for (const handler of handlers) await handler(one);
      for (const name of host.internal.keys()) await host.fire(name, one, one);
      assert.equal((await host.call("before_tool_call", { toolName: "x", params: one }, { sessionKey: GROUP })).block, true);
    }
  },

  async python_is_broken() {
    for (const [kind, command] of Object.entries(broken)) {
      restart();
      const limit = 400;
      const host = both({ command, timeout_ms: limit, gate_timeout_ms: limit });
      const begun = performance.now();
      const [files, owners, groups, added] = await Promise.all([
        host.bootstrap("agent:main:direct:1"), call(host, MAIN), call(host, GROUP),
        host.call("before_prompt_build", { prompt: "x".repeat(99000), messages: [] }, host.ctx("agent:main:direct:2", "501", "r1")),
      ]); // fmt: skip
      assert.ok(performance.now() - begun < limit + 2500, kind);
      assert.equal(files.length, 1, kind);
      assert.equal(owners, undefined, kind);
      assert.equal(groups.block, true, kind);
      assert.equal(added, undefined, kind);
      assert.equal(host.logged.length, 1, `${kind}: ${host.logged}`);
      if (kind === "flood") assert.match(host.logged[0], /printed too much/);
      await gone();
    }
  },

  async what_a_process_leaves_behind_is_ended(folder) {
    const mark = path.join(folder, "alive");
    const host = both({ command: ["/bin/sh", "-c", `(sleep 1; touch ${mark}) & echo '{}'`] });
    const begun = performance.now();
    assert.equal((await host.bootstrap(MAIN)).length, 1);
    assert.ok(performance.now() - begun < 900, "an open pipe is not waited for");
    await pause(1200);
    assert.equal(fs.existsSync(mark), false);
  },

  async processes_are_counted_and_failures_wait() {
    const host = both({ command: broken.hangs, timeout_ms: 500, max_processes: 3 });
    const all = Array.from({ length: 200 }, (_, number) => host.bootstrap(`agent:main:direct:${number}`));
    await pause(200);
    assert.equal(children().length, 3);
    await Promise.all(all);
    await gone();
    Object.assign(host.transport, { failures: 5, waitUntil: 0 });
    const tries = Array.from({ length: 10 }, (_, number) => host.bootstrap(`agent:main:direct:${number}`));
    await pause(100);
    assert.equal(children().length, 1, "after failures one tries, and the others wait for it");
    await Promise.all(tries);
    await gone();
    Object.assign(host.transport, { failures: 3, waitUntil: 0 });
    let started = 0;
    host.transport.spawn = () => {
      started += 1;
      throw new Error("still broken");
    };
    for (let number = 0; number < 50; number += 1) await host.bootstrap(MAIN);
    assert.equal(started, 2, "after five failures in a row the next one waits");
    assert.ok(host.logged.length <= 2, String(host.logged));
    host.transport.waitUntil = 0;
    await host.bootstrap(MAIN);
    assert.equal(started, 3, "one tries again after the wait");
  },

  async a_refusal_to_start_does_no_harm() {
    const host = both({ command: ["with\u0000nul"] });
    assert.equal((await host.bootstrap(MAIN)).length, 1);
    assert.match(host.logged[0], /cannot be started/);
  },

  async a_logger_that_throws_does_no_harm() {
    const host = both({ command: broken.missing });
    globalThis[Symbol.for("apm-hooks.openclaw")].v1.logger = { warn() { throw new Error("full"); } };
    assert.equal((await host.bootstrap(MAIN)).length, 1);
  },
};

runIn(cases);
