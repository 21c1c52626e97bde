"""What a plot holds is what the script saw: every physics step, bit for bit, from end to end."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stroboscope.app.main.plot_feed import PlotFeed, scene_key
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.network import Network
from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.resources.themes import DARK

SCRIPT = Path(__file__).with_name("recording_script.py")
STEPS = 3000


@pytest.fixture
def network():
    made = Network(lambda: None)
    yield made
    made.close()


@pytest.mark.parametrize("fast", [False, True])
def test_every_physics_step_and_every_log_reaches_the_csv_bit_for_bit(
    own_folders, network, show, wait_until, tmp_path, fast
):
    pytest.importorskip("mujoco")
    from stroboscope.app.plots.plot_panel import PlotPanel

    store = PlotStore()
    sessions = SessionsModel(network, LogModel())
    feed = PlotFeed(sessions, store)
    panel = show(PlotPanel(store, DARK), 900, 220)
    panel.subscriptions_changed.connect(lambda key, names: feed.want(key, frozenset(names)))
    recorded, exported = tmp_path / "recorded.npz", tmp_path / "signals.csv"

    def until(condition, deadline_s=60.0):
        def polled():
            sessions.poll()
            return condition()

        wait_until(polled, deadline_s)

    steps = STEPS if fast else STEPS // 5
    script = subprocess.Popen([sys.executable, str(SCRIPT), str(recorded), str(steps)])
    try:
        until(lambda: find_sessions()[0])
        sessions.open(find_sessions()[0][0].path)
        until(lambda: sessions.shown is not None and sessions.shown.description is not None)
        scene = sessions.shown
        key = scene_key(scene)
        panel.add_signals(PlotSeriesId(key, "qpos", 0), PlotSeriesId(key, "qpos", 1))
        until(lambda: not scene.session.pending)
        sessions.step(2)  # the script's own channel appears with the first call of log()
        until(lambda: "reward" in store.scenes[key].channels)
        panel.add_signals(PlotSeriesId(key, "reward"))
        until(lambda: not scene.session.pending)
        sessions.fast_forward() if fast else sessions.play()
        until(recorded.exists)
        until(lambda: store.columns(key, "qpos").axis[-1:] == [steps - 1])
        panel.export_csv(exported)
        until(exported.exists)
    finally:
        feed.close()
        panel.close()
        network.close()  # the script ends by itself when nobody is attached
        try:
            script.wait(60)
        finally:
            script.kill()
            script.wait(60)
    with np.load(recorded) as data, exported.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
        step = np.array([int(line["step"]) for line in lines])
        assert [int(line["missing"]) for line in lines] == [0] * len(lines)
        assert np.array_equal(step, data["axis"])
        time = np.array([float(line["episode_time"]) for line in lines])
        assert np.array_equal(time, data["time"])
        for component, name in enumerate(("shoulder", "elbow")):
            column = [float(line[f"qpos_{name}"]) for line in lines]
            assert np.array_equal(column, data["qpos"][:, component])
        logged = [(i, float(line["reward"])) for i, line in enumerate(lines) if line["reward"]]
        # The first call was made before anybody could subscribe to the channel.
        assert len(logged) >= steps - 5
        assert all(value == data["reward"][i] for i, value in logged)
        session_time = np.array([float(line["session_time"]) for line in lines])
    assert session_time == pytest.approx(0.002 * np.arange(steps))
    marks = store.scenes[key].time.marks
    assert [mark.axis for mark in marks] == [steps // 3, steps // 2]
