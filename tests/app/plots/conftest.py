"""A plot panel on a real screen, with a store that tests fill."""

import numpy as np
import pytest

from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind
from stroboscope.resources.themes import DARK

KEY = SceneKey("session", 1)
CHANNELS = (
    ChannelInfo(name="qpos", width=3, names=("rail", "hip", "knee"), units=("m", "rad", "rad")),
    ChannelInfo(name="torque", width=2, names=("hip", "knee"), unit="N·m"),
    ChannelInfo(name="reward", kind=ChannelKind.USER),
)


class Source:
    """Stands for a session: produces the rows of steps."""

    def __init__(self, store, key=KEY, name="Rollout 1", script="train.py"):
        self.store, self.key, self.step = store, key, 0
        store.add_scene(key, name=name, script=script, timestep=0.01)
        store.set_channels(key, CHANNELS)

    def advance(self, steps, *, time=None, lost=0):
        axis = np.arange(self.step, self.step + steps, dtype=np.int64)
        self.step += steps
        start = 0.01 * axis[0] if time is None else time
        qpos = np.stack((0.1 * np.sin(axis / 20), np.sin(axis / 30), np.cos(axis / 40)), axis=1)
        torque = np.stack((100.0 * np.sin(axis / 25), 50.0 * np.cos(axis / 25)), axis=1)
        self.store.append(
            self.key,
            axis,
            start + 0.01 * np.arange(steps),
            {"qpos": qpos, "torque": torque},
            lost=lost,
        )

    def series(self, channel, component=0):
        return PlotSeriesId(self.key, channel, component)


@pytest.fixture
def store():
    return PlotStore()


@pytest.fixture
def source(store):
    return Source(store)


@pytest.fixture
def make_source():
    return Source


@pytest.fixture
def panel(store, source, show):
    from stroboscope.app.plots.plot_panel import PlotPanel

    return show(PlotPanel(store, DARK), 1280, 260)
