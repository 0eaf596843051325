"""Our hooks in the real OpenClaw: what reaches the model in each kind of chat, and what must not."""

from __future__ import annotations

import pytest

from ..workspace import DM_LONGTERM
from .lab import DM_START, Lab

pytestmark = pytest.mark.host


def test_the_owner_in_private_has_index_and_attention_in_every_turn(lab: Lab) -> None:
    owner = lab.owner()
    turns = [lab.dm(owner, text) for text in ("Good morning.", "And the tide?", "Thanks.")]
    requests = [request for turn in turns for request in turn.main]
    assert [request.session_key for request in requests] == [owner.key] * 3
    assert [lab.seen([request]) >= DM_START for request in requests] == [True] * 3
    assert lab.seen(requests) <= lab.owners_files
    assert len({request.system for request in requests}) == 1


def test_a_message_of_the_owner_brings_in_a_file_that_stays(lab: Lab) -> None:
    owner = lab.owner()
    before, asked, after = (lab.dm(owner, text) for text in ("Hello.", "What were the old decisions?", "Thanks."))
    assert DM_LONGTERM not in lab.seen(before)
    assert DM_LONGTERM in lab.seen(asked)
    assert DM_LONGTERM in lab.seen(after)
    assert asked.main[0].system == after.main[0].system != before.main[0].system


def test_a_stranger_in_private_is_told_nothing(lab: Lab) -> None:
    turns = [lab.dm(lab.stranger(), text) for text in ("Good morning.", "What were the old decisions?", "/remem it")]
    assert [len(turn.main) for turn in turns] == [1, 1, 1]
    assert [lab.seen(turn) for turn in turns] == [set()] * 3


def test_a_stranger_who_begins_anew_is_told_nothing(lab: Lab) -> None:
    stranger = lab.stranger()
    lab.dm(stranger, "Good morning.")
    lab.renew(stranger.chat, stranger)
    assert lab.seen(lab.dm(stranger, "What were the old decisions?")) == set()


def test_each_group_has_its_own_memory(lab: Lab) -> None:
    one, other = lab.group(), lab.group()
    turns = [lab.post(group, "Good morning.") for group in (one, other, one, other)]
    assert [lab.seen(turn) for turn in turns] == [{one.index}, {other.index}] * 2
    assert turns[0].main[0].system == turns[2].main[0].system


def test_a_message_of_a_group_brings_in_one_file_that_stays(lab: Lab) -> None:
    group = lab.group()
    prompts = ("Good morning.", "What were the lessons of the storm?", "Who has which role in the crew?")
    turns = [lab.post(group, prompt) for prompt in prompts]
    lessons = {group.index, group.file("experience")}
    assert [lab.seen(turn) for turn in turns] == [{group.index}, lessons, lessons]


def test_the_owner_in_a_group_is_told_of_the_group_alone(lab: Lab) -> None:
    group, owner = lab.group(), lab.owner()
    turn = lab.post(group, "What were the old decisions?", sender=owner.id)
    assert group.index in lab.seen(turn)
    assert lab.seen(turn) <= lab.files_of(group)


def test_an_unmapped_group_is_told_nothing(lab: Lab) -> None:
    owner, group = lab.owner(), lab.unmapped()
    turns = [lab.post(group, text, sender=owner.id) for text in ("Good morning.", "What were the old decisions?")]
    assert [lab.seen(turn) for turn in turns] == [set()] * 2
    assert [name for turn in turns for name in ("apm.toml", "crew-") if name in turn.main[0].text] == []


def test_a_topic_has_the_memory_of_its_group(lab: Lab) -> None:
    group = lab.group()
    turn = lab.post(group, "Good morning.", topic=42)
    assert turn.main[0].session_key == f"{group.key}:topic:42"
    assert lab.seen(turn) == {group.index}


def test_where_all_private_chats_share_a_session_only_the_owners_turns_have_memory(lab: Lab) -> None:
    owner, stranger = lab.owner(), lab.stranger()
    with lab.reconfigured(session={"dmScope": "main"}):
        lab.renew(owner.chat, owner)
        owners = lab.dm(owner, "Good morning.")
        strangers = lab.dm(stranger, "What were the old decisions?")
        again = lab.dm(owner, "Good evening.")
    keys = {request.session_key for turn in (owners, strangers, again) for request in turn.main}
    assert keys == {"agent:main:main"}
    assert lab.seen(owners) >= DM_START
    assert lab.seen(strangers) == set()
    assert lab.seen(again) >= DM_START


def test_where_groups_share_the_owners_session_a_group_is_told_nothing(lab: Lab) -> None:
    owner, group = lab.owner(), lab.group()
    with lab.reconfigured(session={"dmScope": "main", "groupScope": "main"}):
        lab.renew(owner.chat, owner)
        before = lab.dm(owner, "Good morning.")
        posts = [lab.post(group, "What were the old decisions?", sender=sender) for sender in (owner.id, 9000)]
        after = lab.dm(owner, "Good evening.")
    assert {request.session_key for turn in (before, *posts, after) for request in turn.main} == {"agent:main:main"}
    assert lab.seen(before) >= DM_START
    assert [lab.seen(turn) for turn in posts] == [set()] * 2
    assert lab.seen(after) >= DM_START
