"""What the window says of a model whose physics options were changed while it runs."""

from pathlib import Path

import pytest
from event_loop import trigger

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.state import StateKind
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")
HOLD = 1


@pytest.fixture
def workshop(desktop, run_script, wait_until):
    """The paused workshop, with control over it."""
    run_script(WORKSHOP.read_text())
    scene = desktop.sessions.shown
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    wait_until(lambda: scene.session.has_control)
    return scene


def test_the_scene_page_says_which_timestep_and_gravity_hold(desktop, workshop, wait_until):
    inspector = desktop.window.inspector
    desktop.window.panels.show("inspector")
    wait_until(lambda: inspector.row("timestep") is not None)
    assert inspector.row("timestep").row.text.startswith("5.000")
    workshop.edits.set_option("timestep", (0.001,))
    workshop.edits.set_option("gravity", (0.0, 0.0, -1.62))
    wait_until(lambda: inspector.row("timestep").row.text.startswith("1.000"))
    wait_until(lambda: "−1.62" in inspector.row("gravity").row.text)


def test_stiffness_against_inertia_follows_the_timestep(desktop, workshop, wait_until):
    desktop.window.panels.show("state")
    desktop.window.panels.show("inspector")
    state, inspector = desktop.window.panels["state"].content, desktop.window.inspector
    state.choose(StateKind.ACTUATORS)
    desktop.sessions.selection.select(Element(ElementKind.ACTUATOR, HOLD))
    table = state.table

    def in_table():
        return table.table.number("kp", HOLD) if table.table is not None else None

    def in_inspector():
        row = inspector.row("kp·dt²/I")
        return row.row.value if row is not None else None

    wait_until(lambda: in_table() and in_inspector())
    before = in_table()
    workshop.edits.set_option("timestep", (0.01,))
    wait_until(lambda: in_table() == pytest.approx(4.0 * before))
    wait_until(lambda: in_inspector() == pytest.approx(4.0 * before))


@pytest.mark.slow
def test_what_was_changed_before_the_page_was_opened_is_marked_too(desktop, workshop, wait_until):
    workshop.edits.set_option("gravity", (0.0, 0.0, -1.62))
    wait_until(lambda: workshop.edits.entries)
    trigger(desktop.window.actions_by_name["physics_options"])
    physics = desktop.window.controls.physics
    wait_until(lambda: "gravity" in physics.options and physics.options["gravity"].value)
    wait_until(lambda: physics.options["gravity"].is_changed)
    assert not physics.options["timestep"].is_changed
    physics.options["gravity"].back.click()
    wait_until(lambda: not physics.options["gravity"].is_changed)
