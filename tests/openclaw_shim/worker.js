"use strict";
// A stand-in for the resident worker, sound or broken in one of the ways that a worker can be.
//
//     node worker.js LOG KIND --socket PATH

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");

const [, , log, kind, , place] = process.argv;

// The same as answer.sh.
function answer(payload) {
  fs.appendFileSync(log, `${JSON.stringify({ ...payload, by: "worker" })}\n`);
  if (payload.hook_event_name !== "bootstrap") return {};
  return { files: [{ name: "APM.md", path: "apm/dm.md", content: `memory of ${payload.session_key}\n` }] };
}

function reply(socket, request) {
  const good = `${JSON.stringify({ id: request.id, answer: answer(request.payload) })}\n`;
  const odd = {
    half: () => socket.end(good.slice(0, 20)),
    garbage: () => socket.write("\u0000 not json\n"),
    null: () => socket.write("null\n"),
    closes: () => socket.destroy(),
    hangs: () => {},
    endless: () => socket.write("x".repeat(3 << 20)),
    version: () => socket.end(`${JSON.stringify({ id: request.id, error: "version" })}\n`),
    busy: () => socket.write(`${JSON.stringify({ id: request.id, error: "busy" })}\n`),
    list: () => socket.write(`${JSON.stringify({ id: request.id, answer: [1] })}\n`),
    dies: () => process.exit(1),
    pieces: () => [...good].forEach((letter) => socket.write(letter)),
    strange: () => socket.write(`${JSON.stringify({ id: 999999, answer: {} })}\n${good}`),
  }[kind];
  if (odd) odd();
  else socket.write(good);
}

if (fs.existsSync(place)) fs.unlinkSync(place);
fs.mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
net
  .createServer((socket) => {
    let text = "";
    socket.setEncoding("utf8");
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      const lines = (text + chunk).split("\n");
      text = lines.pop();
      for (const line of lines) reply(socket, JSON.parse(line));
    });
  })
  .listen(place);
// Its test takes the socket away when it is over; one that was cut short must not leave it behind either.
setInterval(() => fs.existsSync(place) || process.exit(0), 100);
setTimeout(() => process.exit(0), 20_000);
