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
        # The fast lane needs nothing else of ours, so that everything may share its names and stamps.
        """_version markfile activity fastlane sessionlane errors records texts directive_texts events
        flushrecords access gate_texts""",
        "places opening mixtures decoding files setaside locking waiting settings trust tokens log",
        """days remem usage names session groupmap scope ownership tables cells index graphemes fences budget
        flush delta statetext statefile wordlists words_chat words_families words_generic words words_typos
        words_hangul words_han words_class words_forms words_table words_evidence words_score routing
        injection directive jsontext jsonedit textblocks findings audit_lines audit_words audit_tools audit_pointers
        audit_memory audit_index audit_fix reports credentials rawlines frontmatter noteblocks notepieces
        notesections notes routerows shell shell.records shell.tree shell.values shell.lex shell.tokens
        shell.plain shell.nodes shell.grammar shell.braces shell.expand shell.state shell.call shell.scope
        shell.options shell.specs shell.prints shell.settings shell.builtins shell.generic shell.own
        shell.files shell.archives shell.network shell.search shell.gitline shell.git shell.code shell.sed
        shell.filters shell.wrappers shell.commands shell.run shell.walk shell.reading toolcalls.table
        toolcalls.paths toolcalls.patterns toolcalls.gathering toolcalls.arguments toolcalls.patches
        toolcalls.lookups toolcalls.changes toolcalls.commands toolcalls.unknown toolcalls mentions
        protected gate_shut facts facts.claims facts.model facts.parts facts.boot facts.config facts.misses
        facts.grammar facts.repeats facts.rules facts.lint facts.draft facts.edits facts.yamlfile facts.show""",
        """prepared hashing walking scanning seen ledger flushstate aggregate workspace opened journal protocol
        protocol.ceiling protocol.subfiles protocol.loading protocol.group protocol.dm protocol.factindex writeback
        audit_secrets audit_scopes audit compose news guarded images notebook facts.desk facts.members
        facts.store holdings resolve gate_cover gate_case gate_rules gate_memory gate_shell gate
        store store.config store.conflictwords store.items store.migrations store.migrations.versions
        store.migrations.versions.r0001_memories store.moments store.base store.checks store.embedders
        store.extras store.postgres_rows store.postgres_setup store.secrets store.sentences
        store.sqlite_rows store.sqlite_schema store.terms store.conflicts store.postgres_search
        store.postgres_vectors store.skeletons store.sqlite_vectors store.likeness store.postgres_work
        store.sqlite_transaction store.comparing store.indexing store.postgres store.sqlite
        store.sqlite_articles store.backfilling store.merging store.recalling store.transfer store.records
        store.selftransfer store.selfstore store.api""",
        """hookspecs builtin builtin.channels builtin.intent builtin.memory plugin_records plugin_calls
        plugin_checks plugin_list plugins extensions""",
        "engine loader flusher advice sessions judge runtime serving watcher doctor doctor_system doctor_scope",
        """hosts hosts.claude_code hosts.claude_code_window hosts.claude_code_transcript
        hosts.claude_code_flush hosts.hookline hosts.installing hosts.claude_code_hooks hosts.claude_code_imports
        hosts.claude_code_rules hosts.claude_code_install hosts.openclaw hosts.openclaw_texts
        hosts.openclaw_standing hosts.openclaw_turns hosts.openclaw_config hosts.openclaw_peers
        hosts.openclaw_owner hosts.openclaw_files hosts.openclaw_install doctor_host doctor_events
        doctor_openclaw cli cli.common cli.write cli.route cli.archive
        cli.restore cli.pending cli.trust cli.init cli.install_openclaw cli.install cli.uninstall cli.group
        cli.explain cli.flush cli.status cli.openclaw_hook cli.hook cli.hookhelp cli.hookcommand cli.plugins
        cli.doctor cli.sweep cli.serve cli.watch cli.facts_common cli.facts_lint cli.facts_show
        cli.facts_write cli.facts cli.store_show cli.store cli.store_files cli.recall cli.remember cli.update
        cli.forget cli.dedup cli.backfill cli.store_export cli.store_import cli.selfmemory
        cli.auditing cli.audit cli.parser start testing.recorder testing.workspace testing.canaries testing
        aio __main__""",
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


@pytest.mark.parametrize(
    ("name", "handed_in"),
    [("fastlane", set()), ("sessionlane", {"fastlane", "activity"}), ("activity", {"markfile"}), ("markfile", set())],
)
def test_the_fast_lane_imports_nothing_heavy_and_of_ours_only_what_it_hands_in(name: str, handed_in: set[str]) -> None:
    used = {module for module, _ in imports(modules()[name])}
    ours = {module.removeprefix("apm_hooks.") for module in used if module.startswith("apm_hooks")}
    assert ours == handed_in
    # What stands under TYPE_CHECKING is never imported; the fallbacks serve interpreters without the C parts, and
    # `importlib` finds the session's lane where the whole library is there.
    light = {"os", "sys", "time", "fcntl", "errno", "_json", "_blake2"}
    assert used - {f"apm_hooks.{each}" for each in ours} <= light | {
        "json", "json.encoder", "hashlib", "importlib", "typing", "collections.abc"
    }  # fmt: skip
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    at_once = [module for node in tree.body if isinstance(node, ast.Import) for module in (node.names[0].name,)]
    assert set(at_once) <= light


def test_only_the_memory_doors_open_files() -> None:
    """One room opens memory files; the lane and the ledger have their own two lines, with the same flags."""
    doors = {
        "opening",
        "files",
        "fastlane",
        "sessionlane",
        "activity",
        "markfile",
        "watcher",
        "ledger",
        "start",
        "writeback",
        "hosts.claude_code_install",
        "hosts.installing",
        "cli.store_files",
        "hosts.claude_code_transcript",
        "cli.hook",
        "log",
        "cli.parser",
        "hashing",
        "walking",
    }
    for name, path in modules().items():
        source = path.read_text(encoding="utf-8")
        if name not in doors:
            assert not any(word in source for word in ("os.open(", " open(", "os.replace(", ".write_text(")), name


def test_only_places_and_the_lane_name_variables() -> None:
    allowed = {"places", "start", "fastlane", "sessionlane", "settings", "workspace", "texts", "cli.hook", "cli.parser",
               "cli.common"}  # fmt: skip
    for name, path in modules().items():
        if name not in allowed:
            assert '"APM_' not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", sorted(PLACE))
def test_no_module_grows_past_its_room(name: str) -> None:
    assert len(modules()[name].read_text(encoding="utf-8").splitlines()) <= 400
