"""What the window remembers, when it is written, and that a closed window is gone."""

import gc
import json
import weakref

import pytest
from event_loop import trigger

from stroboscope.app.main.application import DesktopApplication

# Instead of the second that the window waits, once a test has seen that it writes by itself.
SOON_MS = 20


def _stored(own_folders):
    path = own_folders / "config" / "settings.json"
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.slow
def test_the_camera_of_a_scene_that_was_never_drawn_is_not_remembered(
    desktop, attached, wait_until
):
    application = attached("--scenes", "2", "--script", "/x/train.py")
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 2)
    first, second = desktop.sessions.all_scenes()
    wait_until(lambda: first.latest("pose") is not None)
    wait_until(lambda: second.description is not None)
    application.process.kill()
    wait_until(lambda: not first.session.is_connected)
    desktop.sessions.show(second)
    desktop.sessions.show(first)
    desktop.window.memory.keep_camera()
    assert list(desktop.settings.scripts["/x/train.py"].camera) == [first.name]


@pytest.mark.slow
def test_settings_are_on_disk_soon_after_a_change_and_not_only_at_the_end(
    desktop, attached, own_folders, wait_until
):
    trigger(desktop.window.actions_by_name["wireframe"])
    wait_until(lambda: _stored(own_folders).get("view", {}).get("wireframe") is True)
    desktop.keeper._timer.setInterval(SOON_MS)
    attached("--script", "/x/train.py")
    viewport = desktop.window.scene_view.viewport
    wait_until(lambda: desktop.window.scene_view.drawn_scene is not None)
    viewport.look_through(0)
    name = desktop.sessions.shown.name

    def camera():
        script = _stored(own_folders).get("scripts", {}).get("/x/train.py", {})
        return script.get("camera", {}).get(name, {}).get("mode")

    wait_until(lambda: camera() == "fixed")
    desktop.window.set_theme("light")
    wait_until(lambda: _stored(own_folders)["theme"] == "light")
    desktop.window.set_theme("dark")
    desktop.window.docks["log"].hide()
    before = _stored(own_folders)["docks"]
    wait_until(lambda: _stored(own_folders)["docks"] != before)


def test_settings_that_did_not_change_are_not_written_again(desktop, own_folders, wait_until):
    path = own_folders / "config" / "settings.json"
    desktop.keeper._timer.setInterval(SOON_MS)
    trigger(desktop.window.actions_by_name["wireframe"])
    wait_until(path.exists)
    wait_until(lambda: not desktop.keeper.is_waiting)

    def written_again():
        before = path.stat().st_mtime_ns
        desktop.keeper.touch()
        wait_until(lambda: not desktop.keeper.is_waiting)
        return path.stat().st_mtime_ns != before

    # The window may still be laid out on its way to the screen: that is a change, too.
    wait_until(lambda: not written_again())


def _used_and_closed(qapp, settings_path, application, wait_until):
    """Open a window, look at a scene, close it; return weak references to what it was made of."""
    desktop = DesktopApplication(qapp, settings_path=settings_path)
    desktop.window.show()
    desktop.sessions.open(application.path)
    wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.latest("pose"))
    window = desktop.window
    parts = {
        "application": desktop,
        "window": window,
        "sessions": desktop.sessions,
        "viewport": window.scene_view.viewport,
        "plots": window.plots,
        "store": window.store,
    }
    window.close()
    window.deleteLater()
    return {name: weakref.ref(part) for name, part in parts.items()}


def test_a_closed_window_is_freed(qapp, own_folders, pendulums, wait_until):
    path = own_folders / "config" / "settings.json"
    left = _used_and_closed(qapp, path, pendulums(), wait_until)

    def alive():
        gc.collect()
        return [name for name, reference in left.items() if reference() is not None]

    wait_until(lambda: not alive())


class Unseen:
    """The scenes that are there and have not been looked at."""

    def __init__(self, sessions):
        scenes = sessions.all_scenes()
        self._left = [weakref.ref(scene) for scene in scenes if scene is not sessions.shown]

    def are_freed(self):
        gc.collect()
        return all(reference() is None for reference in self._left)


def test_scenes_of_an_application_that_left_the_window_are_freed(desktop, attached, wait_until):
    sessions = desktop.sessions
    attached("--scenes", "4")
    wait_until(lambda: len(sessions.all_scenes()) == 4)
    wait_until(lambda: all(scene.channels for scene in sessions.all_scenes()))
    unseen = Unseen(sessions)
    sessions.remove(sessions.sessions[0])
    wait_until(unseen.are_freed)


@pytest.mark.slow
def test_scenes_of_an_earlier_run_are_freed_when_the_next_takes_its_place(
    desktop, attached, pendulums, wait_until
):
    sessions = desktop.sessions
    first = attached("--scenes", "4")
    wait_until(lambda: len(sessions.all_scenes()) == 4)
    unseen = Unseen(sessions)
    first.close()
    wait_until(lambda: not sessions.sessions[0].is_connected)
    sessions.open(pendulums("--scenes", "4").path)
    wait_until(lambda: [session.is_connected for session in sessions.sessions] == [True])
    wait_until(unseen.are_freed)
