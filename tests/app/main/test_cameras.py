"""Cameras: views by name, tracking, orthographic, model cameras, saved ones that survive."""

from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog

from stroboscope.app.main.action_table import ACTIONS
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.settings import SettingsStore
from stroboscope.app.view3d.camera import StandardView, ViewMode
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")


@pytest.fixture
def workshop(desktop, run_script, wait_until):
    """The window on the paused workshop."""
    run_script(WORKSHOP.read_text())
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.window.scene_view.drawn_scene is not None)
    desktop.window.scene_view.viewport.setFocus()
    return desktop.window


def test_no_key_belongs_to_two_actions():
    keys = [key for spec in ACTIONS for key in spec.keys]
    assert len(keys) == len(set(keys)), sorted(k for k in keys if keys.count(k) > 1)


def test_keys_are_those_of_mujocos_viewer():
    keys = {spec.name: spec.keys for spec in ACTIONS}
    expected = {
        "play": "Space", "step": "Right", "slower": "-", "faster": "=", "restore": "Backspace",
        "free_camera": "Esc", "next_camera": "]", "previous_camera": "[", "panels": "Tab",
        "contacts": "C", "contact_forces": "F", "joints": "J", "transparent": "T",
        "convex_hull": "H", "inertia": "I", "com": "M", "actuators": "U", "tendons": "V",
        "equalities": "E", "islands": "N", "autoconnect": "A", "perturbation": "B",
        "cameras": "Q", "lights": "Z", "rangefinders": "Y", "textures": "X", "wireframe": "W",
        "shadows": "S", "reflections": "R", "skybox": "K", "static_bodies": "D",
        "frames": "F6", "labels": "F7", "group_0": "0", "group_5": "5",
    }  # fmt: skip
    assert {name: keys[name][0] for name in expected} == expected


def test_tracking_is_one_click_in_the_corner_and_esc_leaves_it(workshop, click, wait_until):
    viewport, button = workshop.scene_view.viewport, workshop.view_buttons.buttons["track"]
    workshop.sessions.selection.select(Element(ElementKind.BODY, 2))
    click(button)
    assert viewport.camera.mode is ViewMode.TRACKING
    assert viewport.camera.tracked_body == 2
    assert button.isChecked()
    name = workshop.sessions.shown.description.bodies[2].name
    assert name
    assert button.toolTip().startswith(f"Tracking {name}, once more to stay here   Shift+T")
    assert workshop.status.currentMessage() == f"Tracking {name}"
    viewport.track_body(1)
    other = workshop.sessions.shown.description.bodies[1].name
    assert button.toolTip().startswith(f"Tracking {other},")
    QTest.keyClick(workshop, Qt.Key.Key_Escape)
    wait_until(lambda: viewport.camera.mode is ViewMode.FREE)
    assert not button.isChecked()
    assert button.toolTip().startswith("Track the selection   Shift+T")


def test_views_by_name_and_without_perspective(workshop, wait_until):
    viewport, actions = workshop.scene_view.viewport, workshop.actions_by_name
    for view in StandardView:
        trigger(actions[f"look_{view.name.lower()}"])
        assert (viewport.camera.azimuth, viewport.camera.elevation) == view.value
    QTest.keyClick(workshop, Qt.Key.Key_O)
    wait_until(lambda: viewport.camera.orthographic)
    assert actions["orthographic"].isChecked()
    assert viewport.view().orthographic


def test_another_field_of_view_keeps_the_size_of_what_is_looked_at(workshop):
    viewport = workshop.scene_view.viewport
    before = viewport.view()
    size = before.pixel_size(viewport.camera.distance, height=1.0)
    viewport.set_fovy(20.0)
    assert viewport.view().fovy == 20.0
    after = viewport.view().pixel_size(viewport.camera.distance, height=1.0)
    assert after == pytest.approx(size)


def test_a_saved_camera_has_a_key_and_survives_a_restart(
    desktop, workshop, monkeypatch, wait_until, own_folders
):
    viewport = workshop.scene_view.viewport
    viewport.standard_view(StandardView.TOP)
    saved = viewport.camera
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("from above", True))
    QTest.keyClick(workshop, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    wait_until(lambda: workshop.actions_by_name["bookmark_1"].text() == "from above")
    viewport.standard_view(StandardView.LEFT)
    QTest.keyClick(workshop, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    wait_until(lambda: viewport.camera == saved)
    path = own_folders / "config" / "settings.json"
    wait_until(lambda: path.exists() and "from above" in path.read_text())
    settings = SettingsStore(path).load()
    (memory,) = settings.scripts.values()
    assert [name for name, _ in memory.bookmarks["Workshop"]] == ["from above"]
    desktop.settings.scripts = settings.scripts
    viewport.standard_view(StandardView.LEFT)
    trigger(workshop.actions_by_name["bookmark_1"])
    assert viewport.camera == saved


def test_the_camera_is_copied_as_mjcf_that_mujoco_reads(workshop):
    import mujoco
    import numpy as np

    viewport = workshop.scene_view.viewport
    trigger(workshop.actions_by_name["copy_camera"])
    text = QApplication.clipboard().text()
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    view = viewport.view()
    assert model.cam_pos[0] == pytest.approx(view.eye)
    assert model.cam_fovy[0] == pytest.approx(view.fovy)
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, model.cam_quat[0])
    assert -matrix.reshape(3, 3)[:, 2] == pytest.approx(view.forward, abs=1e-5)
