"""YAML as plain data with the line of each key. Pure; PyYAML comes with the extra `facts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apm_hooks.errors import SettingsError

NO_YAML = "is YAML, and PyYAML is not installed"
INSTALL = "Run: pip install 'apm-hooks[facts]'"


def read_yaml(text: str, file: str) -> tuple[dict[str, Any], Callable[[tuple[str | int, ...]], int]]:
    """The mapping that a YAML text holds (an empty one for an empty text), and the line of a key by its path of keys.

    Raises SettingsError naming `file`: for no YAML, for no mapping, for a key that stands twice, without PyYAML.
    """
    try:
        import yaml
    except ImportError:
        raise SettingsError(NO_YAML, file=file, remedy=INSTALL) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    lines: dict[tuple[str | int, ...], int] = {}
    try:
        node = loader.get_single_node()
        if node is None:
            return {}, lambda keys: 0
        _visit(node, (), lines, file)
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise SettingsError(f"is no YAML: {error.problem}", file=file, line=line) from error
    except SettingsError:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SettingsError(f"is no YAML: {error}", file=file) from error
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        raise SettingsError("holds no keys", file=file, remedy="Write it as key: value.")
    return data, lambda keys: lines.get(keys, 0)


def _visit(node: Any, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], file: str) -> None:
    """Note the lines of all keys; what is deeper than any of ours, and what an alias repeats, is not looked at."""
    if len(path) > 4 or path in lines:
        return
    lines[path] = node.start_mark.line + 1
    if node.id == "mapping":
        seen = set()
        for key, value in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise SettingsError(
                    "stands twice", file=file, line=key.start_mark.line + 1,
                    key=".".join(str(part) for part in (*path, key.value)), remedy="Keep one of the two.",
                )  # fmt: skip
            if isinstance(key.value, str):
                seen.add(key.value)
                _visit(value, (*path, key.value), lines, file)
                lines[(*path, key.value)] = key.start_mark.line + 1
    elif node.id == "sequence":
        for number, value in enumerate(node.value):
            _visit(value, (*path, number), lines, file)
