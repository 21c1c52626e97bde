"""What ``make demo`` does: the cross-thread demo in the window, or without a display a picture.

Without a display the same happens under Xvfb: the window opens, the demo attaches to it, Play is
pressed through the protocol, ten seconds pass, and the window's own screenshot becomes
``demo.png``: paused at the next kick, so that everything in it belongs to one instant. What the
picture shows, a rollout and two plots, is chosen here.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from with_display import display_environment, virtual_display

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from stroboscope.app.main.application import DesktopApplication
    from stroboscope.app.models.scene import SceneModel

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURE = Path(os.environ.get("DEMO_PICTURE", REPOSITORY / "demo.png")).absolute()
STROBOSCOPE = [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]
DEMO = [*STROBOSCOPE, "demo", "cross-thread"]
SHOWN_SCENE = "Rollout 1"
PLAY_SECONDS = 10.0
# When in its five seconds the pendulum swings forward [s].
KICK_BEGINS, KICK_ENDS = 2.0, 2.4
DEADLINE = 120.0


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


def take_picture(size: tuple[int, int]) -> int:
    """Open the window, play the demo in it for ten seconds, save the picture; 0 when all is well.

    The environment is our own already: display, runtime directory, settings.
    """
    from stroboscope.app.main.application import DesktopApplication, make_qapplication
    from stroboscope.debugger_protocol.window_link import WindowLock

    app = make_qapplication(sys.argv[:1])
    lock = WindowLock.acquire()
    if lock is None:
        raise SystemExit("the new runtime directory has a window already")
    desktop = DesktopApplication(app, lock=lock)
    desktop.window.resize(*size)
    desktop.window.show()
    demo = subprocess.Popen(DEMO)
    try:
        scene = _play(app, desktop, demo)
        _run(app, [*STROBOSCOPE, "screenshot", str(PICTURE)])
        moved = _report(desktop, scene)
        desktop.window.close()
        _wait(app, lambda: demo.poll() is not None, "the demo to end with its window")
    finally:
        desktop.close()
        demo.kill()
        demo.wait()
    return 0 if moved and demo.returncode == 0 else 1


def _play(
    app: "QApplication", desktop: "DesktopApplication", demo: "subprocess.Popen[bytes]"
) -> "SceneModel":
    """Wait for the three scenes, press Play, show a rollout; return it, paused in its kick."""
    scenes = desktop.sessions.all_scenes
    _wait(app, lambda: len(scenes()) == 3 or demo.poll() is not None, "three scenes")
    if demo.poll() is not None:
        raise SystemExit("the demo ended before it was attached; what it said stands above")
    _run(app, [*STROBOSCOPE, "ctl", "play"])
    scene = next(scene for scene in scenes() if scene.name == SHOWN_SCENE)
    desktop.sessions.show(scene)
    _wait(app, lambda: scene.description is not None, "the scene's description")
    _choose_what_to_show(desktop, scene)
    _pass(app, PLAY_SECONDS)
    _wait(app, lambda: _is_kicking(scene), "the kick")
    desktop.sessions.pause()
    _pass(app, 2.0)  # the view draws what it stands at, then once more with everything on
    return scene


def _is_kicking(scene: "SceneModel") -> bool:
    return scene.status is not None and KICK_BEGINS < scene.status.time < KICK_ENDS


def _choose_what_to_show(desktop: "DesktopApplication", scene: "SceneModel") -> None:
    from stroboscope.app.main.plot_feed import scene_key
    from stroboscope.app.models.plot_store import PlotSeriesId
    from stroboscope.app.models.selection import Element, ElementKind

    assert scene.description is not None
    names = [joint.name for joint in scene.description.joints]
    desktop.sessions.selection.select(Element(ElementKind.JOINT, names.index("shoulder")))
    key = scene_key(scene)
    joints = ("shoulder", "elbow")
    addresses = [scene.description.joints[names.index(name)].qpos for name in joints]
    desktop.window.plots.add_signals(*(PlotSeriesId(key, "qpos", each) for each in addresses))


def _report(desktop: "DesktopApplication", shown: "SceneModel") -> bool:
    """Say what the picture shows; return whether the rollout moved."""
    if shown.status is None or not PICTURE.exists():
        return False
    print(f"{PICTURE}: the whole window, paused after {PLAY_SECONDS:.0f} s of Play.")
    print(
        f"It shows {SHOWN_SCENE!r} of the cross-thread demo at t = {shown.status.time:.3f} s of "
        "its five-second kick:\na cart on a rail kicks a ball with a double pendulum."
    )
    for scene in desktop.sessions.all_scenes():
        steps = scene.status.total_steps if scene.status is not None else 0
        print(f"  {scene.name:<10} {steps:6d} steps taken")
    return shown.status.total_steps > 0


def _run(app: "QApplication", command: list[str]) -> None:
    """Run a command that talks to this very window, which goes on living meanwhile."""
    process = subprocess.Popen(command)
    _wait(app, lambda: process.poll() is not None, " ".join(command[3:]))
    if process.returncode:
        raise SystemExit(f"`{' '.join(command[3:])}` failed with status {process.returncode}")


def _pass(app: "QApplication", seconds: float) -> None:
    end = time.monotonic() + seconds
    _wait(app, lambda: time.monotonic() > end, f"{seconds:.0f} s")


def _wait(app: "QApplication", condition: Callable[[], object], what: str) -> None:
    from PySide6.QtCore import QEventLoop

    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited {DEADLINE:.0f} s in vain for {what}")
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        time.sleep(0.005)


def main() -> int:
    """Choose between the two and return the exit status."""
    if sys.argv[1:] == ["--picture"]:
        return take_picture((1440, 900))
    if display_answers():
        return subprocess.call(DEMO)
    print("There is no display: starting one under Xvfb.", flush=True)
    with tempfile.TemporaryDirectory() as folder, virtual_display("1440x900") as display:
        environment = display_environment(display)
        # Folders of its own: a window that is open elsewhere has nothing to do with this one, and
        # the picture should not depend on how somebody has arranged theirs.
        for variable in ("STROBOSCOPE_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            environment[variable] = str(Path(folder, variable.lower()))
            Path(environment[variable]).mkdir(mode=0o700)
        command = [sys.executable, str(Path(__file__).resolve()), "--picture"]
        return subprocess.call(command, env=environment, cwd=folder)


if __name__ == "__main__":
    sys.exit(main())
