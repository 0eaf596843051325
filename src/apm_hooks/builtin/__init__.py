"""The built-in plugins: thin, each calls the rooms below. Their functions are named like the hooks."""
