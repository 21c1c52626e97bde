"""Take from this process what it does not need, before it reads what somebody else has made.

Limits of memory, processor time and file size are the system's (``setrlimit``). On Linux the kernel
also refuses every file outside of what is named (Landlock, since 5.13), whatever a reader of
models would open: the checks of names don't stand alone there.
"""

import ctypes
import os
import sys
from collections.abc import Sequence

from stroboscope.engine.outside.limits import GuardLimits

__all__ = ["can_confine_files", "confine_files", "limit_resources"]

# <linux/landlock.h>: kinds of access to files, by the version that brought them.
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_ACCESS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NO_NETWORK_SINCE = 4
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38


class _Ruleset(ctypes.Structure):
    _fields_ = (("access_fs", ctypes.c_uint64), ("access_net", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def limit_resources(limits: GuardLimits) -> None:
    """Bound this process's memory, processor time, files and their size, where that is possible."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is the only limit
        return
    wanted = {
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_FSIZE": 2 * limits.result,
        "RLIMIT_NOFILE": 256,
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        _, hard = resource.getrlimit(number)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # A moment more until the kernel kills: SIGXCPU says what it was.
        last = most + 2 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else most
        try:
            resource.setrlimit(number, (most, last))
        except (ValueError, OSError):  # macOS knows no limit of address space
            continue


def can_confine_files() -> bool:
    """Return whether the kernel can refuse files to a process that asks for that."""
    return sys.platform == "linux" and _version(ctypes.CDLL(None)) > 0


def _version(libc: ctypes.CDLL) -> int:
    return int(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION))


def confine_files(*, read: Sequence[str], write: Sequence[str]) -> bool:
    """Let the kernel refuse files outside of these folders from now on; False where it can't.

    Files that are open stay so; modules that are not imported yet can't be any more.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = _version(libc)
    if version < 1:
        return False
    everything = (1 << _ACCESS_BY_VERSION[min(version, max(_ACCESS_BY_VERSION))]) - 1
    with_network = version >= _NO_NETWORK_SINCE
    ruleset = _Ruleset(everything, 3 if with_network else 0)
    size = ctypes.sizeof(ruleset) if with_network else 8
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    if rules < 0:
        return False
    try:
        allowed = [(folder, _READ_FILE | _READ_FOLDER) for folder in read]
        # Executing is the first kind of access: nothing may be executed.
        allowed += [(folder, everything & ~1) for folder in write]
        return all(_allow(libc, rules, folder, access) for folder, access in allowed) and (
            libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
            and libc.syscall(_RESTRICT_SELF, rules, 0) == 0
        )
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, folder: str, access: int) -> bool:
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        rule = _PathBeneath(access, descriptor)
        return bool(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0) == 0)
    finally:
        os.close(descriptor)
