"use strict";
// What becomes of a tool call that could not be judged: no answer in time, or no Python at all.
//
// Privacy fails closed: in a session that is not provably the owner's, a tool that can reach a file may reach another
// conversation's memory. In the owner's own session it could only reach what is the owner's.

const REASON = "This call cannot be checked right now. Go on without it.";

// Tools of the host that touch no file, transcript or process, whatever their arguments. All else counts as one that does.
const HARMLESS = new Set(["web_search", "session_status", "agents_list", "update_plan", "get_goal"]);

const MAIN = /^agent:[^:]+:main(?::thread:.*)?$/s;
// Before the peer stand a channel and an account at most, never the name of another kind of session.
const OTHER = "group|channel|subagent|cron|acp|hook|explicit|dashboard|boot|internal-session-effects";
const NAME = `(?!(?:${OTHER}|direct|dm):)[^:]+`;
const DIRECT = new RegExp(`^agent:[^:]+:(?:(${NAME}):(?:${NAME}:)?)?(?:direct|dm):(.+)$`, "s");

// Whether a turn is surely the owner's. `turn` is the event's {session_key, is_group, senders, channel}; `peers` are as
// apm.toml has them: a peer, with its channel before it or not, or `*`.
function isOwners(turn, peers) {
  const { session_key: key, is_group: isGroup, senders } = turn;
  const known = new Set(peers.map((peer) => peer.toLowerCase()));
  const owner = (peer, channel) =>
    known.has("*") || known.has(peer.toLowerCase()) || (channel !== "" && known.has(`${channel}:${peer}`.toLowerCase()));
  const channel = typeof turn.channel === "string" ? turn.channel : "";
  if (typeof key !== "string" || isGroup === true || !senders.every((sender) => owner(sender, channel))) return false;
  if (MAIN.test(key)) return true;
  const direct = DIRECT.exec(key);
  return direct !== null && owner(direct[2].split(":thread:")[0], direct[1] || channel);
}

// The reason to block an unjudged call with, or "" for no opinion.
function unjudged(toolName, payload, peers) {
  if (HARMLESS.has(toolName)) return "";
  return isOwners(payload, peers) ? "" : REASON;
}

module.exports = { REASON, isOwners, unjudged };
