"""`apm.toml`, the user's own `config.toml` and the environment, as one frozen Settings with each value's origin.

A key that is not known is an error, not a shrug: `owner_peer` for `owner_peers` would silently change who may read
what (protocol, section 3). Any error here means that nothing is injected.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from apm_hooks.errors import MemoryFileError, SettingsError
from apm_hooks.files import decode, read_bytes
from apm_hooks.places import SETTINGS_FILE
from apm_hooks.records import LIMITS

if TYPE_CHECKING:
    from pydantic import BaseModel

PRIVACY_KEYS = ("owner_peers", "scopes", "require_session", "matrix_match_without_server", "gate_strict")
"""Settings that decide who may read what: pinned by digest when a workspace is trusted."""

_PLUGIN_KEYS = ("plugins_disabled", "plugins_allow", "plugins_block", "plugins_strict")
_FLUSH_KEYS = ("idle_minutes", "flush_at_percent", "context_window", "compaction_at")
_PERSONAL_KEYS = ("timezone", "tokenizer", "dm_ceiling", *_FLUSH_KEYS, *_PLUGIN_KEYS)
_SHARED_KEYS = (*PRIVACY_KEYS, "timezone", "tokenizer", "dm_ceiling", *_FLUSH_KEYS)
"""What a workspace's own file may set: not which plugins run, because one of them may guard it against a pull."""
_OTHERS = ("facts", "store")
"""Tables of a workspace's file that other rooms read, and check."""
_PERSONAL_OTHERS = ("store",)
"""The same of the user's own file."""
PERSONAL_FILE = "config.toml"
STORE_VARIABLES = {
    "APM_STORE_URL": "url",
    "APM_STORE_EMBEDDER": "embedder",
    "APM_MODEL_LOCALITY": "model_locality",
}
"""Variables that take the place of keys of `[store]`."""
_SWITCHES = ("require_session", "gate_strict", "plugins_disabled", "plugins_strict")
_LISTS = ("owner_peers", "plugins_allow", "plugins_block")
CEILINGS = ("advise", "enforce", "off")
_CHOICES = {"dm_ceiling": CEILINGS}
_FROM_ENVIRONMENT = {
    "APM_TIMEZONE": "timezone",
    "APM_TOKENIZER": "tokenizer",
    "APM_REQUIRE_SESSION": "require_session",
    "APM_OWNER_PEERS": "owner_peers",
    "APM_GATE_STRICT": "gate_strict",
    "APM_DM_CEILING": "dm_ceiling",
    "APM_IDLE_MINUTES": "idle_minutes",
    "APM_FLUSH_AT_PERCENT": "flush_at_percent",
    "APM_CONTEXT_WINDOW": "context_window",
    "APM_COMPACTION_AT": "compaction_at",
    "APM_DISABLE_PLUGINS": "plugins_disabled",
    "APM_ALLOW_PLUGINS": "plugins_allow",
    "APM_BLOCK_PLUGINS": "plugins_block",
    "APM_STRICT_PLUGINS": "plugins_strict",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a workspace is set to. `origins` names, key by key, where a value that is no default came from; `declared`
    are the privacy settings as the files alone have them.

    `owner_peers`: peers that are the owner (`["*"]`: whoever can reach the bot). `scopes`: glob of a session key →
    `DM`, `Group(name)` or `none`. `require_session`: without a session key there is no scope.
    `matrix_match_without_server`: a Matrix room id matches without its server. `gate_strict`: what the gate cannot
    judge is denied in every scope. `dm_ceiling`: where the owner's context loads more files than the protocol's two,
    the agent is told so once (`advise`), the call denied as in a group (`enforce`), or neither (`off`). `timezone`:
    IANA name for calendar days (empty: the machine's). `tokenizer`: tiktoken's name of an encoding, or one that a
    plugin counts for. `idle_minutes`: a session that was quiet for so long is flushed, once. `flush_at_percent`: how
    full a context is when memory should be written back early; `context_window` (tokens) and `compaction_at` (tokens at
    which the host compacts by itself) take the place of what the host says (0). `plugins_…`: no external plugins at
    all, only these, not these, and errors in place of warnings.
    """

    owner_peers: tuple[str, ...] = ()
    scopes: tuple[tuple[str, str], ...] = ()
    require_session: bool = False
    matrix_match_without_server: bool = False
    gate_strict: bool = False
    dm_ceiling: str = "advise"
    timezone: str = ""
    tokenizer: str = "o200k_base"
    idle_minutes: int = 30
    flush_at_percent: int = 80
    context_window: int = 0
    compaction_at: int = 0
    plugins_disabled: bool = False
    plugins_allow: tuple[str, ...] = ()
    plugins_block: tuple[str, ...] = ()
    plugins_strict: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)

    def from_environment(self, key: str) -> bool:
        """True where a variable of this process sets the value: its operator's own word, which needs no pin."""
        return self.origins.get(key, "") in _FROM_ENVIRONMENT


@lru_cache(maxsize=1)
def _model() -> type[BaseModel]:
    # pydantic costs more than the rest of a session start: it is imported where a file is really read.
    from typing import Literal

    from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

    class SettingsFile(BaseModel):
        model_config = ConfigDict(extra="forbid")

        owner_peers: list[StrictStr] = []
        scopes: dict[StrictStr, StrictStr] = {}
        require_session: StrictBool = False
        matrix_match_without_server: StrictBool = False
        gate_strict: StrictBool = False
        dm_ceiling: Literal["advise", "enforce", "off"] = "advise"
        timezone: StrictStr = ""
        tokenizer: StrictStr = "o200k_base"
        idle_minutes: StrictInt = Field(30, ge=1, le=7 * 24 * 60)
        flush_at_percent: StrictInt = Field(80, ge=1, le=99)
        context_window: StrictInt = Field(0, ge=0, le=10**9)
        compaction_at: StrictInt = Field(0, ge=0, le=10**9)
        plugins_disabled: StrictBool = False
        plugins_allow: list[StrictStr] = []
        plugins_block: list[StrictStr] = []
        plugins_strict: StrictBool = False

    return SettingsFile


def load_settings(workspace: str, config: str, env: Mapping[str, str]) -> Settings:
    """Settings of `workspace` (an absolute directory), with the personal file in the directory `config` and
    `APM_*` of `env` on top. Raises SettingsError naming file, line, key, cause and remedy.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for directory, name, allowed in (
        (workspace, SETTINGS_FILE, _SHARED_KEYS),
        (config, PERSONAL_FILE, _PERSONAL_KEYS),
    ):
        for key, value in _read_toml(directory, name, allowed).items():
            values[key], origins[key] = value, os.path.join(directory, name)
    declared = {key: values[key] for key in PRIVACY_KEYS if key in values}
    for variable, key in _FROM_ENVIRONMENT.items():
        if variable in env:
            values[key], origins[key] = _from_text(key, env[variable], variable), variable
    if values.get("timezone"):
        _check_timezone(values["timezone"], origins["timezone"])
    clean: dict[str, Any] = {}
    for key, value in values.items():
        clean[key] = tuple(value) if isinstance(value, list) else value
    if "scopes" in clean:
        clean["scopes"] = tuple(sorted(clean["scopes"].items()))
    return Settings(**clean, origins=origins, declared=declared)


def _read_toml(directory: str, name: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    raw, text, shown = _parsed(directory, name)
    if not raw:
        return {}
    others = _OTHERS if allowed is _SHARED_KEYS else _PERSONAL_OTHERS
    raw = {key: value for key, value in raw.items() if key not in others}
    return _checked(raw, text, shown, allowed)


def read_table(directory: str, name: str, table: str) -> tuple[object, str, str]:
    """What a settings file says under `table` (None: nothing), unchecked, with the file's text and its path for errors.
    For the rooms that check their own table. Raises SettingsError."""
    raw, text, shown = _parsed(directory, name)
    return raw.get(table), text, shown


def _parsed(directory: str, name: str) -> tuple[dict[str, Any], str, str]:
    """What a settings file holds, its text, its path; empty where there is none."""
    import tomllib

    shown = os.path.join(directory, name)
    if not os.path.isdir(directory):
        return {}, "", shown
    try:
        found = read_bytes(directory, name, limit=LIMITS.settings_bytes)
        if found is None:
            return {}, "", shown
        text, _ = decode(found[0], name)
    except MemoryFileError as error:
        raise SettingsError(error.cause, file=shown, remedy=error.remedy) from error
    try:
        return tomllib.loads(text), text, shown
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SettingsError(f"is no TOML: {error}", file=shown, line=_line_in(str(error))) from error


def _checked(raw: dict[str, Any], text: str, shown: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    from pydantic import ValidationError

    for key in raw:
        if key in _PLUGIN_KEYS and key not in allowed:
            raise SettingsError(
                "cannot be set by a workspace", file=shown, line=_line_of(text, key), key=key,
                remedy="Set it in your own config.toml or in the environment.",
            )  # fmt: skip
        if key not in allowed:
            raise SettingsError(
                "is no setting", file=shown, line=_line_of(text, key), key=key, remedy=_did_you_mean(key, allowed)
            )
    try:
        checked = _model().model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"{first['msg'][0].lower()}{first['msg'][1:]}",
            file=shown, line=_line_of(text, str(first["loc"][0])), key=key,
            remedy="See the settings in the documentation.",
        ) from error  # fmt: skip
    return checked.model_dump(include=set(raw))


def _did_you_mean(key: str, known: tuple[str, ...]) -> str:
    import difflib

    close = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(known)}."


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.split("\n"), 1):
        head = line.strip().lstrip("[").split("=")[0].strip().strip("]").strip("\"'")
        if head == key:
            return number
    return 0


def _line_in(message: str) -> int:
    """The line number in tomllib's message; it has no attribute for it before Python 3.14."""
    _, _, rest = message.partition("(at line ")
    digits = rest.partition(",")[0]
    return int(digits) if digits.isdigit() else 0


def _from_text(key: str, text: str, variable: str) -> object:
    if key in _SWITCHES:
        # An unreadable switch must not open what it guards.
        return text.strip().lower() not in ("0", "false", "no", "off")
    if key in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    if key in _CHOICES:
        return _choice(key, text, variable)
    return _number(key, text, variable) if key in _FLUSH_KEYS else text


def _choice(key: str, text: str, variable: str) -> str:
    if text.strip() not in _CHOICES[key]:
        choices = ", ".join(_CHOICES[key])
        raise SettingsError(f"{text!r} is none of {choices}", key=variable, remedy=f"Unset {variable}, or say one.")
    return text.strip()


def _number(key: str, text: str, variable: str) -> int:
    """A whole number from the environment, within the bounds that the files have too."""
    from pydantic import ValidationError

    try:
        return int(getattr(_model().model_validate({key: int(text.strip())}), key))
    except ValidationError as error:
        cause = error.errors()[0]["msg"]
        raise SettingsError(f"{cause[0].lower()}{cause[1:]}", key=variable, remedy=f"Unset {variable}.") from error
    except ValueError as error:
        raise SettingsError(f"{text!r} is no whole number", key=variable, remedy=f"Unset {variable}.") from error


def _check_timezone(name: str, origin: str) -> None:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise SettingsError(
            f"{name!r} is no time zone", file=origin, key="timezone", remedy="Use an IANA name such as Asia/Shanghai."
        ) from error
