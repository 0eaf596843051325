"""Secrets in what is to be remembered: refused before anything reaches disk, index or log.

The detector of the audit (built-in shapes, and betterleaks where it is installed), with the rules that single spoken
facts need beside it: a connection string with a password, and prose in English and Chinese that gives a password away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from apm_hooks.audit_secrets import Detector, detector
from apm_hooks.names import without_invisible
from apm_hooks.store.items import SecretRefusedError

_NAME = re.compile(
    r"(?<![A-Za-z])(?i:pass(?:word|phrase|code|wd)s?|pwd|pin(?:[ -]?code)?|credentials?|secret(?:[ -]key)?"
    r"|(?:api|access|auth|license|licence|encryption|private)[ -]?(?:key|token)|token|passkey)(?![a-z])"
    r"|密码|密碼|口令|密钥|密鑰|秘钥|令牌|验证码|授权码|解锁码|门禁码|暗号"
)
_WORD = re.compile(r"[!-~]{4,200}")
_SENTENCE = re.compile(r"[\n。！？]|[.!?](?=\s|\Z)")
_SAYS = re.compile(
    r"(?:^|\b(?:is|was|are|be|to|equals?|now|currently)|为|為|是|改[为成為]|设[为成]|置为|現在|现在|[:：=＝/“\"'`「])"
    r"[ \t“\"'`「]{0,4}\Z",
    re.IGNORECASE,
)
"""What stands before a value that is given away: nothing but the name, a verb, or a sign."""
_REACH = 120
_ADDRESS = re.compile(r"(?i:[a-z][a-z0-9+.-]{1,30})://[^\s:/@]{0,100}:(?P<value>[^\s/@]{1,200})@")
_PARAMETER = re.compile(
    r"(?i:(?:password|pwd|accountkey|sharedaccesskey|sig|access_token|api_?key|client_secret|token)=)"
    r"(?P<value>[^\s;&,\"']{4,400})"
)
_OPEN = re.compile(r"[$<{\[(*•…%]|x{3,}|\.{3,}|/|~/|https?:|[A-Z_]{4,}\Z|(?:os|env|process)\.")
_UNIT = re.compile(r" ?(?:位|个|字符|bits?\b|bytes?\b|characters\b|[KMG]B\b|seconds\b|days\b)")
_SIGNS = frozenset("!@#$%^&*+=?~_-")
_HARMLESS = re.compile(
    r"(?i:v?\d+(?:\.\d+)*|\d+[a-z]{1,6}|[a-z]{1,3}\d{1,2}|sha-?\d+|\d{4}-\d\d-\d\d|\d+[-/]\d+|[a-z]+\d+\.\d+"
    r"|[\w./-]+\.(?:md|txt|json|ya?ml|toml|env|ini|py|js|ts|go|rs|kdbx|pem)|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
)
"""A version, a size, a date, a file, an address: what has digits or signs and is no secret."""
_WORDS = re.compile(r"[a-z]+(?:[-_][a-z]+)+|[A-Za-z]+-\d{1,5}|[a-z]+\d{1,2}[a-z]*")


def _is_value(value: str, name: str, after: str) -> bool:
    """Whether a word is what a generator or a person makes up as a secret, and no word of the language."""
    if _OPEN.match(value):
        return False
    if value.isdigit():
        return 4 <= len(value) <= 12 and _is_code(name) and not _UNIT.match(after)
    if _HARMLESS.fullmatch(value):
        return False
    if _WORDS.fullmatch(value):
        return value.count("-") >= 3 and name.lower().startswith("pass")
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if len(value) < 6 or not letters:
        return False
    return digits or (bool(_SIGNS & set(value[1:])) and not value.islower())


def _is_code(name: str) -> bool:
    """Whether digits alone can be one: a PIN or a password, no key."""
    return name.lower().startswith(("pin", "pass", "pwd")) or name in ("密码", "密碼", "口令") or name.endswith("码")


def _own(text: str) -> str:
    for pattern in (_ADDRESS, _PARAMETER):
        for match in pattern.finditer(text):
            if not _OPEN.match(match["value"]):
                return "a connection string with a password" if pattern is _ADDRESS else "a password in a setting"
    return "a password or key, spoken of in a sentence" if _spoken(text) else ""


def _spoken(text: str) -> bool:
    """Whether a sentence names a secret and then gives a value for it."""
    for name in _NAME.finditer(text):
        tail = text[name.end() : name.end() + _REACH]
        end = _SENTENCE.search(tail)
        tail = tail[: end.start()] if end else tail
        for word in _WORD.finditer(tail):
            value = word[0].lstrip("\"'`")
            start = word.start() + len(word[0]) - len(value)
            if _SAYS.search(tail[:start]) and _is_value(value.rstrip(".,;:!?)]}>\"'`"), name[0], tail[word.end() :]):
                return True
    return False


@cache
def _detector() -> Detector:
    return detector()


def secret_kind(text: str, detect: Callable[[], Detector] = _detector) -> str:
    """What kind of secret a text holds, in words; empty where it holds none. Never the value."""
    seen = without_invisible(text)
    found = detect()(seen)
    return found[0].kind if found else _own(seen)


def refuse_secrets(fields: Mapping[str, str]) -> None:
    """Raise SecretRefusedError where one of these texts (field → text) holds a secret, naming field and kind."""
    for field, text in fields.items():
        kind = secret_kind(text)
        if kind:
            raise SecretRefusedError(
                f"{field} holds what looks like {kind}",
                key=field,
                remedy="Secrets are never stored: say where it is kept instead, and leave the value out.",
            )
