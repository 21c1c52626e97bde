"""Overlays in the real window with a real script: subscriptions, instants, drawings."""

import dataclasses

import pytest
from event_loop import trigger
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest

from stroboscope.app.models.overlays import OVERLAYS, Role
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

RESTING = """
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
</worldbody></mujoco>'''
scene = physics.create_scene("Resting", model=MODEL)
scene.debug_draw.sphere((0.0, 0.5, 0.5), radius=0.05, persistent=True)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


def _wanted(scene):
    return scene._wanted.get("3d view", (frozenset(), None))[0]


@pytest.fixture
def resting(desktop, run_script, wait_until):
    run_script(RESTING)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.description is not None)
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    return scene


def test_exactly_what_is_switched_on_is_subscribed(desktop, resting, wait_until):
    actions = desktop.window.actions_by_name
    always = {Topic.LOOKS}  # what a script writes into the colours of its model is always drawn
    wait_until(lambda: _wanted(resting) == {*always, Topic.DRAWING})
    trigger(actions["contact_forces"])
    assert _wanted(resting) == {*always, Topic.DRAWING, Topic.CONTACTS}
    trigger(actions["velocities"])
    assert _wanted(resting) == {*always, Topic.DRAWING, Topic.CONTACTS, Topic.STATE}
    for name in ("contact_forces", "velocities", "drawings"):
        trigger(actions[name])
    assert _wanted(resting) == always


def test_trees_are_fetched_when_somebody_first_looks_at_them(desktop, resting, wait_until):
    window = desktop.window
    digest = resting.description.trees.digest
    assert desktop.sessions.assets.get(digest) is None

    def boxes():
        picture = window.scene_view.viewport._overlay_picture()
        return sum(len(p.texels) for p in picture.parts if Role.TREE in p.roles) // 12

    wait_until(lambda: window.scene_view.drawn_scene is resting)
    trigger(window.actions_by_name["body_trees"])
    wait_until(lambda: boxes() > 0)
    trigger(window.actions_by_name["body_trees"])
    assert not boxes()
    trigger(window.actions_by_name["body_trees"])
    assert boxes() > 0


def test_poses_and_forces_in_the_picture_belong_to_one_instant(desktop, resting, click, wait_until):
    window = desktop.window
    view, seen = window.scene_view, set()
    for name in ("contacts", "contact_forces", "velocities", "applied_forces"):
        trigger(window.actions_by_name[name])
    click(window.transport.buttons["play"])

    def several_pictures():
        values = view._drawn_values
        if {Topic.CONTACTS, Topic.STATE, Topic.BODIES} <= set(values):
            keys = {frame.key for frame in (view._drawn_pose, *values.values())}
            assert len(keys) == 1
            seen.update(keys)
        return len(seen) > 12

    wait_until(several_pictures, deadline_s=60)
    click(window.transport.buttons["play"])


def test_a_resting_ball_shows_its_force_and_what_the_script_draws(
    desktop, resting, click, wait_until
):
    window = desktop.window
    trigger(window.actions_by_name["contact_forces"])
    for _ in range(2):
        before = resting.status.step_count
        click(window.transport.buttons["step"])
        wait_until(lambda n=before: resting.status.step_count > n)
    viewport = window.scene_view.viewport

    def parts():
        picture = viewport._overlay_picture()
        return picture.parts if picture is not None else ()

    wait_until(lambda: any(Role.CONTACT_FORCE in part.roles for part in parts()))
    wait_until(lambda: any(part.shape.value == "ball" for part in parts()))
    wait_until(lambda: any(row.text == "contact force" for row in viewport._legend.rows))


def test_every_overlay_is_switched_by_its_key(desktop, resting):
    window = desktop.window
    window.scene_view.setFocus()
    for each in OVERLAYS:
        for key in each.keys:
            before = window.scene_view.grid.options
            combination = QKeySequence(key)[0]
            QTest.keyClick(window, combination.key(), combination.keyboardModifiers())
            after = window.scene_view.grid.options
            changed = {
                field.name
                for field in dataclasses.fields(after)
                if getattr(before, field.name) != getattr(after, field.name)
            }
            assert changed == {each.name}, key
