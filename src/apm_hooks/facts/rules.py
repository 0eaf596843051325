"""The rules of the fact index, and every sentence in which they speak, each of them whole."""

from __future__ import annotations

from apm_hooks.findings import Level, Rule, rule_table

RULES = rule_table(
    Rule("no-consequence", Level.ERROR, "A fact says behind So: what it changes."),
    Rule("duplicate-slug", Level.ERROR, "A slug names one fact."),
    Rule("dangling-note", Level.ERROR, "A note link leads to a file below memory/notes/."),
    Rule("dangling-reference", Level.ERROR, "[[slug]] names a fact of this index."),
    Rule("update-chain", Level.ERROR, "A fact is corrected in place, never followed by an update."),
    Rule("measured-without-n", Level.ERROR, "A measured fact names its sample size."),
    Rule("measured-without-date", Level.WARNING, "A measured fact names the day of its measurement."),
    Rule("unknown-provenance", Level.ERROR, "Provenance is will, measured, derived or a configured name."),
    Rule("review-due", Level.WARNING, "A fact is read again, or cut, by the day of its review."),
    Rule("near-miss", Level.ERROR, "What looks like a fact is one."),
    Rule("several-facts", Level.WARNING, "A line holds one fact."),
    Rule("orphaned-note", Level.WARNING, "A fact links each note."),
    Rule("fact-too-long", Level.WARNING, "A fact's line stays within its budget."),
    Rule("index-too-big", Level.WARNING, "The index stays within its budget."),
    Rule("decisions-too-big", Level.WARNING, "The log of decisions stays within its budget."),
    Rule("index-over-share", Level.WARNING, "The index fits its share of a session's budget in tokens."),
    Rule("repeated-elsewhere", Level.WARNING, "A sentence stands in one place only."),
    Rule("missing-index", Level.ERROR, "A member has an index."),
    Rule("unreadable-file", Level.ERROR, "Files of memory can be read."),
)
"""Every rule by its id. `review-due` becomes an error `REVIEW_ERROR_DAYS` days after the day."""

REVIEW_ERROR_DAYS = 30

NO_CONSEQUENCE = "{slug} says nothing of what it changes."
NO_CONSEQUENCE_FIX = "End it with **So:** and what it changes; if nothing, cut it."
DUPLICATE = "The slug {slug} names a fact in line {first} already."
DUPLICATE_FIX = "Correct the one fact in place, or give this one another slug."
DANGLING_NOTE = "The note {target} {why}."
DANGLING_NOTE_FIX = "Write the note, or take the link out."
DANGLING_REFERENCE = "[[{slug}]] names no fact of this index."
DANGLING_REFERENCE_FIX = "Name a fact that is there, or take the reference out."
UPDATE_CHAIN = "{slug} is followed by an update."
UPDATE_CHAIN_FIX = "Correct the fact in place: one line that is true now."
NO_SAMPLE = "{slug} is measured, and names no sample size."
NO_SAMPLE_FIX = "Say how many: n=40, or 3 of 40."
NO_DATE = "{slug} is measured, and names no day."
NO_DATE_FIX = "Say when: 2026-05-01."
UNKNOWN_PROVENANCE = "[{word}] is no provenance."
UNKNOWN_PROVENANCE_FIX = "Write one of: {known}."
REVIEW_DUE = "{slug} was to be read again by {day}, {days} day{s} ago."
REVIEW_DUE_FIX = "Read it again: correct it and its date, or cut it."
NEAR_MISS = "This line looks like a fact but {what}."
NO_SUCH_DAY = "has a review on a day that no calendar has: {text}"
NO_SUCH_DAY_FIX = "Write it as review: YYYY-MM-DD."
SEVERAL_FACTS = "{slug} says So: more than once."
SEVERAL_FACTS_FIX = "Write each fact in a line of its own."
ORPHANED_NOTE = "No fact links this note."
ORPHANED_NOTE_FIX = "Link it from its fact, or delete it."
FACT_TOO_LONG = "{slug} has {chars} characters, over the budget of {most:g}."
FACT_TOO_LONG_FIX = "Move the argument into a note: apm-hooks facts move {slug}"
INDEX_TOO_BIG = "It has {size}, over the budget of {most:g} KiB; the longest facts: {longest}."
INDEX_TOO_MANY_TOKENS = "It costs {tokens} tokens, over the budget of {most:g}; the longest facts: {longest}."
INDEX_TOO_BIG_FIX = "Cut what no longer changes a decision, and move arguments into notes."
DECISIONS_TOO_BIG = "It has {size}, over the budget of {most:g} KiB."
DECISIONS_TOO_BIG_FIX = "Roll older entries into log/decisions/YYYY-MM.md."
OVER_SHARE = "It costs {tokens} tokens, over its share of {most} of a session's budget: the rest is not loaded."
REPEATED = "This sentence stands in {path}, line {line}, too."
REPEATED_FIX = "Keep it in one of the two places."
MISSING_INDEX = "It does not exist."
MISSING_INDEX_FIX = "Create it with: apm-hooks facts init"
UNREADABLE = "It cannot be read: {why}."
UNREADABLE_FIX = "Put a plain text file there."
