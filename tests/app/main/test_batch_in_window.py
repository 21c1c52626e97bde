"""A batch of 64 environments in a real window: looked at, plotted, stopped and rewound."""

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.checkpoints import kept_checkpoints
from stroboscope.app.models.conditions import SavedCondition
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco.batch")

SCRIPT = """
import numpy as np
import stroboscope.engine as physics

CART = '''<mujoco><option timestep=".005"/><worldbody><geom type="plane" size="0 0 .1"/>
<body name="cart" pos="0 0 .6"><joint name="rail" type="slide" axis="1 0 0"/>
<geom type="box" size=".15 .1 .06"/><body name="pole">
<joint name="pole" type="hinge" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 .6"/></body></body></worldbody>
<actuator><motor name="push" joint="rail" ctrlrange="-5 5"/></actuator></mujoco>'''
scene = physics.create_scene("Carts", model=CART, n_envs=64)
# Environment n stands n centimetres to the right, and stays there for a while.
scene.qpos[:, 0] = 0.01 * np.arange(64)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        if scene.total_steps == 10:
            kept = scene.checkpoint("two carts", note="moving", envs_idx=[5, 9])
        if scene.total_steps == 60:
            scene.qvel[12, 1] = np.nan
        if scene.total_steps == 80:
            scene.ctrl[40] = np.nan
        if scene.total_steps == 100:
            scene.reset(envs_idx=[12])
        scene.step()
"""


@pytest.fixture
def carts(desktop, run_script, wait_until):
    """The shown scene of 64 carts, paused before its first step."""
    run_script(SCRIPT)
    desktop.window.resize(1280, 720)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.environments.count == 64)
    wait_until(lambda: scene.session.has_control)
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    return scene


def cart(scene, instant=Instant.NOW):
    """Where the cart of the environment stands that poses are of [m]."""
    frame = scene.latest(Topic.POSE, instant)
    return float(frame.arrays["xpos"][1, 0]) if frame is not None else np.nan


def plotted(desktop, scene, channel="qpos"):
    """The rows of a plotted channel: axes and values of its first column."""
    columns = desktop.window.store.columns(scene_key(scene), channel)
    rows = columns.rows()
    return rows.axis.tolist(), rows.values[:, 0].tolist()


def stopped_at(scene, env):
    return scene.stops.standing is not None and scene.stops.standing.env == env


def test_a_named_checkpoint_of_some_is_listed_with_them_and_goes_back(
    desktop, carts, wait_until, click
):
    window, scene = desktop.window, carts
    window.panels.show("checkpoints")
    panel = window.checkpoints
    wait_until(panel.isVisible)
    desktop.sessions.step(20)
    wait_until(lambda: scene.status.axis == 20)
    wait_until(lambda: "two carts" in panel.table.as_text(everything=True))
    assert "moving · environments 5, 9" in panel.table.as_text(everything=True)
    scene.environments.select(9)
    wait_until(lambda: scene.environments.told.selected == 9)
    assert scene.status.step_count == 20
    (kept,) = kept_checkpoints(scene.session)
    panel.choose(kept.ref)
    wait_until(panel.restore_button.isEnabled)
    click(panel.restore_button)
    wait_until(lambda: scene.status.step_count == 10)
    scene.environments.select(3)
    wait_until(lambda: scene.status.step_count == 20)  # another one stays where it was


def test_the_picker_shows_one_after_another_and_a_grid_of_all_and_the_legend_stands_above_it(
    desktop, carts, wait_until, click
):
    bar, scene = desktop.window.travel.environments, carts
    wait_until(bar.isVisible)
    assert bar.total.text() == "of 64"
    assert not bar.failed.isVisible()
    bar.number.setFocus()
    bar.number.selectAll()
    QTest.keyClicks(bar.number, "63")
    QTest.keyClick(bar.number, Qt.Key.Key_Return)
    wait_until(lambda: cart(scene) == pytest.approx(0.63))
    click(bar.next)
    wait_until(lambda: cart(scene) == pytest.approx(0.0))
    click(bar.previous)
    wait_until(lambda: cart(scene) == pytest.approx(0.63))
    bar.grid.setCurrentIndex(bar.grid.findData(64))
    bar.grid.activated.emit(bar.grid.currentIndex())
    wait_until(lambda: scene.environments.shown == tuple(range(64)))
    drawn = desktop.window.scene_view.viewport._scene
    wait_until(lambda: len(drawn.others) == 63)
    # Nobody overlaps, and everybody is inside the bar's width of the window.
    assert bar.geometry().right() <= desktop.window.scene_view.width()
    # The legend stands above it.
    viewport = desktop.window.scene_view.viewport
    QTest.keyClick(viewport, Qt.Key.Key_C)
    legend = viewport._legend
    wait_until(legend.isVisible)

    def on_screen(widget):
        return QRect(widget.mapToGlobal(QPoint()), widget.size())

    wait_until(lambda: not on_screen(legend).intersects(on_screen(bar)))
    assert on_screen(viewport).contains(on_screen(legend))
    desktop.window.resize(1100, 640)
    wait_until(lambda: not on_screen(legend).intersects(on_screen(bar)))
    at = legend.geometry().bottom()
    desktop.sessions.show(None)
    wait_until(lambda: not bar.isVisible())
    wait_until(lambda: not legend.isVisible() or legend.geometry().bottom() > at)


def test_a_stop_selects_its_environment_with_its_grid_its_plots_and_its_past(
    desktop, carts, wait_until, click
):
    window, scene = desktop.window, carts
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 0))
    wait_until(lambda: window.store.columns(scene_key(scene), "qpos") is not None)
    scene.environments.show_grid(9)
    wait_until(lambda: len(scene.environments.shown) == 9)
    desktop.sessions.fast_forward()
    wait_until(lambda: stopped_at(scene, 12))
    assert scene.stops.standing.axis == 60
    wait_until(lambda: scene.environments.told.selected == 12)
    # The grid comes along, and the banner says it once.
    wait_until(lambda: len(scene.environments.shown) == 9 and 12 in scene.environments.shown)
    banner = window.travel.banner
    wait_until(banner.isVisible)
    assert banner.text.text() == "Not a number: qvel[1] of joint 'pole' (dof 1) is nan"
    assert "environment 12 · step 60" in banner.where.full_text
    bar = window.travel.environments
    wait_until(lambda: bar.number.value() == 12)
    wait_until(lambda: bar.failed.text() == "1 failed")
    # The plot is of environment 12 from its beginning, and of no other.
    wait_until(lambda: len(plotted(desktop, scene)[0]) == 61)
    axes, values = plotted(desktop, scene)
    assert axes == list(range(61))
    assert values == pytest.approx([0.12] * 61, abs=1e-3)

    click(bar.next)
    wait_until(lambda: cart(scene) == pytest.approx(0.13, abs=1e-3))
    wait_until(lambda: len(plotted(desktop, scene)[0]) == 61)
    assert plotted(desktop, scene)[1] == pytest.approx([0.13] * 61, abs=1e-3)

    # "Go there" goes to the environment that the stop is about.
    window.panels.show("stops")
    details = window.stops.details
    wait_until(lambda: details.go_button is not None and details.go_button.isVisible())
    table = window.stops.table
    columns = [column.key for column in table.table.columns]
    assert columns[:3] == ["reason", "env", "step"]
    click(details.go_button)
    wait_until(lambda: scene.environments.told.selected == 12)
    wait_until(lambda: scene.history.view == 60)
    wait_until(lambda: cart(scene, Instant.PAST) == pytest.approx(0.12, abs=1e-3))


def test_those_that_failed_are_shown_and_looked_at_one_by_one(desktop, carts, wait_until, click):
    window, scene = desktop.window, carts
    bar = window.travel.environments
    desktop.sessions.fast_forward()
    wait_until(lambda: stopped_at(scene, 12))
    desktop.sessions.fast_forward()
    wait_until(lambda: stopped_at(scene, 40))
    wait_until(lambda: bar.failed.text() == "2 failed")
    bar.grid.setCurrentIndex(bar.grid.findText("those that failed"))
    bar.grid.activated.emit(bar.grid.currentIndex())
    wait_until(lambda: set(scene.environments.shown) == {12, 40})
    click(bar.failed)
    wait_until(lambda: scene.environments.told.selected == 12)
    click(bar.failed)
    wait_until(lambda: scene.environments.told.selected == 40)
    # The script resets environment 12, which has not failed then.
    desktop.sessions.fast_forward()
    wait_until(lambda: bar.failed.text() == "1 failed")
    wait_until(lambda: scene.environments.shown == (40,))


def test_a_condition_is_looked_at_in_all_and_selects_the_first(desktop, carts, wait_until):
    window, scene = desktop.window, carts
    scene.conditions.add(SavedCondition(expression="qpos['rail'] > 0.295"))
    scene.conditions.add(SavedCondition(expression="contact.count > 99"))
    wait_until(lambda: len(scene.conditions.conditions) == 2)
    everywhere, here = scene.conditions.conditions
    assert everywhere.where == "in every environment"
    assert here.where == "in the environment that is looked at"
    window.panels.show("stops")
    window.stops.tabs.setCurrentIndex(1)
    rows = window.stops.conditions.rows
    wait_until(lambda: set(rows) == {everywhere.condition_id, here.condition_id})
    row = rows[here.condition_id]
    wait_until(lambda: "environment that is looked at" in row.name.full_text)
    assert rows[everywhere.condition_id].name.full_text == ""
    desktop.sessions.play()
    wait_until(lambda: stopped_at(scene, 30))
    assert scene.mode is PlaybackMode.PAUSED
    assert "so it did in environments 31, 32, " in scene.stops.standing.message
    wait_until(lambda: cart(scene) == pytest.approx(0.3, abs=1e-3))


def test_going_back_is_of_the_environment_that_is_looked_at(desktop, carts, wait_until):
    window, scene = desktop.window, carts
    scene.environments.select(7)
    desktop.sessions.fast_forward()
    wait_until(lambda: stopped_at(scene, 12))
    scene.environments.select(7)
    wait_until(lambda: scene.environments.told.selected == 7)
    for _ in range(3):
        trigger(window.actions_by_name["step_back"])
    wait_until(lambda: scene.history.view is not None)
    wait_until(lambda: cart(scene, Instant.PAST) == pytest.approx(0.07, abs=1e-3))
    scene.environments.select(50)
    wait_until(lambda: cart(scene, Instant.PAST) == pytest.approx(0.5, abs=1e-3))
    assert scene.history.view is not None


def test_no_curve_mixes_environments_while_the_scene_plays(desktop, carts, wait_until):
    window, scene = desktop.window, carts
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 0))
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qacc", 0))
    scene.stops.set_rules(mark_only=True)
    desktop.sessions.play()
    for env in (5, 50, 20):
        scene.environments.select(env)
        wait_until(lambda env=env: scene.environments.told.selected == env)
        before = scene.status.axis
        wait_until(lambda before=before: scene.status.axis > before + 20)
        wait_until(lambda before=before: max(plotted(desktop, scene)[0], default=0) > before)
        axes, values = plotted(desktop, scene)
        # Its past is there as well.
        assert axes[0] == 0
        assert values == pytest.approx([0.01 * env] * len(axes), abs=1e-3)
    # What a step has computed follows from its row.
    wait_until(lambda: plotted(desktop, scene, "qacc")[0][:1] == [0])
