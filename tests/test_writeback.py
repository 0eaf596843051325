from __future__ import annotations

import json
import re
import stat
import unicodedata
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import writeback
from apm_hooks.errors import ApmError, LockTimeoutError, MemoryFileError, NameRefusedError, SettingsError
from apm_hooks.files import state_directory
from apm_hooks.groupmap import read_group_map
from apm_hooks.index import parse_index
from apm_hooks.locking import locked
from apm_hooks.records import DM, LIMITS, Scope, ScopeKind
from apm_hooks.settings import Settings, load_settings
from apm_hooks.workspace import GROUP_MAP

ALPHA = Scope(ScopeKind.GROUP, "alpha")
TEMPLATES = Path(writeback.__file__).parent / "templates"
LIMIT_OF_MEMORY_MD = 30


def read(root: Path, path: str) -> str:
    return (root / path).read_bytes().decode()


def test_where_there_is_a_fact_index_the_block_holds_its_rules(tmp_path: Path) -> None:
    root, file = str(tmp_path), tmp_path / "AGENTS.md"
    writeback.put_agents_block(root)
    assert "INDEX.md" not in file.read_text("utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/INDEX.md").write_text("# Facts\n")
    assert writeback.put_agents_block(root) is True
    assert writeback.template("facts.agents.md") in file.read_text("utf-8")
    (tmp_path / "memory/INDEX.md").unlink()
    assert writeback.put_agents_block(root) is True
    assert "INDEX.md" not in file.read_text("utf-8")


def test_a_new_workspace_is_what_the_loader_expects(tmp_path: Path) -> None:
    created = writeback.initialise(str(tmp_path))
    index = parse_index(read(tmp_path, DM.index_path), DM)
    assert (index.problems, index.budget_tokens) == ((), LIMITS.dm_budget_tokens)
    assert len(index.hard_rules) == 2
    assert {f"{DM.directory}/{route.path}" for route in index.routes} <= set(created)
    assert read(tmp_path, GROUP_MAP) == "{}\n"
    assert len(read(tmp_path, "MEMORY.md").splitlines()) <= LIMIT_OF_MEMORY_MD


@pytest.mark.parametrize("name", ["alpha", "研发群", "parent/child"])
def test_a_new_group_is_what_the_loader_expects(tmp_path: Path, name: str) -> None:
    scope = Scope(ScopeKind.GROUP, name)
    created = writeback.initialise_group(str(tmp_path), name)
    index = parse_index(read(tmp_path, scope.index_path), scope)
    assert (index.problems, index.budget_tokens) == ((), LIMITS.group_budget_tokens)
    assert index.meta["group_name"] == name
    assert {f"{scope.directory}/{route.path}" for route in index.routes} == set(created) - {scope.index_path}
    assert [route.priority for route in index.routes] == [0, 1, 2, 3]


def test_the_settings_template_changes_nothing_until_it_is_uncommented(tmp_path: Path) -> None:
    text = writeback.template("apm.toml")
    file = tmp_path / "apm.toml"
    file.write_text(text)
    assert load_settings(str(tmp_path), str(tmp_path / "none"), {}) == Settings()
    file.write_text(re.sub(r"^# (?=\w+ = |\[|\")", "", text, flags=re.MULTILINE))
    found = load_settings(str(tmp_path), str(tmp_path / "none"), {})
    assert set(found.origins) == {"owner_peers", "require_session", "timezone", "scopes"}


@pytest.mark.parametrize("path", sorted(TEMPLATES.rglob("*.*")), ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_templates_are_plain_text_that_ends_in_a_newline(path: Path) -> None:
    data = path.read_bytes()
    assert data.decode().isprintable() or b"\n" in data
    assert data.endswith(b"\n")
    assert b"\r" not in data
    assert not data.startswith(b"\xef\xbb\xbf")


def test_nothing_is_created_behind_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "memory").symlink_to(outside)
    for create in (writeback.initialise, partial(writeback.initialise_group, name="alpha")):
        with pytest.raises(MemoryFileError, match="memory: is a symbolic link"):
            create(str(root))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["..", "a/../b", "/etc", "", "index"])
def test_no_group_is_created_under_a_name_that_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NameRefusedError):
        writeback.initialise_group(str(tmp_path), name)
    assert list(tmp_path.rglob("*")) == []


def test_the_block_in_agents_md_is_found_written_and_kept_up_to_date(tmp_path: Path) -> None:
    root, file = str(tmp_path), tmp_path / "AGENTS.md"
    assert writeback.has_agents_block(root) is False
    assert writeback.put_agents_block(root) is True
    assert writeback.has_agents_block(root) is True
    assert writeback.put_agents_block(root) is False
    text = file.read_text()
    file.write_text("# Above\n\n" + text.replace(writeback.template("AGENTS.md.template"), "old\n") + "\nbelow\n")
    assert writeback.put_agents_block(root) is True
    assert file.read_text() == f"# Above\n\n{text}\nbelow\n"


def test_what_is_no_utf8_around_the_block_keeps_its_bytes_and_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(b"# caf\xe9\n")
    file.chmod(0o600)
    writeback.put_agents_block(str(tmp_path))
    assert file.read_bytes().startswith(b"# caf\xe9\n\n<!-- apm-hooks:begin memory -->\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_half_a_block_is_no_block(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x\n<!-- apm-hooks:end memory -->\n")
    assert writeback.has_agents_block(str(tmp_path)) is False
    with pytest.raises(SettingsError, match=r"AGENTS\.md:2 \[memory\]: the block ends and did not begin"):
        writeback.put_agents_block(str(tmp_path))


def test_a_group_can_be_added_by_its_whole_session_key(tmp_path: Path) -> None:
    key = "agent:main:telegram:group:-100777"
    assert writeback.add_group(str(tmp_path), "alpha", key) is True
    entry = read_group_map(read(tmp_path, GROUP_MAP), file=GROUP_MAP).entries[0]
    assert (entry.id, entry.channel, entry.name) == ("-100777", "telegram", "alpha")


def test_an_entry_can_be_bound_to_a_channel_later_and_stays_bound(tmp_path: Path) -> None:
    root = str(tmp_path)
    writeback.add_group(root, "alpha", "-1")
    assert writeback.add_group(root, "alpha", "-1", "telegram") is True
    assert writeback.add_group(root, "alpha", "-1") is False
    assert json.loads(read(tmp_path, GROUP_MAP)) == {"-1": {"name": "alpha", "channel": "telegram"}}


def test_a_map_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / GROUP_MAP
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    file.chmod(0o640)
    writeback.add_group(str(tmp_path), "alpha", "-1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00}\x00", b'{"-1": "\xff"}', b'{"-1": "a", "-1": "b"}', b"[]", b"{"])
def test_a_map_that_cannot_be_read_is_named_and_kept(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / GROUP_MAP
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    with pytest.raises(SettingsError, match=GROUP_MAP):
        writeback.add_group(str(tmp_path), "alpha", "-2")
    assert file.read_bytes() == data


@pytest.mark.parametrize("lock", ["groups.lock", "agents.lock"])
def test_a_writer_waits_for_the_other_and_no_longer_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    root = str(tmp_path)
    monkeypatch.setattr(writeback, "locked", partial(locked, seconds=0))
    with locked(str(tmp_path / state_directory(root, "locks") / lock)), pytest.raises(LockTimeoutError, match=lock):
        if lock == "groups.lock":
            writeback.add_group(root, "alpha", "-1")
        else:
            writeback.put_agents_block(root)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".apm"]


NAMES = st.one_of(st.sampled_from(["a", "A", "b", "b/c", "..", "con", "\u00e9", "e\u0301", "研"]), st.text(max_size=6))
IDS = st.one_of(st.sampled_from(["-1", "-2", "!R:x.org", "agent:a:telegram:group:-1"]), st.text(max_size=8))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(IDS, NAMES, max_size=4), NAMES, IDS)
def test_adding_takes_nothing_from_the_others_and_counts_or_changes_nothing(
    tmp_path: Path, before: dict[str, str], name: str, id_: str
) -> None:
    file = tmp_path / GROUP_MAP
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(before)
    file.write_text(text)
    old = {entry.key: entry.name for entry in read_group_map(text, file=GROUP_MAP).entries}
    try:
        writeback.add_group(str(tmp_path), name, id_)
    except ApmError as error:
        assert isinstance(error, (SettingsError, NameRefusedError))
        assert error.file == GROUP_MAP
        assert file.read_text() == text
        return
    new = {entry.key: entry.name for entry in read_group_map(file.read_text(), file=GROUP_MAP).entries}
    wanted = {key: unicodedata.normalize("NFC", text) for key, text in {**before, id_: name}.items()}
    # An entry that was refused because of the one that is replaced may count now.
    assert {key: wanted[key] for key in new} == new
    assert {*old, id_} <= set(new)
