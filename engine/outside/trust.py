"""Folders that the user trusts: models in them may name all files of that folder.

The choice is made once, by name, and kept in the user's configuration. A model that lies in no
trusted folder may only name files beside or below itself.
"""

import json
import logging
import os
import stat
from pathlib import Path

import platformdirs

from stroboscope.engine.arguments import checked_path
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.atomic import write_file

__all__ = ["ASKS_TRUST", "own_folder", "trust_folder", "trusted_folders", "untrust_folder"]

_log = logging.getLogger(__name__)

ASKS_TRUST = "--trust FOLDER"
"""Words in the advice of who refuses a file that names others outside of its folder."""
_FILE = "trusted_folders.json"
_MOST_BYTES = 1 << 20


def trusted_folders() -> tuple[Path, ...]:
    """Return the folders that the user trusts; none when what is kept of them can't be read."""
    path = _path()
    try:
        status = path.stat()
        if hasattr(os, "getuid") and (
            status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ):
            _log.warning("%s can be written by others: nothing in it is trusted", path)
            return ()
        if status.st_size > _MOST_BYTES:
            raise ValueError(f"it has {status.st_size:,} bytes")
        kept = json.loads(path.read_text(encoding="utf-8"))["folders"]
        return tuple(Path(folder) for folder in kept)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        _log.warning("%s can't be read (%s): nothing in it is trusted", path, error)
        return ()


def trust_folder(folder: str | os.PathLike[str]) -> Path:
    """Let models in ``folder`` name all files in it, from now on; return it as it is kept.

    Raises EngineError when there is no such folder, or for one that holds everything.
    """
    folder = checked_path(folder, "folder")
    path = Path(os.path.realpath(folder))
    if not path.is_dir():
        raise EngineError(f"{os.fspath(folder)!r} can't be trusted: there is no such folder")
    if path == Path(path.anchor):
        raise EngineError(f"{str(path)!r} can't be trusted: that is every file there is")
    known = trusted_folders()
    if path not in known:
        _keep((*known, path))
    return path


def untrust_folder(folder: str | os.PathLike[str]) -> bool:
    """Take that back; return whether the folder had been trusted."""
    path = Path(os.path.realpath(folder))
    known = trusted_folders()
    if path not in known:
        return False
    _keep(tuple(each for each in known if each != path))
    return True


def own_folder(file: str | os.PathLike[str]) -> Path:
    """Return the folder whose files the model in ``file`` may name: its own, or a trusted one.

    Of trusted folders that hold each other, the outermost counts.
    """
    own = Path(os.path.realpath(Path(file).parent))
    return min(
        (folder for folder in trusted_folders() if own.is_relative_to(folder)),
        key=lambda folder: len(folder.parts),
        default=own,
    )


def _path() -> Path:
    return Path(platformdirs.user_config_dir("stroboscope", appauthor=False)) / _FILE


def _keep(folders: tuple[Path, ...]) -> None:
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"folders": [str(folder) for folder in folders]}, indent=2) + "\n"
    write_file(path, text.encode("utf-8"))
    path.chmod(0o600)
