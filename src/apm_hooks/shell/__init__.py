"""A shell command as the gate reads it: which files it could touch, and what cannot be told."""
