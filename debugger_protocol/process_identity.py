"""Tell a running process from a later one that was given the same number."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["process_is", "process_start"]

# A variable, because type checkers take sys.platform for the one they run on.
_PLATFORM: Final[str] = sys.platform


def process_start(pid: int) -> str | None:
    """Return a text that is equal for equal processes and differs for another of the same pid.

    None when there is no such process or this platform won't tell.
    """
    if pid <= 0:
        return None
    if _PLATFORM == "linux":
        return _linux_start(pid)
    if _PLATFORM == "win32":
        return _windows_start(pid)
    return _ps_start(pid)


def process_is(pid: int, start: str) -> bool:
    """Say whether the process that was started as ``start`` is still running.

    True in doubt (a platform that tells no start times): a live session must not be taken for
    a dead one.
    """
    now = process_start(pid)
    if now is not None and start:
        return now == start
    return _exists(pid)


def _linux_start(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name (field 2) may hold spaces and parentheses; fields count from the last one.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None  # a zombie does nothing any more
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{fields[19]}@{boot}"


def _ps_start(pid: int) -> str | None:
    try:
        result = subprocess.run(
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
            env={"LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    def _windows_start(pid: int) -> str | None:
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel32.OpenProcess.restype = wintypes.HANDLE
        query_limited_information = 0x1000
        handle = kernel32.OpenProcess(query_limited_information, False, pid)
        if not handle:
            return None
        try:
            times = [wintypes.FILETIME() for _ in range(4)]
            if not kernel32.GetProcessTimes(wintypes.HANDLE(handle), *map(ctypes.byref, times)):
                return None
            if times[1].dwHighDateTime or times[1].dwLowDateTime:
                return None  # it has ended; somebody still holds a handle
            return str((times[0].dwHighDateTime << 32) | times[0].dwLowDateTime)
        finally:
            kernel32.CloseHandle(wintypes.HANDLE(handle))

else:

    def _windows_start(pid: int) -> str | None:
        return None


def _exists(pid: int) -> bool:
    if _PLATFORM in ("win32", "linux"):
        return process_start(pid) is not None
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
