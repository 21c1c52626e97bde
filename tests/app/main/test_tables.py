"""Tables in the real window, of scenes of the real engine: known numbers, instants, clicks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.state import StateKind
from stroboscope.app.panels.tree_items import NODE_ROLE
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco")

SCRIPT = """
import stroboscope.engine as physics

scene = physics.create_scene("Case", model={model!r})
if {control!r}:
    scene.ctrl[0] = float({control!r})
for _ in range({steps}):
    scene.step()
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


COUPLED = """
<mujoco><worldbody>
<body name="left" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom size=".1" mass="1"/>
<site name="a" pos=".1 0 0"/></body>
<body name="right" pos="1 0 1"><joint name="knee" axis="0 1 0"/><geom size=".1" mass="1"/>
<site name="b" pos="-.1 0 0"/></body></worldbody>
<tendon><spatial name="rope" range="0.1 0.5" limited="true" stiffness="10"><site site="a"/>
<site site="b"/></spatial></tendon>
<equality><joint name="gear" joint1="hip" joint2="knee"/></equality>
<keyframe><key name="bent" qpos="0.3 0.3"/></keyframe></mujoco>
"""


@pytest.fixture
def run_case(run_script, desktop, case_model: Callable[..., Path], wait_until: Callable[..., None]):
    """``run_case("R13", "-30")``: 1000 steps of a case (or so many), then attach and stand."""

    def run(case: str, control: str = "", *, steps: int = 1000) -> None:
        model = case if "<mujoco>" in case else str(case_model(case))
        run_script(SCRIPT.format(model=model, control=control, steps=steps))
        wait_until(lambda: desktop.sessions.shown.status is not None)
        wait_until(lambda: desktop.sessions.shown.session.has_control)
        wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)

    return run


def panel(desktop, name):
    """Bring a panel to the front and return it."""
    desktop.window.panels.show(name)
    return desktop.window.panels[name].content


def test_r13_contacts_of_a_pressed_box_their_sum_and_why_it_moves_while_paused(
    desktop, run_case, click, wait_until
):
    run_case("R13", "-30")
    scene, contacts = desktop.sessions.shown, panel(desktop, "contacts")
    wait_until(lambda: contacts.table.table is not None and contacts.table.table.count == 5)
    assert contacts.table.table.number("normal", 0) == pytest.approx(49.62, rel=5e-3)
    assert "NOW · forces predicted" in contacts.instant.full_text
    click(desktop.window.transport.buttons["step"])
    wait_until(lambda: scene.status.step_count == 1001)
    desktop.window.view.set_instant(Instant.EXECUTED)
    wait_until(lambda: "EXECUTED · the last step" in contacts.instant.full_text)
    wait_until(lambda: "step 1\u202f000" in contacts.instant.full_text)
    assert contacts.table.table.number("normal", 0) == pytest.approx(49.62, rel=5e-3)
    assert "Σ normal 49.62" in contacts.table.total.full_text
    # A click on a contact selects the pair of geoms, and the inspector says the same.
    view = contacts.table.view
    at = view.visualRect(contacts.table.model.index(1, 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert desktop.sessions.selection.element == Element(ElementKind.CONTACT, 0, 1)
    inspector = desktop.window.inspector
    wait_until(lambda: inspector.row("normal") is not None)
    wait_until(lambda: inspector.row("normal").row.value is not None)
    assert inspector.row("normal").row.value == pytest.approx(49.62, rel=5e-3)
    assert inspector.row("acts on").row.text == "box"
    # Why answers for the selected joint, and keeps the question when a source is clicked.
    desktop.sessions.selection.select(None)
    why = panel(desktop, "why")
    wait_until(lambda: "Select a joint" in why.table.sentence)
    desktop.sessions.selection.select(Element(ElementKind.JOINT, 0))
    wait_until(lambda: why.table.table is not None and why.table.table.count >= 3)
    table = why.table.table
    names = [table.text("name", n) for n in range(table.count)]
    assert {"gravity", "press"} <= set(names)
    assert "Sum: qacc of lift" in why.table.total.full_text
    view = why.table.view
    at = view.visualRect(why.table.model.index(names.index("press"), 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert desktop.sessions.selection.element == Element(ElementKind.ACTUATOR, 0)
    assert why.choice.name == "lift"


def test_r13_numbers_stand_still_are_edited_and_times_of_steps_are_shown_in_both_themes(
    desktop, run_case, wait_until
):
    run_case("R13", "-30")
    scene, state = desktop.sessions.shown, panel(desktop, "state")
    wait_until(lambda: state.table.table is not None and state.table.table.count == 1)
    wait_until(lambda: not scene.session.pending)

    def texts():
        model = state.table.model
        return [model.data(model.index(0, n)) for n in range(5)] + [state.instant.full_text]

    before, shown = state.table.table.number("position", 0), texts()
    frames = scene.latest(Topic.STATE)
    QTest.qWait(500)
    state.refresh()
    assert texts() == shown
    assert state.table.table.number("position", 0) == before
    assert scene.latest(Topic.STATE).axis == frames.axis
    # A number is edited in its cell.
    view = state.table.view
    view.setFocus()
    wait_until(view.hasFocus)  # F2 is the window's elsewhere
    view.setCurrentIndex(state.table.model.index(0, view.column_at("position")))
    QTest.keyClick(view, Qt.Key.Key_F2)
    editor = view.editor
    editor.setText("no number")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert editor.isVisible(), "what is no number stays to be mended"
    editor.setText("0,25")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    wait_until(lambda: state.table.table.number("position", 0) == 0.25)
    # The profiler times stages and steps while the scene runs.
    desktop.sessions.restore_initial()
    profiler = panel(desktop, "profiler")
    desktop.sessions.play()
    wait_until(lambda: profiler.table.table is not None and profiler.source.parts)
    wait_until(lambda: profiler.histogram._times is not None)
    assert profiler.histogram._times.p50 > 0.0
    wait_until(lambda: sum(part.part for part in profiler.source.parts) == pytest.approx(1.0))
    wait_until(lambda: profiler.contacts._values.size and profiler.contacts._values[-1] == 4)
    wait_until(lambda: "of a step's own time" in profiler.summary.full_text)
    numbers = ("4", "max 4")
    wait_until(lambda: all(each in "".join(profiler.contacts.numbers()) for each in numbers))
    # Every panel takes the other theme.
    desktop.sessions.pause()
    desktop.window.set_theme("light")
    for name in ("state", "contacts", "constraints", "why", "profiler", "findings"):
        wait_until(panel(desktop, name).isVisible)
    desktop.window.panels.show("plots")
    wait_until(lambda: Topic.TIMING not in scene._subscribed)
    # A force is no input.
    panel(desktop, "state").choose(StateKind.ACTUATORS)
    wait_until(lambda: state.table.table.number("control", 0) is not None)
    view.setCurrentIndex(state.table.model.index(0, view.column_at("force")))
    view.editor = None
    QTest.keyClick(view, Qt.Key.Key_F2)
    assert view.editor is None


def test_c27_the_other_side_is_a_click_away(desktop, run_case, click, wait_until):
    run_case("C27")
    contacts = panel(desktop, "contacts")
    wait_until(lambda: contacts.table.table is not None and contacts.table.table.count == 4)

    def forces():
        table = contacts.table.table
        return {table.text("name", n): table.number("force2", n) for n in range(table.count)}

    assert forces()["ball_floor – floor"] == pytest.approx(9.81, rel=5e-3)
    assert forces()["ball_table – table"] == pytest.approx(19.62, rel=5e-3)
    click(contacts.other_side)
    wait_until(lambda: "table – ball_table" in forces())
    assert forces()["table – ball_table"] == pytest.approx(-19.62, rel=5e-3)


def test_a_panel_subscribes_only_while_it_is_in_front(desktop, run_case, wait_until):
    run_case("C26")
    scene = desktop.sessions.shown
    state = panel(desktop, "state")
    state.choose(StateKind.BODIES)
    wait_until(lambda: Topic.BODIES in scene._subscribed)
    wait_until(lambda: state.table.table.number("contact2", 1) is not None)
    assert state.table.table.number("contact2", 1) == pytest.approx(9.81, rel=2e-3)
    panel(desktop, "constraints")
    wait_until(lambda: Topic.BODIES not in scene._subscribed)
    wait_until(lambda: Topic.CONSTRAINTS in scene._subscribed)
    desktop.window.panels.show("plots")
    wait_until(lambda: Topic.CONSTRAINTS not in scene._subscribed)


def test_c07_findings_are_a_quiet_line_list_the_overlaps_lead_to_the_geoms_and_are_looked_for_again(
    desktop, run_case, click, wait_until
):
    run_case("C07", steps=0)
    window, scene = desktop.window, desktop.sessions.shown
    # A quiet line and a number, not an alarm.
    button = window.status.findings
    wait_until(button.isVisible)
    count = len(scene.edits.findings)
    wait_until(lambda: button.text() == f"{count} finding{'s' * (count != 1)} about this model")
    wait_until(lambda: window.docks["findings"].windowTitle() == f"Findings ({count})")
    wait_until(lambda: any("overlap" in line.text for line in desktop.log.lines))
    assert not window.banner.isVisible()
    assert window.status.counter.text() == "Log"
    click(button)
    assert window.docks["findings"].in_front
    findings = panel(desktop, "findings")
    wait_until(lambda: findings.cards)
    text = findings.as_text()
    assert "750" in text
    assert "500" in text
    assert {"g1", "g2", "g3"} <= set(text.replace(",", " ").split())
    (link,) = [
        label
        for label in findings.cards[0].findChildren(QLabel)
        if label.textFormat() is Qt.TextFormat.RichText
    ]
    link.linkActivated.emit("0")
    assert desktop.sessions.selection.element is not None
    contacts = panel(desktop, "contacts")
    wait_until(lambda: contacts.table.table is not None and contacts.table.table.count == 4)
    depths = sorted(contacts.table.table.number("depth", n) for n in (2, 3))
    assert depths == pytest.approx([500.0, 750.0])
    # Checking again asks the engine: by now they have come apart.
    desktop.sessions.fast_forward()
    wait_until(lambda: scene.status.step_count > 1000)
    desktop.sessions.pause()
    wait_until(lambda: scene.stands_still)
    panel(desktop, "findings")
    wait_until(findings.again.isVisible)
    wait_until(findings.again.isEnabled)
    click(findings.again)
    wait_until(lambda: "overlap" not in findings.as_text())


def test_tendons_equalities_and_keyframes_are_in_the_tree_and_can_be_looked_at_and_changed(
    desktop, run_case, wait_until
):
    run_case(COUPLED, steps=3)
    scene, window = desktop.sessions.shown, desktop.window
    items = window.tree._scene_items[id(scene)]
    titles = [items.row.child(n).text() for n in range(items.row.rowCount())]
    assert titles[-3:] == ["Tendons", "Equalities", "Keyframes"]
    inspector = window.inspector
    desktop.sessions.selection.select(Element(ElementKind.TENDON, 0))
    wait_until(lambda: inspector.row("length") and inspector.row("length").row.value is not None)
    assert inspector.row("length").row.value == pytest.approx(0.8, abs=0.01)
    assert inspector.row("margin").row.note == "beyond upper"
    desktop.sessions.selection.select(Element(ElementKind.EQUALITY, 0))
    wait_until(lambda: inspector.row("active") and inspector.row("active").row.value == 1.0)
    active = inspector.row("active")
    QTest.mouseDClick(active.number, Qt.MouseButton.LeftButton)
    active.field.setText("0")
    QTest.keyClick(active.field, Qt.Key.Key_Return)
    wait_until(lambda: inspector.row("active").row.value == 0.0)
    keyframes = items.row.child(items.row.rowCount() - 1)
    node = keyframes.child(0).data(NODE_ROLE)
    menu = window.tree.menu_of(node)
    (load,) = menu.actions()
    trigger(load)
    state = panel(desktop, "state")
    wait_until(lambda: state.table.table and state.table.table.number("position", 0) == 0.3)
    menu.deleteLater()
