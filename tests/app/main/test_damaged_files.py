"""Damaged and unfinished recordings in the window: what is lost, and a copy that is whole."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from event_loop import trigger
from plain_recording import PlainRun, record_plain
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QToolTip

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.main.damaged_files import copy_name
from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.window_link import WindowLock
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.trajectory.trajectory import load_trajectory

Key = Qt.Key
MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
LAST = 200
LONG_AGO = 1_000_000.0
TWO_SCENES = """
import stroboscope.engine as physics

scenes = [physics.create_scene(name, '''{model}''') for name in ("Arm", "Arm")]
with physics.start_recording({path!r}, scenes=scenes):
    for _ in range(1300):
        for scene in scenes:
            scene.step()
physics.shutdown()
"""
RECORDER = """
import sys
import stroboscope.engine as physics

scene = physics.create_scene("Arm", sys.argv[2])
scene.start_recording(physics.TrajectoryFile(sys.argv[1]))
for line in sys.stdin:
    for _ in range(int(line)):
        scene.step()
    print("stepped", flush=True)
"""


@pytest.fixture
def desktop(qapp, own_folders: Path) -> Iterator[DesktopApplication]:
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
def run(tmp_path: Path) -> PlainRun:
    """Two seconds of an arm."""

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = math.sin(0.1 * step)

    model = mujoco.MjModel.from_xml_string(MODEL)
    return record_plain(tmp_path / "arm.mcap", model, steps=LAST, control=control)


@pytest.fixture
def open_it(desktop, wait_until):
    """``open_it(path)``: open a file in the window; returns its scene."""

    def open_file(path: Path) -> Any:
        desktop.window.open_file(str(path))
        return shown_file(desktop, wait_until, path)

    return open_file


def shown_file(desktop, wait_until, path: Path) -> Any:
    def is_shown() -> bool:
        scene = desktop.sessions.shown
        return scene is not None and scene.history.recording == path.name

    wait_until(is_shown, 90)
    return desktop.sessions.shown


def flip_a_byte(path: Path, block: int, *, scene: int = 0) -> None:
    with TrajectoryReader(path) as reader:
        index = reader.index(scene)
        at = int(index.offset[block]) + int(index.nbytes[block]) // 2
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def cut_off(path: Path, *, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    os.utime(path, (LONG_AGO, LONG_AGO))


def choose(monkeypatch, name: str) -> list[str]:
    """Have the file dialog answer with a name; returns what it will have suggested."""
    suggested = []

    def answer(_parent, _title, suggestion, _filter) -> tuple[str, str]:
        suggested.append(suggestion)
        return name or suggestion, ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    return suggested


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_a_file_with_flipped_bytes_says_which_frames_are_lost_and_is_repaired_with_a_click(
    desktop, open_it, run, wait_until, click, monkeypatch
):
    flip_a_byte(run.path, 4)
    before = run.path.read_bytes()
    notice = desktop.window.damaged_files.notice
    open_it(run.path)
    wait_until(notice.isVisible)
    assert plain(notice.text.text()) == (
        "arm.mcap is damaged: frames 64 to 79 of Plain are lost, 185 frames can be read."
    )
    told = [line for line in desktop.log.lines if line.source == "arm.mcap"]
    assert "the checksum of its" in told[-1].text
    assert told[-1].level is LogLevel.WARNING
    copy = run.path.with_name("arm.repaired.mcap")
    suggested = choose(monkeypatch, "")
    click(notice.repair_button)
    assert suggested == [str(copy)]
    scene = shown_file(desktop, wait_until, copy)
    assert run.path.read_bytes() == before
    assert not notice.isVisible()
    with load_trajectory(copy) as trajectory:
        assert trajectory.complete
        assert not trajectory.damage
        axes = [trajectory.axis(frame) for frame in range(len(trajectory))]
        assert axes == [*range(64), *range(80, LAST + 1)]
        for frame, axis in enumerate(axes):
            assert np.array_equal(trajectory.frame(frame).qpos, run.rows[axis, 1:2])
    # Whoever goes back to the damaged file is told that there is a copy.
    damaged = next(s for s in desktop.sessions.all_scenes() if s.history.recording == "arm.mcap")
    desktop.sessions.show(damaged)
    wait_until(notice.isVisible)
    assert plain(notice.text.text()) == (
        "arm.repaired.mcap has what is whole of this file: 185 frames of Plain."
    )
    click(notice.open_button)
    assert desktop.sessions.shown is scene
    assert not notice.isVisible()


def test_lost_frames_are_a_gap_in_the_timeline_which_offers_the_repair(
    desktop, open_it, run, wait_until, click, monkeypatch
):
    flip_a_byte(run.path, 4)
    files, timeline = desktop.window.damaged_files, desktop.window.timeline
    strip, palette = timeline.strip, desktop.window.palette_tokens
    scene = open_it(run.path)
    wait_until(files.notice.isVisible)
    assert [(each.first, each.last) for each in scene.history.lost] == [(64, 79)]
    wait_until(lambda: "lost" in strip.text_at(strip.scale.x(72)))

    def tone(axis: float) -> str:
        image = strip.grab().toImage()
        ratio = image.width() / strip.width()
        y = strip.rows.line_top + strip.rows.line_height // 2
        return image.pixelColor(int(round(strip.scale.x(axis)) * ratio), int(y * ratio)).name()

    assert tone(64) == palette.warn.lower()
    assert tone(40) == tone(120) != palette.surface0.lower()
    # Said where the pointer is: what is lost, and what can be done.
    at = QPoint(round(strip.scale.x(72)), strip.rows.line_top + 4)
    QTest.mouseMove(strip, at + QPoint(-40, 0))
    QTest.mouseMove(strip, at)
    wait_until(lambda: "lost: frames 64 to 79" in plain(QToolTip.text()))
    assert "Repair… (right click) writes a copy of all that can be read" in QToolTip.text()
    # Going there is refused as ever, and the view stays.
    before = len(desktop.log.lines)
    QTest.mouseClick(strip, Qt.MouseButton.LeftButton, pos=at)
    wait_until(lambda: len(desktop.log.lines) > before)
    assert "lost: frames 64 to 79" in desktop.log.lines[-1].text
    assert "go to a frame before or after these" in desktop.log.lines[-1].text
    assert scene.history.view not in range(64, 80)
    # Also when the message was closed.
    click(files.notice.close_button)
    assert scene.history.lost
    choose(monkeypatch, "")
    strip.customContextMenuRequested.emit(at)
    menu = QApplication.activePopupWidget()
    (repair,) = [each for each in menu.actions() if each.text() == "Repair arm.mcap…"]
    menu.close()
    trigger(repair)
    copy = shown_file(desktop, wait_until, run.path.with_name("arm.repaired.mcap"))
    checked = files._files[run.path.with_name("arm.repaired.mcap")]
    wait_until(lambda: checked.found is not None)
    assert copy.history.lost == ()
    assert "lost" not in strip.text_at(strip.scale.x(72))


def test_a_lost_block_of_a_file_without_its_index_is_marked_by_its_steps(
    desktop, open_it, run, wait_until
):
    with TrajectoryReader(run.path) as reader:
        index = reader.index(0)
        begin, nbytes = int(index.offset[4]), int(index.nbytes[4])
    data = bytearray(run.path.read_bytes())
    data[begin : begin + nbytes] = bytes(nbytes)
    run.path.write_bytes(data)
    cut_off(run.path, keep=0.95)
    scene = open_it(run.path)
    notice, strip = desktop.window.damaged_files.notice, desktop.window.timeline.strip
    wait_until(notice.isVisible)
    assert "Physics steps 64 to 79 of Plain are lost" in plain(notice.text.text())
    assert [(each.first, each.last) for each in scene.history.lost] == [(64, 79)]
    wait_until(lambda: "✕ lost: physics steps 64" in strip.text_at(strip.scale.x(72)))


def test_only_what_is_lost_of_the_shown_scene_is_marked(desktop, open_it, tmp_path, wait_until):
    path = tmp_path / "both.mcap"
    code = TWO_SCENES.format(model=MODEL, path=str(path))
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=120)
    with TrajectoryReader(path) as reader:
        last = len(reader.index(1)) - 2  # behind it there is the state that the scene was left in
    # Also where the newest steps are lost, and a scene stands at what is before them.
    for scene, block in ((0, 1), (1, 3), (1, last), (1, last + 1)):
        flip_a_byte(path, block, scene=scene)
    open_it(path)
    files, sessions = desktop.window.damaged_files, desktop.sessions
    wait_until(files.notice.isVisible)
    wait_until(lambda: len(sessions.all_scenes()) == 2)
    found = {}
    for scene in sessions.all_scenes():
        sessions.show(scene)
        wait_until(lambda scene=scene: scene.history.lost)
        found[scene.name] = [(each.scene, each.first // 256) for each in scene.history.lost]
    assert found == {"Arm": [("Arm", 1)], "Arm (2)": [("Arm (2)", each) for each in (3, 5, 5)]}


def test_of_recorded_transforms_without_a_model_no_physics_steps_are_marked(
    desktop, open_it, tmp_path, wait_until
):
    """Their timeline counts poses, not the steps that are known to be lost."""
    path = tmp_path / "poses.mcap"
    code = TWO_SCENES.format(model=MODEL, path=str(path))
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=120)
    with TrajectoryReader(path) as reader:
        model = reader.attachment(reader.scene(0).model)
    data = path.read_bytes()
    at = data.index(model) + len(model) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
    flip_a_byte(path, 1)
    scene = open_it(path)
    files = desktop.window.damaged_files
    wait_until(files.notice.isVisible)
    assert files._files[path].lost["Arm"]
    assert scene.history.told.recording_end != files._files[path].found.last["Arm"]
    assert scene.history.lost == ()


def test_curves_of_a_damaged_file_have_all_frames_but_the_lost_ones(
    desktop, open_it, run, wait_until
):
    flip_a_byte(run.path, 4)
    key = scene_key(open_it(run.path))
    plots, store = desktop.window.plots, desktop.window.store
    plots.add_signals(PlotSeriesId(key, "qpos", 0))
    wait_until(lambda: (found := store.columns(key, "qpos")) is not None and found.count > 0)
    whole = [*range(64), *range(80, LAST)]
    wait_until(lambda: store.columns(key, "qpos").count >= len(whole))
    qpos = store.columns(key, "qpos").rows()
    values = dict(zip(qpos.axis.tolist(), qpos.values[:, 0].tolist(), strict=True))
    assert [values[axis] for axis in whole] == run.rows[whole, 1].tolist()
    assert not any(values.get(axis, math.nan) == run.rows[axis, 1] for axis in range(64, 80))


def test_a_run_whose_recorder_was_killed_says_so_and_is_repaired(
    desktop, open_it, own_folders, wait_until, click, monkeypatch
):
    script, path = own_folders / "recorder.py", own_folders / "killed.mcap"
    script.write_text(RECORDER, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-P", str(script), str(path), MODEL],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as recorder:  # fmt: skip
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        recorder.stdin.write("500\n")
        recorder.stdin.flush()
        recorder.stdout.readline()
        scene = open_it(path)
        files = desktop.window.damaged_files
        wait_until(lambda: scene.history.told.recording_end > 200)
        os.utime(path, (LONG_AGO, LONG_AGO))  # nothing was written for long
        # It is still recorded, if only by somebody who waits: nothing is wrong with it.
        assert not files.notice.isVisible()
        checking = files._files[path].check
        assert checking is not None
        recorder.kill()
    wait_until(files.notice.isVisible)
    assert files.notice.text.text().startswith(
        "killed.mcap was never closed: its recorder was killed, or its machine went down. "
        "All that was written can be read: "
    )
    choose(monkeypatch, str(own_folders / "whole"))
    click(files.notice.repair_button)
    shown_file(desktop, wait_until, own_folders / "whole.mcap")
    with load_trajectory(own_folders / "whole.mcap") as trajectory:
        assert trajectory.complete
        assert len(trajectory) > 200


def test_a_whole_file_says_nothing(desktop, open_it, run, wait_until):
    open_it(run.path)
    files = desktop.window.damaged_files
    wait_until(lambda: files._files[run.path].found is not None)
    assert files._files[run.path].found.is_whole
    assert not files.notice.isVisible()


def test_the_file_itself_is_never_the_copy_and_what_fails_is_told(
    desktop, open_it, run, wait_until, click, monkeypatch, tmp_path
):
    flip_a_byte(run.path, 2)
    before = run.path.read_bytes()
    files, banner = desktop.window.damaged_files, desktop.window.banner
    open_it(run.path)
    wait_until(files.notice.isVisible)
    choose(monkeypatch, str(run.path))
    click(files.notice.repair_button)
    assert "arm.mcap is the damaged file itself" in banner.text.text()
    assert "arm.repaired.mcap" in banner.text.text()
    banner.dismiss()
    choose(monkeypatch, str(tmp_path / "no such folder" / "copy.mcap"))
    click(files.notice.repair_button)
    wait_until(banner.isVisible)
    assert "copy.mcap" in banner.text.text()
    assert "no such folder is not there: make it, or name another" in banner._details
    wait_until(files.notice.repair_button.isVisible)
    assert run.path.read_bytes() == before


def test_a_repair_that_is_cancelled_leaves_nothing(
    desktop, open_it, run, wait_until, click, monkeypatch, tmp_path
):
    flip_a_byte(run.path, 2)
    files = desktop.window.damaged_files
    open_it(run.path)
    wait_until(files.notice.isVisible)
    folder = tmp_path / "copies"
    folder.mkdir()
    choose(monkeypatch, str(folder / "copy.mcap"))
    click(files.notice.repair_button)
    assert files.notice.cancel_button.isVisible()
    assert files.notice.text.text() == "Repairing arm.mcap into copy.mcap"
    click(files.notice.cancel_button)
    assert files.notice.repair_button.isVisible()
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_message_that_was_closed_does_not_come_back(desktop, open_it, run, wait_until, click):
    cut_off(run.path, keep=0.5)
    files = desktop.window.damaged_files
    scene = open_it(run.path)
    wait_until(files.notice.isVisible)
    click(files.notice.close_button)
    assert not files.notice.isVisible()
    desktop.sessions.show(None)
    desktop.sessions.show(scene)
    assert not files.notice.isVisible()


def test_a_file_that_can_not_be_opened_at_all_is_named_with_what_to_do(desktop, run, wait_until):
    run.path.write_bytes(run.path.read_bytes()[:60])
    desktop.window.open_file(str(run.path))
    banner = desktop.window.banner
    wait_until(banner.isVisible, 90)
    assert banner.text.text().startswith(f"{run.path}: has no manifest")
    assert "record it again, or open a file" in banner._details
    assert "exit code" not in banner._details


def test_copies_get_names_that_nobody_has(tmp_path):
    path = tmp_path / "run.mcap"
    assert copy_name(path) == tmp_path / "run.repaired.mcap"
    copy_name(path).touch()
    assert copy_name(path) == tmp_path / "run.repaired-2.mcap"
