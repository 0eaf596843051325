"""Walks a command's tree as the shell would run it, along every way that it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apm_hooks.shell.expand import fields, single
from apm_hooks.shell.records import SHELL_LIMITS, UseKind
from apm_hooks.shell.run import Commands, mentioned
from apm_hooks.shell.scope import StateScope
from apm_hooks.shell.state import UNSET, Outcome, State, either, either_outcome, same
from apm_hooks.shell.tree import (
    AndOr,
    Arithmetics,
    Case,
    For,
    Function,
    Group,
    If,
    Loop,
    Node,
    Pipeline,
    Redirected,
    Sequence,
    Simple,
    Test,
)
from apm_hooks.shell.values import (
    NO_OUTPUT,
    NUMBER,
    UNKNOWN_OUTPUT,
    UNKNOWN_SPOT,
    Output,
    Value,
    both_outputs,
)


def _nothing(state: State) -> Outcome:
    return same(state, NO_OUTPUT)


class Walker(Commands):
    """Follows one command; what it finds is in `record`."""

    def sequence(self, node: Sequence, state: State | None, stdin: Output | None) -> Outcome:
        """One after the other; the last one's end is the end of all."""
        outcome = Outcome(state, None)
        for item, background in zip(node.items, node.background, strict=True):
            before = outcome.any
            if before is None:
                break
            ran = self.node(item, before, stdin)
            output = both_outputs(outcome.output, ran.output)
            outcome = Outcome(before, None, output) if background else replace(ran, output=output)
        return outcome

    def node(self, node: Node, state: State, stdin: Output | None) -> Outcome:
        """One command of any kind."""
        self.record.step()
        with self.deeper(3):
            return _HANDLERS[type(node)](self, node, state, stdin)

    def and_or(self, node: AndOr, state: State, stdin: Output | None) -> Outcome:
        outcome = self.node(node.pipelines[0], state, stdin)
        for operator, pipeline in zip(node.operators, node.pipelines[1:], strict=True):
            before = outcome.success if operator == "&&" else outcome.failure
            if before is None:
                continue
            ran = self.node(pipeline, before, stdin)
            if operator == "&&":
                outcome = Outcome(
                    ran.success, either(outcome.failure, ran.failure), both_outputs(outcome.output, ran.output)
                )
            else:
                outcome = Outcome(
                    either(outcome.success, ran.success), ran.failure, both_outputs(outcome.output, ran.output)
                )
        return outcome

    def pipeline(self, node: Pipeline, state: State, stdin: Output | None) -> Outcome:
        if len(node.commands) == 1:
            outcome = self.node(node.commands[0], state, stdin)
        else:
            piped = stdin
            outcome = Outcome(state, state)
            for command in node.commands:
                outcome = self.node(command, state, piped)
                piped = outcome.output
            # The last command runs in the shell itself in some shells, and beside it in others.
            end = either(state, outcome.any)
            outcome = Outcome(end, end, outcome.output)
        return Outcome(outcome.failure, outcome.success, outcome.output) if node.negated else outcome

    def group(self, node: Group, state: State, stdin: Output | None) -> Outcome:
        outcome = self.sequence(node.body, state, stdin)
        return Outcome(state, state, outcome.output) if node.subshell else outcome

    def redirected(self, node: Redirected, state: State, stdin: Output | None) -> Outcome:
        for number, alternative in enumerate(state.single_states(mentioned(node.redirects))):
            scope = StateScope(alternative, self.home, self)
            given, printed = self.redirect(node.redirects, scope, stdin)
            stdin = given if not number else UNKNOWN_OUTPUT
        outcome = self.node(node.body, state, stdin)
        return replace(outcome, output=NO_OUTPUT) if not printed else outcome

    def branches(self, node: If, state: State, stdin: Output | None) -> Outcome:
        rest: State | None = state
        outcome: Outcome | None = None
        for condition, body in node.branches:
            if rest is None:
                break
            tested = self.sequence(condition, rest, stdin) if condition is not None else Outcome(rest, None)
            ran = self.sequence(body, tested.success, stdin)
            ran = replace(ran, output=both_outputs(tested.output, ran.output))
            outcome = ran if outcome is None else either_outcome(outcome, ran)
            rest = tested.failure
        return either_outcome(outcome or _nothing(state), Outcome(rest, None))

    def loop(self, node: Loop, state: State, stdin: Output | None) -> Outcome:
        outside, self.left = self.left, None
        seen: State | None = state
        for number in range(SHELL_LIMITS.rounds):
            tested = self.sequence(node.condition, seen, stdin)
            going = tested.failure if node.until else tested.success
            ran = self.sequence(node.body, going, stdin)
            after = either(seen, either(either(tested.any, ran.any), self.escaped()))
            if after == seen:
                break
            seen = after
            if number == SHELL_LIMITS.rounds - 2:
                seen = _widened(state, seen)
        self.left = outside
        return Outcome(seen, seen, UNKNOWN_OUTPUT)

    def loop_over(self, node: For, state: State, stdin: Output | None) -> Outcome:
        items: list[Value] = []
        scope = StateScope(state, self.home, self)
        for alternative in state.single_states(mentioned(node.words or ())):
            scope = StateScope(alternative, self.home, self)
            if node.words is None:
                items += alternative.parameters if alternative.parameters is not None else (UNSET,)
            for word in node.words or ():
                items += fields(word, scope)
        for item in items:
            self.listed(item, scope)
        outside, self.left = self.left, None
        if node.choice or len(items) > SHELL_LIMITS.loop_items:
            outcome = self._any_item(node, items, state, stdin)
        else:
            outcome = self._each_item(node, items, state, stdin)
        self.left = outside
        return outcome

    def _each_item(self, node: For, items: list[Value], state: State, stdin: Output | None) -> Outcome:
        output = NO_OUTPUT
        seen: State | None = state
        for item in items:
            # A pattern stands for any number of names.
            rounds = 1 if item.literal is not None else SHELL_LIMITS.rounds
            before = seen
            for number in range(rounds):
                if seen is None:
                    break
                ran = self.sequence(node.body, seen.assigned(node.name, item), stdin)
                output = both_outputs(output, ran.output) if rounds == 1 else UNKNOWN_OUTPUT
                after = either(either(seen, ran.any), self.escaped())
                if after == seen:
                    break
                seen = after
                if number == SHELL_LIMITS.rounds - 2:
                    seen = _widened(before, seen)
        return Outcome(seen, seen, output)

    def _any_item(self, node: For, items: list[Value], state: State, stdin: Output | None) -> Outcome:
        after: State | None = state
        for number in range(SHELL_LIMITS.rounds):
            before = after
            for item in dict.fromkeys(items):
                if after is not None:
                    ran = self.sequence(node.body, after.assigned(node.name, item), stdin)
                    after = either(after, either(ran.any, self.escaped()))
            if after == before:
                break
            if number == SHELL_LIMITS.rounds - 2:
                after = _widened(state, after)
        return Outcome(after, after, UNKNOWN_OUTPUT)

    def cases(self, node: Case, state: State, stdin: Output | None) -> Outcome:
        scope = StateScope(state, self.home, self)
        single(node.word, scope)
        outcome = _nothing(scope.state)
        for patterns, body in node.items:
            for pattern in patterns:
                single(pattern, scope)
            outcome = either_outcome(outcome, self.sequence(body, scope.state, stdin))
            # `;&` goes on into the next body.
            scope.state = either(scope.state, outcome.any) or scope.state
        return outcome

    def function(self, node: Function, state: State, stdin: Output | None) -> Outcome:
        del stdin
        return _nothing(replace(state, functions={**state.functions, node.name: (node.body,)}))

    def test(self, node: Test, state: State, stdin: Output | None) -> Outcome:
        del stdin
        for alternative in state.single_states(mentioned((*node.files, *node.others))):
            scope = StateScope(alternative, self.home, self)
            for word in node.others:
                self.hidden(single(word, scope))
            for word in node.files:
                for value in fields(word, scope):
                    self.record.use(UseKind.LIST, value, alternative.cwds[0], program="test")
        return _nothing(state)

    def arithmetics(self, node: Arithmetics, state: State, stdin: Output | None) -> Outcome:
        for source in node.sources:
            self.code(source, state, stdin)
        for name in node.names:
            state = state.assigned(name, NUMBER)
        return _nothing(state)


def _widened(before: State | None, after: State | None) -> State | None:
    """What still changes after some rounds may be anything."""
    if before is None or after is None:
        return after
    variables = {
        name: values if before.variables.get(name) == values else (UNSET,) for name, values in after.variables.items()
    }
    cwds = after.cwds if after.cwds == before.cwds else (*after.cwds[: SHELL_LIMITS.alternatives - 1], UNKNOWN_SPOT)
    return replace(after, variables=variables, cwds=tuple(dict.fromkeys(cwds)))


_HANDLERS: dict[type, Callable[..., Outcome]] = {
    AndOr: Walker.and_or,
    Arithmetics: Walker.arithmetics,
    Case: Walker.cases,
    For: Walker.loop_over,
    Function: Walker.function,
    Group: Walker.group,
    If: Walker.branches,
    Loop: Walker.loop,
    Pipeline: Walker.pipeline,
    Redirected: Walker.redirected,
    Sequence: Walker.sequence,
    Simple: Walker.simple,
    Test: Walker.test,
}
