"""The fact index: `memory/INDEX.md`, one line per fact, read in full at every start, and a linter that means it."""
