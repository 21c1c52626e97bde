"""Models that are not ours: looked through and compiled in a process of its own, within limits."""
