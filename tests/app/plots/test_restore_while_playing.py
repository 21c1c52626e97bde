"""Restores while a scene plays that logs a value after every step: the plots' time axis stays."""

import subprocess
import sys

import numpy as np
import pytest

from stroboscope.app.main.plot_feed import PlotFeed, scene_key
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.network import Network
from stroboscope.app.models.plot_store import PlotStore
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.app.models.sessions import SessionsModel

SCRIPT = """
import mujoco
import stroboscope.engine as physics

model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
</mujoco>''')
physics.debugger.attach(60.0, launch=False)
scene = physics.create_scene("arm", model)
while physics.debugger.is_attached():
    scene.step()
    scene.log("tip height", scene.data.xpos[1, 2])
"""


@pytest.fixture
def network():
    made = Network(lambda: None)
    yield made
    made.close()


def test_every_value_stands_where_its_step_puts_it(own_folders, network, wait_until):
    pytest.importorskip("mujoco")
    store = PlotStore()
    sessions = SessionsModel(network, LogModel())
    feed = PlotFeed(sessions, store)

    def until(condition, deadline_s=60.0):
        def polled():
            sessions.poll()
            return condition()

        wait_until(polled, deadline_s)

    script = subprocess.Popen([sys.executable, "-c", SCRIPT])
    try:
        until(lambda: find_sessions()[0])
        sessions.open(find_sessions()[0][0].path)
        until(lambda: sessions.shown is not None and sessions.shown.description is not None)
        key = scene_key(sessions.shown)
        sessions.step(2)  # the channel appears with the first call of log()
        until(lambda: "tip height" in store.scenes[key].channels)
        for channel in ("qpos", "tip height"):
            store.want(key, channel)
        feed.want(key, frozenset({"qpos", "tip height"}))
        until(lambda: not sessions.shown.session.pending)
        sessions.play()
        time = store.scenes[key].time

        def stands_after(axis):
            columns = [store.columns(key, channel) for channel in ("qpos", "tip height")]
            return all(each.count and each.axis[-1] >= axis for each in columns)

        for count in range(1, 6):
            until(lambda: stands_after(time.marks[-1].axis + 100 if time.marks else 100))
            sessions.restore_initial()
            until(lambda count=count: len(time.marks) == count)
        until(lambda: stands_after(time.marks[-1].axis + 100))
        for channel in ("qpos", "tip height"):
            columns = store.columns(key, channel)
            assert columns.lost == 0
            assert columns.session_time == pytest.approx(0.002 * columns.axis, abs=1e-9)
            assert np.all(np.diff(columns.axis) == 1)
            # No line leads from one episode into the next.
            assert np.count_nonzero(columns.breaks) == 5
        assert [mark.session_time for mark in time.marks] == pytest.approx(
            [0.002 * mark.axis for mark in time.marks]
        )
    finally:
        feed.close()
        network.close()
        try:
            script.wait(60)
        finally:
            script.kill()
            script.wait(60)
