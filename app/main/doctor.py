"""``stroboscope doctor``: what is installed, what is wrong with it, and what to do about it."""

import dataclasses
import enum
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.exceptions import ProtocolError
from stroboscope.debugger_protocol.runtime_directory import find_runtime_directory
from stroboscope.debugger_protocol.version import PROTOCOL_MAJOR, PROTOCOL_MINOR
from stroboscope.debugger_protocol.window_link import find_window
from stroboscope.engine.display import missing_display
from stroboscope.engine.outside.confinement import can_confine_files

__all__ = ["Finding", "Verdict", "examine", "main", "mujoco_findings"]

_GUI = ("PySide6-Essentials", "vispy", "pyqtgraph", "PyOpenGL", "qtawesome", "superqt")
_BASE = ("numpy", "msgspec", "websockets", "platformdirs")
_FILES = ("zstandard", "xxhash", "mcap", "defusedxml")
_MIN_MUJOCO = (3, 3)
_GL_TIMEOUT_S = 60.0
_GL_PROBE = """
import sys
from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext
app = QGuiApplication(sys.argv[:1])
context = QOpenGLContext()
surface = QOffscreenSurface()
surface.create()
if not context.create() or not context.makeCurrent(surface):
    sys.exit("no OpenGL context could be created")
functions = context.functions()
from OpenGL import GL
name = GL.glGetString(GL.GL_RENDERER).decode()
number = GL.glGetString(GL.GL_VERSION).decode()
sys.stdout.write(f"{name} | OpenGL {number} | platform {app.platformName()}")
"""


class Verdict(enum.StrEnum):
    """How bad a finding is."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "PROBLEM"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``advice`` says what to do."""

    verdict: Verdict
    what: str
    text: str
    advice: str = ""


def main() -> int:
    """Print the report; 0 when nothing stands in the way, 1 otherwise."""
    findings = list(examine())
    for finding in findings:
        mark = {"ok": "  ok  ", "note": " note ", "PROBLEM": "PROBLEM"}[finding.verdict.value]
        sys.stdout.write(f"{mark:8}{finding.what:20}{finding.text}\n")
        if finding.advice:
            sys.stdout.write(f"{'':28}→ {finding.advice}\n")
    problems = sum(finding.verdict is Verdict.PROBLEM for finding in findings)
    closing = (
        "Everything that was looked at is fine."
        if not problems
        else f"{problems} problem{'' if problems == 1 else 's'}."
    )
    sys.stdout.write(f"\n{closing}\n")
    return 1 if problems else 0


def examine() -> Iterable[Finding]:
    """Yield everything there is to say, most basic first."""
    yield from _python_findings()
    yield from mujoco_findings()
    yield from _gui_findings()
    yield from _display_findings()
    yield from _runtime_findings()


# --- versions


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _python_findings() -> Iterable[Finding]:
    own = _version("stroboscope") or "not installed (run from a folder)"
    protocol = f"protocol {PROTOCOL_MAJOR}.{PROTOCOL_MINOR}"
    yield Finding(Verdict.OK, "stroboscope", f"{own}, {protocol}")
    text = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info >= (3, 11):  # noqa: UP036 - a report says what is true
        yield Finding(Verdict.OK, "python", text)
    missing = [name for name in _BASE if _version(name) is None]
    if missing:
        yield Finding(
            Verdict.PROBLEM,
            "base packages",
            f"missing: {', '.join(missing)}",
            f"{sys.executable} -m pip install stroboscope",
        )
    else:
        every = ", ".join(f"{name} {_version(name)}" for name in _BASE)
        yield Finding(Verdict.OK, "base packages", every)
    missing = [name for name in _FILES if _version(name) is None]
    if missing:
        yield Finding(
            Verdict.NOTE,
            "files",
            f"missing: {', '.join(missing)}; scenes and recordings can't be written or read",
            f'{sys.executable} -m pip install "stroboscope[files]"',
        )
    else:
        every = ", ".join(f"{name} {_version(name)}" for name in _FILES)
        yield Finding(Verdict.OK, "files", every)
    itself = "and the system itself refuses them all other files"
    yield Finding(
        Verdict.OK,
        "strangers' files",
        f"compiled in a process of their own, {itself} (Landlock)"
        if can_confine_files()
        else "compiled in a process of their own; their names are checked, the system itself (no "
        "Landlock) refuses nothing",
    )


def _find(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def mujoco_findings(
    find: Callable[[str], Distribution | None] = _find,
    probe: Callable[[], tuple[str, str]] | None = None,
) -> Iterable[Finding]:
    """Yield what is wrong with MuJoCo here.

    ``mujoco`` and ``mujoco-core`` install into one folder: whichever came last has overwritten
    the other's files, and pip sees nothing wrong.
    """
    full, core = find("mujoco"), find("mujoco-core")
    if full is None and core is None:
        yield Finding(
            Verdict.NOTE,
            "mujoco",
            "not installed: this Python can show scenes of others, and make none",
            f'{sys.executable} -m pip install "stroboscope[mujoco]"',
        )
        return
    if full is not None and core is not None and full.version != core.version:
        yield Finding(
            Verdict.PROBLEM,
            "mujoco",
            f"half upgraded: mujoco {full.version} and mujoco-core {core.version} share one folder "
            "and have overwritten each other's files",
            "keep one: pip uninstall -y mujoco mujoco-core, then pip install mujoco-core (4.x) "
            f"or pip install mujoco=={full.version} (dm_control and others still need 3.x)",
        )
    imported, error = (probe or _import_mujoco)()
    if error:
        yield Finding(
            Verdict.PROBLEM,
            "mujoco",
            f"can't be imported: {error}",
            "pip uninstall -y mujoco mujoco-core, then install one of them again",
        )
        return
    expected = {d.version for d in (full, core) if d is not None}
    names = " and ".join(d.metadata["Name"] for d in (full, core) if d is not None)
    if imported not in expected:
        yield Finding(
            Verdict.PROBLEM,
            "mujoco",
            f"the files are of version {imported}, pip says {', '.join(sorted(expected))}",
            "pip uninstall -y mujoco mujoco-core, then install one of them again",
        )
    elif _numbers(imported) < _MIN_MUJOCO:
        yield Finding(
            Verdict.PROBLEM,
            "mujoco",
            f"{imported} is too old; 3.3 or newer is needed",
            f'{sys.executable} -m pip install --upgrade "{names}"',
        )
    else:
        yield Finding(Verdict.OK, "mujoco", f"{imported} ({names})")


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)


def _run(code: str, timeout: float) -> tuple[str, str]:
    """Run ``code`` in a child: output, or why not. A broken library may kill its process."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {timeout:g} s"
    except OSError as error:
        return "", str(error)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return "", lines[-1]
    return done.stdout.strip(), ""


def _import_mujoco() -> tuple[str, str]:
    return _run("import mujoco, sys; sys.stdout.write(mujoco.__version__)", _GL_TIMEOUT_S)


# --- window


def _gui_findings() -> Iterable[Finding]:
    missing = [name for name in _GUI if _version(name) is None]
    if missing:
        yield Finding(
            Verdict.NOTE,
            "window packages",
            f"missing: {', '.join(missing)}. Scripts run; `stroboscope ctl` controls them",
            f'{sys.executable} -m pip install "stroboscope[app]"',
        )
        return
    yield Finding(Verdict.OK, "window packages", ", ".join(f"{n} {_version(n)}" for n in _GUI))
    qt = _numbers(_version("PySide6-Essentials") or "0")
    if qt >= (6, 12) and sys.version_info < (3, 12):
        yield Finding(
            Verdict.PROBLEM,
            "PySide6",
            "6.12 on Python 3.11 aborts after some hundred signals with a bool",
            f'{sys.executable} -m pip install "PySide6-Essentials<6.12"',
        )


def _display_findings() -> Iterable[Finding]:
    if sys.platform.startswith("linux"):
        names = ("WAYLAND_DISPLAY", "DISPLAY")
        found = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
        if missing := missing_display():
            yield Finding(
                Verdict.PROBLEM,
                "display",
                f"none: {missing}",
                "log in with `ssh -X`, or start one: xvfb-run stroboscope …; without a display, "
                "debugger.listen() and `stroboscope ctl` work",
            )
            return
        yield Finding(Verdict.OK, "display", ", ".join(found))
    if importlib.util.find_spec("PySide6") is None or importlib.util.find_spec("OpenGL") is None:
        return
    text, error = _run(_GL_PROBE, _GL_TIMEOUT_S)
    if error:
        yield Finding(
            Verdict.PROBLEM,
            "OpenGL",
            error,
            "install the system's GL and xcb libraries: sudo apt-get install libgl1 libegl1 "
            "libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 "
            "libgl1-mesa-dri",
        )
        return
    software = any(name in text.lower() for name in ("llvmpipe", "softpipe", "swrast"))
    if software:
        yield Finding(
            Verdict.NOTE,
            "OpenGL",
            text,
            "drawn by the processor: it works, in low quality; install the driver of your GPU "
            "for more",
        )
    else:
        yield Finding(Verdict.OK, "OpenGL", text)


# --- runtime directory


def _runtime_findings() -> Iterable[Finding]:
    try:
        folder = find_runtime_directory()
    except (ProtocolError, OSError) as error:
        yield Finding(
            Verdict.PROBLEM,
            "runtime directory",
            str(error),
            "remove what stands there, or set STROBOSCOPE_RUNTIME_DIR to a folder of your own "
            "with mode 0700",
        )
        return
    yield Finding(Verdict.OK, "runtime directory", str(folder))
    try:
        sessions = list_sessions()
    except (ProtocolError, OSError) as error:
        yield Finding(Verdict.PROBLEM, "sessions", str(error))
    else:
        names = ", ".join(
            f"{Path(i.script).name or i.session_id} (pid {i.pid})" for _, i in sessions
        )
        yield Finding(Verdict.OK, "sessions", names or "none is running")
    try:
        yield Finding(Verdict.OK, "window", f"open, pid {find_window().pid}")
    except (ProtocolError, OSError):
        yield Finding(Verdict.OK, "window", "none is open")
