"use strict";
// From an event to Python's answer: the resident worker, else one process, all within one limit, never an exception.
//
// The host has no guard around its hooks: whatever escapes here ends the whole gateway, and whatever hangs here hangs a
// conversation. So every stream has an error listener, every wait has the event's one timer, and every count a bound.

const { spawn } = require("node:child_process");
const { performance } = require("node:perf_hooks");
const { Worker } = require("./worker.js");

const OUTPUT_BYTES = 2 * 1024 * 1024;
const PAYLOAD_CHARS = 4 * 1024 * 1024;
const STDERR_CHARS = 2000;
const GRACE_MS = 200; // between a process's exit and the end of its output, which a child of its own may hold open
const FAILURES = 5; // in a row, before the next process has to wait
const WAIT_MS = [5_000, 300_000];
const LEAST_MS = 50; // no process answers within less

// One line of plain text out of anything.
function oneLine(value, chars) {
  const text = String(value).toWellFormed();
  return text.replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim().slice(0, chars);
}

class Transport {
  // `log(kind, text)` for what the operator should know.
  constructor(log) {
    this.log = log;
    this.worker = new Worker(log);
    this.tails = new Map();
    this.over = [];
    this.passing = false;
    this.processes = new Set();
    this.failures = 0;
    this.waitUntil = 0;
  }

  // Python's answer, an object, or null where there is none within `limitMs`. Never rejects.
  // One event of a session at a time, in order: the next may build on what the one before it wrote down.
  ask(config, payload, limitMs) {
    return new Promise((resolve) => {
      const job = { config, resolve, done: false, started: false, next: null, child: null, timer: null };
      try {
        // A call that nothing was said of is not judged; of anything else it means that there is nothing to add.
        job.silence = payload.hook_event_name === "tool_call" ? null : {};
        job.env = { ...process.env, ...config.env };
        job.body = JSON.stringify(payload);
        if (job.body.length > PAYLOAD_CHARS) throw new Error("it is larger than 4 MiB");
        job.end = performance.now() + limitMs;
        job.timer = this.later(limitMs, job, () => this.expire(job));
        this.enqueue(job, payload.session_key || "");
      } catch (error) {
        this.log("event", `an event was not sent: ${oneLine(error.message, 200)}`);
        this.finish(job, null);
      }
    });
  }

  enqueue(job, key) {
    const before = this.tails.get(key);
    job.key = key;
    this.tails.set(key, job);
    if (before) before.next = job;
    else this.begin(job);
  }

  // A timer that cannot keep the host alive, and whose action cannot end it.
  later(ms, job, action) {
    return setTimeout(() => this.guard(job, action), ms).unref();
  }

  guard(job, action) {
    try {
      action();
    } catch (error) {
      this.log("shim", `memory is off for this event: ${oneLine(error, 200)}`);
      this.finish(job, null);
    }
  }

  begin(job) {
    job.started = true;
    this.guard(job, () => this.send(job));
  }

  send(job) {
    const half = (job.end - performance.now()) / 2;
    const taken = this.worker.offer(job.config, job.env, job.body, half, (answer) => {
      if (answer !== null) this.finish(job, answer);
      else this.run(job);
    });
    if (!taken) this.run(job);
  }

  finish(job, answer) {
    if (job.done) return;
    job.done = true;
    clearTimeout(job.timer);
    if (job.child) this.kill(job.child);
    job.body = "";
    job.resolve(answer);
    if (job.started) this.pass(job);
  }

  // The session's next event may start; those that ran out of time while they waited are passed over. In a loop: a long
  // line of events that are all refused at once would otherwise be as deep on the stack as it is long.
  pass(job) {
    this.over.push(job);
    if (this.passing) return;
    this.passing = true;
    for (let last = this.over.pop(); last; last = this.over.pop()) {
      while (last.next && last.next.done) last = last.next;
      if (last.next) this.begin(last.next);
      else if (this.tails.get(last.key) === last) this.tails.delete(last.key);
    }
    this.passing = false;
  }

  expire(job) {
    if (job.child) this.failed(job, "no answer in time");
    this.finish(job, null);
  }

  // A process that failed, and how long the next one has to wait when several have, one after the other.
  failed(job, why) {
    const said = job.child ? oneLine(job.child.said, 200) : "";
    this.failures += 1;
    const over = this.failures - FAILURES;
    if (over >= 0) this.waitUntil = performance.now() + Math.min(WAIT_MS[0] * 2 ** Math.min(over, 10), WAIT_MS[1]);
    this.log("process", `memory is off for this event: ${why}${said ? ` (${said})` : ""}`);
    this.finish(job, null);
  }

  run(job) {
    const now = performance.now();
    if (job.done) return;
    if (job.end - now < LEAST_MS || now < this.waitUntil) return this.finish(job, null);
    if (this.processes.size >= job.config.processes) {
      this.log("busy", "memory is off for some events: too many at once");
      return this.finish(job, null);
    }
    // After a wait one process tries; the others wait for what becomes of it.
    if (this.failures >= FAILURES) this.waitUntil = job.end;
    try {
      this.spawn(job);
    } catch (error) {
      this.failed(job, `Python cannot be started: ${oneLine(error.message, 200)}`);
    }
  }

  spawn(job) {
    const [program, ...rest] = job.config.command;
    // A group of its own, so that whatever it starts ends with it.
    const options = { detached: true, stdio: ["pipe", "pipe", "pipe"], env: job.env, windowsHide: true };
    const child = { process: spawn(program, rest, options), said: "", bytes: 0, chunks: [], code: null };
    job.child = child;
    this.processes.add(child);
    const guard = (action) => (value) => this.guard(job, () => action(value));
    const { stdin, stdout, stderr } = child.process;
    child.process.on("error", guard((error) => {
      if (child.process.pid === undefined) this.processes.delete(child);
      if (!job.done) this.failed(job, `Python cannot be started: ${oneLine(error.message, 200)}`);
    }));
    child.process.on("exit", guard((code) => {
      this.processes.delete(child);
      child.code = code;
      this.killGroup(child.process.pid);
      this.later(GRACE_MS, job, () => this.judge(job, child));
    }));
    child.process.on("close", guard(() => this.judge(job, child)));
    for (const stream of [stdin, stdout, stderr]) if (stream) stream.on("error", () => {});
    // A program that could not be started has no streams; its error event follows.
    if (!stdin || !stdout || !stderr) return;
    stdout.on("data", guard((chunk) => {
      child.bytes += chunk.length;
      if (child.bytes <= OUTPUT_BYTES) child.chunks.push(chunk);
      else if (!job.done) this.failed(job, "Python printed too much");
    }));
    stderr.setEncoding("utf8");
    stderr.on("data", guard((text) => {
      if (child.said.length < STDERR_CHARS) child.said += text.slice(0, STDERR_CHARS);
    }));
    stdin.end(job.body);
  }

  // The process is gone: what it printed is its answer, if it is one object.
  judge(job, child) {
    if (job.done) return;
    const text = Buffer.concat(child.chunks).toString("utf8").trim();
    if (child.code === 0 && !text && !child.said) return this.finish(job, job.silence);
    let answer = null;
    try {
      answer = JSON.parse(text);
    } catch {
      // Said below, with the process's own words.
    }
    if (child.code === 0 && typeof answer === "object" && answer !== null && !Array.isArray(answer)) {
      this.failures = 0;
      this.waitUntil = 0;
      this.finish(job, answer);
    } else {
      const end = child.code === null ? "it was killed" : `exit code ${child.code}`;
      this.failed(job, text ? `Python printed no answer (${end})` : `Python printed nothing (${end})`);
    }
  }

  kill(child) {
    const { process: running } = child;
    for (const stream of [running.stdin, running.stdout, running.stderr]) if (stream) stream.destroy();
    // Once its exit is known its number may be another's.
    if (running.pid !== undefined && this.processes.has(child) && !this.killGroup(running.pid)) running.kill("SIGKILL");
  }

  killGroup(number) {
    try {
      return process.kill(-number, "SIGKILL");
    } catch {
      // No groups on this system, or nobody left in it.
      return false;
    }
  }

  // The host goes down: nothing of ours keeps it.
  close() {
    this.worker.drop("");
  }
}

module.exports = { Transport, oneLine };
