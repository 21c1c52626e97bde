"""Connection files: where a session listens and the secret that opens it, for our user's eyes.

One file per session, ``session-<pid>-<session id>.json``, mode 0600, in the runtime directory. It
is written under another name and moved into place, so a reader sees all of it or nothing.
"""

import contextlib
import os
import stat
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from stroboscope.debugger_protocol.exceptions import (
    ConnectionFileError,
    NoSessionError,
)
from stroboscope.debugger_protocol.file_kinds import what_opens
from stroboscope.debugger_protocol.handshake import SECRET_BYTES, Endpoint, make_secret
from stroboscope.debugger_protocol.process_identity import process_is, process_start
from stroboscope.debugger_protocol.runtime_directory import find_runtime_directory
from stroboscope.debugger_protocol.version import PROTOCOL_MAJOR, PROTOCOL_MINOR

__all__ = [
    "ConnectionFile",
    "ConnectionInfo",
    "find_session",
    "list_sessions",
    "make_session_id",
    "read_connection_file",
]

FORMAT: Final = 1
_MAX_BYTES: Final = 64 << 10
_PREFIX: Final = "session-"
_SUFFIX: Final = ".json"
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class ConnectionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection file says. Its ``repr`` never shows the secret.

    ``pid`` and ``process_start`` name the process that listens, ``port`` is on 127.0.0.1,
    ``started`` is wall-clock time [s since the epoch].
    """

    session_id: str
    pid: int
    process_start: str
    port: int
    secret: bytes
    script: str = ""
    endpoint: Endpoint = Endpoint.SESSION
    protocol: str = f"{PROTOCOL_MAJOR}.{PROTOCOL_MINOR}"
    software: str = ""
    started: float = 0.0
    format: int = FORMAT

    def __repr__(self) -> str:
        return (
            f"ConnectionInfo(session_id={self.session_id!r}, pid={self.pid}, port={self.port}, "
            f"script={self.script!r})"
        )

    def is_alive(self) -> bool:
        """Say whether the process that wrote this is still running."""
        return process_is(self.pid, self.process_start)


def make_session_id() -> str:
    """Return a new session id: 16 hexadecimal digits, unguessable and never used again."""
    return os.urandom(8).hex()


class ConnectionFile:
    """A connection file that this process has written, and removes when it is done.

    A forked child that holds this object never removes the parent's file.
    """

    def __init__(self, path: Path, info: ConnectionInfo) -> None:
        self.path = path
        self.info = info
        self._owner_pid = os.getpid()

    @classmethod
    def write(
        cls,
        *,
        port: int,
        script: str = "",
        session_id: str = "",
        secret: bytes = b"",
        endpoint: Endpoint = Endpoint.SESSION,
        directory: Path | None = None,
        software: str = "",
    ) -> "ConnectionFile":
        """Write the file of this process's session.

        Raises RuntimeDirectoryError when the directory is not safe and ConnectionFileError when
        the file can't be written (also when anything stands in its place already).
        """
        folder = find_runtime_directory() if directory is None else directory
        info = ConnectionInfo(
            session_id=session_id or make_session_id(),
            pid=os.getpid(),
            process_start=process_start(os.getpid()) or "",
            port=port,
            secret=secret or make_secret(),
            script=script.encode("utf-8", "backslashreplace").decode("utf-8"),
            endpoint=endpoint,
            software=software,
            started=time.time(),
        )
        if endpoint is Endpoint.WINDOW:
            path = folder / "window.json"
        else:
            path = folder / f"{_PREFIX}{info.pid}-{info.session_id}{_SUFFIX}"
        _write_private(path, msgspec.json.format(msgspec.json.encode(info), indent=2))
        return cls(path, info)

    def remove(self) -> None:
        """Remove the file, if this is the process that wrote it and it is still the same file."""
        if os.getpid() != self._owner_pid:
            return
        with contextlib.suppress(ConnectionFileError, OSError):
            if read_connection_file(self.path).session_id == self.info.session_id:
                self.path.unlink()


def read_connection_file(path: str | os.PathLike[str]) -> ConnectionInfo:
    """Return what a connection file says.

    Raises ConnectionFileError unless it is a regular file of our own that nobody else can read; of
    a recorded run, a scene or a model it says what opens it.
    """
    try:
        return _read(Path(path))
    except ConnectionFileError:
        if told := what_opens(path):
            raise ConnectionFileError(f"{path} is no session, it {told}") from None
        raise


def _read(path: Path) -> ConnectionInfo:
    data = _read_private(path)
    try:
        info = msgspec.json.decode(data, type=ConnectionInfo)
    except msgspec.MsgspecError as error:
        raise ConnectionFileError(f"{path} is no connection file: {error}") from None
    if info.format != FORMAT:
        raise ConnectionFileError(
            f"{path} has format {info.format}; this version reads format {FORMAT}. "
            f"Install the same version of stroboscope on both sides."
        )
    if len(info.secret) < SECRET_BYTES or not 0 < info.port < 65536:
        raise ConnectionFileError(f"{path} has no usable secret and port: it is damaged")
    return info


def list_sessions(directory: Path | None = None) -> list[tuple[Path, ConnectionInfo]]:
    """Return the running sessions of this user, oldest first.

    Files of processes that are gone are removed; files that can't be trusted are passed over.
    Raises RuntimeDirectoryError when the directory is not safely ours. Any thread.
    """
    folder = find_runtime_directory(create=False) if directory is None else directory
    found = []
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(folder.glob(f"{_PREFIX}*{_SUFFIX}")):
            with contextlib.suppress(ConnectionFileError):
                info = read_connection_file(path)
                if info.is_alive():
                    found.append((path, info))
                else:
                    _remove_stale(path, info)
    return sorted(found, key=lambda entry: entry[1].started)


def find_session(session_id: str = "", directory: Path | None = None) -> ConnectionInfo:
    """Return the session with that id, or the only one that is running.

    Raises NoSessionError, with a list, when there is none or the choice is not clear.
    """
    sessions = [info for _, info in list_sessions(directory)]
    chosen = [info for info in sessions if not session_id or info.session_id == session_id]
    if len(chosen) == 1:
        return chosen[0]
    lines = "\n".join(f"  {i.session_id}  pid {i.pid}  {i.script}" for i in sessions)
    if session_id:
        raise NoSessionError(f"no session {session_id} is running. Running now:\n{lines or '  -'}")
    if not sessions:
        raise NoSessionError(
            "no session is running: start a script with `stroboscope run script.py`, or call "
            "debugger.attach() or debugger.listen() in it"
        )
    raise NoSessionError(
        f"{len(sessions)} sessions are running; choose one with --session and its id or "
        f"pid, or in a program by its connection file:\n{lines}"
    )


def _remove_stale(path: Path, info: ConnectionInfo) -> None:
    """Remove a dead process's file; the name carries pid and id, so no other file can have it."""
    if path.name == f"{_PREFIX}{info.pid}-{info.session_id}{_SUFFIX}":
        with contextlib.suppress(OSError):
            path.unlink()


def _write_private(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.urandom(4).hex()}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
    try:
        handle = os.open(partial, flags, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                if sys.platform != "win32":
                    os.fchmod(file.fileno(), 0o600)
                file.write(data)
            _move_into_place(partial, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()
    except OSError as error:
        raise ConnectionFileError(
            f"the connection file {path} can't be written: {error.strerror}"
        ) from error


def _move_into_place(partial: Path, path: Path) -> None:
    """Give the file its name without ever replacing or following what stands there."""
    try:
        os.link(partial, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        # A file system without hard links; the name is unguessable and the directory ours.
        if os.path.lexists(path):
            raise FileExistsError(17, "something stands in its place", str(path)) from None
        partial.rename(path)


def _read_private(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise ConnectionFileError(
            f"the connection file {path} can't be opened: {error.strerror}. It is gone when the "
            f"session has ended; a symbolic link is never followed."
        ) from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ConnectionFileError(f"{path} is not a regular file")
        if sys.platform != "win32":
            if status.st_uid != os.geteuid():
                raise ConnectionFileError(
                    f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}: not trusted"
                )
            if status.st_mode & 0o077:
                mode = stat.S_IMODE(status.st_mode)
                raise ConnectionFileError(
                    f"{path} has mode {mode:04o}: others may know its secret; it must be 0600"
                )
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ConnectionFileError(f"{path} has more than {_MAX_BYTES} bytes: no connection file")
    return data
