"""Pictures and films of a running scene, made as a person makes them."""

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QProgressDialog
from samples import few

from stroboscope.app.models.picture_choice import (
    FilmChoice,
    PictureChoice,
    PictureOf,
    Size,
    file_stem,
)
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.panels.film_dialog import FilmDialog
from stroboscope.app.panels.picture_dialog import PictureDialog
from stroboscope.app.view3d.camera import CameraState
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")
pytest.importorskip("imageio_ffmpeg")

# A red ball goes round once a second of the simulation, on black.
CIRCLING = """
import math
import stroboscope.engine as physics


MODEL = '''<mujoco model="circling"><option timestep="0.01" gravity="0 0 0"/>
<worldbody><light pos="0 0 5" dir="0 0 -1"/>
<geom type="box" size="2 2 .01" rgba=".05 .05 .05 1"/>
<body name="ball" mocap="true" pos="1 0 .2"><geom size=".25" rgba="1 0 0 1"
 contype="0" conaffinity="0"/></body></worldbody></mujoco>'''
scene = physics.create_scene("Circling: 1/2", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        angle = 2.0 * math.pi * scene.data.time
        scene.data.mocap_pos[0] = (math.cos(angle), math.sin(angle), 0.2)
        scene.step()
"""
ABOVE = CameraState(lookat=(0.0, 0.0, 0.0), distance=7.0, azimuth=90.0, elevation=-90.0)
CONTROL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def circling(desktop, run_script, wait_until):
    """The window, paused, looking down on the circle."""
    run_script(CIRCLING)
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.window.scene_view.drawn_scene is not None)
    wait_until(lambda: desktop.window.actions_by_name["film"].isEnabled())
    desktop.window.resize(900, 600)  # what is drawn beside pictures and films takes time, too
    wait_until(lambda: desktop.window.width() == 900)
    desktop.window.scene_view.viewport.set_camera(ABOVE)
    desktop.window.scene_view.viewport.setFocus()
    return desktop.window


def test_a_film_can_be_taken_as_soon_as_there_is_a_picture(desktop, attached, wait_until):
    view, film = desktop.window.scene_view, desktop.window.actions_by_name["film"]
    told = []
    # What else refreshes the menu comes at any time; the first poses alone must do.
    view.drawn_scene_changed.connect(lambda: told.append((view.drawn_scene, film.isEnabled())))
    attached()
    wait_until(lambda: view.drawn_scene is not None)
    assert told[-1] == (desktop.sessions.shown, True)
    film.setEnabled(False)
    view.drawn_scene_changed.emit()
    assert film.isEnabled()


@pytest.fixture
def answer(monkeypatch, own_folders):
    """``answer(kind, act, name)``: what to do in the dialog that is about to open."""
    folder = own_folders / "out"
    folder.mkdir()
    asked, problems = [], []

    def expect(kind, act, name="", *, folder=folder):
        end = time.monotonic() + 20.0

        def look():
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, kind) and dialog.isVisible():
                # A dialog that nobody answers would hold up the tests for ever.
                try:
                    act(dialog)
                except Exception as error:  # noqa: BLE001 - told when the test ends
                    problems.append(error)
                    dialog.reject()
            elif time.monotonic() < end:
                QTimer.singleShot(10, look)
            elif dialog is not None:
                problems.append(AssertionError(f"{dialog} is not the dialog that was expected"))
                dialog.close()

        def file_dialog(_parent, title, start, _filter):
            asked.append((title, Path(start)))
            return (str(folder / name), "") if name else ("", "")

        monkeypatch.setattr(QFileDialog, "getSaveFileName", file_dialog)
        QTimer.singleShot(0, look)
        return folder / name

    expect.asked = asked
    yield expect
    assert problems == []


def pixels(image: QImage) -> np.ndarray:
    """An image as (height, width, 4), red first."""
    image = image.convertToFormat(QImage.Format.Format_RGBA8888)
    seen = np.frombuffer(image.constBits(), np.uint8).copy()  # the memory is the image's
    return seen.reshape(image.height(), image.width(), 4)


def ball(frame: np.ndarray) -> tuple[float, float]:
    """Where the red ball is in a picture (height, width, 3 or 4): x and y in 0…1."""
    red = frame[..., 0].astype(int) - frame[..., 1] - frame[..., 2]
    y, x = np.nonzero(red > 60)
    assert len(x) > 20, "no ball in the picture"
    return float(x.mean()) / frame.shape[1], float(y.mean()) / frame.shape[0]


def choose(dialog, size, custom=None):
    dialog.sizes.list.setCurrentIndex(dialog.sizes.list.findData(size.value))
    if custom:
        dialog.sizes.width_field.setValue(custom[0])
        dialog.sizes.height_field.setValue(custom[1])


# --- pictures


def test_a_picture_at_a_chosen_size_under_the_scenes_name(circling, answer, click):
    def act(dialog):
        choose(dialog, Size.HD)
        click(dialog.save_button)

    path = answer(PictureDialog, act, "a.png")
    QTest.keyClick(circling, Qt.Key.Key_P, CONTROL_SHIFT)
    image = QImage(str(path))
    assert (image.width(), image.height()) == (1280, 720)
    ball(pixels(image))
    ((_, start),) = answer.asked
    assert start.name == "Circling_1_2_0.000s.png"
    sizes = []

    def look(dialog):
        sizes.append(dialog.sizes.list.currentData())
        click(dialog.save_button)

    answer(PictureDialog, look)  # which names no file: asked is enough
    trigger(circling.actions_by_name["picture"])
    assert answer.asked[1][1].parent == path.parent, "the last folder is remembered"
    assert sizes == [Size.HD.value], "so is the size"


def test_a_picture_of_depth_can_be_saved_as_its_numbers(circling, answer, click):
    trigger(circling.actions_by_name["render_depth"])
    assert circling.actions_by_name["render_depth"].isChecked()
    circling.scene_view.viewport.set_camera(ABOVE)

    def act(dialog):
        choose(dialog, Size.CUSTOM, (320, 240))
        click(dialog.save_button)

    path = answer(PictureDialog, act, "a.npz")
    trigger(circling.actions_by_name["picture"])
    saved = np.load(path)
    assert saved["depth"].shape == saved["geom"].shape == (240, 320)
    shown = saved["geom"] >= 0
    assert shown.any()
    assert np.isfinite(saved["depth"][shown]).all()
    assert saved["depth"][saved["geom"] > 0].max() < 7.0
    path = answer(PictureDialog, act, "a.png")
    trigger(circling.actions_by_name["picture"])
    image = pixels(QImage(str(path)))
    assert image.shape[:2] == (240, 320)


def test_a_transparent_picture_goes_to_the_clipboard(circling, answer, click):
    circling.sessions.selection.select(Element(ElementKind.BODY, 1))

    def act(dialog):
        choose(dialog, Size.CUSTOM, (400, 300))
        dialog.transparent.setChecked(True)
        dialog.overlays.setChecked(False)
        click(dialog.copy_button)

    answer(PictureDialog, act)
    trigger(circling.actions_by_name["picture"])
    image = QApplication.clipboard().image()
    assert (image.width(), image.height()) == (400, 300)
    assert image.hasAlphaChannel()
    seen = pixels(image)
    assert seen[0, 0, 3] == 0
    x, y = ball(seen)
    assert seen[int(y * 300), int(x * 400), 3] == 255


def test_a_picture_of_the_whole_window_at_twice_its_size(circling, answer, click):
    def act(dialog):
        dialog.of.setCurrentIndex(dialog.of.findData(PictureOf.WINDOW.value))
        choose(dialog, Size.TWICE)
        assert not dialog.transparent.isEnabled()
        click(dialog.save_button)

    path = answer(PictureDialog, act, "w.png")
    trigger(circling.actions_by_name["picture"])
    image = QImage(str(path))
    ratio = circling.devicePixelRatioF()
    assert image.width() == round(2 * ratio * circling.width())
    ball(pixels(image))


class Watcher:
    """Notes how often the event loop comes round, and every progress dialog on show.

    In processor time of this process: by the clock it depends on who else wants the processor.
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self.values: list[int] = []
        self.maximum = 0
        self.act = lambda dialog: None
        self.longest = 0.0
        self._last = time.process_time()
        self._timer = QTimer()
        self._timer.timeout.connect(self._look)
        self._timer.start(10)

    def _look(self) -> None:
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now
        for dialog in QApplication.topLevelWidgets():
            if isinstance(dialog, QProgressDialog) and dialog.isVisible():
                if dialog.labelText() not in self.said:
                    self.said.append(dialog.labelText())
                self.values.append(dialog.value())
                self.maximum = dialog.maximum()
                self.act(dialog)

    def stop(self) -> None:
        self._timer.stop()


@pytest.mark.slow
def test_a_large_picture_leaves_the_window_alive_and_says_how_far_it_is(circling, answer, click):
    def act(dialog):
        choose(dialog, Size.CUSTOM, (800, 1200))
        click(dialog.save_button)

    path = answer(PictureDialog, act, "large.png")
    watcher = Watcher()
    began = time.process_time()
    trigger(circling.actions_by_name["picture"])
    took = time.process_time() - began
    watcher.stop()
    assert QImage(str(path)).size().toTuple() == (800, 1200)
    ball(pixels(QImage(str(path))))
    assert any("Drawing a picture of 800 × 1200" in text for text in watcher.said)
    assert len(set(watcher.values)) > 3
    assert watcher.longest < 0.25 * took, (watcher.longest, took)
    assert not [
        d
        for d in QApplication.topLevelWidgets()
        if isinstance(d, QProgressDialog) and d.isVisible()
    ]
    assert circling.status.currentMessage() == f"Saved {path}"


def test_a_large_picture_can_be_cancelled_and_leaves_no_file(circling, answer, click, wait_until):
    def act(dialog):
        choose(dialog, Size.CUSTOM, (8192, 6000))
        click(dialog.save_button)

    path = answer(PictureDialog, act, "never.png")
    watcher = Watcher()
    watcher.act = lambda dialog: dialog.cancel()
    trigger(circling.actions_by_name["picture"])
    watcher.stop()
    assert watcher.said
    assert max(watcher.values) < 0.5 * watcher.maximum
    assert not path.exists()
    assert answer.asked == []
    assert circling.status.currentMessage() == "The picture was cancelled."
    frames = circling.scene_view.viewport.stats.frames
    circling.scene_view.viewport.set_camera(dataclasses.replace(ABOVE, distance=6.0))
    wait_until(lambda: circling.scene_view.viewport.stats.frames > frames)


def test_a_picture_of_a_scene_that_is_left_meanwhile_is_given_up_with_a_word(
    circling, answer, click
):
    sessions = circling.sessions
    errors = sessions.log.counts[LogLevel.ERROR]

    def act(dialog):
        choose(dialog, Size.CUSTOM, (4096, 3000))
        click(dialog.copy_button)

    answer(PictureDialog, act)
    watcher = Watcher()
    watcher.act = lambda dialog: sessions.show(None)
    trigger(circling.actions_by_name["picture"])
    watcher.stop()
    assert sessions.log.counts[LogLevel.ERROR] == errors
    assert sessions.log.lines[-1].level is LogLevel.WARNING
    assert "another scene" in circling.status.currentMessage()


def test_what_cannot_be_drawn_or_written_is_said(circling, answer, click, own_folders, wait_until):
    log = circling.sessions.log
    answer(
        PictureDialog, lambda dialog: click(dialog.save_button), "a.png",
        folder=own_folders / "gone",
    )  # fmt: skip
    trigger(circling.actions_by_name["picture"])
    assert "can't be written" in circling.banner.text.text()
    errors = log.counts[LogLevel.ERROR]
    circling.settings.pictures = PictureChoice(size=Size.TWICE).to_dict()
    circling.scene_view.viewport.resize(5000, 400)
    answer(PictureDialog, lambda dialog: click(dialog.copy_button))
    trigger(circling.actions_by_name["picture"])
    assert log.counts[LogLevel.ERROR] == errors + 1
    assert "8192" in log.lines[-1].text


def test_a_picture_while_playing_and_one_key_to_copy(circling, answer, click, wait_until):
    trigger(circling.actions_by_name["play"])
    wait_until(lambda: circling.scene_view.drawn_pose.time > 0.1)
    path = answer(PictureDialog, lambda dialog: click(dialog.save_button), "p.png")
    trigger(circling.actions_by_name["picture"])
    ball(pixels(QImage(str(path))))
    QTest.keyClick(circling, Qt.Key.Key_C, CONTROL_SHIFT)
    image = QApplication.clipboard().image()
    assert image.width() == circling.scene_view.viewport.pixels[0]


def test_choices_survive_and_nonsense_in_the_settings_does_not():
    choice = FilmChoice(size=Size.CUSTOM, width=640, height=480, fps=25.0, speed=0.1)
    assert FilmChoice.from_dict(choice.to_dict()) == choice
    bad = {"size": 7, "width": "wide", "height": -5, "fps": 0.0, "transparent": 1, "x": 2}
    assert FilmChoice.from_dict(bad) == FilmChoice(height=16)
    assert PictureChoice.from_dict(bad) == PictureChoice(height=16)
    assert file_stem("../a b:c", 1.5) == "a_b_c_1.500s"
    assert file_stem("///", None) == "stroboscope"


# --- films


def film_dialog(click, **changes):
    """What to do in the dialog: choose, then record."""

    def act(dialog):
        choose(dialog, Size.CUSTOM, (320, 240))
        dialog.fps.setValue(changes.get("fps", 20.0))
        dialog.speed.setValue(changes.get("speed", 1.0))
        if "base" in changes:
            dialog.base.setCurrentIndex(dialog.base.findData(changes["base"]))
        if "suffix" in changes:
            dialog.formats.setCurrentIndex(dialog.formats.findData(changes["suffix"]))
        click(dialog.record_button)

    return act


def test_a_film_of_stepped_time_has_a_frame_for_every_instant(
    circling, answer, click, wait_until, decode
):
    """Frames are chosen by the simulation's time, however slowly that goes."""
    path = answer(FilmDialog, film_dialog(click), "a.mp4")
    recorder = circling.commands.pictures.recorder
    QTest.keyClick(circling, Qt.Key.Key_R, CONTROL_SHIFT)
    wait_until(lambda: recorder.is_recording)
    wait_until(circling.status.recording.isVisible)
    first = circling.scene_view.drawn_pose.time
    for _ in range(20):  # 20 times 5 steps of 0.01 s: one second, 20 frames after the first
        before = circling.scene_view.drawn_pose.time
        circling.sessions.step(5)
        wait_until(lambda b=before: circling.scene_view.drawn_pose.time > b + 0.045)
        recorder._drawing_took = 1e3  # nothing is left out, however slow drawing is
    assert recorder.dropped == 0
    assert circling.scene_view.drawn_pose.time == pytest.approx(first + 1.0, abs=0.02)
    bar = circling.commands.pictures.bar
    wait_until(lambda: "21 frames" in bar.frames.text())
    click(bar.stop_button)
    wait_until(lambda: recorder.writer is None)
    wait_until(lambda: not circling.status.recording.isVisible())
    wait_until(lambda: not bar.isVisible())
    facts, frames = decode(path)
    assert facts["size"] == (320, 240)
    assert facts["fps"] == 20
    assert len(frames) == 21
    # Once round: in frame k at the angle k · 18°, but for a step.
    places = np.array([ball(frame) for frame in frames]) * (320, 240)
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    angles = np.unwrap(np.arctan2(-(places - middle)[:, 1], (places - middle)[:, 0]))
    turned = np.degrees(angles - angles[0])
    assert turned == pytest.approx(18.0 * np.arange(21), abs=8.0)
    assert [p.name for p in path.parent.iterdir()] == ["a.mp4"]


def test_a_film_of_a_playing_scene_keeps_its_pace(circling, answer, click, wait_until, decode):
    circling.scene_view.viewport.set_camera(dataclasses.replace(ABOVE, distance=5.0))
    path = answer(FilmDialog, film_dialog(click, fps=30.0), "p.mp4")
    recorder = circling.commands.pictures.recorder
    trigger(circling.actions_by_name["film"])
    begun = circling.scene_view.drawn_pose.time
    trigger(circling.actions_by_name["play"])
    wait_until(lambda: circling.scene_view.drawn_pose.time > begun + 1.0)
    trigger(circling.actions_by_name["play"])
    scene = circling.sessions.shown
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED and scene.stands_still)
    # The last picture of a scene that plays may be left out; now there is time for it.
    circling.sessions.step(1)
    wait_until(lambda: circling.scene_view.drawn_pose.time >= scene.status.time - 0.005)
    trigger(circling.actions_by_name["film"])
    ended = circling.scene_view.drawn_pose.time
    wait_until(lambda: recorder.writer is None)
    _, frames = decode(path)
    assert len(frames) == pytest.approx(30.0 * (ended - begun), abs=3)
    places = [ball(frame) for frame in frames]
    assert np.ptp([x for x, _ in places]) > 0.2, "nothing moves"


@pytest.mark.slow
def test_a_film_of_real_time_goes_on_while_paused(circling, answer, click, wait_until, decode):
    path = answer(FilmDialog, film_dialog(click, fps=20.0, base="wall"), "w.mp4")
    recorder, view = circling.commands.pictures.recorder, circling.scene_view.viewport
    trigger(circling.actions_by_name["film"])
    began = None

    def stood_still():
        """For six frames of the film: what was on its way into the picture may come first."""
        nonlocal began
        content = view.content
        if recorder._drawn != content:
            began = None
        elif began is None or content != began[0]:
            began = (content, recorder.writer.frames, recorder.dropped)
        return began is not None and recorder.writer.frames >= began[1] + 6

    wait_until(stood_still)
    assert recorder.dropped == began[2], "a still picture drops nothing"
    trigger(circling.actions_by_name["look_front"])
    wait_until(lambda: view.content != began[0] and recorder._drawn == view.content)
    turned = recorder.writer.frames
    wait_until(lambda: recorder.writer.frames >= turned + 6)
    trigger(circling.actions_by_name["film"])
    wait_until(lambda: recorder.writer is None)
    _, frames = decode(path)
    assert len(frames) >= turned + 6
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 60, "the camera has not moved"


def test_cancelling_removes_the_film(circling, answer, click, wait_until):
    path = answer(FilmDialog, film_dialog(click), "c.mp4")
    recorder = circling.commands.pictures.recorder
    trigger(circling.actions_by_name["film"])
    trigger(circling.actions_by_name["play"])
    wait_until(lambda: recorder.writer.frames > 5)
    click(circling.commands.pictures.bar.cancel_button)
    wait_until(lambda: recorder.writer is None)
    assert list(path.parent.iterdir()) == []


@pytest.mark.slow
def test_a_film_into_a_folder_that_is_gone_is_a_sentence(
    circling, answer, click, wait_until, own_folders
):
    answer(FilmDialog, film_dialog(click), "g.mp4", folder=own_folders / "gone")
    trigger(circling.actions_by_name["film"])
    wait_until(lambda: circling.commands.pictures.recorder.writer is None)
    wait_until(lambda: circling.banner.isVisible())
    wait_until(lambda: "there is no folder" in circling.banner.text.text())
    assert circling.commands.pictures.recorder.writer is None
    assert circling.actions_by_name["film"].text() == "Record film…"


def test_closing_the_window_finishes_the_film(circling, answer, click, wait_until, decode):
    path = answer(FilmDialog, film_dialog(click), "z.mp4")
    recorder = circling.commands.pictures.recorder
    trigger(circling.actions_by_name["film"])
    trigger(circling.actions_by_name["play"])
    wait_until(lambda: recorder.writer.frames > 10)
    circling.close()
    _, frames = decode(path)
    assert len(frames) > 10
    ball(frames[-1])


@pytest.mark.slow
def test_the_view_that_is_filmed_may_go(circling, answer, click, wait_until, decode):
    trigger(circling.actions_by_name["views_side_by_side"])
    grid = circling.scene_view.grid
    grid.activate(grid.views[1])
    path = answer(FilmDialog, film_dialog(click), "v.mp4")
    trigger(circling.actions_by_name["film"])
    circling.sessions.step(5)
    recorder = circling.commands.pictures.recorder
    wait_until(lambda: recorder.writer.frames >= 2)
    trigger(circling.actions_by_name["views_one"])
    wait_until(lambda: recorder.writer is None)
    assert len(decode(path)[1]) >= 2


@pytest.mark.leaves_runtime_files
@pytest.mark.parametrize("base", few(["simulation", "wall"], 1))
def test_a_film_outlives_the_application_it_is_of(
    desktop, run_script, answer, click, wait_until, decode, base
):
    process = run_script(CIRCLING)
    window = desktop.window
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: window.scene_view.drawn_scene is not None)
    wait_until(lambda: window.actions_by_name["film"].isEnabled())
    path = answer(FilmDialog, film_dialog(click, base=base), "dead.mp4")
    recorder = window.commands.pictures.recorder
    trigger(window.actions_by_name["film"])
    trigger(window.actions_by_name["play"])
    wait_until(lambda: recorder.writer.frames > 8)
    process.kill()
    wait_until(lambda: desktop.sessions.shown.is_stale)
    assert recorder.is_recording
    trigger(window.actions_by_name["film"])
    wait_until(lambda: recorder.writer is None)
    _, frames = decode(path)
    assert len(frames) > 8
    wait_until(lambda: not window.status.recording.isVisible())
    wait_until(lambda: not window.commands.pictures.bar.isVisible())


def test_pictures_and_films_stand_in_the_view_menu_with_their_keys(desktop):
    actions = desktop.window.actions_by_name
    view = actions.menus["View"].actions()
    palette = [text for text, _, _ in actions.palette_entries()]
    for name, text, keys in (
        ("picture", "Save picture…", "Ctrl+Shift+P"),
        ("copy_picture", "Copy picture", "Ctrl+Shift+C"),
        ("film", "Record film…", "Ctrl+Shift+R"),
    ):
        assert actions[name] in view
        assert actions[name].text() == text
        assert actions[name].shortcut().toString() == keys
        assert any(entry.startswith(f"View: {text.rstrip('…')}") for entry in palette)
