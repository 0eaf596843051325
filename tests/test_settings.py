from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.errors import SettingsError
from apm_hooks.settings import Settings, load_settings


def load(tmp_path: Path, text: str = "", personal: str | None = None, **env: str) -> Settings:
    workspace, config = tmp_path / "ws", tmp_path / "config"
    workspace.mkdir(exist_ok=True)
    (workspace / "apm.toml").write_text(text, encoding="utf-8")
    if personal is not None:
        config.mkdir(exist_ok=True)
        (config / "config.toml").write_text(personal, encoding="utf-8")
    return load_settings(str(workspace), str(config), env)


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Settings()


def test_every_setting_can_be_set_and_says_where_it_came_from(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        'owner_peers = ["77"]\nrequire_session = true\nmatrix_match_without_server = true\n'
        'timezone = "Asia/Shanghai"\ntokenizer = "cl100k_base"\n'
        '[scopes]\n"b:*" = "none"\n"a" = "DM"\n',
    )
    assert found.owner_peers == ("77",)
    assert found.scopes == (("a", "DM"), ("b:*", "none"))
    assert (found.require_session, found.matrix_match_without_server) == (True, True)
    assert (found.timezone, found.tokenizer) == ("Asia/Shanghai", "cl100k_base")
    assert found.origins["owner_peers"] == str(tmp_path / "ws" / "apm.toml")


def test_the_personal_file_and_then_the_environment_come_on_top(tmp_path: Path) -> None:
    text = 'timezone = "Asia/Shanghai"\n'
    assert load(tmp_path, text, 'timezone = "Europe/Berlin"\n').timezone == "Europe/Berlin"
    found = load(tmp_path, text, 'timezone = "Europe/Berlin"\n', APM_TIMEZONE="UTC")
    assert (found.timezone, found.origins["timezone"]) == ("UTC", "APM_TIMEZONE")


def test_the_personal_file_cannot_set_who_reads_what(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="owner_peers"):
        load(tmp_path, "", 'owner_peers = ["*"]\n')


@pytest.mark.parametrize(
    ("text", "line", "key", "part"),
    [
        ('\nowner_peer = ["1"]\n', 2, "owner_peer", "Did you mean owner_peers?"),
        ("require_session = 'yes'\n", 1, "require_session", "boolean"),
        ("owner_peers = '77'\n", 1, "owner_peers", "list"),
        ("owner_peers = [77]\n", 1, "owner_peers.0", "string"),
        ("tokenizer = 3\n", 1, "tokenizer", "string"),
        ("plugins_block = ['x']\n", 1, "plugins_block", "your own config.toml"),
        ('[scopes]\n"cron:*" = 1\n', 1, "scopes.cron:*", "string"),
        ("zzz = 1\n", 1, "zzz", "Known here"),
        ('timezone = "Mars/Olympus"\n', 0, "timezone", "IANA"),
        ("a = \n", 1, "", "TOML"),
    ],
)
def test_a_wrong_setting_names_file_line_cause_and_remedy(
    tmp_path: Path, text: str, line: int, key: str, part: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    error = caught.value
    assert error.file == str(tmp_path / "ws" / "apm.toml")
    assert (error.line, error.key) == (line, key)
    assert part in str(error)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("true", True), ("yes", True), ("", True), ("ture", True), ("0", False), (" False ", False)],
)
def test_an_unreadable_switch_stays_on(tmp_path: Path, text: str, value: bool) -> None:
    assert load(tmp_path, "", APM_REQUIRE_SESSION=text).require_session is value


def test_owner_peers_from_the_environment(tmp_path: Path) -> None:
    assert load(tmp_path, "", APM_OWNER_PEERS="77, @me:example.org,").owner_peers == ("77", "@me:example.org")


def test_a_settings_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "other.toml").write_text('owner_peers = ["*"]\n')
    (tmp_path / "ws" / "apm.toml").symlink_to(tmp_path / "other.toml")
    with pytest.raises(SettingsError, match="symbolic link"):
        load_settings(str(tmp_path / "ws"), str(tmp_path / "config"), {})


@given(st.text(max_size=200))
def test_no_text_makes_it_fail_otherwise(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("settings")
    (folder / "apm.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_settings(str(folder), str(folder / "none"), {})
    except SettingsError as error:
        assert "\n" not in str(error)


def test_the_personal_file_and_the_environment_say_which_plugins_run(tmp_path: Path) -> None:
    found = load(tmp_path, "", 'plugins_block = ["a"]\nplugins_strict = true\n', APM_ALLOW_PLUGINS="b,c")
    assert (found.plugins_block, found.plugins_allow, found.plugins_strict) == (("a",), ("b", "c"), True)
    assert load(tmp_path, "", None, APM_DISABLE_PLUGINS="1").plugins_disabled is True
