"""Trying something else from a step of a healthy scene: the dialog, the ghost, the curves."""

from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.numbers import with_unit
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.what_if_fields import fields_of
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import EditKind
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

# One arm alone, with a good servo: it can be stepped, and nothing ever stops.
SERVO = Path(__file__).with_name("servo_process.py").read_text()
SERVO = SERVO.replace("STIFF = 1", "STIFF = 0").replace("(scene, twin, like)", "(scene,)")
LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
NONE, CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
STEPS = 160
BEGIN = with_unit("0.296", "s")  # what is twelve steps before


def press(widget, key, modifier=NONE):
    QTest.keyClick(widget, key, modifier)


@pytest.fixture
def healthy(desktop, run_script, wait_until):
    """A scene that has taken ``STEPS`` steps and stands, with nothing wrong."""
    run_script(SERVO)
    desktop.window.resize(1280, 720)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    desktop.window.commands.time.forward(STEPS)
    wait_until(lambda: scene.status.axis == STEPS)
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED and scene.stands_still)
    wait_until(lambda: scene.history.told is not None and scene.history.told.rows == STEPS)
    return scene


@pytest.fixture
def opened(desktop, healthy, wait_until):
    """The dialog, opened by its key while the present is looked at."""
    press(desktop.window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    dialog = desktop.window.commands.travel.try_dialog
    wait_until(dialog.isVisible)
    wait_until(dialog.isActiveWindow)
    return dialog


def add(dialog, wait_until, words):
    """Search for a field, take the first that is found, and return its row."""
    dialog.search.setFocus()
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, words)
    count = len(dialog.rows)
    press(dialog.search, Qt.Key.Key_Return)
    assert len(dialog.rows) == count + 1
    row = dialog.rows[-1]
    wait_until(lambda: row.now.text() not in ("", "–"))
    wait_until(row.input.hasFocus)
    return row


def set_value(row, text):
    row.line.selectAll()
    QTest.keyClicks(row.line, text)


def test_another_gain_from_a_step_of_the_past_becomes_a_ghost_and_a_curve_and_the_scene_stays(
    desktop, healthy, wait_until, click
):
    scene, window = healthy, desktop.window
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 1))
    for _ in range(12):
        press(window.scene_view.viewport, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == STEPS - 12)
    press(window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    dialog = window.commands.travel.try_dialog
    wait_until(dialog.isActiveWindow)
    assert not dialog.isModal()
    assert dialog.begin.value() == STEPS - 12
    assert "to live" in dialog.how_long.full_text
    assert dialog.where.text() == f"−12 from live · t {BEGIN} · in view"
    assert dialog.open_loop.isVisible()
    assert dialog.open_loop.text().endswith("recorded controls: your controller does not react.")
    assert not dialog.try_button.isEnabled()
    row = add(dialog, wait_until, "kp wrist")
    assert (row.field.name, row.now.text()) == ("kp of wrist_servo", "4")
    assert row.field.unit == "N·m/rad"
    assert not dialog.try_button.isEnabled(), "the same value tries nothing"
    set_value(row, "0.5")
    wait_until(dialog.try_button.isEnabled)
    press(row.line, Qt.Key.Key_Return)
    wait_until(lambda: len(scene.rollouts.rollouts) == 1)
    (made,) = scene.rollouts.rollouts
    assert made.name == "kp of wrist_servo 4 → 0.5 N·m/rad"
    assert (made.from_axis, made.steps) == (STEPS - 12, 12)
    assert made.edits == ("kp of wrist_servo: 4 → 0.5 N·m/rad",)
    ghost = rollout_ref(scene.scene_id, made.rollout_id)
    wait_until(lambda: [(e.ref, e.label) for e in scene.ghosts.entries] == [(ghost, made.name)])
    wait_until(lambda: "12 steps, ended, with the recorded controls" in dialog.said.text())
    said = dialog.said
    wait_until(lambda: said.height() >= said.heightForWidth(said.width()))
    legend = window.travel.ghosts
    wait_until(lambda: [name.text() for name in legend.names] == [made.name])
    # Before it begins the ghost stands at its first state: not where it was then.
    window.commands.time.choose(70)
    wait_until(lambda: legend.names[0].full_text == f"from {BEGIN} on · {made.name}")
    wait_until(lambda: legend.names[0].height() < legend.height())
    assert "…" not in legend.names[0].text(), "there is room in the picture"
    window.commands.time.choose(STEPS - 12)
    wait_until(lambda: legend.names[0].full_text == made.name)
    window.panels.show("plots")
    (cell,) = window.plots.cells
    wait_until(lambda: len(cell.view.dashed_keys()) == 1)
    # The dialog is still there for another value, and the scene where it was.
    assert dialog.isVisible()
    assert scene.status.axis == STEPS
    assert scene.history.view == STEPS - 12
    set_value(row, "9")
    wait_until(lambda: dialog.try_button.isEnabled())
    click(dialog.try_button)
    wait_until(lambda: len(scene.ghosts.entries) == 2)
    press(dialog, Qt.Key.Key_Escape)
    wait_until(lambda: not dialog.isVisible())
    assert scene.history.view == STEPS - 12, "Escape closes the dialog and nothing else"


def test_from_live_it_begins_a_hundred_steps_back_with_several_edits_of_every_kind(
    opened, healthy, wait_until, click
):
    dialog, scene = opened, healthy
    assert dialog.begin.value() == STEPS - 100
    control = add(dialog, wait_until, "ctrl elbow")
    assert control.now.text() == "0.3"
    set_value(control, "0.8")
    force = add(dialog, wait_until, "force wrist")
    set_value(force, "0.25")
    step = add(dialog, wait_until, "timestep")
    assert step.now.text() == "0.002"
    set_value(step, "0.001")
    gravity = add(dialog, wait_until, "gravity z")
    set_value(gravity, "-3")
    integrator = add(dialog, wait_until, "integrator")
    press(integrator.choice, Qt.Key.Key_End)
    armature = add(dialog, wait_until, "armature wrist")
    set_value(armature, "0.1")
    dialog.steps.setValue(30)
    click(dialog.try_button)
    wait_until(lambda: len(scene.rollouts.rollouts) == 1)
    (made,) = scene.rollouts.rollouts
    assert made.timestep == pytest.approx(0.001)
    said = " ".join(made.edits)
    for words in (
        "ctrl of elbow_servo held at 0.8",
        "qfrc_applied of wrist more than recorded by 0.25",
        "timestep: 0.002 → 0.001 s",
        "(0, 0, −9.81) → (0, 0, −3)",
        "integrator: ",
        "dof_armature of wrist: 0 → 0.1",
    ):
        assert words in said
    assert "timestep 0.002 → 0.001 s" in made.name
    assert "force on wrist +0.25" in made.name
    wait_until(lambda: len(scene.ghosts.entries) == 1)


def test_after_a_restore_it_says_that_it_counts_along_the_axis_and_which_step_that_is(
    desktop, healthy, wait_until
):
    window, scene = desktop.window, healthy
    press(window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    dialog = window.commands.travel.try_dialog
    wait_until(dialog.isActiveWindow)
    assert dialog.begin_title.text() == "From step"
    desktop.sessions.restore_initial()
    wait_until(lambda: scene.status.step_count == 0)
    window.commands.time.forward(20)
    wait_until(lambda: scene.status.step_count == 20 and scene.stands_still)
    wait_until(lambda: scene.history.live == scene.status.axis and len(scene.history.segments) > 1)
    live = scene.history.live
    window.commands.time.choose(live - 5)
    wait_until(lambda: dialog.begin.value() == live - 5)
    wait_until(lambda: dialog.begin_title.text() == "From axis")
    assert dialog.where.full_text.startswith("step 15 · ")
    assert dialog.where.text().startswith("step 15 · −5 from live")
    # From before the restore steps are called the same.
    dialog.begin.setValue(12)
    assert dialog.begin_title.text() == "From axis"
    assert dialog.where.text().startswith(f"step 12 · −{live - 12} from live")
    assert dialog.where.toolTip().endswith("Episode 0.")


def test_what_can_not_be_tried_is_said_where_it_is_typed_and_what_the_engine_refuses_as_it_says_it(
    opened, healthy, wait_until, click
):
    dialog, scene = opened, healthy
    row = add(dialog, wait_until, "timestep")
    for wrong, why in (("fast", "is not a number"), ("-1", "at least"), ("", "type the value")):
        row.line.clear()
        set_value(row, wrong)
        if not wrong:
            set_value(row, "1")
            press(row.line, Qt.Key.Key_Backspace)
        assert why in dialog.said.text()
        assert row.line.property("problem")
        assert not dialog.try_button.isEnabled()
    set_value(row, "0.001")
    assert dialog.try_button.isEnabled()
    assert not row.line.property("problem")
    dialog.search.setFocus()
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, "dof_damping[99]")
    press(dialog.search, Qt.Key.Key_Return)
    set_value(dialog.rows[-1], "2")
    click(dialog.try_button)
    wait_until(lambda: "dof_damping has 2 values" in dialog.said.text())
    assert dialog.said.property("level") == "stop"
    assert not scene.rollouts.rollouts
    dialog.remove(dialog.rows[-1])
    click(dialog.try_button)
    wait_until(lambda: len(scene.rollouts.rollouts) == 1)


def test_it_is_offered_by_the_timeline_the_palette_the_menu_and_the_panel_of_rollouts(
    desktop, healthy, wait_until, click
):
    window, scene = desktop.window, healthy
    travel = window.commands.travel
    window.panels.show("rollouts")
    click(window.rollouts.try_button)
    dialog = travel.try_dialog
    wait_until(dialog.isActiveWindow)
    press(dialog, Qt.Key.Key_Escape)
    wait_until(lambda: not dialog.isVisible())
    texts = [text for text, _, _ in window.actions_by_name.palette_entries()]
    assert any("Try something else from here" in text for text in texts)
    action = window.actions_by_name["try_else"]
    assert action in window.actions_by_name.menus["Run"].actions()
    # The step under the pointer, not the one in view.
    strip = window.timeline.strip
    place = QPoint(strip.width() // 2, strip.height() // 2)
    axis = strip.axis_at(place.x())
    assert 0 < axis < STEPS
    QTest.mouseClick(window.windowHandle(), RIGHT, NONE, strip.mapTo(window, place))
    wait_until(lambda: any(each.isVisible() for each in window.timeline.findChildren(QMenu)))
    menu = next(each for each in window.timeline.findChildren(QMenu) if each.isVisible())
    trigger(next(a for a in menu.actions() if a.text().startswith("Try something")))
    menu.close()
    wait_until(dialog.isActiveWindow)
    assert dialog.begin.value() == axis
    assert scene.history.view is None
    press(dialog, Qt.Key.Key_Escape)
    wait_until(window.isActiveWindow)
    press(window.scene_view.viewport, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == STEPS - 1)
    entry = next(
        a for a in window.timeline.continue_menu.actions() if a.text().startswith("Try something")
    )
    trigger(entry)
    wait_until(dialog.isVisible)
    assert dialog.begin.value() == STEPS - 1
    # It follows the view while it is open.
    window.commands.time.choose(70)
    wait_until(lambda: dialog.begin.value() == 70)


def test_while_the_scene_plays_it_is_tried_all_the_same_and_the_scene_plays_on(
    desktop, opened, healthy, wait_until, click
):
    dialog, scene = opened, healthy
    row = add(dialog, wait_until, "mass hand")
    assert row.now.text() == "0.2"
    set_value(row, "0.5")
    desktop.sessions.play()
    wait_until(lambda: scene.status.axis > STEPS + 20)
    click(dialog.try_button)
    wait_until(lambda: len(scene.ghosts.entries) == 1)
    (made,) = scene.rollouts.rollouts
    assert made.from_axis == STEPS - 100
    assert made.steps > 120
    axis = scene.status.axis
    wait_until(lambda: scene.status.axis > axis)
    # Edits are kept while the dialog is closed, and gone with the application.
    press(dialog, Qt.Key.Key_Escape)
    wait_until(desktop.window.isActiveWindow)
    press(desktop.window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    wait_until(dialog.isActiveWindow)
    assert [row.line.text() for row in dialog.rows] == ["0.5"]
    desktop.sessions.remove(scene.session)
    wait_until(lambda: not dialog.rows)
    assert not dialog.try_button.isEnabled()
    assert "No scene" in dialog.said.text()


def test_the_mouse_alone_adds_and_takes_away_and_the_window_may_change_and_go_with_it_open(
    desktop, opened, wait_until, click
):
    dialog, window = opened, desktop.window

    def choose(name):
        (item,) = dialog.list.findItems(name, Qt.MatchFlag.MatchExactly)
        dialog.list.scrollToItem(item)
        place = dialog.list.visualItemRect(item).center()
        QTest.mouseClick(dialog.list.viewport(), LEFT, NONE, place)

    choose("kp of elbow_servo")
    choose("gravity z")
    choose("kp of elbow_servo")
    assert [row.field.name for row in dialog.rows] == ["kp of elbow_servo", "gravity z"]
    wait_until(dialog.rows[0].input.hasFocus)
    click(dialog.rows[0].away)
    assert [row.field.name for row in dialog.rows] == ["gravity z"]
    window.commands.toggle_theme()
    assert window.palette_tokens.surface0 in dialog.styleSheet()
    window.close()
    assert not dialog.isVisible()


def test_every_number_that_is_offered_is_the_one_that_the_engine_changes(
    desktop, healthy, wait_until
):
    scene = healthy
    kinds = (EditKind.MODEL, EditKind.GAIN)
    offered = [
        f for f in fields_of(scene.description) if f.kind in kinds and f.described is not None
    ]
    assert len(offered) > 12
    for field in offered:
        value = 2.0 * (field.described or 0.0) + 1.0
        count = len(scene.rollouts.rollouts)
        scene.rollouts.resimulate(STEPS - 2, field.edits(value), name=field.name)
        wait_until(lambda n=count: len(scene.rollouts.rollouts) > n)
        made = scene.rollouts.rollouts[-1]
        whose = field.name.partition(" of ")[2]
        factor = field.targets[0].factor
        old, new = (f"{factor * each:.6g}" for each in (field.described, value))
        said = made.edits[0].replace("−", "-").removesuffix(f" {field.unit}")
        assert said.endswith(f" of {whose}: {old} → {new}"), field.name


@pytest.mark.slow
def test_of_an_engine_that_keeps_no_history_it_says_so(desktop, attached, wait_until):
    attached()
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    press(desktop.window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    dialog = desktop.window.commands.travel.try_dialog
    wait_until(lambda: "keeps no history" in dialog.said.text())
    assert not dialog.try_button.isEnabled()
    assert "keeps no history" in dialog.try_button.toolTip()
