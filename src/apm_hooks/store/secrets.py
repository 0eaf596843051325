"""Secrets in what is to be remembered: refused before anything reaches disk, index or log.

The detector of the audit (built-in shapes, and betterleaks where it is installed), with the rules that single spoken
facts need beside it: a connection string with a password, and prose in English and Chinese that gives a password away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

from apm_hooks.audit_secrets import Detector, detector
from apm_hooks.names import without_invisible
from apm_hooks.store.items import SecretRefusedError

_NAME = re.compile(
    r"(?<![A-Za-z])(?i:pass(?:word|phrase|code|wd)s?|pwd?|pin(?:[ -]?code)?|credentials?|secret(?:[ -]key)?"
    r"|(?:door|gate|entry|alarm|vault|safe|unlock)[ -]?code"
    r"|(?:api|access|auth|license|licence|encryption|private)[ -]?(?:key|token)|token|passkey)(?![a-z])"
    r"|密码|密碼|口令|密钥|密鑰|秘钥|令牌|验证码|授权码|解锁码|门禁码|暗号"
)
_WORD = re.compile(r"[!-~]{4,200}")
_SENTENCE = re.compile(r"[\n。！？]|[.!?](?=\s|\Z)")
_SAYS = re.compile(
    r"(?:^|\b(?:is|was|are|be|to|equals?|now|currently)|['’]s"
    r"|为|為|是|[改换換][为成為]了?|设[为成]了?|置为|現在|现在|[:：=＝/“\"'`「]|(?<=[ \t])[-–—])"
    r"[ \t“\"'`「]{0,4}\Z",
    re.IGNORECASE,
)
"""What stands before a value that is given away: nothing but the name, a verb, or a sign."""
_BELOW = re.compile(
    r"\A[ \t*_`]{0,4}[:：]?[ \t*_`]{0,4}\n[ \t]{0,20}(?:[-*>][ \t]{1,4})?(?=[^\s]{4,80}[ \t]{0,9}(?:\n|\Z))"
)
"""A name at the end of its line, and below it a line of one word."""
_BEFORE = re.compile(
    r"(?<![^\s\"'`(])(?P<value>[!-~]{6,60})[\"'`)]{0,2} (?i:is|was|as) (?i:the|my|our|your|his|her|their|its) "
    r"(?:[A-Za-z-]{1,20} ){0,2}(?i:(?P<name>password|passcode|passphrase|pwd))"
    r"(?=[.,;!?]|[ \t]*(?:\n|\Z)| (?:for|of|on|to|at|in|and)\b)"
)
_COMMAND = re.compile(
    r"\b(?:curl|wget|https?)[ \t][^\n]{0,120}(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:(?P<login>[^\s\"']{4,200})"
    r"|\bsshpass[ \t]{1,3}-p[ \t]{0,3}[\"']?(?P<ssh>[^\s\"']{4,200})"
    r"|\bmysql(?:dump|admin)?[ \t][^\n]{0,120}[ \t](?:-p|--password=)[\"']?(?P<sql>[^\s\"']{4,200})"
)
"""A value before its name, and one that a command is given."""
_REACH = 120
_ADDRESS = re.compile(r"(?i:[a-z][a-z0-9+.-]{1,30})://[^\s:/@]{0,100}:(?P<value>[^\s/@]{1,200})@")
_PARAMETER = re.compile(
    r"(?i:(?:password|pwd|accountkey|sharedaccesskey|sig|access_token|api_?key|client_secret|token)=)"
    r"(?P<value>[^\s;&,\"']{4,400})"
)
_PHRASE = re.compile(
    r"(?i:\bpassphrase(?: is| was|:| =)[ \t]{1,3})[\"'“‘`][A-Za-z]{3,12}(?:[ -][A-Za-z]{3,12}){2,11}[\"'”’`]"
    r"|(?i:\b(?:(?:seed|recovery|backup)(?: phrase| words)|mnemonic)(?: is| are|:)[ \t]{1,3})[\"'“‘`]?"
    r"(?:(?!(?:the|and|for|from|our|has|are|was)\b)[a-z]{3,8}(?: |\b)){12,24}"
)
"""A quoted passphrase of words, and the twelve to twenty-four words that a wallet is restored from."""
_OPEN = re.compile(r"[$<{\[(*•…%]|x{3,}|\.{3,}|/|~/|https?:|[A-Z_]{4,}\Z|(?:os|env|process)\.")
_CALL = re.compile(r"[.A-Za-z_]*[A-Za-z_][\[(]")
_REFERS = re.compile(
    r"(?i:(?:none|null|nil|true|false|undefined|(?:[a-z_]+\.)*_*(?:[a-z]+_)*"
    r"(?:password|passwd|pwd|secret|token|key))[,;)\]}]*)"
)
"""A call, and the variable of the same name: what code gives in a secret's place."""
_UNIT = re.compile(r" ?(?:位|个|字符|bits?\b|bytes?\b|characters\b|[KMG]B\b|seconds\b|days\b)")
_SIGNS = frozenset("!@#$%^&*+=?~_-")
_HARMLESS = re.compile(
    r"(?i:v?\d+(?:\.\d+)*|\d+[a-z]{1,6}|[a-z]{1,3}\d{1,2}|sha-?\d+|\d{4}-\d\d-\d\d|\d+[-/]\d+|[a-z]+\d+\.\d+"
    r"|\d+[a-z]?-(?:[a-z]+|\d+[a-z]{0,2})|base-?(?:32|58|64)(?:[-_][a-z]+)+"
    r"|[\w./-]+\.(?:md|txt|json|ya?ml|toml|env|ini|py|js|ts|go|rs|kdbx|pem)|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
)
"""A version, a size, a date, a file, an address: what has digits or signs and is no secret."""
_TECHNICAL = re.compile(
    r"[A-Za-z]+(?:-[A-Za-z]+){1,3}\d?|[A-Z]{2,6}\d{1,3}(?:-[A-Z]{1,4}\d?)?|[\w.-]+==[\d.]+"
    r"|[A-Za-z]+\d{0,4}[a-z]?(?:[-_][A-Za-z]+\d{0,2})+"
)
"""A header, a chip or a cipher, a pinned version, a name in code: no key or token, though perhaps a password."""
_WORDS = re.compile(r"[a-z]+(?:[-_][a-z]+)+|[A-Za-z]+-\d{1,5}|[a-z]+\d{1,2}[a-z]*")


def _is_value(value: str, name: str, after: str) -> bool:
    """Whether a word is what a generator or a person makes up as a secret, and no word of the language."""
    if _OPEN.match(value) or _CALL.match(value):
        return False
    if value.strip("#*").isdigit():
        return 4 <= len(value) <= 12 and _is_code(name) and not _UNIT.match(after)
    if _HARMLESS.fullmatch(value) or (not _is_code(name) and _TECHNICAL.fullmatch(value)):
        return False
    if name.lower().startswith("pin") and _TECHNICAL.fullmatch(value):
        return False
    if _WORDS.fullmatch(value):
        return value.count("-") >= 3 and name.lower().startswith("pass")
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if len(value) < 6 or not letters:
        return False
    return digits or (bool(_SIGNS & set(value[1:])) and not value.islower())


def _is_code(name: str) -> bool:
    """Whether digits alone can be one: a PIN or a password, no key."""
    lower = name.lower()
    return lower.startswith(("pin", "pass", "pw")) or lower.endswith(("code", "码")) or name in ("密碼", "口令")


def _own(text: str) -> str:
    for pattern in (_ADDRESS, _PARAMETER):
        for match in pattern.finditer(text):
            value = match["value"]
            if not (_OPEN.match(value) or (pattern is _PARAMETER and (_REFERS.fullmatch(value) or _CALL.match(value)))):
                return "a connection string with a password" if pattern is _ADDRESS else "a password in a setting"
    if any(not _OPEN.match(str(match[str(match.lastgroup)])) for match in _COMMAND.finditer(text)):
        return "a password in a command"
    if any(_is_value(match["value"].strip("\"'`()"), match["name"], "") for match in _BEFORE.finditer(text)):
        return "a password, spoken of in a sentence"
    if _PHRASE.search(text):
        return "a secret phrase"
    return "a password or key, spoken of in a sentence" if _spoken(text) else ""


def _spoken(text: str) -> bool:
    """Whether a sentence names a secret and then gives a value for it."""
    for name in _NAME.finditer(text):
        tail = _BELOW.sub(": ", text[name.end() : name.end() + _REACH])
        end = _SENTENCE.search(tail)
        tail = tail[: end.start()] if end else tail
        for word in _WORD.finditer(tail):
            value = word[0]
            if not word.start() and value[0] in "_.":
                # The name goes on (`secret_date=`): what it is given stands behind a sign.
                value = value.partition("=")[2] or value.partition(":")[2]
            value = value.lstrip("\"'`=:")
            start = word.end() - len(value)
            if _SAYS.search(tail[:start]) and _is_value(value.rstrip(".,;:!?)]}>\"'`"), name[0], tail[word.end() :]):
                return True
    return False


@cache
def _detector() -> Detector:
    return detector()


def secret_kind(text: str, detect: Callable[[], Detector] = _detector) -> str:
    """What kind of secret a text holds, in words; empty where it holds none. Never the value."""
    seen = without_invisible(text)
    forms = [seen]
    if not seen.isascii() and (plain := unicodedata.normalize("NFKC", seen)) != seen:
        # Letters and signs of full width are those that a reader takes them for.
        forms.append(plain)
    for form in forms:
        found = detect()(form)
        if kind := found[0].kind if found else _own(form):
            return kind
    return ""


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


def refuse_together(title: str, content: str) -> None:
    """Raise SecretRefusedError where a title names a secret and the content is nothing but its value."""
    if not any(map(str.isspace, content)) and len(content) <= _REACH and secret_kind(f"{title}: {content}"):
        raise SecretRefusedError(
            "title and content together hold what looks like a password or key",
            key="content",
            remedy="Secrets are never stored: say where it is kept instead, and leave the value out.",
        )
