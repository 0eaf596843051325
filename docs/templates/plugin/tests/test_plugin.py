import apm_hooks_mine
import pytest

from apm_hooks.testing import LeakChecker, TemporaryWorkspace

GROUP = "agent:main:telegram:group:-1001"
STRANGER = "agent:main:telegram:group:-9"


@pytest.fixture
def workspace(tmp_path):
    with TemporaryWorkspace(tmp_path, groups={"-1001": "alpha"}, plugins={"mine": apm_hooks_mine}) as made:
        made.write("memory/groups/alpha.md", "# Alpha\n")
        yield made


@pytest.mark.parametrize(("key", "told"), [(None, True), (GROUP, True), (STRANGER, False)])
def test_every_session_with_a_memory_gets_the_line(workspace, key, told):
    assert ("Write decisions down" in workspace.session_start(key).injection.text) is told


@pytest.mark.parametrize("key", [None, GROUP, STRANGER])
def test_no_session_sees_what_is_another_owners(workspace, key):
    checker = LeakChecker(workspace)
    loaded = workspace.session_start(key)
    checker.check(loaded.injection.text, loaded.decision.scope)
    checker.check(workspace.state(), None)


def test_nothing_went_wrong(workspace):
    workspace.session_start()
    assert workspace.log() == ()
