"""`[store]` of the user's own `config.toml` and of `apm.toml`, and the variables that go before both, checked.

A workspace may say which packaged embedder its memories are searched by. Where memories go (`url`, `schemas`) and
whether the model is local (`model_locality`) is the user's own word: a pull must not send memories to another server,
nor open the agent's own notes to a provider.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from apm_hooks.errors import SettingsError
from apm_hooks.places import SETTINGS_FILE
from apm_hooks.settings import PERSONAL_FILE, STORE_VARIABLES, read_table

TABLE = "store"
EMBEDDERS = ("none", "packaged", "hashed")
"""The embedders that a setting may name (see `embedders`)."""
LOCALITIES = ("cloud", "local")
_SHARED = ("embedder",)
_PERSONAL = ("url", "embedder", "model_locality", "schemas")
_PREFIXES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """`url`: empty for the embedded store, or `postgresql://…`, where `schema` is this workspace's (empty: one made
    from its path). `embedder`: one of EMBEDDERS. `model_locality`: `local` where the user says so. `origins` names for
    each that is no default where it came from."""

    url: str = ""
    schema: str = ""
    embedder: str = "none"
    model_locality: str = "cloud"
    origins: Mapping[str, str] = field(default_factory=dict)


def load_store_settings(root: str, config: str, env: Mapping[str, str]) -> StoreSettings:
    """The store's settings for the workspace `root`, with the personal file in the directory `config`, and `env` on
    top. Raises SettingsError naming file, line, key, cause and remedy; never a URL, which may hold a password."""
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for directory, name, allowed in ((root, SETTINGS_FILE, _SHARED), (config, PERSONAL_FILE, _PERSONAL)):
        for key, value in _table(directory, name, allowed, root).items():
            values[key], origins[key] = value, os.path.join(directory, name)
    for variable, key in STORE_VARIABLES.items():
        if variable in env:
            cause, remedy = _wrong(key, env[variable].strip())
            if cause:
                raise SettingsError(cause, key=variable, remedy=remedy)
            values[key], origins[key] = env[variable].strip(), variable
    if values.get("url") == "sqlite":
        values["url"] = ""
    return StoreSettings(**{key: value for key, value in values.items() if value}, origins=origins)


def _table(directory: str, name: str, allowed: tuple[str, ...], root: str) -> dict[str, str]:
    """The keys of `[store]` in one file, each a text; of `schemas` the one of this workspace, as `schema`."""
    table, text, shown = read_table(directory, name, TABLE)
    if table is None:
        return {}

    def error(key: str, cause: str, remedy: str) -> SettingsError:
        where = f"{TABLE}.{key}" if key else TABLE
        return SettingsError(cause, file=shown, line=_line_of(text, key), key=where, remedy=remedy)

    if not isinstance(table, Mapping):
        raise error("", "is no table", f"Write it as [{TABLE}].")
    found: dict[str, str] = {}
    for key, value in table.items():
        if key in _PERSONAL and key not in allowed:
            raise error(key, "cannot be set by a workspace", f"Set it in your own {PERSONAL_FILE}.")
        if key not in allowed:
            raise error(key, "is no setting of the store", _did_you_mean(key, allowed))
        if key == "schemas":
            found.update(_own_schema(value, root, lambda cause: error("schemas", cause, 'Write: "/path" = "name".')))
            continue
        cause, remedy = _wrong(key, value)
        if cause:
            raise error(key, cause, remedy)
        found[key] = value.strip()
    return found


def _own_schema(value: object, root: str, error: Callable[[str], SettingsError]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise error("is no table")
    found = {}
    for path, schema in value.items():
        if not isinstance(schema, str) or not schema:
            raise error(f"gives {path!r} no name of a schema")
        if os.path.realpath(os.path.expanduser(path)) == os.path.realpath(root):
            found["schema"] = schema
    return found


def _wrong(key: str, value: object) -> tuple[str, str]:
    """Why a value cannot be that key's, and what to do; empty where it can."""
    if not isinstance(value, str):
        return "is no text", "Put it in quotes."
    text = value.strip()
    if key == "url":
        if text in ("", "sqlite") or text.startswith(_PREFIXES):
            return "", ""
        return "is no address of a store", "Leave it out for the embedded store, or write postgresql://HOST/DATABASE."
    allowed = EMBEDDERS if key == "embedder" else LOCALITIES
    return ("", "") if text in ("", *allowed) else (f"{text!r} is none of {', '.join(allowed)}", "Write one of these.")


def _did_you_mean(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(known)}."


def _line_of(text: str, key: str) -> int:
    """The line of a key below `[store]`, else of the table; 0 where that is not known."""
    lines = [line.strip() for line in text.split("\n")]
    heads = [number for number, line in enumerate(lines, 1) if line.startswith((f"[{TABLE}]", f"[{TABLE}."))]
    if not heads:
        return 0
    if key == "schemas" and f"[{TABLE}.schemas]" in lines:
        return lines.index(f"[{TABLE}.schemas]") + 1
    named = (number for number, line in enumerate(lines, 1)
             if number > heads[0] and line.split("=")[0].strip().strip("\"'") == key)  # fmt: skip
    return next(named, heads[0])
