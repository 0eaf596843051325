"""`apm-hooks doctor`: what is wrong with the installation, the hosts' settings and the workspace, and what mends it."""

from __future__ import annotations

import argparse
import os
import time

from apm_hooks import doctor, doctor_events, doctor_host, doctor_openclaw, doctor_scope, doctor_system
from apm_hooks.cli.common import event_of, in_no_session, print_json, say, workspace_of
from apm_hooks.doctor import Check, Level, Probe, Subject
from apm_hooks.errors import ApmError, ScopeError
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.runtime import Runtime

PROBES: tuple[Probe, ...] = (
    Probe("installation", doctor_host.installation, opened=False),
    Probe("interpreter", doctor_host.interpreter, opened=False),
    Probe("hooks", doctor_host.hooks, opened=False),
    Probe("hooks", doctor_openclaw.hooks, opened=False),
    Probe("hooks", doctor_openclaw.configuration, opened=False),
    Probe("trust", doctor.trust, opened=False),
    Probe("sharing", doctor_host.sharing),
    Probe("sharing", doctor_openclaw.chats),
    Probe("gate", doctor_system.gate),
    Probe("events", doctor_events.events),
    Probe("events", doctor_openclaw.events),
    Probe("early-flush", doctor_events.early),
    Probe("rights", doctor_system.rights),
    Probe("file-system", doctor_system.file_system),
    Probe("notices", doctor_system.notices),
    Probe("clock", doctor_system.clock),
    Probe("states", doctor_scope.states, scoped=True),
    Probe("locks", doctor_scope.locks, scoped=True),
    Probe("leftovers", doctor_scope.leftovers, scoped=True),
    Probe("sessions", doctor_scope.marks, scoped=True),
    Probe("times", doctor_scope.times, scoped=True),
    Probe("aggregate", doctor_scope.group_rows),
    Probe("watch", doctor_system.watching),
    Probe("ledgers", doctor.ledgers),
    Probe("log", doctor.log),
)
"""Every check, in the order in which it is made and told."""

FIX_REFUSED = "mending is the operator's"
FIX_REFUSED_REMEDY = "Run it in the owner's terminal, without --session and APM_SESSION."

_EPILOG = """\
examples:
  apm-hooks doctor          every check, one line for each thing that it found
  apm-hooks doctor --fix    mend what can be mended without a loss, and look again

levels: ok; note, worth knowing; warning, costs something or may go wrong; error, broken
exit codes: 0 without an error, 1 with one
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Looks at the installation, the hosts' settings and the workspace, and says for each check what it found and "
        "what to do about it. Inside a conversation it looks at that conversation's own records alone. Without --fix "
        "it changes nothing."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "--fix", action="store_true",
        help="close .apm/ to others, mend damaged states, rebuild the groups' aggregate, clear away what writers that "
             "were killed left; only in the terminal",
    )  # fmt: skip


def act(options: argparse.Namespace) -> int:
    operator = in_no_session(options)
    if options.fix and not operator:
        raise ScopeError(FIX_REFUSED, remedy=FIX_REFUSED_REMEDY)
    subject = _subject(options, operator=operator)
    found = []
    for check in doctor.examine(subject, PROBES, fix=options.fix):
        found.append(check)
        if not options.json:
            say(_line(check))
    errors = sum(check.level is Level.ERROR for check in found)
    if options.json:
        print_json({
            "workspace": subject.root,
            "checks": [{"check": check.check, "level": check.level.value, "text": check.text,
                        "remedy": check.remedy or None} for check in found],
            "errors": errors,
        })  # fmt: skip
    return ApmError.exit_code if errors else 0


def _subject(options: argparse.Namespace, *, operator: bool) -> Subject:
    """What the command looks at: all of it for the operator, who is also told why a workspace cannot be used; inside a
    session its own scope."""
    root = workspace_of(options)
    try:
        runtime = Runtime(root, os.environ, clock=time.time)
    except ApmError as error:
        if not operator:
            raise
        return Subject(root, os.environ, None, error, operator=True)
    if operator:
        names = sorted({entry.name for entry in runtime.workspace.declared.entries})
        scopes = (DM, *(Scope(ScopeKind.GROUP, name) for name in names))
        return Subject(root, os.environ, runtime, scopes=scopes, operator=True)
    decision = runtime.decide(event_of(options, runtime))
    if decision.scope is None:
        raise ScopeError(decision.detail, remedy=decision.remedy)
    return Subject(root, os.environ, runtime, scopes=(decision.scope,))


def _line(check: Check) -> str:
    text = f"{check.text.rstrip('.')}. {check.remedy}" if check.remedy else check.text
    return f"{check.level.value:8} {check.check:13} {' '.join(text.split())}"
