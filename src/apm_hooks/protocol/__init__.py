"""The loader: five steps for a group, three layers for the owner (protocol, sections 5 and 6)."""
