"""Recording a run from the window: a name, a red dot, a file that opens and can be trusted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeWidgetItem
from samples import few

from stroboscope.app.main.application import DesktopApplication
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.window_link import WindowLock
from stroboscope.engine.trajectory.trajectory import load_trajectory
from stroboscope.engine.trajectory.verify import Outcome

LEFT = Qt.MouseButton.LeftButton
SCRIPT = """
import stroboscope.engine as physics

scene = physics.create_scene("My/Arm", '''
<mujoco>
  <worldbody>
    <body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
  </worldbody>
</mujoco>''')
physics.set_recordings_folder({folder!r})
{more}
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""
PAIR = """
import stroboscope.engine as physics

MODEL = '''
<mujoco>
  <worldbody>
    <body><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body>
  </worldbody>
  <actuator><motor name="push" joint="hinge"/></actuator>
</mujoco>'''
left, right = physics.create_scene("Left", MODEL), physics.create_scene("Right", MODEL)
physics.start_recording({folder!r} + "/both.mcap", scenes=[left, right])
right.start_recording({folder!r} + "/right & only.mcap")
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        left.step()
        right.step()
"""
LIMITED = """
import resource, signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
"""


@pytest.fixture
def desktop(qapp, own_folders: Path, wait_until) -> Iterator[DesktopApplication]:
    """The one window of this user, to which opened files attach."""
    desktop = DesktopApplication(qapp, lock=WindowLock.acquire())
    desktop.window.show()
    assert QTest.qWaitForWindowExposed(desktop.window, 60_000)
    yield desktop
    children = [child.process for child in desktop.window.processes._children]
    desktop.window.close()
    for child in children:
        assert child.wait(60) == 0
    desktop.window.deleteLater()


@pytest.fixture
def recorded(desktop, run_script: Callable[..., Any], tmp_path: Path, wait_until):
    """``recorded()``: a scene in the window whose recordings go into ``tmp_path / "runs"``."""

    def start(more: str = "") -> Any:
        run_script(SCRIPT.format(folder=str(tmp_path / "runs"), more=more))
        scene = desktop.sessions.shown
        wait_until(lambda: scene.status is not None and scene.session.has_control)
        return scene

    return start


def answer(desktop, name: str) -> None:
    """Type a name into the dialog that is open, and press its button."""
    dialog = desktop.window.commands.recording.dialog
    dialog.name.clear()
    QTest.keyClicks(dialog.name, name)
    QTest.mouseClick(dialog.start, LEFT)


def texts(desktop, level: LogLevel) -> str:
    return "\n".join(line.text for line in desktop.sessions.log.lines if line.level is level)


def test_a_run_is_recorded_until_the_red_dot_is_clicked(
    desktop, recorded, wait_until, click, tmp_path
):
    scene, commands = recorded(), desktop.window.commands.recording
    button, action = desktop.window.status.recorded, desktop.window.actions_by_name["record"]
    assert not button.isVisible()
    trigger(action)
    assert commands.dialog.name.placeholderText() == "My/Arm"
    answer(desktop, "a walk")
    wait_until(lambda: commands.dialog is None and button.isVisible())
    assert action.text() == "Stop recording this run"
    desktop.sessions.play()
    wait_until(lambda: scene.recording.running.frames > 100)
    assert button.text().startswith("a walk.mcap · ")
    click(button)
    wait_until(lambda: not button.isVisible())
    path = tmp_path / "runs" / "a walk.mcap"
    wait_until(lambda: f"Recorded a walk.mcap: {path}" in texts(desktop, LogLevel.INFO))
    assert action.text() == "Record…"
    desktop.sessions.pause()
    with load_trajectory(path) as trajectory:
        assert trajectory.complete
        assert len(trajectory) > 100
        assert trajectory.verify().outcome is Outcome.SAME


def entries(button) -> list[str]:
    """What the menu of the button says, headings and folders aside."""
    return [a.text().partition("\t")[0] for a in button.menu_of_entries.actions() if a.isEnabled()]


def choose(button, text: str) -> None:
    """Open the menu of the button and press Return on an entry."""
    QTest.mouseClick(button, LEFT)
    menu = button.menu_of_entries
    assert menu.isVisible()
    (action,) = [each for each in menu.actions() if each.text().startswith(text)]
    menu.setActiveAction(action)
    QTest.keyClick(menu, Qt.Key.Key_Return)


def test_of_several_recordings_the_button_shows_which_there_are_and_stops_one_or_all(
    desktop, run_script, wait_until, tmp_path
):
    (tmp_path / "runs").mkdir()
    run_script(PAIR.format(folder=str(tmp_path / "runs")))
    button = desktop.window.status.recorded
    wait_until(lambda: button.isVisible() and button.text().startswith("2 recordings · "))
    assert desktop.window.actions_by_name["record"].text() == "Stop recording this run"
    desktop.sessions.play()
    wait_until(lambda: all(each.status.axis > 10 for each in desktop.sessions.all_scenes()))
    # Whichever scene is looked at, all of them are told.
    wait_until(lambda: set(entries(button)) == {
        "Stop both.mcap — Left, Right", "Stop right && only.mcap — Right", "Stop all 2 recordings",
    })  # fmt: skip
    headings = [a.text() for a in button.menu_of_entries.actions() if not a.isEnabled()]
    assert f"script.py records into {tmp_path / 'runs'}" in headings
    files = {a.toolTip() for a in button.menu_of_entries.actions()}
    assert str(tmp_path / "runs" / "both.mcap") in files
    right = desktop.sessions.all_scenes()[1]
    desktop.sessions.show(right)
    assert desktop.window.actions_by_name["record"].text() == "Stop recording this run…"
    choose(button, "Stop both.mcap")
    wait_until(lambda: button.text().startswith("right & only.mcap · "))
    with load_trajectory(tmp_path / "runs" / "both.mcap", scene="Left") as trajectory:
        assert trajectory.complete
        assert trajectory.axes[0] == 0
        assert len(trajectory) > 10
    assert not right.is_stale
    right.recording.start("third", mode="exact", done=lambda _: None, refused=pytest.fail)
    wait_until(lambda: button.text().startswith("2 recordings"))
    choose(button, "Stop all")
    wait_until(lambda: not button.isVisible())
    for path in (tmp_path / "runs" / "right & only.mcap", *tmp_path.rglob("third.mcap")):
        with load_trajectory(path) as trajectory:
            assert trajectory.complete
    wait_until(lambda: texts(desktop, LogLevel.INFO).count("Recorded ") == 3)


@pytest.mark.slow
def test_the_only_recording_of_another_scene_is_named_with_its_scene(
    desktop, recorded, wait_until, click, tmp_path
):
    more = f"""
other = physics.create_scene("Other", "<mujoco/>")
other.start_recording({str(tmp_path / "other.mcap")!r})
"""
    recorded(more)
    button = desktop.window.status.recorded
    wait_until(lambda: button.isVisible())
    assert button.text().startswith("Other: other.mcap · ")
    click(button)
    wait_until(lambda: not button.isVisible())
    with load_trajectory(tmp_path / "other.mcap") as trajectory:
        assert trajectory.complete


def test_what_was_saved_is_opened_from_the_log(desktop, recorded, wait_until, tmp_path):
    scene = recorded()
    desktop.sessions.step(20)
    wait_until(lambda: desktop.window.actions_by_name["save_history"].isEnabled())
    wait_until(lambda: scene.status.axis == 20)
    trigger(desktop.window.actions_by_name["save_history"])
    answer(desktop, "past")
    view = desktop.window.log_panel.view
    said = f"Saved past.mcap: {tmp_path / 'runs' / 'past.mcap'}"

    def item() -> QTreeWidgetItem | None:
        every = (view.topLevelItem(n) for n in range(view.topLevelItemCount()))
        return next((each for each in every if each.text(2) == said), None)

    wait_until(lambda: item() is not None)
    view.scrollToItem(item())
    at = view.visualItemRect(item()).center()
    QTest.mouseClick(view.viewport(), LEFT, pos=at)
    QTest.mouseDClick(view.viewport(), LEFT, pos=at)
    wait_until(
        lambda: any(s.history.recording == "past.mcap" for s in desktop.sessions.all_scenes()), 90
    )


def test_the_history_of_a_scene_is_saved(desktop, recorded, wait_until, tmp_path):
    scene, commands = recorded(), desktop.window.commands.recording
    action = desktop.window.actions_by_name["save_history"]
    assert not action.isEnabled()
    desktop.sessions.step(50)
    wait_until(lambda: scene.history.has_rows and scene.status.axis == 50)
    wait_until(lambda: action.isEnabled())
    trigger(action)
    QTest.keyClick(commands.dialog.name, Qt.Key.Key_Return)
    wait_until(lambda: commands.dialog is None)
    # The scene's name can't be a file's as it is.
    path = tmp_path / "runs" / "My_Arm.mcap"
    assert f"Saved My_Arm.mcap: {path}" in texts(desktop, LogLevel.INFO)
    with load_trajectory(path) as trajectory:
        assert trajectory.axes == (0, 50)
        assert trajectory.verify().outcome is Outcome.SAME


@pytest.mark.parametrize(
    "name", few(["../outside", "a/b", "dots.", "x" * 200, "a\\b", ".hidden"], 2)
)
def test_a_name_that_is_a_path_is_refused_in_the_dialog(
    desktop, recorded, wait_until, tmp_path, name
):
    recorded()
    trigger(desktop.window.actions_by_name["record"])
    dialog = desktop.window.commands.recording.dialog
    answer(desktop, name)
    wait_until(lambda: dialog.problem.isVisible())
    assert "a recording's name" in dialog.problem.text()
    assert dialog.start.isEnabled()
    assert not any(tmp_path.rglob("*.mcap"))
    answer(desktop, "good")
    wait_until(lambda: desktop.window.status.recorded.isVisible())
    assert [path.name for path in tmp_path.rglob("*.mcap")] == ["good.mcap"]


def test_a_folder_that_is_none_is_told_in_the_dialog(desktop, recorded, wait_until, tmp_path):
    (tmp_path / "runs").write_text("a file")
    recorded()
    trigger(desktop.window.actions_by_name["record"])
    dialog = desktop.window.commands.recording.dialog
    answer(desktop, "run")
    wait_until(lambda: dialog.problem.isVisible())
    assert "there is no folder" in dialog.problem.text()
    QTest.mouseClick(dialog.cancel, LEFT)
    wait_until(lambda: desktop.window.commands.recording.dialog is None)


def test_a_disk_that_fails_is_told_in_the_window_and_the_simulation_goes_on(
    desktop, recorded, wait_until, tmp_path
):
    scene = recorded(LIMITED)
    trigger(desktop.window.actions_by_name["record"])
    answer(desktop, "run")
    wait_until(lambda: desktop.window.status.recorded.isVisible())
    desktop.sessions.fast_forward()
    wait_until(lambda: "recording has stopped after" in texts(desktop, LogLevel.WARNING))
    wait_until(lambda: not desktop.window.status.recorded.isVisible())
    before = scene.status.axis
    wait_until(lambda: scene.status.axis > before + 100)
    assert desktop.window.actions_by_name["record"].text() == "Record…"
    with load_trajectory(tmp_path / "runs" / "run.mcap") as trajectory:
        assert len(trajectory) > 10
