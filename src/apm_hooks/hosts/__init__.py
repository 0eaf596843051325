"""One file per host: its JSON to our records and back, its caps, its installer."""
