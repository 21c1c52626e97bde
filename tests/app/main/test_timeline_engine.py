"""Looking at the past of real MuJoCo scenes in the window: what is shown is what was executed."""

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

SCRIPT = """
import stroboscope.engine as physics

ARM = '''<mujoco><worldbody><geom type="plane" size="2 2 .1"/>
<body pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping=".1"/>
<geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
<body pos=".4 0 0"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/></body></body>
<body pos="0 .5 .12"><freejoint/><geom size=".1"/></body></worldbody>
<actuator><motor name="motor" joint="elbow"/></actuator>
<sensor><jointpos joint="elbow"/></sensor></mujoco>'''
scene = physics.create_scene("Arm", model=ARM)
memory = {"k": 0}
if REGISTERED:
    scene.register_state("k", lambda: memory["k"], lambda k: memory.update(k=k))
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.data.ctrl[0] = 0.3 if (memory["k"] // 20) % 2 else -0.3
        memory["k"] += 1
        scene.log("k", memory["k"])
        scene.step()
"""
TOPICS = (Topic.POSE, Topic.STATE, Topic.SENSORS, Topic.CONTACTS)


def script(*, registered=False):
    return SCRIPT.replace("REGISTERED", str(registered))


def press(desktop, key, modifier=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(desktop.window.scene_view.viewport, key, modifier)


def settle(scene, wait_until):
    wait_until(lambda: not scene.session.pending)
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED and scene.stands_still)


def step(desktop, wait_until, count):
    scene = desktop.sessions.shown
    for _ in range(count):
        axis = scene.status.axis
        press(desktop, Qt.Key.Key_Right)
        wait_until(lambda a=axis: scene.status.axis == a + 1)
    settle(scene, wait_until)


def test_the_step_before_is_what_was_executed_to_the_last_bit_in_every_topic(
    desktop, run_script, wait_until
):
    run_script(script())
    scene = desktop.sessions.shown
    desktop.window.panels.show("contacts")
    wait_until(lambda: scene.status is not None)
    step(desktop, wait_until, 30)
    wait_until(lambda: scene.frame_set(TOPICS, Instant.EXECUTED) is not None)
    executed = scene.frame_set(TOPICS, Instant.EXECUTED)
    assert executed.instant is Instant.EXECUTED
    assert executed.axis == scene.status.axis - 1
    press(desktop, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == executed.axis)
    wait_until(lambda: scene.instant() is Instant.PAST)
    wait_until(lambda: scene.frame_set(TOPICS) is not None)
    past = scene.frame_set(TOPICS)
    assert (past.instant, past.axis, past.time) == (Instant.PAST, executed.axis, executed.time)
    compared = 0
    for topic in TOPICS:
        there = past.frames[topic].arrays
        for name, values in executed.frames[topic].arrays.items():
            assert np.array_equal(values, there[name], equal_nan=True), (topic, name)
            compared += values.size
    assert compared > 100
    panel = desktop.window.panels["contacts"].content
    wait_until(lambda: "PAST \u22121 · this step, exact" in panel.instant.full_text)


def test_a_script_that_has_registered_its_state_is_not_asked_and_goes_back_with_the_scene(
    desktop, run_script, wait_until
):
    run_script(script(registered=True))
    scene = desktop.sessions.shown
    wait_until(lambda: scene.status is not None)
    step(desktop, wait_until, 12)
    for _ in range(5):
        press(desktop, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == 7)
    wait_until(lambda: scene.history.told.script_state)
    press(desktop, Qt.Key.Key_Return)
    assert not desktop.window.timeline.asks
    wait_until(lambda: scene.history.view is None)
    settle(scene, wait_until)
    wait_until(lambda: scene.status.physics_step_count == 7)
    step(desktop, wait_until, 1)
    wait_until(lambda: scene.history.branch is not None)
    assert scene.history.branch.parent_axis == 7
    wait_until(lambda: desktop.window.timeline.strip.lanes.lanes.count == 2)
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED · BRANCH")


def test_a_script_that_has_registered_nothing_is_asked_about_once(desktop, run_script, wait_until):
    run_script(script())
    scene = desktop.sessions.shown
    wait_until(lambda: scene.status is not None)
    step(desktop, wait_until, 6)
    for asked in (True, False):
        press(desktop, Qt.Key.Key_Left)
        wait_until(lambda: scene.history.is_away and not scene.session.pending)
        press(desktop, Qt.Key.Key_Return)
        assert desktop.window.timeline.asks is asked
        if asked:
            press(desktop, Qt.Key.Key_Return)
        wait_until(lambda: scene.history.view is None)
        settle(scene, wait_until)
        step(desktop, wait_until, 2)


def test_what_a_branch_has_left_behind_is_a_ghost_that_moves_along(desktop, run_script, wait_until):
    run_script(script())
    window, scene = desktop.window, desktop.sessions.shown
    wait_until(lambda: scene.status is not None)
    step(desktop, wait_until, 24)
    expected = {}
    for axis in (14, 17):
        window.commands.time.choose(axis)

        def is_seen(a=axis):
            seen = scene.frame_set((Topic.POSE,))
            return seen is not None and (seen.instant, seen.axis) == (Instant.PAST, a)

        wait_until(is_seen)
        expected[axis] = scene.frame_set((Topic.POSE,)).frames[Topic.POSE].arrays["xpos"].copy()
    window.commands.time.choose(12)
    wait_until(lambda: scene.history.view == 12)
    press(desktop, Qt.Key.Key_Return)
    press(desktop, Qt.Key.Key_Return)  # it asks: nothing was registered
    wait_until(lambda: scene.history.branch is not None)
    settle(scene, wait_until)
    strip = window.timeline.strip
    wait_until(lambda: strip.lanes.lanes.count == 2)

    def offered(axis):
        at = QPoint(round(strip.scale.x(axis)), strip.height() // 2)
        strip.customContextMenuRequested.emit(at)
        menus = window.timeline.findChildren(QMenu)
        menu = next(m for m in menus if any(a.text() == "Loop from here" for a in m.actions()))
        found = [each for each in menu.actions() if each.text().startswith("Ghost")]
        return menu, found

    def close(menu):
        menu.close()
        wait_until(lambda: menu not in window.timeline.findChildren(QMenu))

    menu, found = offered(5)
    assert not found, "the scene's own line"
    close(menu)
    menu, found = offered(20)
    assert found[0].text() == "Ghost of what followed step 12"
    found[0].trigger()
    close(menu)
    wait_until(lambda: scene.ghosts.entries)
    assert scene.ghosts.entries[0].label == "what followed step 12"
    for steps, axis in ((2, 14), (3, 17)):
        step(desktop, wait_until, steps)
        time = 0.002 * axis

        def is_there(t=time):
            frame = scene.latest(Topic.GHOSTS)
            return frame is not None and abs(frame.time - t) < 1e-9

        wait_until(is_there)
        ghost = scene.latest(Topic.GHOSTS).arrays["xpos"][0]
        assert np.array_equal(ghost, expected[axis].reshape(ghost.shape)), axis
    # The same again takes it away, and nothing is simulated twice.
    menu, found = offered(20)
    found[0].trigger()
    close(menu)
    wait_until(lambda: not scene.ghosts.entries)
    assert len(scene.rollouts.rollouts) == 1


def test_a_past_whose_model_nobody_has_seen_says_so_where_it_is_continued_from(
    desktop, run_script, wait_until
):
    text = script(registered=True).replace(
        "        scene.step()",
        "        if memory['k'] in (4, 9):\n            scene.model.dof_damping[:] = memory['k']\n"
        "        scene.step()",
    )
    run_script(text)
    scene, timeline = desktop.sessions.shown, desktop.window.timeline
    wait_until(lambda: scene.status is not None)
    # At once: who steps one by one has seen everything that was written.
    desktop.sessions.step(12)
    wait_until(lambda: scene.status.axis == 12)
    settle(scene, wait_until)
    press(desktop, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == 11 and timeline.continue_here.isVisible())
    assert not scene.history.doubt
    plain = timeline.continue_here.icon().pixmap(16).toImage()
    assert "reproducible" not in timeline.continue_here.toolTip()
    for _ in range(6):
        press(desktop, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == 5 and scene.history.doubt)
    wait_until(lambda: "not reproducible" in timeline.where.text())
    assert timeline.where.property("level") == "warn"
    actions = [a for a in timeline.continue_menu.actions() if not a.isSeparator()]
    for each in (timeline.continue_here, *actions):
        assert "with values of the model that nobody has seen" in each.toolTip()
    assert timeline.continue_here.icon().pixmap(16).toImage() != plain
    # What is tried from there goes there, too.
    timeline.try_wanted.emit(None)
    dialog = desktop.window.commands.travel.try_dialog
    wait_until(lambda: dialog.isVisible() and "reproducible" in dialog.said.text())
    dialog.close()
    timeline.live.click()
    wait_until(lambda: not scene.history.is_away)
    wait_until(lambda: "reproducible" not in timeline.continue_here.toolTip())


def test_watch_and_inspector_follow_into_the_past_and_back(desktop, run_script, wait_until):
    run_script(script())
    scene, window = desktop.sessions.shown, desktop.window
    wait_until(lambda: scene.status is not None)
    window.panels.show("watch")
    watch = window.panels["watch"].content
    QTest.keyClicks(watch.field.line, "qpos['elbow']")
    QTest.keyClick(watch.field.line, Qt.Key.Key_Escape)
    QTest.keyClick(watch.field.line, Qt.Key.Key_Return)
    QTest.keyClicks(watch.field.line, "k * 10")
    QTest.keyClick(watch.field.line, Qt.Key.Key_Escape)
    QTest.keyClick(watch.field.line, Qt.Key.Key_Return)
    assert watch.list.texts == ("qpos['elbow']", "k * 10")
    window.scene_view.setFocus()
    step(desktop, wait_until, 12)
    live = float(scene.frame_set((Topic.STATE,)).array(Topic.STATE, "qpos")[1])

    def number(value, decimals=3):
        return number_text(value, decimals)

    wait_until(lambda: watch.rows[0].number.text() == number(live))
    # The script logs k before each step: 13 by now, and 3 before the third.
    wait_until(lambda: watch.rows[1].number.text() == number(130.0))
    for _ in range(10):
        press(desktop, Qt.Key.Key_Left)
    wait_until(lambda: scene.history.view == 2)
    wait_until(lambda: watch.instant.full_text.startswith("PAST \u221210"))
    wait_until(lambda: (f := scene.frame_set((Topic.STATE,))) is not None and f.axis == 2)
    past = scene.frame_set((Topic.STATE,))
    assert (past.instant, past.axis) == (Instant.PAST, 2)
    elbow = float(past.array(Topic.STATE, "qpos")[1])
    wait_until(lambda: watch.rows[0].number.text() == number(elbow))
    wait_until(lambda: watch.rows[1].number.text() == number(30.0))
    desktop.sessions.selection.select(Element(ElementKind.JOINT, 1))
    window.panels.show("inspector")
    inspector = window.inspector
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value == elbow)
    assert inspector.instant.full_text.startswith("PAST")
    press(desktop, Qt.Key.Key_End)
    wait_until(lambda: inspector.row("position").row.value == live)
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
