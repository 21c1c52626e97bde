"""What happens to a window whose application dies, changes or says strange things."""

import signal

import pytest
from event_loop import trigger
from monkey import Ears
from PySide6.QtCore import QModelIndex
from PySide6.QtGui import Qt
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QWidget

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

# A scene that is replaced by one of another size again and again, with a contact in each.
CHANGING = """
import stroboscope.engine as physics

SMALL = '''<mujoco><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom name="ball" size=".1"/></body></worldbody>
</mujoco>'''
LARGE = '''<mujoco><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="box" pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>
<body name="arm" pos="1 0 1"><joint name="knee" axis="0 1 0"/><geom name="arm" size=".1"/>
<body name="hand" pos=".3 0 0"><joint name="wrist" axis="0 1 0"/><geom name="hand" size=".1"/>
</body></body></worldbody>
<actuator><motor name="pull" joint="knee" ctrlrange="-1 1"/></actuator></mujoco>'''
models = [LARGE, SMALL]
scene = physics.create_scene("Changing", model=models[0])
if physics.debugger.attach(timeout_seconds=60.0, launch=False, mode="playing"):
    rounds = 0
    while physics.debugger.is_attached():
        scene.step()
        rounds += 1
        if rounds % 120 == 0:
            physics.destroy_scene(scene)
            models.reverse()
            scene = physics.create_scene("Changing", model=models[0])
"""

# Words that Qt would take for HTML, accelerators or formats, as names, log lines and reasons.
RUDE = """
import stroboscope.engine as physics

N = "<b>100%</b> &amp; %s <img src=nowhere.png> " + "\\N{GREEK SMALL LETTER MU}" * 60
from xml.sax.saxutils import quoteattr

q = quoteattr(N)
MODEL = f'''<mujoco model={q}><worldbody><geom name={q} type="plane" size="2 2 .1"/>
<body name={q} pos="0 0 .05"><joint name={q} type="slide" axis="0 0 1"/>
<geom name={quoteattr(N + "2")} size=".1" mass="1"/>
<site name={q}/></body></worldbody>
<actuator><position name={q} joint={q} kp="100000000" kv="1e6"/></actuator>
<sensor><framepos name={q} objtype="site" objname={q}/></sensor>
<keyframe><key name={q} qpos=".3"/></keyframe>
</mujoco>'''
scene = physics.create_scene("<h1>scene</h1> & %d", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False, mode="playing"):
    while physics.debugger.is_attached():
        scene.step()
        if scene.step_count == 20:
            scene.log("<u>channel</u>", float("nan"))
            scene.log("text", "<a href='x'>line</a>\\nsecond & %s")
            scene.pause("<b>reason</b> & %s\\nsecond line")
"""


MARKUP = ("<b>", "<img", "<h1>", "<u>", "<a href='x'")


def open_everything(desktop) -> None:
    """Show every panel and every overlay."""
    window = desktop.window
    for dock in window.docks.values():
        dock.show()
        dock.raise_()
        QApplication.processEvents()


@pytest.fixture
def ears(desktop):
    with Ears(desktop.log) as ears:
        yield ears
        QApplication.processEvents()
    assert not ears.heard, "\n".join(ears.heard)


@pytest.mark.slow
def test_scenes_of_other_sizes_come_and_go_under_every_panel(desktop, ears, run_script, wait_until):
    run_script(CHANGING)
    open_everything(desktop)
    window, seen = desktop.window, set()
    for name in ("contacts", "joints", "labels", "frames"):
        trigger(window.actions_by_name[name])
    sizes = set()
    # A busy machine describes some only when they have gone: go on until both sizes were there.
    while len(seen) < 5 or len(sizes) < 2:
        turn = len(seen)
        wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.scene_id not in seen)
        scene = desktop.sessions.shown
        seen.add(scene.scene_id)
        wait_until(lambda s=scene: s.description is not None or s.gone)
        if scene.description is None:
            continue
        sizes.add(len(scene.description.geoms))
        kinds = (
            Element(ElementKind.CONTACT, 0, 1),
            Element(ElementKind.JOINT, len(scene.description.joints) - 1),
            Element(ElementKind.GEOM, len(scene.description.geoms) - 1),
        )
        desktop.sessions.selection.select(kinds[turn % 3])
        docks = list(window.docks.values())
        docks[turn % len(docks)].raise_()


@pytest.mark.leaves_runtime_files
def test_an_application_killed_under_a_hand_leaves_a_window_that_works(
    desktop, ears, run_script, wait_until
):
    # One that stays: what is pulled would be another scene's before it is killed.
    process = run_script(CHANGING.replace("rounds % 120 == 0", "False"))
    open_everything(desktop)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.session.has_control)
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    desktop.sessions.selection.select(Element(ElementKind.BODY, 1))
    scene.edits.pull(1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    process.send_signal(signal.SIGKILL)
    scene.edits.pull(1, (0.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    wait_until(lambda: scene.is_stale)
    scene.edits.let_go()
    for dock in desktop.window.docks.values():
        dock.raise_()
        QApplication.processEvents()


@pytest.mark.slow
def test_a_mesh_that_cannot_be_had_is_told_while_the_scene_still_needs_it(
    desktop, run_script, wait_until
):
    run_script(CHANGING.replace("rounds % 120 == 0", "False"))
    scene, assets = desktop.sessions.shown, desktop.sessions.assets
    wait_until(lambda: scene.description is not None and scene.description.trees is not None)
    needed = scene.description.trees.digest
    # As if both had been refused: the one of a model that has gone is nobody's problem.
    assets.failed.emit("0" * 64, "its model was replaced")
    assets.failed.emit(needed, "it was lost")

    def said():
        return [line.text for line in desktop.log.lines if "is not drawn" in line.text]

    assert said() == []
    wait_until(said)
    assert said() == [f"A mesh or texture ({needed[:12]}…) is not drawn: it was lost."]


def test_names_that_look_like_markup_are_shown_as_they_are(desktop, ears, run_script, wait_until):
    run_script(RUDE)
    window, scene = desktop.window, desktop.sessions.shown
    open_everything(desktop)
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED)
    wait_until(lambda: scene.latest(Topic.STATE) is not None)
    for kind in (ElementKind.BODY, ElementKind.JOINT, ElementKind.ACTUATOR, ElementKind.SENSOR):
        desktop.sessions.selection.select(Element(kind, 1 if kind is ElementKind.BODY else 0))
        for dock in window.docks.values():
            dock.raise_()
            QApplication.processEvents()
        assert not _injected(window)


def _injected(window) -> list[tuple[str, str]]:
    """Return what Qt shows as markup although a script wrote it."""
    texts = [
        (f"{type(label).__name__} in {type(label.parent()).__name__}", label.text())
        for label in window.findChildren(QLabel)
        if label.textFormat() is not Qt.TextFormat.PlainText
    ]
    texts += [(f"tip of {type(w).__name__}", w.toolTip()) for w in window.findChildren(QWidget)]
    for view in window.findChildren(QAbstractItemView):
        texts += [(f"tip in {type(view).__name__}", tip) for tip in _tips(view.model())]
    return [
        (where, text)
        for where, text in texts
        if Qt.mightBeRichText(text) and any(mark in text for mark in MARKUP)
    ]


def _tips(model, parent=None):
    parent = QModelIndex() if parent is None else parent
    for row in range(min(model.rowCount(parent), 30)) if model is not None else ():
        for column in range(model.columnCount(parent)):
            index = model.index(row, column, parent)
            yield str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
        yield from _tips(model, model.index(row, 0, parent))
