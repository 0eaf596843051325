"""The record store: single facts that an agent remembers, recalls, updates and forgets, on SQLite or Postgres.

`base` holds the contract; `api` opens a store. Nothing here is imported by the rest of the library at module level.
"""
