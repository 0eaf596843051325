"""What authors of plugins and frameworks test with: a clock, a workspace, a recorder of hooks, and a check for leaks.

>>> with TemporaryWorkspace(groups={"-1001": "alpha"}) as workspace:
...     checker = LeakChecker(workspace)
...     loaded = workspace.session_start("agent:main:telegram:group:-1001")
...     checker.check(loaded.injection.text, loaded.decision.scope)
...     [planted.path for planted in checker.found(loaded.injection.text)]
['memory/groups/alpha.md']

Nothing here needs a test framework, and nothing touches the real home, the real clock or the network.
"""

from __future__ import annotations

from apm_hooks.testing.canaries import LeakChecker, Planted, leaks
from apm_hooks.testing.recorder import Call, Recorder
from apm_hooks.testing.workspace import FakeClock, TemporaryWorkspace

__all__ = ["Call", "FakeClock", "LeakChecker", "Planted", "Recorder", "TemporaryWorkspace", "leaks"]
