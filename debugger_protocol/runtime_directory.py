"""The one directory in which peers on this machine find each other's ports and secrets.

It is used only when nobody else can have put anything into it: our own uid, mode 0700, no
symlink, and a parent in which others can't replace it.
"""

import os
import stat
import sys
import warnings
from pathlib import Path
from typing import Final

import platformdirs

from stroboscope.debugger_protocol.exceptions import RuntimeDirectoryError

__all__ = ["ENVIRONMENT_VARIABLE", "check_private_directory", "find_runtime_directory"]

ENVIRONMENT_VARIABLE: Final = "STROBOSCOPE_RUNTIME_DIR"

_ADVICE: Final = (
    f"Remove it, or set {ENVIRONMENT_VARIABLE} to a directory that only you can enter (chmod 700)."
)


def find_runtime_directory(*, create: bool = True) -> Path:
    """Return the runtime directory, made when it is missing and ``create``.

    ``STROBOSCOPE_RUNTIME_DIR`` names another one. Raises RuntimeDirectoryError when it can't be
    made or is not safely ours. With ``create=False`` a missing directory is returned unchecked.
    Any thread.
    """
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    path = Path(chosen) if chosen else _default_directory()
    if not path.is_absolute():
        raise RuntimeDirectoryError(
            f"the runtime directory {str(path)!r} is not an absolute path; "
            f"set {ENVIRONMENT_VARIABLE} to one that is"
        )
    if create:
        _create(path)
    elif not os.path.lexists(path):
        return path
    check_private_directory(path)
    return path


def _default_directory() -> Path:
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs warns on every start; what matters is checked here.
        warnings.simplefilter("ignore")
        return Path(platformdirs.user_runtime_dir("stroboscope"))


def check_private_directory(path: Path) -> None:
    """Raise RuntimeDirectoryError unless ``path`` is a directory that only we can use."""
    try:
        status = os.lstat(path)
    except OSError as error:
        raise RuntimeDirectoryError(
            f"the runtime directory {path} can't be examined: {error.strerror}. {_ADVICE}"
        ) from error
    if stat.S_ISLNK(status.st_mode) or _is_junction(status):
        raise RuntimeDirectoryError(
            f"the runtime directory {path} is a link: whoever made it chooses where our secrets "
            f"go. {_ADVICE}"
        )
    if not stat.S_ISDIR(status.st_mode):
        raise RuntimeDirectoryError(f"the runtime path {path} is not a directory. {_ADVICE}")
    if sys.platform == "win32":
        return  # access is governed by ACLs inherited from the user's own profile
    if status.st_uid != os.geteuid():
        raise RuntimeDirectoryError(
            f"the runtime directory {path} belongs to user {status.st_uid}, not to "
            f"{os.geteuid()}. {_ADVICE}"
        )
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise RuntimeDirectoryError(
            f"the runtime directory {path} has mode {mode:04o}, so others can reach into it; it "
            f"must be 0700. Run `chmod 700 {path}` if nobody else has used it. {_ADVICE}"
        )
    _check_parent(path.parent)


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=False)
    except FileExistsError:
        return  # checked by the caller, whoever made it
    except OSError as error:
        raise RuntimeDirectoryError(
            f"the runtime directory {path} can't be made: {error.strerror}. Set "
            f"{ENVIRONMENT_VARIABLE} to a directory that only you can enter."
        ) from error


def _check_parent(parent: Path) -> None:
    """Others must not be able to rename our directory away and put theirs in its place."""
    if sys.platform == "win32":
        return
    status = os.stat(parent)
    sticky = status.st_mode & stat.S_ISVTX
    if status.st_mode & stat.S_IWOTH and not sticky:
        raise RuntimeDirectoryError(
            f"everybody may replace entries of {parent} (mode {stat.S_IMODE(status.st_mode):04o}), "
            f"where the runtime directory lies. {_ADVICE}"
        )
    if status.st_uid not in (0, os.geteuid()) and not sticky:
        raise RuntimeDirectoryError(
            f"{parent}, where the runtime directory lies, belongs to user {status.st_uid}, who "
            f"could replace it. {_ADVICE}"
        )


def _is_junction(status: os.stat_result) -> bool:
    """Say whether a Windows directory is a reparse point (junction)."""
    attributes = getattr(status, "st_file_attributes", 0)
    return bool(attributes & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0))
