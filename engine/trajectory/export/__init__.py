"""Recorded runs as files of other kinds: tables, arrays, and what other tools show."""
