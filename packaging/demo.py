"""What ``make demo`` does: the cross-thread demo in the window, or without a display a picture.

Without a display the same program runs under Xvfb: the demo opens its window there, Play is pressed
through the protocol, ten seconds pass, and the window's own screenshot becomes ``demo.png``.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from with_display import display_environment, virtual_display

from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.connection_file import list_sessions

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURE = REPOSITORY / "demo.png"
STROBOSCOPE = [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]
DEMO = [*STROBOSCOPE, "demo", "cross-thread"]
SHOWN_SCENE = "Rollout 1"
PLAY_SECONDS = 10.0
START_TIMEOUT = 120.0


def display_answers() -> bool:
    """Return whether there is a display; a DISPLAY that is set may belong to nobody any more."""
    if sys.platform in ("win32", "darwin") or os.environ.get("WAYLAND_DISPLAY"):
        return True
    host, _, rest = os.environ.get("DISPLAY", "").rpartition(":")
    number = rest.partition(".")[0]
    if not number.isdigit():
        return False
    try:
        if host in ("", "unix"):
            with socket.socket(socket.AF_UNIX) as local:
                local.connect(f"/tmp/.X11-unix/X{number}")  # noqa: S108 - where X puts it
        else:
            socket.create_connection((host, 6000 + int(number)), timeout=3).close()
    except OSError:
        return False
    return True


def run_headless(display: str) -> None:
    """Play the demo for ten seconds on ``display`` and leave a picture; raise when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        # Folders of its own: a window that is open elsewhere has nothing to do with this one, and
        # the picture should not depend on how somebody has arranged theirs.
        environment = display_environment(display)
        environment["STROBOSCOPE_RUNTIME_DIR"] = str(_private(folder, "runtime"))
        environment["XDG_CONFIG_HOME"] = str(_private(folder, "config"))
        os.environ.update(environment)
        demo = subprocess.Popen(DEMO, cwd=_private(folder, "work"))
        try:
            _play_and_take_picture(demo)
        finally:
            demo.terminate()
            demo.wait(30)


def _play_and_take_picture(demo: "subprocess.Popen[bytes]") -> None:
    client = DebuggerClient.connect(_wait_for_session(demo), observe=True)
    try:
        if not client.wait_until(lambda c: len(c.scenes()) == 3, START_TIMEOUT):
            raise SystemExit(f"three scenes were expected, there are {client.scenes()}")
        _ctl("play")
        time.sleep(PLAY_SECONDS)
        subprocess.run(
            [*STROBOSCOPE, "screenshot", "--scene", SHOWN_SCENE, str(PICTURE)], check=True
        )
        scenes = {scene.name: scene for scene in client.scenes()}
    finally:
        client.close()
    _report(scenes)


def _report(scenes: dict[str, SceneInfo]) -> None:
    shown = scenes[SHOWN_SCENE]
    print(f"{PICTURE}: the window after {PLAY_SECONDS:.0f} s of Play.")
    print(
        f"It shows {SHOWN_SCENE!r} of the cross-thread demo at t = {shown.time:.2f} s, step "
        f"{shown.step_count}: a cart on a rail kicks a ball with a double pendulum."
    )
    for scene in scenes.values():
        print(f"  {scene.name:<10} {scene.total_steps:6d} steps taken")
    if shown.total_steps == 0:
        raise SystemExit("the rollout did not move: Play did not reach it")


def _ctl(*arguments: str) -> None:
    subprocess.run([*STROBOSCOPE, "ctl", *arguments], check=True)


def _wait_for_session(demo: "subprocess.Popen[bytes]") -> Path:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end:
        if sessions := list_sessions():
            return sessions[0][0]
        if demo.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit("the demo opened no session; what it said stands above")


def _private(folder: str, name: str) -> Path:
    path = Path(folder, name)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def main() -> int:
    """Choose between the two and return the exit status."""
    if display_answers():
        return subprocess.call(DEMO)
    print("There is no display: starting one under Xvfb.", flush=True)
    with virtual_display("1440x900") as display:
        run_headless(display)
    return 0


if __name__ == "__main__":
    sys.exit(main())
