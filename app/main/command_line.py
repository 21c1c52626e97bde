"""What the words behind ``stroboscope`` do. Qt is imported only by what opens a window."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from stroboscope.debugger_protocol.plain_text import plain_text

__all__ = ["imported_command"]

_USAGE = """\
usage: stroboscope [--session ID]             open the window
       stroboscope run script.py [args…]      run a script with the debugger
       stroboscope run --record FILE …        … and record it; run --help says how
       stroboscope open FILE                  show a scene, a model or a recorded run
       stroboscope replay FILE                … and play it
       stroboscope info|verify FILE           what is in a recorded run, and is it right
       stroboscope repair|cut|export FILE     make another file of it
       stroboscope ctl list|play|pause|…      control a running session from the terminal
       stroboscope demo NAME|list             run a demo
       stroboscope screenshot out.png         picture of the open window
       stroboscope doctor                     check this installation
       stroboscope desktop install|remove     open files by a double click
       stroboscope --version | --help
"""
_APP_MODULES = ("PySide6", "vispy", "pyqtgraph", "qtawesome", "superqt", "OpenGL")


def imported_command(words: Sequence[str]) -> Callable[[], int]:
    """Return what runs a command line and returns the exit code; what it needs is imported."""
    command, arguments = words[0] if words else "", list(words[1:])
    match command:
        case "run":
            from stroboscope.engine.instrument import run

            return partial(run.main, arguments)
        case "open":
            from stroboscope.engine.showing import opening

            return partial(opening.main, arguments, complain=_show_dialog)
        case "export" if film := _film(arguments):
            return film
        case "info" | "verify" | "repair" | "cut" | "export" | "replay":
            from stroboscope.engine.trajectory import commands

            return partial(commands.main, command, arguments)
        case "ctl":
            from stroboscope.debugger_protocol import ctl

            return partial(ctl.main, arguments)
        case "demo":
            return partial(_demo, arguments)
        case "screenshot":
            return partial(_screenshot, arguments)
        case "doctor":
            from stroboscope.app.main.doctor import main as doctor

            return doctor
        case "desktop":
            from stroboscope.app.main.desktop_entry import main as desktop

            return partial(desktop, arguments)
        case "--version" | "-V":
            return partial(_answer, f"stroboscope {_version()}")
        case "--help" | "-h" | "help":
            return partial(_answer, _USAGE)
    if not command or command.startswith("-"):
        return partial(_window, list(words))
    return partial(_unknown, command)


def _unknown(command: str) -> int:
    known = (
        *("run", "open", "replay", "info", "verify", "repair", "cut", "export"),
        *("ctl", "demo", "screenshot", "doctor"),
    )
    close = [name for name in known if name[:2] == command[:2]]
    if command.endswith(".py"):
        hint = f"To run a script with the debugger: stroboscope run {command}"
    elif Path(command).is_file():
        hint = f"To show what is in a file: stroboscope open {command}"
    elif close:
        hint = f"Did you mean: stroboscope {close[0]}?"
    else:
        hint = "These exist:"
    _complain(f"stroboscope: unknown command {command!r}. {hint}\n\n{_USAGE}")
    return 2


def _version() -> str:
    # Slow to import, and seldom asked for.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("stroboscope")
    except PackageNotFoundError:
        return "unknown"


def _say(text: str) -> None:
    sys.stdout.write(plain_text(text.rstrip("\n")) + "\n")
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(plain_text(text.rstrip("\n")) + "\n")
    sys.stderr.flush()


def _answer(text: str) -> int:
    _say(text)
    return 0


def _fail(text: str) -> int:
    _complain(text)
    return 1


# --- export


def _film(arguments: list[str]) -> Callable[[], int] | None:
    """Return what makes a film, where that is what is asked for."""
    if not any(each.removeprefix("--to=") in ("mp4", "gif") for each in arguments):
        return None
    if missing := _missing_for_the_window():
        return partial(_fail, f"A film needs {missing}")
    from stroboscope.app.main import film_export

    return partial(film_export.main, arguments) if film_export.wants_film(arguments) else None


# --- open


def _show_dialog(text: str) -> None:
    """Say what is wrong with a file to somebody who has no terminal in front of him."""
    if importlib.util.find_spec("PySide6") is None:
        return
    from PySide6.QtWidgets import QApplication, QMessageBox

    app = QApplication.instance() or QApplication(sys.argv[:1])
    QMessageBox.critical(None, "Stroboscope", text)
    del app


# --- demo


def _demo(arguments: list[str]) -> int:
    from stroboscope.resources.examples import DEMOS, find_demo

    if not arguments or arguments[0] in ("list", "-h", "--help"):
        width = max(len(demo.name) for demo in DEMOS)
        _say("\n".join(f"{demo.name:{width}}  {demo.description}" for demo in DEMOS))
        return 0
    try:
        demo = find_demo(arguments[0])
    except KeyError as error:
        _complain(f"stroboscope demo: {error.args[0]}")
        return 2
    options = arguments[1:]
    if "-h" in options or "--help" in options:
        _say(
            f"usage: stroboscope demo {demo.name} [--no-window]\n\n{demo.description}\n\n"
            f"  --no-window  open no window and wait for a client\n\nThe script: {demo.path}"
        )
        return 0
    unknown = [option for option in options if option != "--no-window"]
    if unknown:
        _complain(f"stroboscope demo: no option {unknown[0]!r}: a demo takes --no-window, or none")
        return 2
    missing = demo.missing()
    if missing:
        extras = {"mujoco": "stroboscope[mujoco]", "gymnasium": "stroboscope[gym]"}
        names = " ".join(f'"{extras.get(name, name)}"' for name in missing)
        _complain(f"The demo {demo.name} needs {', '.join(missing)}: pip install {names}")
        return 1
    try:
        demo.run(launch="--no-window" not in arguments)
    except KeyboardInterrupt:
        return 130
    return 0


# --- screenshot


def _screenshot(arguments: list[str]) -> int:
    from stroboscope.debugger_protocol.exceptions import NoSessionError, ProtocolError
    from stroboscope.debugger_protocol.window_link import WindowClient

    if len(arguments) != 1 or arguments[0].startswith("-"):
        _complain("usage: stroboscope screenshot out.png")
        return 2
    path = Path(arguments[0])
    try:
        with WindowClient.connect() as window:
            path.write_bytes(window.screenshot())
    except NoSessionError as error:
        _complain(
            "stroboscope screenshot: no window is open. Open one with `stroboscope`, or run a"
            f" script with `stroboscope run`, and try again.\n({error})"
        )
        return 1
    except (ProtocolError, OSError) as error:
        _complain(f"stroboscope screenshot: {error}")
        return 1
    _say(str(path.resolve()))
    return 0


# --- window


def _window(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="stroboscope", usage=_USAGE, add_help=False)
    parser.add_argument("--session", default="")
    parser.add_argument("--settings", default="")
    options, rest = parser.parse_known_args(arguments)
    if rest:
        _complain(f"stroboscope: unknown option {rest[0]!r}\n\n{_USAGE}")
        return 2
    from stroboscope.debugger_protocol.file_kinds import what_opens

    if told := what_opens(options.session):
        _complain(f"stroboscope: {options.session} is no session, it {told}")
        return 2
    if missing := _missing_for_the_window():
        _complain(f"The window needs {missing}")
        return 1
    from stroboscope.debugger_protocol.exceptions import ProtocolError
    from stroboscope.debugger_protocol.window_link import WindowLock

    try:
        lock = WindowLock.acquire()
    except (ProtocolError, OSError) as error:
        _complain(f"stroboscope: {error}")
        return 1
    if lock is None:
        return _hand_over(options.session)
    try:
        if reason := _no_display():
            _complain(_without_display(reason))
            return 2
        return _open_window(options.session, lock, options.settings)
    finally:
        lock.release()


def _without_display(reason: str) -> str:
    return (
        f"stroboscope: {reason}: log in with `ssh -X`, or look at a running script with "
        "`stroboscope ctl`; `xvfb-run -a stroboscope` opens one that only `stroboscope "
        "screenshot` sees"
    )


def _no_display(*, asks: bool = False) -> str:
    """Return why a window has nowhere to be shown: Qt says it at length, and aborts."""
    from stroboscope.engine.launch import NoDisplayError, check_display

    try:
        check_display(asks=asks)
    except NoDisplayError as error:
        return error.reason
    return ""


def _display_failed(release: Callable[[], None]) -> None:
    """End the process in words of ours, where Qt is about to abort it; return where we have none.

    ``release``: lets go of what would stay behind. Asked only now, as each start would pay for it.
    """
    if reason := _no_display(asks=True):
        _complain(_without_display(reason))
        release()
        os._exit(2)


def _missing_for_the_window() -> str:
    """Return which packages are missing, and how they are installed; empty when none is."""
    missing = [name for name in _APP_MODULES if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"{', '.join(missing)}, which this Python does not have.\n"
        f'Install it with:  {sys.executable} -m pip install "stroboscope[app]"'
    )


def _hand_over(session_id: str) -> int:
    """Another process is the window: have it show the session, and end."""
    import time

    from stroboscope.debugger_protocol.exceptions import NoSessionError, ProtocolError
    from stroboscope.debugger_protocol.window_link import WindowClient

    deadline = time.monotonic() + 20.0
    while True:
        try:
            with WindowClient.connect() as window:
                if session_id:
                    window.open_session(session_id)
                else:
                    window.focus()
        except NoSessionError as error:
            # It holds the lock but does not listen yet: it is starting.
            if time.monotonic() > deadline:
                _complain(f"stroboscope: the window that is open does not answer: {error}")
                return 1
            _complain("stroboscope: starting … waiting for the window that is opening")
            time.sleep(0.2)
        except ProtocolError as error:
            _complain(f"stroboscope: the window refused: {error}")
            return 1
        else:
            _say("Shown in the window that is open.")
            return 0


def _open_window(session_id: str, lock: "object", settings: str) -> int:
    _complain("stroboscope: starting … loading the window")
    from stroboscope.app.main.application import DesktopApplication, make_qapplication
    from stroboscope.app.main.end_signals import EndSignals
    from stroboscope.debugger_protocol.window_link import WindowLock
    from stroboscope.engine.launch import SCRIPT_VARIABLE

    assert isinstance(lock, WindowLock)  # noqa: S101 - our own caller
    app = make_qapplication(sys.argv[:1], failed=lambda: _display_failed(lock.release))
    _complain("stroboscope: starting … opening the window")
    desktop = DesktopApplication(app, settings_path=Path(settings) if settings else None, lock=lock)
    signals = EndSignals(desktop.window.close)
    desktop.window.show()
    # Not for what is started from the window.
    opened_by = os.environ.pop(SCRIPT_VARIABLE, "")
    if session_id:
        desktop.open_first(session_id, opened_by=opened_by)
    _complain("stroboscope: ready")
    code = app.exec()
    desktop.close()
    signals.stop()
    desktop.delete_window()
    return code
