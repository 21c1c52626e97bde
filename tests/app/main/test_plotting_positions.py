"""Numbers of the inspector that no channel carries: an expression computes them for the plots."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.models.element_values import ValueRow
from stroboscope.app.models.expressions import position_channel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

RESTING = """
import stroboscope.engine as physics


MODEL = '''<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom name="shell" size=".1" mass="1"/>
<site name="top" pos="0 0 .1"/></body></worldbody></mujoco>'''
scene = physics.create_scene("Resting", model=MODEL)
for _ in range(500):
    scene.step()
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


SHOWN = (
    (Element(ElementKind.BODY, 1), "z", "m"),
    (Element(ElementKind.GEOM, 1), "z", "m"),
    (Element(ElementKind.SITE, 0), "z", "m"),
    (Element(ElementKind.GEOM, 1), "normal", "N"),
    (Element(ElementKind.CONTACT, 0, 1), "normal", "N"),
    (Element(ElementKind.CONTACT, 0, 1), "force z", "N"),
)


def test_it_is_plotted_with_the_value_that_stands_there(desktop, run_script, wait_until):
    run_script(RESTING)
    scene, window = desktop.sessions.shown, desktop.window
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    inspector, plotted = window.inspector, {}
    for element, label, unit in SHOWN:
        desktop.sessions.selection.select(element)
        wait_until(lambda n=label: (row := inspector.row(n)) is not None and row.row.value)
        shown = inspector.row(label).row
        assert shown.unit == unit
        assert inspector._mime(shown) is not None  # it can be dragged, too
        window.plot_value(scene, shown)
        (series,) = set(window.plots.plots.all_series()) - set(plotted)
        plotted[series] = shown.value
    desktop.sessions.play()
    wait_until(lambda: all(_values(window, series).size > 10 for series in plotted))
    desktop.sessions.pause()
    for series, value in plotted.items():
        np.testing.assert_allclose(_values(window, series), value, rtol=1e-3, atol=1e-6)


def test_after_going_back_to_the_start_the_readout_says_where_the_scene_stands(
    desktop, run_script, wait_until
):
    run_script(RESTING)
    window = desktop.window
    window.panels.show("plots")
    readout = window.plots.toolbar.readout
    desktop.sessions.selection.select(Element(ElementKind.BODY, 1))
    wait_until(lambda: (row := window.inspector.row("z")) is not None and row.row.value)
    window.plot_value(desktop.sessions.shown, window.inspector.row("z").row)
    desktop.sessions.step(5)
    wait_until(lambda: readout.text().startswith("EXECUTED: "))
    wait_until(lambda: readout.text().endswith("step 504"))
    QTest.keyClick(window, Qt.Key.Key_Backspace)
    wait_until(lambda: readout.text().startswith("NOW, no step since: "))
    scene = desktop.sessions.shown
    assert scene.status.time == pytest.approx(1.0)  # where it was attached
    wait_until(lambda: "episode 1.0000" in readout.text())
    wait_until(lambda: readout.text().endswith("step 505"))
    desktop.sessions.step(1)
    wait_until(lambda: readout.text().startswith("EXECUTED: "))
    wait_until(lambda: "episode 1.0000" in readout.text())


def test_what_a_scene_cannot_compute_is_said(desktop, attached):
    attached()
    scene, window = desktop.sessions.shown, desktop.window
    row = ValueRow(label="x", value=1.0, channel=position_channel("xpos", "nobody"))
    window.plot_value(scene, row)
    assert "no signal to plot" in desktop.log.lines[-1].text
    assert not window.plots.plots.all_series()


def _values(window, series):
    columns = window.store.columns(series.scene, series.channel)
    return np.empty(0) if columns is None else np.asarray(columns.values(series.component))
