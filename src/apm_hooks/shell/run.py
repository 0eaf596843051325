"""Simple commands run as the shell runs them: words expanded, files opened, the program told what to do."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from apm_hooks.shell.builtins import declared
from apm_hooks.shell.call import Call, Record
from apm_hooks.shell.commands import run_program
from apm_hooks.shell.expand import fields, heredoc, single
from apm_hooks.shell.own import changed, names_ours
from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError, UseKind, words
from apm_hooks.shell.scope import StateScope
from apm_hooks.shell.state import Outcome, State, either, either_outcome, same
from apm_hooks.shell.tree import Assignment, Node, Parsed, Redirect, Sequence, Simple, Variable, Word
from apm_hooks.shell.values import GLOB, NO_OUTPUT, UNKNOWN_OUTPUT, Output, Value, text_value, value_lines

_CHANGES_PROGRAMS = re.compile(
    r"PATH|CDPATH|IFS|ENV|BASH_ENV|SHELL|LD_\w+|DYLD_\w+|PYTHON\w+|NODE_\w+|PERL\w+|RUBY\w+|GIT_\w+|LESS\w*|PAGER"
    r"|MANPAGER|EDITOR|VISUAL|PROMPT_COMMAND|PS[0-4]|GLOBIGNORE|BASHOPTS|SHELLOPTS|\w*_OPTIONS|\w+OPTS?|XDG_\w+|ZDOTDIR"
    r"|BASH_\w+|TAR_\w+|RIPGREP_\w+|AWK\w+|MAKEFLAGS|CURL_HOME|WGETRC|RSYNC_RSH|JQ_\w+"
)


# A subscript that runs a command, in a text that is taken for a number or a variable's name.
_HIDDEN = re.compile(r"\[[^\]]*(?:\$\(|`)")
_TAKE_NAMES = frozenset(
    words("read unset declare export local typeset readonly let test [ mapfile readarray getopts wait printf")
)


_SET_NAMES = frozenset(words("read unset declare export local typeset readonly printf mapfile readarray getopts"))


class Commands(ABC):
    """Follows one command; what it finds is in `record`. `parse` makes a tree of a text."""

    def __init__(self, parse: Callable[[str], Parsed], home: str) -> None:
        self.parse = parse
        self.home = home
        self.record = Record()
        self.frames = 0
        self.left: State | None = None
        self.left_far: State | None = None

    def changed(self, name: str) -> None:
        """Notes a variable that changes what programs do, if this is one."""
        if _CHANGES_PROGRAMS.fullmatch(name):
            self.record.doubt(Reason.ENVIRONMENT, name)

    def escape(self, state: State, far: bool) -> None:
        """Notes a state in which a loop is left from within, or with `far` all that stands around it."""
        if far:
            self.left_far = either(self.left_far, state)
        else:
            self.left = either(self.left, state)

    def escaped(self) -> State | None:
        """The states in which what now ends was left early."""
        return either(self.left, self.left_far)

    @contextmanager
    def deeper(self, frames: int) -> Iterator[None]:
        """Counts calls of our own around what runs inside. Raises `TooMuchError` where they become too many."""
        self.frames += frames
        try:
            if self.frames > SHELL_LIMITS.frames:
                raise TooMuchError(Reason.TOO_DEEP)
            yield
        finally:
            self.frames -= frames

    def code(self, source: str, state: State, stdin: Output | None) -> Outcome:
        """Runs a shell text: the whole command, or one inside it."""
        with self.deeper(8):
            parsed = self.parse(source)
            for problem in parsed.problems:
                self.record.doubt(Reason.SYNTAX, problem, (state.cwds[0].path,))
            return self.sequence(parsed.body, state, stdin)

    @abstractmethod
    def sequence(self, node: Sequence, state: State | None, stdin: Output | None) -> Outcome:
        """One command after the other."""

    @abstractmethod
    def node(self, node: Node, state: State, stdin: Output | None) -> Outcome:
        """One command of any kind."""

    def listed(self, value: Value, scope: StateScope) -> None:
        """Names of files that the shell itself puts in place of a pattern are a listing."""
        if value.has(GLOB) and value.gap is None:
            self.record.use(UseKind.LIST, value, scope.state.cwds[0])

    def simple(self, node: Simple, state: State, stdin: Output | None) -> Outcome:
        outcome: Outcome | None = None
        for alternative in state.single_states(mentioned((node,))):
            ran = self._simple(node, alternative, stdin)
            outcome = ran if outcome is None else either_outcome(outcome, ran)
        return outcome or same(state, NO_OUTPUT)

    def _simple(self, node: Simple, state: State, stdin: Output | None) -> Outcome:
        self.record.step(len(node.words) + len(node.assignments) + len(node.redirects))
        scope = StateScope(state, self.home, self)
        values: list[Value] = []
        for word in node.words:
            if values and declared(values[0].literal, word.raw):
                values.append(single(word, scope))
            else:
                values += fields(word, scope)
        given, printed = self.redirect(node.redirects, scope, stdin)
        state = scope.state
        env = self.assign(node.assignments, scope)
        if [value.literal for value in values] == ["exec"] and any(map(_of_stdin, node.redirects)):
            # What comes after reads it.
            self.record.doubt(Reason.INLINE_CODE, values[0].raw, (scope.state.cwds[0].path,))
        if not values:
            return same(env, UNKNOWN_OUTPUT if node.redirects else NO_OUTPUT)
        names = tuple(assignment.name for assignment in node.assignments)
        outcome = self.run(Call(tuple(values), state, env, self, given, names))
        return outcome if printed else replace(outcome, output=NO_OUTPUT)

    def hidden(self, value: Value) -> None:
        """Notes a command that hides in a subscript."""
        if _HIDDEN.search(value.literal or ""):
            self.record.doubt(Reason.COMPUTED, value.raw)

    def assign(self, assignments: Iterable[Assignment], scope: StateScope) -> State:
        """The state with the variables set, one after the other."""
        kept = scope.state
        for assignment in assignments:
            name = assignment.name
            self.changed(name)
            if assignment.items is not None:
                items = tuple(value for word in assignment.items for value in fields(word, scope))
                for value in items:
                    self.listed(value, scope)
                before = scope.state.arrays.get(name) if assignment.append else ()
                keyed = any(word.raw.startswith("[") for word in assignment.items)
                scope.state = scope.state.with_array(name, None if keyed or before is None else before + items)
                continue
            value = single(assignment.value, scope) if assignment.value else text_value("")
            self.hidden(value)
            if assignment.index:
                scope.state = scope.state.with_array(name, None)
            elif assignment.append:
                before_value = scope.variable(name)
                scope.state = scope.state.assigned(name, Value(before_value.pieces + value.pieces, value.raw))
            else:
                scope.state = scope.state.assigned(name, value)
        state, scope.state = scope.state, kept
        return state

    def redirect(
        self, redirects: Iterable[Redirect], scope: StateScope, stdin: Output | None
    ) -> tuple[Output | None, bool]:
        """Notes what is opened. What the command reads, and whether its output goes on to the next."""
        printed = True
        for redirect in redirects:
            operator = redirect.op
            if redirect.body is not None or operator == "<<<":
                word = redirect.body or redirect.target
                value = heredoc(word, scope) if word else text_value("")
                stdin = Output(tuple(value_lines((value,))), exact=value.literal is not None)
                continue
            to_out = redirect.descriptor in {"", "1"}
            for value in fields(redirect.target, scope) if redirect.target else ():
                if operator.endswith("&") and re.fullmatch(r"\d*-?", value.literal or "x"):
                    if operator == "<&" and redirect.descriptor in {"", "0"} and value.literal not in {"-", "0"}:
                        # What was opened before under that number.
                        stdin = UNKNOWN_OUTPUT
                    continue
                if operator in {"<", "<>", "<&"}:
                    self.record.use(UseKind.READ, value, scope.state.cwds[0])
                    stdin = UNKNOWN_OUTPUT if redirect.descriptor in {"", "0"} else stdin
                if operator not in {"<", "<&"}:
                    self.record.use(UseKind.WRITE, value, scope.state.cwds[0])
                    printed = printed and not (to_out or operator.startswith("&"))
        return stdin, printed

    def run(self, call: Call, *, programs_only: bool = False) -> Outcome:
        """Runs the call's first word: a function, an alias, a builtin or a program."""
        self.record.step(len(call.words))
        with self.deeper(5):
            return self._run(call, programs_only)

    def _run(self, call: Call, programs_only: bool) -> Outcome:
        if call.words and call.words[0].literal in _TAKE_NAMES:
            for value in call.args[: 2 if call.words[0].literal == "printf" else None]:
                self.hidden(value)
        if call.words and call.words[0].literal in _SET_NAMES and any(map(names_ours, call.args)):
            call = changed(call)
        name = call.words[0].literal if call.words and not programs_only else None
        if name is None:
            return run_program(call)
        outcome: Outcome | None = None
        for body in call.state.functions.get(name, (None,)):
            ran = self._call(body, call) if body is not None else run_program(call)
            outcome = ran if outcome is None else either_outcome(outcome, ran)
        for text in call.state.aliases.get(name, ()):
            if text is not None:
                # Some shells put an alias in place in scripts, others do not.
                ran = self._alias(text, call)
                outcome = ran if outcome is None else either_outcome(outcome, ran)
        return outcome or run_program(call)

    def _alias(self, text: str, call: Call) -> Outcome:
        parsed = self.parse(text)
        node = parsed.body.items[0] if len(parsed.body.items) == 1 else None
        if not isinstance(node, Simple) or node.assignments or node.redirects or parsed.problems:
            self.record.doubt(Reason.COMPUTED, text)
            return same(call.state, UNKNOWN_OUTPUT)
        scope = StateScope(call.state, self.home, self)
        values = tuple(value for word in node.words for value in fields(word, scope))
        left = {key: value for key, value in call.state.aliases.items() if key != call.words[0].literal}
        return self.run(replace(call, words=values + call.args, state=replace(call.state, aliases=left)))

    def _call(self, body: Node, call: Call) -> Outcome:
        inside = replace(call.env, parameters=call.args, local=frozenset(), in_function=True)
        outside, self.left, self.left_far = (self.left, self.left_far), None, None
        ran = self.node(body, inside, call.stdin)
        success, failure = either(ran.success, self.escaped()), either(ran.failure, self.escaped())
        self.left, self.left_far = outside
        return Outcome(_left(success, call), _left(failure, call), ran.output)


def _of_stdin(redirect: Redirect) -> bool:
    return redirect.descriptor in {"", "0"} and redirect.op.startswith("<")


def _left(state: State | None, call: Call) -> State | None:
    """The state after a function: its parameters and local variables are the caller's again."""
    if state is None:
        return None
    before = call.state
    variables = dict(state.variables)
    for name in (*state.local, *call.set_here):
        variables.pop(name, None)
        if name in before.variables:
            variables[name] = before.variables[name]
    return replace(
        state, variables=variables, parameters=before.parameters, local=before.local, in_function=before.in_function
    )


def mentioned(places: Iterable[object]) -> Iterator[str]:
    """The variables that words mention."""
    stack = list(places)
    while stack:
        place = stack.pop()
        if isinstance(place, Word):
            stack += place.parts
        elif isinstance(place, Variable):
            yield place.name
            stack.append(place.arg)
        elif isinstance(place, Simple):
            stack += (*place.words, *place.redirects, *place.assignments)
        elif isinstance(place, Redirect):
            stack += (place.target, place.body)
        elif isinstance(place, Assignment):
            stack += (place.value, *(place.items or ()))
