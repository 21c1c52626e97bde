"""Files in a window: the process that has the scene of an opened file."""
