"""Recorded runs: read, sought in, resumed, verified, and shown as if they were running."""
