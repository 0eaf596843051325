"""Secrets in a text that is about to be stored: found by shape, and told without being repeated.

Only what is a secret beyond reasonable doubt counts: the key prefixes of well-known issuers, private keys, signed
tokens, and a value given to something that is called a password or a token. A filter is no wall: it keeps the common
accident out of memory, not somebody who wants a secret in. Work is linear in the text, since every pattern is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from apm_hooks.names import without_invisible


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands (line, from 1) and what it is, in words; never the secret itself."""

    line: int
    kind: str


_START, _END = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"

_SHAPES = (
    ("a private key", r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("a signed token (JWT)", rf"{_START}eyJ[A-Za-z0-9_-]{{8,4000}}\.[A-Za-z0-9_-]{{8,8000}}\.[A-Za-z0-9_-]{{8,2000}}"),
    ("an API key", rf"{_START}[sr]k[-_](?=[A-Za-z_-]{{0,60}}[0-9])(?=[0-9_-]{{0,60}}[A-Za-z])[A-Za-z0-9_-]{{16,300}}"),
    ("a GitHub token", rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{20,255}}|github_pat_[A-Za-z0-9_]{{22,255}})"),
    ("a GitLab token", rf"{_START}gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.-]{{20,255}}"),
    ("an AWS access key", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("a Slack token", rf"{_START}(?:xox[a-z]|xapp)-(?=[A-Za-z-]{{0,60}}[0-9])[A-Za-z0-9-]{{10,255}}"),
    ("a Slack webhook", r"hooks\.slack\.com/services/T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40}"),
    ("a Google API key", rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    ("a Telegram bot token", rf"{_START}[0-9]{{8,10}}:[A-Za-z0-9_-]{{35}}{_END}"),
    ("a package registry's token", rf"{_START}(?:npm_[A-Za-z0-9]{{36}}|pypi-AgE[A-Za-z0-9_-]{{50,255}})"),
    ("a Hugging Face token", rf"{_START}hf_[A-Za-z0-9]{{30,60}}{_END}"),
    ("a SendGrid key", rf"{_START}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{16,64}}"),
    ("an access token", r"(?i:\bbearer[ \t]{1,3})(?=[A-Za-z_.~+/-]{0,60}[0-9])[A-Za-z0-9_.~+/-]{20,4000}={0,2}"),
)
_SHAPE = re.compile("|".join(f"(?P<k{number}>{pattern})" for number, (_, pattern) in enumerate(_SHAPES)))

_LOGIN = re.compile(r"(?i:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,19})://[^\s:/@]{1,100}:([^\s/@]{3,200})@")

_PASSWORDS = (
    r"password|passwd|passphrase|passcode|\bpwd|_pwd|passwort|kennwort|contraseña|mot de passe|senha|пароль"
    r"|密码|密碼|口令|パスワード|비밀번호"
)
_TOKENS = (
    r"(?:api|access|private|secret|client|auth|encryption|signing)[ _-]?(?:key|secret|token)|secret|token|credentials?"
    r"|密钥|密鑰|秘钥|令牌|トークン|토큰|токен"
)
_SIGNS = r"=>|->|:=|[=:：＝→]|(?i:\b(?:is|was|are|ist|es|est|è)\b)|是|为|為|は|는|은"
_GIVEN = re.compile(
    rf"(?P<name>(?i:(?P<password>{_PASSWORDS})|{_TOKENS}))"
    rf"(?P<sign>[\"'`*]{{0,3}}[ \t]{{0,3}}(?:{_SIGNS})[ \t]{{0,3}})"
    r"(?P<value>\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|`[^`\n]{1,300}`|[^\s\"'`]{1,300})"
)

_REFERENCE = re.compile(
    r"""[$%<{\[(*•…]            # a variable, a place to fill in, something blanked out
    |[a-z][a-z0-9+.-]{0,19}://  # an address
    |[~.]{0,2}/                 # a path
    |(?:x{3,}|\.{3,}|_{3,}|-{3,})
    |(?:os\.|env\.|process\.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KNOWN_WORDS = re.compile(
    r"(?i:1password|sha-?[0-9]{1,3}|md5|base-?(?:32|58|64)|oauth-?[12](?:\.0)?|utf-?(?:8|16)|pbkdf2|argon2(?:id?)?|aes-?[0-9]{3}"
    r"|rsa-?[0-9]{4}|ed25519|p-?256|x\.?509|fido2|u2f|http/?[123]|ipv[46]|v[0-9.]+|[A-Za-z]{1,3}[0-9]{1,2}|[0-9]{1,2}[A-Za-z]{1,3})"
)
_FILE = re.compile(r"[\w./-]*\.(?:md|txt|json|ya?ml|toml|env|ini|cfg|pem|key|py|js|ts|sh|go|rs)\b")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}", re.IGNORECASE)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?")

_PASSWORD_CHARS, _TOKEN_CHARS, _TOKEN_DIGITS, _TOKEN_PART_CHARS, _NUMBER_CHARS, _NAME_CHARS = 6, 12, 2, 6, 6, 80
_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_STRONG = frozenset("!@#$%^&*+=?~")


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets in a text, by line. Characters that nobody sees do not hide one."""
    seen = without_invisible(text)
    found = {(match.start(), _SHAPES[int(str(match.lastgroup)[1:])][0]) for match in _SHAPE.finditer(seen)}
    found |= {(match.start(), "a login in an address") for match in _LOGIN.finditer(seen) if not _is_open(match[1])}
    for match in _GIVEN.finditer(seen):
        kind = _given(seen, match)
        if kind:
            found.add((match.start(), kind))
    lines = {(seen.count("\n", 0, at) + 1, kind) for at, kind in sorted(found)[:100]}
    return tuple(Secret(line, kind) for line, kind in sorted(lines))


def _given(text: str, match: re.Match[str]) -> str:
    """What was given away by `name = value` or `name is value`; empty where the value is no secret."""
    value = match["value"]
    quoted = value[0] in "\"'`"
    value = value.strip("\"'`").rstrip(".,;:!?)]}>。，；、") if not quoted else value[1:-1]
    if _is_open(value):
        return ""
    if _is_assigned(text, match) and len(value) >= _PASSWORD_CHARS:
        return "a value that is set in the environment"
    if match["password"]:
        return "a password" if _is_password(value) else ""
    return "a token or key" if _is_token(value) else ""


def _is_assigned(text: str, match: re.Match[str]) -> bool:
    """True for a variable of a shell or an `.env` file: a name in capitals, and no blank around the sign."""
    before = text[max(match.start() - _NAME_CHARS, 0) : match.start()]
    name = before[len(before.rstrip(_NAME)) :] + match["name"]
    return match["sign"] == "=" and name.replace("_", "").isalnum() and name.isupper()


def _is_open(value: str) -> bool:
    """True for what stands in a secret's place and is none: a variable, a path, an address, a blank to fill in."""
    return bool(
        _REFERENCE.match(value) or _FILE.fullmatch(value) or _MAIL.fullmatch(value) or _DAY.fullmatch(value)
        or not value.strip("*•x.-_") or " " in value.strip()
    )  # fmt: skip


def _is_password(value: str) -> bool:
    if len(value) < _PASSWORD_CHARS or not value.isascii():
        return False
    if value.isdigit():
        return len(value) >= _NUMBER_CHARS
    return any(map(_mixes, _parts(value))) or (not value.islower() and _STRONG.intersection(value[1:-1]) != set())


def _is_token(value: str) -> bool:
    if len(value) < _TOKEN_CHARS or not value.isascii():
        return False
    digits = sum(char.isdigit() for char in value)
    return digits >= _TOKEN_DIGITS and any(_mixes(part) for part in _parts(value) if len(part) >= _TOKEN_PART_CHARS)


def _parts(value: str) -> list[str]:
    return [part for part in re.split(r"[-_/.:]", value) if part and not _KNOWN_WORDS.fullmatch(part)]


def _mixes(part: str) -> bool:
    """Letters and digits in one word: what people seldom write, and generators always do."""
    return any(char.isdigit() for char in part) and any(char.isalpha() for char in part)
