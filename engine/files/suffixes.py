"""Names without a suffix: files are written with ours, and found again by the name that was given.

What a file is, its first bytes say; the suffix is for people and their file managers.
"""

import os
from pathlib import Path
from typing import Final

__all__ = ["RECORDED", "SCENE", "found_file", "with_suffix"]

RECORDED: Final = ".mcap"
SCENE: Final = ".strobe"


def with_suffix(path: Path, suffix: str) -> Path:
    """Return the name that a file is written under; one that has a suffix keeps it.

    So does a pipe or a device, which is refused by the name it was given.
    """
    is_no_file = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    if path.suffix or path.name in ("", "..") or is_no_file:
        return path
    return path.with_name(path.name + suffix)


def found_file(path: Path, *suffixes: str) -> Path:
    """Return the file of a name, or where there is none, the one that has been written for it."""
    if os.path.isfile(path):  # a name that is too long raises nothing here
        return path
    written = (with_suffix(path, suffix) for suffix in suffixes)
    return next((each for each in written if os.path.isfile(each)), path)
