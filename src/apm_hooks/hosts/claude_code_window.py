"""Claude Code's contexts: how many tokens a model's window holds, and where the host compacts it by itself.

Seen on the real program, 2.1.100 and 2.1.332; `docs/hosts/claude-code.md` says how to see it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

WINDOW, LONG_WINDOW = 200_000, 1_000_000
"""The two sizes of context, in tokens, that the host knows."""
_LONG_SINCE = (2, 1, 332)
"""Seen: 2.1.100 gives every model the short window, this one most of them the long; between them, not looked at."""
_SHORT_FAMILIES = re.compile(r"claude-[23]|-3-\d|(?:opus|sonnet|haiku)-4(?!-[7-9](?!\d)|\d)")
_OWN_FAMILIES = re.compile(r"claude-(?:\d|opus|sonnet|haiku|fable|mythos|instant)")
_AUTO_LEAST, _AUTO_MOST = 100_000, 1_000_000
_ANSWER_TOKENS = 20_000
_MARGIN_TOKENS = 13_000
_TEXT_CHARS = 200
_NUMBER = re.compile(r"\s*(\d+)")
_SIZE = re.compile(r"\s*(\d[\d_,]*(?:\.\d+)?(?:[eE]\d{1,2})?)\s*([kmKM]?)\s*\Z")
_DECIMAL = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)")


def context_window(
    model: str,
    env: Mapping[str, str],
    *,
    version: str = "",
    usage_tokens: int | None = None,
    configured: int | None = None,
) -> int | None:
    """The window, in tokens, that the host assumes for `model` and fills before it compacts; None for no model.

    `model` and `version` are those of a `Transcript`, `configured` is `autoCompactWindow` of the host's settings. Where
    the window cannot be told (2.1.100 does not note `[1m]`) it is the short one, until the context holds more than fits
    in there: too small a window makes an early flush earlier, too large a one makes it miss the compaction.
    """
    if not model:
        return None
    window = _model_window(model.lower(), env, version, usage_tokens or 0)
    return min(window, _auto_window(env, version, configured) or window)


def _model_window(model: str, env: Mapping[str, str], version: str, usage_tokens: int) -> int:
    newer, ours = _is_newer(version), _OWN_FAMILIES.search(model)
    told = _whole(env.get("CLAUDE_CODE_MAX_CONTEXT_TOKENS"))
    if told and (_is_on(env.get("DISABLE_COMPACT")) or (newer and not ours)):
        return told
    if _is_on(env.get("CLAUDE_CODE_DISABLE_1M_CONTEXT")):
        return WINDOW
    long = newer and not _SHORT_FAMILIES.search(model)
    return LONG_WINDOW if long or model.endswith("[1m]") or usage_tokens > WINDOW else WINDOW


def compaction_point(
    window: int | None, env: Mapping[str, str], *, version: str = "", configured: int | None = None
) -> int | None:
    """From how many tokens in a context of `window` tokens the host compacts by itself; None where it does not, or no
    window is known.

    An answer (20,000 tokens, or `CLAUDE_CODE_MAX_OUTPUT_TOKENS` where that is less) and 13,000 tokens are kept free;
    `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE` is a percentage of what remains after the answer, and can only make it earlier.
    Newer versions leave some older models alone until their service refuses a request: then this point is too early.
    `autoCompactEnabled: false` in the host's own file is not seen here.
    """
    if not window or window < 0 or _is_on(env.get("DISABLE_COMPACT")) or _is_on(env.get("DISABLE_AUTO_COMPACT")):
        return None
    window = min(window, _auto_window(env, version, configured) or window)
    answer = min(_whole(env.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS")) or _ANSWER_TOKENS, _ANSWER_TOKENS)
    point = window - answer - _MARGIN_TOKENS
    percent = _DECIMAL.match(env.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE") or "")
    if percent and 0 < float(percent[1]) <= 100:
        point = min(point, int((window - answer) * (float(percent[1]) / 100)))
    return max(point, 1)


def _auto_window(env: Mapping[str, str], version: str, configured: int | None) -> int | None:
    """`CLAUDE_CODE_AUTO_COMPACT_WINDOW`, which goes before the setting; of an unknown version, the earlier reading.

    2.1.100 reads the digits at the head, so that `150k` becomes its least; 2.1.332 reads `150k`, `0.2m` and `200_000`.
    """
    text = env.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW") or ""
    old, new = _whole(text), _size(text)
    read = [new] if _is_newer(version) else [old] if version else [old, new]
    found = [min(max(value, _AUTO_LEAST), _AUTO_MOST) for value in read if value]
    if found:
        return min(found)
    return configured if configured and _AUTO_LEAST <= configured <= _AUTO_MOST else None


def _size(text: str) -> int | None:
    found = _SIZE.match(text[:_TEXT_CHARS])
    factor = {"k": 1e3, "m": 1e6}.get(found[2].lower(), 1) if found else 1
    return int(float(found[1].replace("_", "").replace(",", "")) * factor) if found else None


def _whole(text: str | None) -> int | None:
    """The whole number at the head of a text, as the host reads numbers; None for none, and for zero."""
    found = _NUMBER.match((text or "")[:_TEXT_CHARS])
    return int(found[1]) or None if found else None


def _is_on(text: str | None) -> bool:
    return (text or "").strip().lower() in ("1", "true", "yes", "on")


def _is_newer(version: str) -> bool:
    """Whether a version knows the long windows; an unreadable one does not."""
    numbers = re.findall(r"\d{1,9}", version[:_TEXT_CHARS])[:3]
    return tuple(map(int, numbers)) >= _LONG_SINCE
