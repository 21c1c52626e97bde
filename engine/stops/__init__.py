"""Stops: noticing that a physics step goes wrong, and saying what went wrong."""
