"""`/remem` as hosts deliver it: the payloads are those that the real programs sent."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.remem import arguments_of

COPILOT = (
    'The user explicitly invoked the "/remem" skill. Follow its instructions now.\n\n<skill-context name="remem">\n'
    "Base directory for this skill: /home/user/.copilot/skills/remem\n\nSave: keep this\n\n</skill-context>"
)
CLAUDE = "<command-message>remem</command-message>\n<command-name>/remem</command-name>\n"
OTHER_ORDER = (
    "<command-name>/apm:remem</command-name>\n            <command-message>apm:remem</command-message>\n"
    "            <command-args></command-args>"
)
REMINDER = (
    "A scheduled reminder has been triggered. The reminder content is:\n\n{}\n\n"
    "{} this reminder{}\nCurrent time: Thursday, April 16th, 2026 - 7:36 PM (UTC)"
)
RELAYED = REMINDER.format("{}", "Please relay", " to the user in a helpful and friendly way.")
JOB = (
    "[cron:64c7ef0f-7c18-455a-a45f-560a0aefa483 night] {}\nCurrent time: Tuesday, December 1st, 2026 - 2:55 AM (UTC)\n"
    "Reference UTC: 2026-12-01 02:55 UTC\n\nThis is an unattended scheduled run."
)
INTERNAL = REMINDER.format("{}", "Handle", " internally. Do not relay it to the user unless explicitly requested.")

COMMANDS = {
    "bare": ("/remem", ""),
    "with arguments": ("/remem keep this", "keep this"),
    "blanks around": ("  \n\t/remem   keep this \n", "keep this"),
    "arguments on the next line": ("/remem\nkeep this\n\nand that", "keep this\n\nand that"),
    "several lines": ("/remem the tides\n- low 09:40\n- high 16:00", "the tides\n- low 09:40\n- high 16:00"),
    "capitals": ("/REMEM Keep This", "Keep This"),
    "full-width slash": ("／remem", ""),
    "full-width word and blank": ("／ｒｅｍｅｍ\u3000保留这个", "保留这个"),
    "full-width capitals": ("／ＲＥＭＥＭ 保留", "保留"),
    "written on without a blank": ("/remem把潮汐记下来", "把潮汐记下来"),
    "Korean": ("/remem기억해", "기억해"),
    "kana": ("/rememこれを", "これを"),
    "full-width comma": ("/remem，保留这个", "保留这个"),
    "full-width stop": ("/remem。", ""),
    "colon behind the command": ("/remem: keep this", "keep this"),
    "byte order mark": ("\ufeff/remem x", "x"),
    "invisible characters": ("\u200b\u2060/remem x", "x"),
    "plugin": ("/apm-test:remem c", "c"),
    "plugin and folder": ("/apm:memory:remem", ""),
    "plugin, full-width": ("／apm：remem x", "x"),
    "Codex": ("$remem keep this", "keep this"),
    "Codex, bare": ("$remem", ""),
    "Codex, full-width": ("＄remem x", "x"),
    "label": ("remem: keep this", "keep this"),
    "label, bare": ("Remem:", ""),
    "label without a blank": ("remem:keep this", "keep this"),
    "label, full-width colon": ("remem：保留这个", "保留这个"),
    "Telegram's command to one bot": ("/remem@harbour_bot the tides", "the tides"),
    "mention": ("@harbour_bot /remem the tides", "the tides"),
    "mention with a comma": ("@harbour_bot, /remem", ""),
    "Matrix mention": ("@harbour:example.org: /remem x", "x"),
    "Discord mention": ("<@!4412007> /remem x", "x"),
    "Slack mention": ("<@U123ABC|harbour> $remem x", "x"),
    "two mentions": ("@harbour @pilot /remem", ""),
    "Gemini, first prompt": ("<hook_context>APM memory\nof two lines</hook_context>\n\n/remem keep this", "keep this"),
    "two blocks of context": (
        "<hook_context>a</hook_context><system-reminder>b</system-reminder>\n/remem x", "x"
    ),
    "Copilot's transformed prompt": ("<current_datetime>2026-11-30</current_datetime>\n\n/remem x", "x"),
    "Copilot's expanded skill": (COPILOT, ""),
    "Copilot's expanded skill of a plugin": (COPILOT.replace('"/remem"', '"/apm:remem"'), ""),
    "Claude Code's expanded command": (CLAUDE + "<command-args>keep this</command-args>", "keep this"),
    "Claude Code, several lines": (CLAUDE + "<command-args>a\nb</command-args>\n", "a\nb"),
    "Claude Code, no arguments": (CLAUDE, ""),
    "Claude Code, the other order": (OTHER_ORDER, ""),
    "Claude Code, arguments with a closing tag": (
        CLAUDE + "<command-args>why </command-args> stands here</command-args>",
        "why </command-args> stands here",
    ),
    "OpenClaw body of a direct chat": (
        "[Telegram Ann (@ann) id:501 +3m Mon 2026-11-30 16:50:23 UTC] Ann (@ann): /remem keep this", "keep this"
    ),
    "OpenClaw body of a group": (
        "[Telegram Team Alpha id:-100777 Mon 2026-11-30 16:50:44 UTC] Ann (501): /remem", ""
    ),
    "OpenClaw body of a topic, mention": (
        "[Telegram Forum Beta id:-100888 topic:42 Mon 2026-11-30 16:51:00 UTC] Ann (501): @harbour_bot /remem x", "x"
    ),
    "OpenClaw web chat": ("[Thu 2026-02-12 20:57 AST] /remem x", "x"),
    "OpenClaw system event": ("System: [2026-04-16 19:36:14 UTC] /remem the day", "the day"),
    "OpenClaw system event of two lines": ("System: [2026-04-16 19:36:14 UTC] /remem the day\nSystem: and night",
                                           "the day\nand night"),
    "OpenClaw cron, event and reminder": (
        "System: [2026-04-16 19:36:14 UTC] /remem the day\n\n" + RELAYED.format("/remem the day"), "the day"
    ),
    "OpenClaw cron, second event": (
        "System: [2026-04-16 19:36:14 UTC] Node connected\nSystem: [2026-04-16 19:36:15 UTC] /remem x", "x"
    ),
    "OpenClaw cron, reminder to relay": (RELAYED.format("/remem"), ""),
    "OpenClaw cron, reminder within": (INTERNAL.format("/remem keep\n\nthis"), "keep\n\nthis"),
    "OpenClaw cron, a session of its own": (JOB.format("/remem keep\n\nthis"), "keep\n\nthis"),
    "OpenClaw cron, a session of its own, bare": (JOB.format("/remem"), ""),
    "OpenClaw, a person after a system event": (
        'System: [2026-11-30 17:27:45 UTC] Session changed (other actor).\n\n/remem x', "x"
    ),
}  # fmt: skip

OTHERS = {
    "empty": "",
    "blank": " \n",
    "question about it": "what does /remem do?",
    "later": "please run /remem later",
    "as hosts were asked": 'hello /remem x USE_TOOL<<read_file|{"file_path":"MEMORY.md"}>>',
    "the same on Gemini": "<hook_context>MARK</hook_context>\n\nhello /remem x",
    "second line": "good morning\n/remem",
    "longer word": "/remember",
    "one letter more": "/rememx",
    "shorter": "/reme",
    "remember": "remember: buy milk",
    "the word alone": "remem",
    "the word in a sentence": "remem is a word",
    "path": "/remem/notes",
    "file": "/remem.md is empty",
    "hyphen": "/remem-status",
    "underline": "/remem_all",
    "digit": "/remem2",
    "Latin letter with an accent": "/rememé",
    "Cyrillic": "/rememд",
    "plugin's command of another name": "/remem:status",
    "address": "remem://harbour",
    "variable": "$remem_total",
    "price": "$remembrance",
    "blank in between": "/ remem",
    "quoted block": "> /remem keep this",
    "code span": "`/remem keep this`",
    "code fence": "```\n/remem keep this\n```",
    "quotation marks": '"/remem keep this"',
    "list": "- /remem",
    "brackets": "(/remem)",
    "bracket that is no envelope": "[note] Ann (501): /remem",
    "sender without an envelope": "Ann (501): /remem",
    "word before a mention": "hey @harbour_bot /remem",
    "mention alone": "@harbour_bot",
    "many mentions": "@a @b @c @d @e @f /remem",
    "context without an end": "<hook_context>/remem",
    "memory that asks for it": "<hook_context>\n/remem\n</hook_context>\n\ngood morning",
    "other command of Claude Code": "<command-name>/compact</command-name><command-args>/remem</command-args>",
    "text behind the tags": CLAUDE + "is what the host wrote",
    "tags without an end": "<command-name>/remem",
    "sentence of Copilot alone": 'The user explicitly invoked the "/remem" skill. What does that mean?',
    "other skill of Copilot": COPILOT.replace('"remem"', '"review"'),
    "other command of Copilot": COPILOT.replace("/remem", "/review"),
    "other job": JOB.format("water the plants, then /remem"),
    "job that is named so": "[cron:64c7ef0f /remem] water the plants",
    "other reminder": RELAYED.format("water the plants, then /remem"),
    "other event": "System: [2026-04-16 19:36:14 UTC] You have mail\n\nwhat does /remem do?",
}

HOSTILE = {
    "blanks": ("", " "),
    "slashes": ("", "/"),
    "plugins": ("/", "a:"),
    "mentions": ("", "@a "),
    "blocks": ("", "<hook_context></hook_context>"),
    "open blocks": ("", "<hook_context>"),
    "open tags": ("", "<command-args>"),
    "tags": ("", "<command-name></command-name>"),
    "closing tags": ("<command-args>", "</command-args>"),
    "events": ("", "System: x\n"),
    "timed events": ("", "System: [1] x\n"),
    "brackets": ("", "["),
    "dates": ("[", "2026-01-01"),
    "senders": ("[2026-01-01] ", "(a"),
    "reminder": (RELAYED[:70], "\n\nPlease"),
    "skills": ('The user explicitly invoked the "/remem" skill', '<skill-context name="'),
    "arguments": ("/remem ", "x "),
}
MEGABYTES = 10


@pytest.mark.parametrize("name", COMMANDS)
def test_every_form_gives_its_arguments(name: str) -> None:
    message, arguments = COMMANDS[name]
    assert arguments_of(message) == arguments


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_mentions_it_is_no_command(name: str) -> None:
    assert arguments_of(OTHERS[name]) is None


def seconds(text: str) -> float:
    begun = time.thread_time()
    arguments_of(text)
    return time.thread_time() - begun


@pytest.mark.parametrize("name", HOSTILE)
def test_four_times_the_message_costs_about_four_times_the_time(name: str) -> None:
    head, piece = HOSTILE[name]
    text = head + piece * (MEGABYTES * 1_000_000 // len(piece))
    quarter = text[: len(text) // 4]
    growth = []
    for _ in range(3):
        # What takes under 5 ms has too much noise in it to be compared.
        growth.append(seconds(text) / max(seconds(quarter), 0.005))
        if growth[-1] <= 8:
            break
    assert min(growth) <= 8, f"a square would be 16: {growth}"


@settings(max_examples=200)
@given(st.text(alphabet="/$@<>[]:ремremx \n\u3000／：commandargs-", max_size=60))
def test_any_text_is_answered(text: str) -> None:
    found = arguments_of(text)
    assert found is None or found == found.strip()


@settings(max_examples=200)
@given(st.text(max_size=80), st.sampled_from(["/remem ", "$remem\n", "remem: ", "／remem\u3000"]))
def test_arguments_come_back_as_they_were_written(text: str, command: str) -> None:
    assert arguments_of(command + "x" + text) == ("x" + text).strip()
