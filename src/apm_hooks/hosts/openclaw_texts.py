"""What OpenClaw's agents and operators read of ours; see `texts`."""

from __future__ import annotations

FLUSH_TURN = (
    "Nothing may be changed in this turn: it cannot be told whose memory it would be. End the turn without writing."
)
SHARED_LOG = (
    "apm-hooks: no memory in the main session, because others can write to it and it cannot be told who began the "
    "turn. Install the plugin beside the hooks, or set session.dmScope to per-channel-peer, or allow the owner alone "
    "(dmPolicy allowlist)."
)
UNSERVED_LOG = "apm-hooks: no memory in a session: {detail}. {remedy}"
