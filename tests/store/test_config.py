"""`[store]` in the settings files and the variables before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from apm_hooks.errors import SettingsError
from apm_hooks.settings import STORE_VARIABLES, load_settings
from apm_hooks.store import api
from apm_hooks.store.config import EMBEDDERS, StoreSettings, load_store_settings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("ws", "config"):
        (tmp_path / name).mkdir()
    return tmp_path


def load(root: Path, shared: str = "", own: str = "", **env: str) -> StoreSettings:
    (root / "ws/apm.toml").write_text(shared)
    (root / "config/config.toml").write_text(own)
    load_settings(str(root / "ws"), str(root / "config"), env)
    return load_store_settings(str(root / "ws"), str(root / "config"), env)


def test_without_a_word_it_is_the_embedded_store_and_a_cloud_model(root: Path) -> None:
    assert load(root) == StoreSettings("", "", "none", "cloud", {})
    assert load_store_settings(str(root / "none"), str(root / "nowhere"), {}) == StoreSettings()


def test_what_the_user_says(root: Path) -> None:
    found = load(root, own='[store]\nurl = "postgresql://db/x"\nembedder = "packaged"\nmodel_locality = "local"\n'
                 f'[store.schemas]\n"{root}/ws/" = "mine"\n"/elsewhere" = "theirs"\n')  # fmt: skip
    own = str(root / "config/config.toml")
    assert found == StoreSettings(
        "postgresql://db/x", "mine", "packaged", "local",
        {"url": own, "embedder": own, "model_locality": own, "schema": own},
    )  # fmt: skip


def test_a_workspace_names_an_embedder_and_the_user_goes_before_it(root: Path) -> None:
    shared = '[store]\nembedder = "hashed"\n'
    assert load(root, shared).embedder == "hashed"
    assert load(root, shared, '[store]\nembedder = "packaged"\n').embedder == "packaged"
    assert load(root, shared, APM_STORE_EMBEDDER="none").embedder == "none"


def test_variables_go_before_files(root: Path) -> None:
    own = '[store]\nurl = "postgresql://db/x"\nmodel_locality = "local"\n'
    found = load(root, own=own, APM_STORE_URL=" sqlite ", APM_MODEL_LOCALITY="cloud")
    assert (found.url, found.model_locality) == ("", "cloud")
    assert found.origins == {"url": "APM_STORE_URL", "model_locality": "APM_MODEL_LOCALITY"}
    assert load(root, APM_STORE_URL="postgres://h/y").url == "postgres://h/y"


@pytest.mark.parametrize("said", ["url", "model_locality", "schemas"])
def test_a_pull_cannot_say_where_memories_go_nor_that_a_model_is_local(root: Path, said: str) -> None:
    value = "{}" if said == "schemas" else '"local"'
    with pytest.raises(SettingsError) as caught:
        load(root, f"timezone = 'UTC'\n[store]\n{said} = {value}\n")
    error = caught.value
    assert (error.cause, error.line, error.key) == ("cannot be set by a workspace", 3, f"store.{said}")
    assert error.file == str(root / "ws/apm.toml")


@pytest.mark.parametrize(
    ("own", "line", "key"),
    [
        ("store = 3", 0, "store"), ("[store]\nuri = 'x'", 2, "store.uri"), ("[store]\nurl = 3", 2, "store.url"),
        ("[store]\nurl = 'mysql://bob:hunter2@x'", 2, "store.url"), ("\n[store]\nembedder = 'X'", 3, "store.embedder"),
        ("[store]\nmodel_locality = 'Local'", 2, "store.model_locality"), ("[store]\nschemas = 1", 2, "store.schemas"),
        ("[store]\n[store.schemas]\n'/a' = ''", 2, "store.schemas"), ("[store]\nmodel_locality = true", 2,
                                                                     "store.model_locality"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named_by_line(root: Path, own: str, line: int, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(root, own=own)
    assert (caught.value.line, caught.value.key) == (line, key)
    assert "hunter2" not in str(caught.value)
    assert caught.value.remedy


def test_a_likely_key_is_named(root: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean embedder"):
        load(root, own="[store]\nembeder = 'none'")
    with pytest.raises(SettingsError, match="Known here: embedder"):
        load(root, "[store]\nx = 'none'")


@pytest.mark.parametrize("variable", sorted(STORE_VARIABLES))
def test_a_variable_that_makes_no_sense_is_named_and_not_repeated(root: Path, variable: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(root, **{variable: "mysql://bob:hunter2@x"})
    assert caught.value.key == variable
    assert ("hunter2" in str(caught.value)) == (variable != "APM_STORE_URL")


def test_the_embedders_are_those_that_can_be_made() -> None:
    assert EMBEDDERS == api.EMBEDDERS
    made = [api.embedder_named(name) for name in EMBEDDERS]
    assert [each is None for each in made] == [name == "none" for name in EMBEDDERS]
    assert all(each is None or each.packaged for each in made), "a workspace may name each of them"
