"""No import runs upwards: every import statement of the package is read, those inside functions too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import apm_hooks

PACKAGE = Path(apm_hooks.__file__).parent

# A module may import only from a lower rank; modules of one rank only where they are listed in order.
RANKS: tuple[list[str], ...] = tuple(
    names.split()
    for names in (
        # The fast lane imports nothing of ours, so that everything may share its names and stamps.
        "_version fastlane errors records texts events",
        "places opening mixtures decoding files locking settings trust tokens log",
        """days names session groupmap scope ownership tables cells index graphemes fences budget
        wordlists words_chat words_families words_generic words words_typos words_hangul words_han words_class
        words_forms words_table words_evidence words_score routing injection jsonedit textblocks""",
        """prepared ledger flushstate workspace opened journal protocol protocol.ceiling protocol.subfiles
        protocol.loading protocol.group protocol.dm writeback compose""",
        """hookspecs builtin builtin.channels builtin.intent builtin.memory plugin_records plugin_calls plugin_checks
        plugin_list plugins extensions""",
        "runtime",
        """hosts hosts.claude_code hosts.hookline hosts.claude_code_hooks hosts.claude_code_imports
        hosts.claude_code_install cli cli.common cli.trust cli.init cli.install cli.uninstall cli.group cli.explain
        cli.hook cli.hookhelp cli.hookcommand cli.plugins cli.parser start testing.recorder testing.workspace
        testing.canaries testing aio __main__""",
    )
)
PLACE = {name: (rank, order) for rank, names in enumerate(RANKS) for order, name in enumerate(names)}

# Upwards by design: the script of the installed line, and the console script's short way to it.
ENTRANCES = {("start", "cli.hook"), ("cli", "start"), ("cli", "cli.parser"), ("cli.hookhelp", "start")}
PURE = set(RANKS[2])
IMPURE_MODULES = {"os", "io", "time", "random", "secrets", "socket", "subprocess", "pathlib", "shutil",
                  "tempfile", "threading", "fcntl"}  # fmt: skip


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imports(path: Path) -> list[tuple[str, int]]:
    """Names of every imported module, with the line; ours without the package's name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            module = node.module or ""
            ours = modules()
            for alias in node.names:
                inner = f"{module}.{alias.name}".removeprefix("apm_hooks.")
                found.append((f"apm_hooks.{inner}" if inner in ours else module, node.lineno))
    return found


def test_every_module_has_a_rank() -> None:
    assert set(modules()) == set(PLACE)


@pytest.mark.parametrize("name", sorted(PLACE))
def test_a_module_imports_only_from_below(name: str) -> None:
    for imported, line in imports(modules()[name]):
        if not imported.startswith("apm_hooks."):
            continue
        target = imported.removeprefix("apm_hooks.")
        if target == name or (name, target) in ENTRANCES:
            continue
        assert PLACE[target] < PLACE[name], f"{name}:{line} imports {target}, which is not below it"


@pytest.mark.parametrize("name", sorted(PURE))
def test_rank_two_has_no_file_no_clock_no_environment(name: str) -> None:
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    used = {module.split(".")[0] for module, _ in imports(modules()[name])}
    assert not used & IMPURE_MODULES
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"open", "input", "print"}
    methods = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not methods & {"now", "utcnow", "today", "fromtimestamp"}


def test_the_fast_lane_imports_nothing_of_ours_and_nothing_heavy() -> None:
    used = {module for module, _ in imports(modules()["fastlane"])}
    # What stands under TYPE_CHECKING is never imported; the two fallbacks serve interpreters without the C parts.
    assert used <= {"os", "sys", "time", "fcntl", "_json", "_blake2", "json", "hashlib", "typing", "collections.abc"}


def test_only_the_memory_doors_open_files() -> None:
    """One room opens memory files; the lane and the ledger have their own two lines, with the same flags."""
    doors = {
        "opening",
        "files",
        "fastlane",
        "ledger",
        "start",
        "writeback",
        "hosts.claude_code_install",
        "cli.hook",
        "log",
        "cli.parser",
    }
    for name, path in modules().items():
        source = path.read_text(encoding="utf-8")
        if name not in doors:
            assert not any(word in source for word in ("os.open(", " open(", "os.replace(", ".write_text(")), name


def test_only_places_and_the_lane_name_variables() -> None:
    allowed = {"places", "fastlane", "settings", "workspace", "texts", "cli.hook", "cli.parser", "cli.common"}
    for name, path in modules().items():
        if name not in allowed:
            assert '"APM_' not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", sorted(PLACE))
def test_no_module_grows_past_its_room(name: str) -> None:
    assert len(modules()[name].read_text(encoding="utf-8").splitlines()) <= 400
