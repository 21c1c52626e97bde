"""Stops and conditions in the window, on a real script whose servo makes it blow up."""

from pathlib import Path

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from stroboscope.app.models.conditions import SavedCondition
from stroboscope.app.models.numbers import unbroken
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.panels.tree_items import SIDE_ROLE
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco")

SERVO = Path(__file__).with_name("servo_process.py").read_text()
GOOD = SERVO.replace("STIFF = 1", "STIFF = 0")
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def attach(desktop, run_script, wait_until):
    """``attach(SERVO)``: the paused scene of that script, with the Stops panel in front."""

    def start(script: str):
        process = run_script(script)
        window = desktop.window
        window.resize(1280, 900)
        window.panels.show("stops")
        wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
        wait_until(lambda: desktop.sessions.shown.session.has_control)
        wait_until(lambda: desktop.sessions.shown.history.told is not None)
        wait_until(window.stops.isVisible)
        return process

    return start


@pytest.fixture
def stopped(desktop, attach, wait_until):
    """The scene, held by the stop before its first bad step."""
    attach(SERVO)
    scene = desktop.sessions.shown
    desktop.sessions.play()
    wait_until(lambda: scene.stops.standing is not None)
    return scene


def test_a_scene_that_blows_up_says_over_the_picture_what_where_and_why(
    desktop, stopped, wait_until, click
):
    window, scene = desktop.window, stopped
    banner = window.travel.banner
    wait_until(banner.isVisible)
    stop = scene.stops.standing
    assert stop.reason in (StopReason.EXPLODING, StopReason.AUTORESET, StopReason.NON_FINITE)
    assert "wrist" in banner.text.text()
    assert banner.cause.isVisible()
    # Out of the way of what has blown up, until somebody wants more.
    assert banner.geometry().bottom() < window.scene_view.height() / 5
    assert len(banner.cause.shown_lines(banner.cause.width())) == 1
    assert banner.try_button.isVisible()
    assert "Play runs this step unguarded" in banner.more_button.toolTip()
    click(banner.more_button)
    wait_until(banner.where.isVisible)
    assert banner.cause.text().startswith("Likely the servo 'wrist_servo'")
    assert "kv·dt/I = " in banner.cause.text()
    # To its last word: what it took is said at the end.
    lines = banner.cause.shown_lines(banner.cause.width())
    assert unbroken(stop.culprit).endswith(lines[-1])
    assert banner.cause.height() >= len(lines) * banner.cause.fontMetrics().lineSpacing()
    bottoms = [each.geometry().bottom() for each in (banner.text, banner.cause, banner.why_button)]
    assert bottoms == sorted(bottoms)
    assert bottoms[-1] < banner.height()
    assert banner.text.x() == banner.cause.x() == banner.where.x()
    assert f"step {stop.step}" in banner.where.full_text
    assert "Play runs this step unguarded" in banner.where.full_text
    assert window.banner.isHidden(), "the same sentence stands over the window too"
    click(banner.more_button)
    wait_until(lambda: not banner.where.isVisible())
    assert banner.geometry().bottom() < window.scene_view.height() / 5
    window.panels.show("log")
    window.panels.show("plots")
    click(banner.why_button)
    wait_until(window.stops.isVisible)
    details = window.stops.details
    assert details.stop == stop
    assert "wrist_servo" in stop.culprit
    assert set(details.offers) == {label for label, _ in stop.what_if}
    # A name in the details selects it, and Go there moves the view.
    wait_until(lambda: details.links is not None)
    place = next(n for n, each in enumerate(stop.elements) if each.kind == "actuator")
    details.links.linkActivated.emit(str(place))
    assert desktop.sessions.selection.element == Element(ElementKind.ACTUATOR, 0)
    wait_until(lambda: details.go_button.toolTip() == "You are there.")
    assert not details.go_button.isEnabled()
    QTest.keyClick(window, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view is not None)
    wait_until(details.go_button.isEnabled)
    click(details.go_button)
    wait_until(lambda: scene.history.view in (None, stop.axis))
    wait_until(lambda: not scene.session.pending)


FULL = """
import stroboscope.engine as physics

scene = physics.create_scene("Stack", model={model!r})
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        try:
            scene.step()
        except physics.StepFailedError:
            scene.update_debugger()
"""


def test_c11_what_follows_from_a_step_without_room_for_its_contacts_is_said_not_to_be_valid(
    desktop, attach, case_model, wait_until
):
    attach(FULL.format(model=str(case_model("C11"))))
    window, scene = desktop.window, desktop.sessions.shown
    where = window.timeline.where
    for step in (42, 45):
        wait_until(lambda: not scene.session.pending)
        desktop.sessions.play()
        wait_until(lambda n=step: scene.stops.standing and scene.stops.standing.physics_step == n)
        wait_until(lambda n=step: ("missing since step 42" in where.full_text) == (n == 45))
    assert where.property("level") == "warn"
    assert "missing since step 42" in window.transport.badge.toolTip()
    window.commands.time.choose(44)
    wait_until(lambda: where.full_text.startswith("PAST") and "missing" in where.full_text)
    assert "missing since step 42" in window.transport.badge.toolTip()
    window.commands.time.choose(41)
    wait_until(lambda: "step 41" in where.full_text)
    assert "missing" not in where.full_text
    assert where.property("level") == ""


RESETTING = """
import stroboscope.engine as physics

scene = physics.create_scene("Wrist", model={model!r})
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.ctrl[0] = 0.5
        scene.step()
"""


def test_c02_a_scene_that_mujoco_resets_again_and_again_is_marked_and_not_shown_as_running(
    desktop, attach, case_model, wait_until
):
    attach(RESETTING.format(model=str(case_model("C02"))))
    scene = desktop.sessions.shown
    scene.stops.set_rules(mark_only=True)
    wait_until(lambda: scene.stops.told.mark_only)
    desktop.sessions.fast_forward()
    tree = desktop.window.tree
    wait_until(lambda: scene.stops.told.resets > 20)
    wait_until(lambda: tree._scene_items[id(scene)].row.data(SIDE_ROLE) == "resetting")
    badge = desktop.window.transport.badge
    wait_until(lambda: "resets it by itself" in badge.toolTip())
    assert badge.word == "FAST FORWARD"


def test_one_click_tries_half_the_timestep_as_a_ghost_that_ends_well_and_play_goes_on_unguarded(
    desktop, stopped, wait_until, click
):
    window, scene = desktop.window, stopped
    stop = scene.stops.standing
    wait_until(lambda: "half the timestep" in window.stops.details.offers)
    offer = window.stops.details.offers["half the timestep"]
    wait_until(offer.isEnabled)
    window.stops.details.ensureWidgetVisible(offer)
    click(offer)
    wait_until(lambda: scene.rollouts.rollouts, 60)
    (rollout,) = scene.rollouts.rollouts
    assert rollout.outcome == "ended"
    assert rollout.timestep == pytest.approx(0.001)
    ref = rollout_ref(scene.scene_id, rollout.rollout_id)
    wait_until(lambda: scene.ghosts.has(ref))
    wait_until(lambda: scene.latest(Topic.GHOSTS) is not None)
    wait_until(lambda: len(window.scene_view.viewport._scene.others) == 1)
    wait_until(window.travel.ghosts.isVisible)
    wait_until(lambda: window.stops.details.outcomes["half the timestep"].text())
    outcome = window.stops.details.outcomes["half the timestep"]
    wait_until(lambda: "no stop" in outcome.text())
    assert outcome.full_text.endswith(", with the recorded controls")
    assert "your controller does not react" in outcome.toolTip()
    assert "your controller does not react" in window.travel.banner.try_button.toolTip()
    assert scene.trials.span(stop)[0] < stop.axis
    ((_, eye, _),) = window.travel.ghosts.rows
    wait_until(eye.isVisible)
    click(eye)
    wait_until(lambda: not window.travel.ghosts.rows[0][0].on)
    wait_until(lambda: not window.scene_view.viewport._scene.others)
    ((_, _, remove),) = window.travel.ghosts.rows
    wait_until(remove.isVisible)
    click(remove)
    wait_until(lambda: not window.travel.ghosts.isVisible())
    assert len(scene.rollouts.rollouts) == 1
    # Play runs the step unguarded, and the banner goes.
    wait_until(window.travel.banner.isVisible)
    window.scene_view.viewport.setFocus()
    QTest.keyClick(window, Qt.Key.Key_Space)
    wait_until(lambda: scene.stops.standing is not stop)
    wait_until(lambda: scene.stops.standing is not None or not window.travel.banner.isVisible())


def test_the_key_for_a_condition_unfolds_the_panels_and_the_next_keys_are_the_expression(
    desktop, run_script, wait_until
):
    run_script(GOOD)
    window = desktop.window
    wait_until(lambda: desktop.sessions.shown.conditions.is_known)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    scene, line = desktop.sessions.shown, window.stops.conditions.field.line
    viewport = window.scene_view.viewport
    window.panels.show("plots")
    window.panels.set_folded(True)
    viewport.setFocus()
    wait_until(viewport.hasFocus)
    QTest.keyClick(window, Qt.Key.Key_F9)
    assert line.hasFocus()
    # The popup of completions takes the first Escape.
    QTest.keyClicks(line, "1 > 2 ")
    QTest.keyClick(line, Qt.Key.Key_Escape)
    assert line.text() == ""
    assert viewport.hasFocus(), "Escape leaves the field"
    QTest.keyClick(window, Qt.Key.Key_F9)
    assert line.hasFocus()
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert viewport.hasFocus(), "Enter in an empty field leaves it"
    QTest.keyClick(window, Qt.Key.Key_F9)
    QTest.keyClicks(line, "qpos >")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert line.hasFocus(), "what is wrong is to be put right"
    line.setText("time > 100")
    QTest.keyClick(line, Qt.Key.Key_Return)
    wait_until(lambda: [c.expression for c in scene.conditions.conditions] == ["time > 100"])
    wait_until(viewport.hasFocus)
    assert line.text() == ""


def test_rules_and_conditions_are_set_stop_the_scene_and_survive_a_restart(
    desktop, attach, run_script, wait_until, click
):
    process = attach(GOOD)
    window, scene = desktop.window, desktop.sessions.shown
    window.stops.show_rules()
    rules = window.stops.rules
    wait_until(rules.rules[StopReason.WARNING].isVisible)
    for box in (rules.rules[StopReason.WARNING], rules.stop_all):
        wait_until(box.isEnabled)
        QTest.mouseClick(box, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(8, box.height() // 2))
    wait_until(lambda: scene.stops.told.off == (StopReason.WARNING,))
    wait_until(lambda: scene.stops.told.stop_all)
    wait_until(lambda: window.stops.tabs.tabText(2) == "Rules (1 off)")
    # A condition is written, is checked while it is written, and stops the scene.
    window.scene_view.viewport.setFocus()
    QTest.keyClick(window, Qt.Key.Key_F9)
    page = window.stops.conditions
    wait_until(page.field.line.hasFocus)
    QTest.keyClicks(page.field.line, "qpos['elbow'")
    QTest.keyClick(page.field.line, Qt.Key.Key_Escape)
    page.field.line.setText("")
    QTest.keyClicks(page.field.line, "qpos >")
    click(page.add_button)
    assert page.field.problem.isVisible()
    assert "^" in page.field.problem.text()
    assert not scene.conditions.conditions
    page.field.line.setText("abs(qpos['elbow']) > 0.05")
    page.name.setText("bent")
    click(page.add_button)
    wait_until(lambda: [c.name for c in scene.conditions.conditions] == ["bent"])
    wait_until(lambda: page.field.line.text() == "")
    wait_until(lambda: len(page.rows) == 1)
    (number,) = page.rows
    row = page.rows[number]
    desktop.sessions.play()
    wait_until(lambda: scene.stops.standing is not None)
    assert scene.stops.standing.condition_id == number
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED)
    wait_until(lambda: row.count.text() == "1")
    wait_until(window.travel.banner.isVisible)
    assert "bent" in window.travel.banner.text.text()
    # Switched off, it comes back like that, and so do the rules, when the script is started again.
    wait_until(row.enabled.isEnabled)
    QTest.mouseClick(row.enabled, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(8, 8))
    wait_until(lambda: not scene.conditions.conditions[0].enabled)
    process.kill()
    process.wait()
    run_script(GOOD, open_it=False)
    # Until the window has seen that the process is gone, the old scene still looks alive.
    wait_until(lambda: desktop.sessions.shown not in (None, scene))
    wait_until(lambda: not desktop.sessions.shown.is_stale)
    again = desktop.sessions.shown
    wait_until(lambda: [c.name for c in again.conditions.conditions] == ["bent"])
    wait_until(lambda: not again.conditions.conditions[0].enabled)
    wait_until(lambda: again.stops.told is not None)
    wait_until(lambda: again.stops.told.off == (StopReason.WARNING,))
    wait_until(lambda: again.stops.told.stop_all)
    assert again.conditions.mine == (
        SavedCondition(expression="abs(qpos['elbow']) > 0.05", name="bent", enabled=False),
    )
    wait_until(lambda: page.rows and next(iter(page.rows.values())).remove.isEnabled())
    click(next(iter(page.rows.values())).remove)
    wait_until(lambda: not again.conditions.conditions)
    memory = desktop.settings.script(again.session.identity)
    wait_until(lambda: not memory.conditions)


def test_a_condition_comes_from_a_field_a_ready_made_one_or_a_number_of_a_table(
    desktop, attach, wait_until
):
    attach(GOOD)
    window, scene = desktop.window, desktop.sessions.shown
    page = window.stops.conditions
    window.stops.show_conditions()
    problems = []
    scene.conditions.add(
        SavedCondition(expression="contact['nothing'].count > 0"), otherwise=problems.append
    )
    wait_until(lambda: problems)
    assert "nothing" in problems[0]
    page.begin("qpos")
    page.field.enter()
    assert "one number" in page.field.problem.text()
    assert page.field.line.text() == "qpos"
    # Ready-made ones fill their blanks from the selection.
    desktop.sessions.selection.select(Element(ElementKind.GEOM, 2))
    menu = window.stops.conditions.ready_menu()
    actions = {action.text(): action for action in menu.actions()}
    touch = next(
        action for text, action in actions.items() if text.startswith("Two things touch …")
    )
    assert touch.toolTip() == "contact['hand','floor'].count > 0"
    equality = next(action for text, action in actions.items() if "equality" in text)
    assert not equality.isEnabled()
    limit = next(action for text, action in actions.items() if text.startswith("Any joint is past"))
    trigger(limit)
    assert window.stops.conditions.field.line.text() == "min(joint.margin) < 0"
    menu.close()
    # A number of a table becomes one.
    window.panels.show("state")
    panel = window.panels["state"].content
    wait_until(lambda: panel.table.table is not None and panel.table.table.count)
    view = panel.table.view
    column = view.column_at("position")
    assert column >= 0, [c.key for c in panel.table.table.columns]
    menu = QMenu()
    view.add_actions(menu, panel.table.model.index(0, column))
    above = next(action for action in menu.actions() if "above" in action.text())
    trigger(above)
    wait_until(window.stops.conditions.isVisible)
    text = window.stops.conditions.field.line.text()
    assert text.startswith("qpos['elbow'] > ")


def test_the_ghost_of_a_state_stays_while_the_scene_moves_on(desktop, attach, wait_until, play_on):
    attach(GOOD)
    window, scene = desktop.window, desktop.sessions.shown
    play_on(40)
    window.scene_view.viewport.setFocus()
    wait_until(window.actions_by_name["ghost_here"].isEnabled)  # a key of a grey one does nothing
    QTest.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: window.scene_view.viewport._scene.others)
    wait_until(lambda: not scene.session.pending)
    ghost = window.scene_view.viewport._scene.others[0].pos.copy()
    play_on(40)
    wait_until(lambda: scene.latest(Topic.GHOSTS, Instant.NOW) is not None)
    wait_until(lambda: scene.stands_still)
    assert np.allclose(window.scene_view.viewport._scene.others[0].pos, ghost)
    trigger(window.actions_by_name["clear_ghosts"])
    wait_until(lambda: not window.scene_view.viewport._scene.others)
