"""The states of a flush: number, identity, running, settled, unwritten, missed, pending (protocol, section 9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apm_hooks import flush
from apm_hooks.flush import Ask
from apm_hooks.flushrecords import Book, Outcome, Pending, PendingKind, Status, Trigger
from apm_hooks.records import LIMITS, Limits

AT = "2026-03-01T10:00:00+01:00"


def ask(trigger: Trigger = Trigger.REMEM, session: str = "s1", identity: str = "", **more: object) -> Ask:
    return replace(Ask(trigger, session, AT, identity=identity), **more)  # type: ignore[arg-type]


def issued(book: Book, *asks: Ask) -> Book:
    for each in asks:
        book, status, _ = flush.issue(book, each)
        assert status is Status.ISSUED
    return book


def test_never_is_no_number_and_the_first_flush_is_number_one() -> None:
    assert Book().number is None
    book, status, made = flush.issue(Book(), ask())
    assert (book.number, status, made and made.number) == (1, Status.ISSUED, 1)
    assert flush.issue(Book(number=0), ask())[0].number == 1


@pytest.mark.parametrize("nonsense", [-5, 10**12, 10**300])
def test_a_nonsense_number_in_the_file_starts_over(nonsense: int) -> None:
    assert flush.issue(Book(number=nonsense), ask())[0].number == 1


def test_the_same_event_again_is_the_same_flush() -> None:
    book = issued(Book(), ask(identity="prompt-1"))
    again, status, made = flush.issue(book, ask(identity="prompt-1"))
    assert (again, status) == (book, Status.SAME)
    assert made and made.number == 1


@pytest.mark.parametrize(
    "other", [ask(identity="prompt-2"), ask(identity="prompt-1", session="s2"), ask(identity=""), ask()]
)
def test_another_identity_session_or_none_is_another_flush(other: Ask) -> None:
    book = issued(Book(), ask(identity="prompt-1"))
    after, status, _ = flush.issue(book, other)
    assert (after.number, status) == (2, Status.ISSUED)


def test_another_trigger_of_the_same_identity_is_another_flush_once_the_first_is_settled() -> None:
    book, _ = flush.settle(issued(Book(), ask(identity="7")), "s1", (), "nothing written")
    assert flush.issue(book, ask(Trigger.PRE_COMPACTION, identity="7"))[1] is Status.ISSUED


def test_remem_is_never_skipped() -> None:
    book = issued(Book(), *(ask() for _ in range(5)))
    assert book.number == 5
    assert flush.worth(Trigger.REMEM, 0, 0)


def test_a_compaction_falls_into_the_flush_that_its_session_has_open() -> None:
    book = issued(Book(), ask(identity="a"))
    after, status, made = flush.issue(book, ask(Trigger.PRE_COMPACTION, identity="at:100"))
    assert (after.number, status, made and made.number) == (1, Status.RUNNING, 1)
    # Its second event is known by then, also when the flush is over.
    over, _ = flush.settle(after, "s1", (), "text")
    assert flush.issue(over, ask(Trigger.PRE_COMPACTION, identity="at:100"))[1] is Status.SAME


def test_running_is_a_matter_of_one_session() -> None:
    book = issued(Book(), ask())
    assert flush.issue(book, ask(Trigger.PRE_COMPACTION, session="s2"))[1] is Status.ISSUED


@pytest.mark.parametrize(
    ("messages", "tokens", "saves"),
    [(9, 999, False), (10, 0, True), (0, 1_000, True), (None, 5, True), (5, None, True), (None, None, True),
     (0, None, False), (None, 0, False), (0, 0, False)],
)  # fmt: skip
def test_nothing_to_save_is_few_messages_and_few_tokens(messages: int | None, tokens: int | None, saves: bool) -> None:
    assert flush.worth(Trigger.PRE_COMPACTION, messages, tokens) is saves


def test_a_turn_that_wrote_settles_its_flush_and_takes_earlier_items_with_it() -> None:
    book = flush.add_pending(Book(generation=3), PendingKind.LEAD, "ask Ann")
    book, _ = flush.settle(issued(book, ask(session="s2")), "s2", (), "flush 1 left nothing")
    assert [item.kind for item in book.pending] == [PendingKind.LEAD, PendingKind.UNWRITTEN]
    book = issued(replace(book, generation=4), ask())
    after, ended = flush.settle(replace(book, generation=6), "s1", {3, 6}, "unused")
    assert [each.outcome for each in ended] == [Outcome.WRITTEN]
    assert [item.text for item in after.pending] == ["ask Ann"]
    assert flush.last_outcome(after) is Outcome.WRITTEN
    assert not flush.open_flushes(after, "s1")


def test_what_was_written_up_to_the_flush_does_not_settle_it() -> None:
    book = issued(Book(generation=4), ask())
    after, ended = flush.settle(book, "s1", {1, 4}, "flush 1 left nothing")
    assert [each.outcome for each in ended] == [Outcome.UNWRITTEN]
    assert [(item.kind, item.text, item.number) for item in after.pending] == [
        (PendingKind.UNWRITTEN, "flush 1 left nothing", 1)
    ]


def test_settling_twice_or_another_session_changes_nothing() -> None:
    book = issued(Book(), ask())
    assert flush.settle(book, "s2", {9}, "text") == (book, ())
    over, _ = flush.settle(book, "s1", {9}, "text")
    assert flush.settle(over, "s1", {9}, "text") == (over, ())


def test_an_item_of_a_later_flush_outlives_the_settling_of_an_earlier_one() -> None:
    book = issued(Book(), ask(), ask(session="s2"))
    book, _ = flush.settle(book, "s2", (), "flush 2 left nothing")
    after, _ = flush.settle(book, "s1", {5}, "unused")
    assert [item.text for item in after.pending] == ["flush 2 left nothing"]


def test_an_idle_flush_is_unwritten_at_once_and_leaves_an_item() -> None:
    book, status, made = flush.issue(Book(), ask(Trigger.IDLE, identity="at:1", text="left", told=True))
    assert status is Status.ISSUED
    assert made and (made.number, made.outcome, made.told) == (1, Outcome.UNWRITTEN, False)
    assert [(item.kind, item.text) for item in book.pending] == [(PendingKind.IDLE, "left")]
    assert flush.issue(book, ask(Trigger.IDLE, identity="at:1", text="left"))[1] is Status.SAME


def test_a_session_has_one_idle_item_however_often_it_went_quiet() -> None:
    book = issued(Book(), *(ask(Trigger.IDLE, identity=str(at), text=f"left at {at}") for at in range(5)))
    assert [item.text for item in book.pending] == ["left at 4"]
    assert book.number == 5


def test_a_missed_compaction_is_no_flush() -> None:
    book = issued(Book(), ask())
    after, made = flush.miss(book, ask(Trigger.PRE_COMPACTION, identity="cycle:1", text="missed"))
    assert (after.number, after.last_time, made.number, made.outcome) == (1, book.last_time, 0, Outcome.MISSED)
    assert flush.last_outcome(after) is Outcome.MISSED
    assert [item.kind for item in after.pending] == [PendingKind.MISSED]
    assert flush.miss(Book(), ask())[0].number is None


def test_a_missed_item_goes_with_the_next_flush_that_is_written() -> None:
    book, _ = flush.miss(issued(Book(), ask()), ask(Trigger.PRE_COMPACTION, text="missed"))
    book = issued(book, ask(identity="2"))
    after, _ = flush.settle(book, "s1", {9}, "text")
    assert after.pending == ()


def test_leads_are_done_only_when_somebody_says_so() -> None:
    book = flush.add_pending(Book(), PendingKind.LEAD, "ask Ann")
    (item,) = book.pending
    assert flush.add_pending(book, PendingKind.LEAD, "ask Ann").pending == book.pending
    assert flush.done_pending(book, [item.id]).pending == ()
    with pytest.raises(KeyError, match="nope"):
        flush.done_pending(book, [item.id, "nope"])


def test_an_id_never_comes_to_mean_another_item() -> None:
    book = flush.add_pending(Book(), PendingKind.LEAD, "first")
    (first,) = book.pending
    later = flush.add_pending(flush.done_pending(book, [first.id]), PendingKind.LEAD, "second")
    assert later.pending[0].id != first.id


def test_past_the_bound_items_of_flushes_go_before_leads() -> None:
    small = replace(LIMITS, pending_items=3)
    book = flush.add_pending(Book(), PendingKind.LEAD, "a lead", limits=small)
    for at in range(5):
        book = flush.issue(book, ask(Trigger.IDLE, session=f"s{at}", identity="1", text=f"left {at}"), small)[0]
    assert [item.text for item in book.pending] == ["a lead", "left 3", "left 4"]


def test_open_flushes_stay_past_the_bound_of_records() -> None:
    small: Limits = replace(LIMITS, flush_records=3)
    book = flush.issue(Book(), ask(session="slow"), small)[0]
    for at in range(10):
        book = flush.issue(book, ask(session="quick", identity=str(at)), small)[0]
        book = flush.settle(book, "quick", (), "text", small)[0]
    assert len(book.flushes) == 4
    assert [each.number for each in flush.open_flushes(book, "slow")] == [1]


def test_identities_and_sessions_are_bounded_the_oldest_going_first() -> None:
    small = replace(LIMITS, flush_identities=2, flush_sessions=2)
    book = Book()
    for session in ("a", "b", "c"):
        for at in range(3):
            book = flush.issue(book, ask(session=session, identity=str(at)), small)[0]
    assert dict(book.seen) == {"b": ("remem:1", "remem:2"), "c": ("remem:1", "remem:2")}


def test_told_is_kept_with_the_open_flush() -> None:
    book = issued(Book(), ask(told=True))
    assert book.flushes[0].told
    assert not flush.tell(book, "s1", told=False).flushes[0].told
    assert flush.tell(book, "s2", told=False) == book


def test_a_pending_item_knows_the_flush_that_left_it() -> None:
    book = issued(Book(), ask(Trigger.IDLE, text="left"))
    assert book.pending == (Pending(book.pending[0].id, PendingKind.IDLE, "left", "s1", 1, AT),)
