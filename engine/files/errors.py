"""Errors of files. Each message names the file, what is wrong with it, and what to do next."""

from pathlib import Path

from stroboscope.engine.errors import EngineError

__all__ = [
    "FileDamagedError",
    "FileError",
    "FileFormatError",
    "FileVersionError",
    "FileWriteError",
    "FilesUnavailableError",
    "refuse_format",
]


class FileError(EngineError):
    """Base of what goes wrong with a file; ``path`` is the file."""

    def __init__(self, path: str | Path, wrong: str, todo: str) -> None:
        super().__init__(f"{path}: {wrong}; {todo}")
        self.path = Path(path)
        self.wrong = wrong
        """What is wrong, without the name of the file."""
        self.todo = todo


class FileDamagedError(FileError):
    """Bytes of a file are not what was written; what else is in it can still be read."""


class FileFormatError(FileError):
    """A file is none of ours, or says what no file of ours says."""


class FileVersionError(FileFormatError):
    """A file was written by a version that this one does not read; names both."""


def refuse_format(path: str | Path, number: int, *, newest: int, writer: str) -> None:
    """Raise FileVersionError for a format that is not 1 to ``newest``, and say what opens it.

    ``writer``: the version of Stroboscope that has written it.
    """
    if 1 <= number <= newest:
        return
    raise FileVersionError(
        path,
        f"has format {number}, written by Stroboscope {writer}; this one reads formats 1 to "
        f"{newest}",
        "update Stroboscope to open it"
        if number > newest
        else f"open it with Stroboscope {writer}, which wrote it",
    )


class FileWriteError(FileError):
    """Something can't be written: disk full, no permission, ...; ``__cause__`` is the OSError."""


class FilesUnavailableError(EngineError):
    """What files need is not installed; says how to install it."""
