"use strict";
// The resident worker's side of the wire: one connection, one JSON line a request, answers by id in any order.
//
// It gives up quickly: whatever is wrong with the worker, the request goes back to the caller, who has another way.

const { spawn } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { performance } = require("node:perf_hooks");

const SOCKET_BYTES = 107; // what the kernel takes as a socket's path
const LINE_CHARS = 2 * 1024 * 1024;
const START_MS = [10_000, 300_000]; // between two starts of the worker: first, and at most after failed ones
const HUNG_MS = 30_000;
const VERSION_MS = 5_000;

// The path that both sides derive from the user's directories, or "" where it cannot be one.
function socketPath(config, env) {
  if (process.platform === "win32") return "";
  let place = config.socket;
  if (!place) {
    const names = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
    const text = names.map((name) => env[name] || "").join("\0");
    const digest = crypto.createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
    const runtime = env.XDG_RUNTIME_DIR || "";
    const home = env.HOME || "";
    if (!path.isAbsolute(runtime) && !path.isAbsolute(home)) return "";
    const folder = path.isAbsolute(runtime) ? path.join(runtime, "apm-hooks") : path.join(home, ".cache/apm-hooks/run");
    place = path.join(folder, `openclaw-${digest}.sock`);
  }
  return path.isAbsolute(place) && Buffer.byteLength(place) <= SOCKET_BYTES ? place : "";
}

// "ours", "absent", or "foreign": whoever can put a socket there would read every message that is sent to it.
function standing(place) {
  try {
    const uid = process.geteuid();
    const folder = fs.statSync(path.dirname(place));
    const socket = fs.lstatSync(place);
    const safe = socket.isSocket() && socket.uid === uid && folder.uid === uid && !(folder.mode & 0o022);
    return safe ? "ours" : "foreign";
  } catch {
    return "absent";
  }
}

class Worker {
  // `log(kind, text)` for what the operator should know.
  constructor(log) {
    this.log = log;
    this.socket = null;
    this.place = "";
    this.pending = new Map();
    this.number = 0;
    this.text = [];
    this.chars = 0;
    this.heardAt = 0;
    this.quietUntil = 0;
    this.startAt = 0;
    this.startMs = START_MS[0];
  }

  // Take a request: `done(answer)` follows once, with null where the worker has no answer. False: not taken at all.
  offer(config, env, body, limitMs, done) {
    const now = performance.now();
    const place = config.worker ? socketPath(config, env) : "";
    if (!place || now < this.quietUntil) return false;
    if (this.socket && this.place !== place) this.drop("");
    if (!this.socket) {
      const found = standing(place);
      if (found === "absent") this.start(config, env, place);
      if (found === "foreign") this.quiet(HUNG_MS, "socket", `not used, because others could have made it: ${place}`);
      if (found !== "ours") return false;
      this.connect(config, env, place);
    }
    const id = (this.number += 1);
    const request = { done, timer: null };
    request.timer = setTimeout(() => this.late(id, limitMs), limitMs).unref();
    this.pending.set(id, request);
    this.socket.ref();
    this.socket.write(`{"id":${id},"version":${JSON.stringify(config.version)},"payload":${body}}\n`);
    return true;
  }

  connect(config, env, place) {
    const socket = net.createConnection({ path: place });
    Object.assign(this, { socket, place, text: [], chars: 0, heardAt: performance.now() });
    socket.setEncoding("utf8");
    socket.on("data", (text) => this.guard(socket, () => this.data(text)));
    socket.on("error", (error) => {
      this.guard(socket, () => {
        if (error.code === "ECONNREFUSED" || error.code === "ENOENT") this.start(config, env, place);
        this.drop("");
      });
    });
    socket.on("close", () => this.guard(socket, () => this.drop("")));
  }

  // An error in a listener would end the whole host; a connection that was replaced has no say.
  guard(socket, action) {
    if (socket !== this.socket) return;
    try {
      action();
    } catch (error) {
      this.drop(`connection dropped: ${error}`);
    }
  }

  data(text) {
    this.heardAt = performance.now();
    let rest = text;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      const line = this.text.join("") + rest.slice(0, end);
      rest = rest.slice(end + 1);
      Object.assign(this, { text: [], chars: 0 });
      this.line(line);
      if (!this.socket) return;
    }
    this.text.push(rest);
    this.chars += rest.length;
    if (this.chars > LINE_CHARS) this.drop("connection dropped: an answer without an end");
  }

  line(line) {
    const reply = JSON.parse(line);
    if (reply.error === "version" || reply.error === "ending") {
      this.quiet(VERSION_MS, "", "");
      this.drop("");
      return;
    }
    const request = this.pending.get(reply.id);
    // An answer that came after its limit has no taker any more.
    if (!request) return;
    this.pending.delete(reply.id);
    const good = typeof reply.answer === "object" && reply.answer !== null && !Array.isArray(reply.answer);
    if (good) this.startMs = START_MS[0];
    this.settle(request, good ? reply.answer : null);
    if (this.pending.size === 0 && this.socket) this.socket.unref();
  }

  settle(request, answer) {
    clearTimeout(request.timer);
    request.done(answer);
  }

  late(id, limitMs) {
    const request = this.pending.get(id);
    if (!request) return;
    this.pending.delete(id);
    // One that still answers others is busy; one that has said nothing for as long is stuck.
    if (performance.now() - this.heardAt >= limitMs) {
      this.quiet(HUNG_MS, "", "");
      this.drop("does not answer; one process per event for now");
    }
    this.settle(request, null);
  }

  quiet(ms, kind, text) {
    this.quietUntil = performance.now() + ms;
    if (text) this.log(`worker ${kind}`, `worker ${text}`);
  }

  // Forget the connection; what was asked over it goes back to whoever asked.
  drop(text) {
    const socket = this.socket;
    const requests = [...this.pending.values()];
    Object.assign(this, { socket: null, text: [], chars: 0 });
    this.pending.clear();
    if (socket) socket.destroy();
    if (text) this.log("worker", `worker: ${text}`);
    for (const request of requests) this.settle(request, null);
  }

  start(config, env, place) {
    const now = performance.now();
    if (!config.serve.length || now < this.startAt) return;
    this.startAt = now + this.startMs;
    this.startMs = Math.min(this.startMs * 2, START_MS[1]);
    try {
      const [program, ...rest] = config.serve;
      // On its own from the first moment: it outlives this host, and another host of the same user may use it.
      const options = { detached: true, stdio: "ignore", env, cwd: "/", windowsHide: true };
      const child = spawn(program, [...rest, "--socket", place], options);
      child.on("error", (error) => this.log("worker start", `worker cannot be started: ${error.message}`));
      child.unref();
    } catch (error) {
      this.log("worker start", `worker cannot be started: ${error.message}`);
    }
  }
}

module.exports = { Worker, socketPath };
