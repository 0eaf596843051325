"""The ring of tests that drive real host programs against a scripted model on the loopback."""
