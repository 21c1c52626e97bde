"""What a scene remembers of its past: rows in memory, and how to get from them to any step."""
