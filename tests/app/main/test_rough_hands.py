"""What the window does with hands that may not touch, and with numbers that are none."""

import json
import math
import signal

import pytest
from event_loop import trigger
from monkey import Ears
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QToolTip
from test_controls import WORKSHOP, _drag, _state
from test_touching import Hand

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.models.overlays import OVERLAYS
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.panels.controls.number_fields import NumberFields
from stroboscope.app.panels.controls.value_bar import ValueBar
from stroboscope.app.panels.inspector_rows import NumberLabel
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

LEFT = Qt.MouseButton.LeftButton

# A hinge that diverges with nothing to stop it, and everything that shows its numbers.
DIVERGING = """
import stroboscope.engine as physics

MODEL = '''<mujoco><option timestep="0.01"><flag autoreset="disable"/></option><worldbody>
<geom name="floor" type="plane" size="2 2 .1"/>
<body name="arm" pos="0 0 .1"><joint name="swing" axis="0 1 0" range="-90 90"/>
<geom name="arm" type="capsule" size=".05" fromto="0 0 0 .3 0 0"/><site name="tip" pos=".3 0 0"/>
</body><body name="ball" pos=".5 0 .09"><freejoint name="free"/><geom name="ball" size=".1"/></body>
<camera name="side" pos="0 -2 1"/></worldbody>
<tendon><spatial name="rope"><site site="tip"/><site site="end"/></spatial></tendon>
<actuator><motor name="push" joint="swing" ctrlrange="-5 5"/></actuator>
<sensor><framepos name="where" objtype="site" objname="tip"/><jointpos joint="swing"/></sensor>
</mujoco>'''.replace('<camera', '<site name="end"/><camera')
scene = physics.create_scene("Diverging", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
        if scene.step_count == 40:
            scene.data.qpos[:] = float("nan")
            scene.data.qvel[:] = float("inf")
        scene.log("reward", float(scene.data.qpos[0]))
"""


@pytest.fixture
def ears(desktop):
    with Ears(desktop.log) as ears:
        yield ears
        QApplication.processEvents()
    assert not ears.heard, "\n".join(ears.heard)


@pytest.fixture
def observed(desktop, run_script, wait_until):
    """The controls of a paused workshop that somebody else controls."""
    run_script(WORKSHOP.read_text())
    scene = desktop.sessions.shown
    wait_until(lambda: scene.session.has_control and scene.latest(Topic.POSE) is not None)
    with DebuggerClient.connect(scene.session.path) as other:
        other.request_control()
        wait_until(lambda: not scene.session.has_control)
        desktop.window.resize(1280, 900)
        desktop.window.panels.show("controls")
        wait_until(lambda: desktop.window.controls.joints.bars)
        wait_until(lambda: desktop.window.controls.joints.bars["swing"].value is not None)
        yield desktop.window.controls


@pytest.mark.slow
def test_an_observer_is_told_at_every_control_that_another_client_has_it(
    desktop, observed, ears, wait_until
):
    scene, window = desktop.sessions.shown, desktop.window
    bar = observed.joints.bars["swing"]
    before = bar.value
    _drag(bar, 0.9)
    assert bar.value == before
    wait_until(lambda: "Another client" in QToolTip.text())
    QToolTip.hideText()
    for page in (observed.joints, observed.actuators, observed.physics, observed.states):
        observed.show_page(page)
        wait_until(page.isVisible)
        wait_until(lambda p=page: not _silent(p))
    window.panels.show("inspector")
    _refused_in_the_inspector(desktop, wait_until)
    _refused_in_the_picture(desktop)
    trigger(window.actions_by_name["checkpoint"])
    assert "Another client" in window.status.currentMessage()
    assert scene.edits.checkpoints == ()


def _silent(page):
    """What of a page can be used, or can't without a reason."""
    kinds = (ValueBar, QAbstractButton, QComboBox, NumberFields)
    widgets = [w for kind in kinds for w in page.findChildren(kind) if w.isVisible()]
    assert widgets
    return [
        getattr(w, "text", lambda: "")() if isinstance(w, QAbstractButton) else type(w).__name__
        for w in widgets
        # Copying and another panel change nothing.
        if "Another client" not in w.toolTip()
        and w not in (getattr(page, "copied", None), getattr(page, "checkpoints", None))
    ]


def _refused_in_the_inspector(desktop, wait_until):
    desktop.sessions.selection.select(Element(ElementKind.JOINT, 0))
    QToolTip.hideText()
    inspector = desktop.window.panels["inspector"].content

    def number():
        return next((n for n in inspector.findChildren(NumberLabel) if n.isVisible()), None)

    wait_until(lambda: number() is not None and number().text() != "—")
    QTest.mouseDClick(number(), LEFT)
    QTest.mouseRelease(number(), LEFT)
    assert "Another client" in QToolTip.text()


def _refused_in_the_picture(desktop):
    hand = Hand(desktop)
    desktop.sessions.selection.select(Element(ElementKind.BODY, 3))
    hand.drag(Qt.MouseButton.RightButton, QPoint(40, 0), start=QPoint(50, 50))
    assert "Another client" in desktop.window.status.currentMessage()
    assert desktop.sessions.shown.edits.entries == ()


def test_control_that_is_lost_while_a_slider_is_dragged_ends_the_drag_with_a_sentence(
    desktop, run_script, wait_until, ears
):
    run_script(WORKSHOP.read_text())
    scene = desktop.sessions.shown
    wait_until(lambda: scene.session.has_control and scene.latest(Topic.POSE) is not None)
    desktop.window.resize(1280, 900)
    desktop.window.panels.show("controls")
    bars = desktop.window.controls.joints.bars
    wait_until(lambda: bars and bars["swing"].value is not None)
    bar = bars["swing"]
    start = QPoint(round(bar.bar_width) // 2, bar.height() // 2)
    QTest.mousePress(bar, LEFT, Qt.KeyboardModifier.NoModifier, start)
    _move(bar, start.x() + 10)
    wait_until(lambda: bar.value != 0.0)
    wait_until(lambda: _state(desktop, "qpos")[0] == pytest.approx(bar.value))
    with DebuggerClient.connect(scene.session.path) as other:
        other.request_control()
        wait_until(lambda: "Another client" in bar.toolTip())
        wait_until(lambda: "Another client" in QToolTip.text())
        kept = _state(desktop, "qpos")[0]
        _move(bar, start.x() + 40)
        wait_until(lambda: bar.value == pytest.approx(kept))
        QTest.mouseRelease(bar, LEFT, Qt.KeyboardModifier.NoModifier, start)


@pytest.mark.leaves_runtime_files
@pytest.mark.slow
def test_an_application_killed_under_a_slider_lets_go_of_it_and_says_so(
    desktop, run_script, wait_until, ears
):
    process = run_script(WORKSHOP.read_text())
    scene = desktop.sessions.shown
    wait_until(lambda: scene.session.has_control and scene.latest(Topic.POSE) is not None)
    desktop.window.resize(1280, 900)
    desktop.window.panels.show("controls")
    bars = desktop.window.controls.joints.bars
    wait_until(lambda: bars and bars["swing"].value is not None)
    bar = bars["swing"]
    start = QPoint(round(bar.bar_width) // 2, bar.height() // 2)
    QTest.mousePress(bar, LEFT, Qt.KeyboardModifier.NoModifier, start)
    _move(bar, start.x() + 10)
    process.send_signal(signal.SIGKILL)
    _move(bar, start.x() + 20)
    wait_until(lambda: scene.is_stale)
    wait_until(lambda: "over" in bar.toolTip())
    held = bar.value
    _move(bar, start.x() + 40)
    assert bar.value == held
    QTest.mouseRelease(bar, LEFT, Qt.KeyboardModifier.NoModifier, start)


@pytest.mark.slow
def test_numbers_that_are_none_are_shown_and_nothing_stops(desktop, run_script, wait_until, ears):
    run_script(DIVERGING)
    window, scene = desktop.window, desktop.sessions.shown
    # A stop would hold the scene before there is anything that is no number.
    wait_until(lambda: scene.stops.is_known and scene.session.has_control)
    scene.stops.set_rules(off=tuple(StopReason))
    wait_until(lambda: set(scene.stops.told.off) == set(StopReason))
    desktop.sessions.play()
    for dock in window.docks.values():
        dock.show()
        dock.raise_()
        QApplication.processEvents()
    for overlay in OVERLAYS:
        action = window.actions_by_name[overlay.name]
        if not action.isChecked():
            trigger(action)
    wait_until(lambda: scene.latest(Topic.STATE) is not None)
    wait_until(lambda: scene.status.step_count > 60)
    for kind in ElementKind:
        desktop.sessions.selection.select(Element(kind, 0, 1))
        for name in ("inspector", "controls", "why"):
            window.panels.show(name)
            QApplication.processEvents()
    said = [line.text for line in desktop.log.lines if "diverged" in line.text]
    assert len(said) == 1, "told once"
    assert "2 of 3 bodies" in said[0]
    window.panels.show("controls")
    bar = window.controls.joints.bars["swing"]
    wait_until(lambda: bar.value is not None and math.isnan(bar.value))
    stop = QColor(window.palette_tokens.stop)
    assert _has_ink(bar, stop), "the number of a bar is not in the colour for what is wrong"
    window.panels.show("watch")
    watch = window.panels["watch"].content
    watch.add('qpos["swing"]')
    wait_until(lambda: watch.rows and watch.rows[0].number.text() == "NaN")
    assert watch.rows[0].number.property("level") == "stop"
    drawn = window.scene_view.viewport.stats.frames
    trigger(window.actions_by_name["grid"])
    wait_until(lambda: window.scene_view.viewport.stats.frames > drawn)


def _has_ink(widget, color):
    image = widget.grab().toImage()
    return any(
        image.pixelColor(x, y) == color for x in range(image.width()) for y in range(image.height())
    )


def _move(bar, x):
    at = QPointF(x, bar.height() / 2)
    where = bar.mapToGlobal(at)
    none = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(bar, QMouseEvent(QEvent.Type.MouseMove, at, where, LEFT, LEFT, none))


# A scene whose script goes on with models of other sizes, as `physics.watch` sees them.
REBOUND = """
import mujoco
import stroboscope.engine as physics

SMALL = '''<mujoco><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1"/></body></worldbody>
</mujoco>'''
LARGE = '''<mujoco><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="box" pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
<body name="arm" pos="1 0 1"><joint name="knee" axis="0 1 0" range="-90 90"/>
<geom name="arm" size=".1"/><site name="a"/>
<body name="hand" pos=".3 0 0"><joint name="wrist" axis="0 1 0"/><geom name="hand" size=".1"/>
<site name="b"/></body></body></worldbody>
<tendon><spatial name="rope"><site site="a"/><site site="b"/></spatial></tendon>
<equality><weld name="tie" body1="box" body2="hand" active="false"/></equality>
<actuator><motor name="pull" joint="knee" ctrlrange="-1 1"/></actuator>
<sensor><jointpos name="bend" joint="wrist"/></sensor>
<keyframe><key name="up" qpos="0 0 1 1 0 0 0 1 1"/></keyframe></mujoco>'''
models = [mujoco.MjModel.from_xml_string(xml) for xml in (LARGE, SMALL)]
scene = physics.create_scene("Rebound", model=models[0], data=mujoco.MjData(models[0]))
if physics.debugger.attach(timeout_seconds=60.0, launch=False, mode="playing"):
    turn = 0
    while physics.debugger.is_attached():
        scene.step()
        turn += 1
        if turn % 100 == 0:
            models.reverse()
            scene.rebind(models[0], mujoco.MjData(models[0]))
"""


@pytest.mark.slow
def test_a_scene_takes_models_of_other_sizes_under_every_panel_watch_and_override(
    desktop, run_script, wait_until, ears
):
    run_script(REBOUND)
    window, scene = desktop.window, desktop.sessions.shown
    for dock in window.docks.values():
        dock.show()
        dock.raise_()
        QApplication.processEvents()
    for overlay in OVERLAYS:
        if not window.actions_by_name[overlay.name].isChecked():
            trigger(window.actions_by_name[overlay.name])
    wait_until(lambda: scene.session.has_control)
    for text in ('qpos["knee"]', "qpos[8]", 'sensor("bend")', 'tendon_length["rope"]', "qvel"):
        window.panels["watch"].content.add(text)
    kinds = (
        Element(ElementKind.CONTACT, 0, 3),
        Element(ElementKind.TENDON, 0),
        Element(ElementKind.JOINT, 2),
        Element(ElementKind.EQUALITY, 0),
        Element(ElementKind.ACTUATOR, 0),
    )
    revisions = {scene.description.revision}
    for turn, kind in enumerate(kinds):
        desktop.sessions.selection.select(kind)
        scene.edits.set_override(0, 0.5)
        scene.edits.pull(3, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        list(window.docks.values())[turn].raise_()
        window.panels.show("controls")
        last = scene.description.revision
        wait_until(lambda before=last: scene.description.revision != before)
        revisions.add(scene.description.revision)
    assert len(revisions) > 3


GARBAGE = "AAECAwQFBgcICQ=="
# What a newer program, or a hand, may have left in the settings: valid JSON, nothing of use.
ODD = {
    "version": 1,
    "theme": "<b>violet</b>",
    "geometry": GARBAGE,
    "docks": GARBAGE,
    "panels": ["nowhere", "log"],
    "scope": "galaxy",
    "log_level": "loudest",
    "recent": ["/nowhere/x.py"],
    "views": "nine",
    "view": {"labels": 7, "geom_groups": "all", "contacts": "yes", "force_scale": -5},
    "pictures": {"width": "wide", "size": 3, "folder": 7},
    "films": {"fps": "fast", "suffix": ".avi", "speed": 0, "base": []},
    "shortcuts": {"play": "Ctrl+Nothing+Q", "nowhere": "X", "log": ""},
    "tables": {"joints": {"columns": 5, "sort": {"a": 1}}, "contacts": {"columns": ["no"]}},
    "plot_layouts": {"mine": {"plots": [{"series": 3}], "version": 99}},
    "scripts": {
        "{script}": {
            "camera": {"Workshop": {"mode": "orbit", "distance": "far"}},
            "other_cameras": {"Workshop": [{}, {"lookat": None}]},
            "bookmarks": {"Workshop": [["<b>x</b>", {"azimuth": []}]]},
            "plots": {"plots": "none", "version": -1},
            "watches": ["((((", "<b>x</b>", "", "qpos["],
            "scene": "nowhere",
            "element_kind": "quark",
        }
    },
    "later": {"than": "us"},
}


@pytest.mark.parametrize("text", [pytest.param("{", marks=pytest.mark.slow), "odd"])
def test_settings_of_no_use_leave_a_window_that_works(
    qapp, own_folders, wait_until, pendulums, text
):
    path = own_folders / "config" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    odd = json.dumps(ODD).replace("{script}", "/x/odd.py")
    path.write_text(odd if text == "odd" else text, encoding="utf-8")
    desktop = DesktopApplication(qapp, settings_path=path)
    try:
        with Ears(desktop.log) as ears:
            window = desktop.window
            window.show()
            application = pendulums("--script", "/x/odd.py")
            desktop.sessions.open(application.path)
            wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description)
            window.resize(640, 400)
            for dock in window.docks.values():
                dock.show()
                dock.raise_()
                QApplication.processEvents()
            wait_until(lambda: window.scene_view.drawn_scene is not None)
            said = [line for line in desktop.log.lines if "settings" in line.text]
            assert bool(said) == (text != "odd")
        assert not ears.heard, "\n".join(ears.heard)
    finally:
        desktop.window.close()
        desktop.close()
        desktop.window.deleteLater()
