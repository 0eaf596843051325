"""The versions of the Postgres schema, each a revision for Alembic; `postgres_setup` runs them."""
