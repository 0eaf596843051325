"use strict";
// What is known of the turn that a session is in: who wrote, whether any of it came from a group, which run it is.
//
// The host's bootstrap event tells neither the sender nor the chat type, but both decide whose memory may be shown. So
// they are remembered from the messages and the run before it, united over all of the turn: a turn is the owner's only if
// all of it is. Forgetting too early would widen what is shown, so in doubt a message counts for a turn too many.

const KEYS = 1000; // sessions remembered; the one that was quiet longest goes first
const MESSAGES = 500; // a turn with more is nobody's alone, whoever comes next
const MESSAGE_IDS = 50;
const CHATS = 2000;
const SPARED = 2; // ends of runs that a message outlives when it was there before them and they were not its sender's

const RENEWS = /^\s*\/(?:new|reset)\b/i;

function fresh() {
  return {
    seq: 0,
    mark: null, // the last message that the running turn can have seen at its start; null while none runs
    closed: 0,
    ids: new Map(),
    messages: new Map(), // number → {sender, group, direct, spared}
    own: new Set(), // senders that the host names for the run itself
    ownGroup: null, // whether the run's own chat is a group
    before: { senders: [], isGroup: false }, // of the turn that ended last, until another run begins
    renewAt: 0, // the last message that asked for a new session; 0 for none
    textAt: 0,
    text: "",
    messageId: "",
    channelAt: 0,
    channel: "",
    trigger: "",
    runId: "",
    workspace: "",
    sessionId: "",
    agentId: "",
    window: null,
    usage: null,
    parent: "",
  };
}

function sendersOf(turn) {
  const found = [...turn.before.senders, ...turn.own, ...[...turn.messages.values()].map((one) => one.sender)];
  return [...new Set(found)].filter(Boolean);
}

function isGroupOf(turn) {
  const all = [...turn.messages.values()];
  if (turn.before.isGroup || turn.ownGroup || all.some((one) => one.group)) return true;
  return turn.ownGroup === false || all.some((one) => one.direct) ? false : null;
}

// The turn is over. `spare`: messages that it need not have taken in stay; the host queues what comes while it is busy.
function drop(turn, spare) {
  turn.before = { senders: [], isGroup: false };
  turn.before = { senders: sendersOf(turn), isGroup: isGroupOf(turn) === true };
  for (const [seq, one] of turn.messages) {
    if (seq > turn.mark) continue;
    // A run is for the first message of its own sender that there is; those after it may still wait.
    if (!spare || turn.own.delete(one.sender) || one.spared >= SPARED) turn.messages.delete(seq);
    else one.spared += 1;
  }
  if (turn.channelAt <= turn.mark) turn.channel = "";
  if (turn.textAt <= turn.mark) turn.text = turn.messageId = "";
  turn.closed = Math.max(turn.closed, turn.mark);
  turn.mark = null;
  turn.own.clear();
  turn.ownGroup = null;
  turn.trigger = turn.runId = "";
}

class Turns {
  constructor() {
    this.turns = new Map();
    this.chats = new Map();
  }

  at(key) {
    let turn = this.turns.get(key);
    if (turn) this.turns.delete(key);
    else turn = fresh();
    this.turns.set(key, turn);
    if (this.turns.size > KEYS) this.turns.delete(this.turns.keys().next().value);
    return turn;
  }

  // A message that has arrived. The host tells of one message by several events: the same id is the same message.
  // `told`: whether the ends of turns are told. Where they are not, the next message after a bootstrap ends the turn.
  message(key, { id = "", sender = "", isGroup = null, text = "", channel = "", chat = "" }, told) {
    const turn = this.at(key);
    if (chat && isGroup !== null) this.learnChat(channel, chat, isGroup);
    let seq = id ? turn.ids.get(id) : undefined;
    if (seq !== undefined && seq <= turn.closed) return;
    if (seq === undefined) {
      if (turn.mark !== null && !told) drop(turn, false);
      seq = turn.seq += 1;
      if (id) turn.ids.set(id, seq);
      if (turn.ids.size > MESSAGE_IDS) turn.ids.delete(turn.ids.keys().next().value);
    }
    if (sender || isGroup !== null) this.note(turn, seq, sender, isGroup);
    if (channel && seq >= turn.channelAt) Object.assign(turn, { channel, channelAt: seq });
    if (text && seq >= turn.textAt) Object.assign(turn, { text, messageId: id, textAt: seq });
    if (RENEWS.test(text)) turn.renewAt = seq;
  }

  note(turn, seq, sender, isGroup) {
    const known = turn.messages.get(seq) || { sender: "", group: false, direct: false, spared: 0 };
    const kind = { group: known.group || isGroup === true, direct: known.direct || isGroup === false };
    const one = { sender: sender || known.sender, ...kind, spared: known.spared };
    if (!turn.messages.has(seq) && turn.messages.size >= MESSAGES) {
      const alike = (each) => each.sender === one.sender && each.group === one.group && each.direct === one.direct;
      const older = [...turn.messages].find(([, each]) => alike(each));
      if (!older) return;
      turn.messages.delete(older[0]);
    }
    turn.messages.set(seq, one);
  }

  // Whether a chat is a group does not change from turn to turn.
  learnChat(channel, chat, isGroup) {
    const name = chatName(channel, chat);
    this.chats.delete(name);
    this.chats.set(name, isGroup);
    if (this.chats.size > CHATS) this.chats.delete(this.chats.keys().next().value);
  }

  // A run begins, or is heard of again.
  run(key, { runId = "", sender = "", channel = "", chat = "", trigger = "" }) {
    const turn = this.at(key);
    const same = turn.mark !== null && (!runId || !turn.runId || runId === turn.runId);
    // The host compacts after an answer, without a run of its own: that still is the turn before.
    if (runId) turn.before = { senders: [], isGroup: false };
    if (!same) {
      turn.mark = turn.seq += 1;
      turn.own.clear();
      turn.ownGroup = null;
    }
    if (sender) turn.own.add(sender);
    const isGroup = chat ? this.chats.get(chatName(channel, chat)) : undefined;
    if (isGroup !== undefined) turn.ownGroup = turn.ownGroup || isGroup;
    if (channel) Object.assign(turn, { channel, channelAt: Math.max(turn.mark, turn.channelAt) });
    if (runId) turn.runId = runId;
    if (trigger) turn.trigger = trigger;
  }

  // A run has ended: what it cannot have seen belongs to the next one. A late word of an earlier run changes nothing.
  end(key, runId) {
    const turn = this.at(key);
    if (turn.mark === null || (runId && turn.runId && runId !== turn.runId)) return;
    drop(turn, true);
  }

  // The session begins anew, as a message asked: that one, and what was written before it, is of no turn to come. (A run
  // that the command itself begins names its own sender and chat.)
  renew(key) {
    const turn = this.at(key);
    for (const seq of turn.messages.keys()) if (seq <= turn.renewAt) turn.messages.delete(seq);
    turn.renewAt = 0;
  }

  // Facts of the session that outlive a turn; empty values leave what is known.
  learn(key, facts) {
    const turn = this.at(key);
    for (const name of ["workspace", "sessionId", "agentId", "window", "usage", "parent"]) {
      if (facts[name]) turn[name] = facts[name];
    }
  }

  senders(key) {
    return sendersOf(this.at(key));
  }

  isGroup(key) {
    return isGroupOf(this.at(key));
  }
}

// A topic or thread is part of its chat.
const chatName = (channel, chat) => `${channel} ${chat.replace(/:(?:topic|thread):.*$/s, "")}`;

module.exports = { Turns };
