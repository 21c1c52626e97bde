"""A small scene's signals."""

import numpy as np
import pytest

from stroboscope.debugger_protocol.expressions import SignalTable, compile_expression
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind

QPOS = ("root.x", "root.y", "root.z", "root.qw", "root.qx", "root.qy", "root.qz", "hip", "knee")


@pytest.fixture
def table() -> SignalTable:
    """A body on a free joint with a leg of two hinges, and what its script logs."""
    return SignalTable(
        (
            ChannelInfo(
                name="qpos",
                width=9,
                names=QPOS,
                units=("m",) * 3 + ("",) * 4 + ("rad",) * 2,
            ),
            ChannelInfo(name="ctrl", width=2, names=("hip", "knee"), units=("rad", "rad")),
            ChannelInfo(name="qvel", width=2, names=("hip", "knee"), unit="rad/s"),
            ChannelInfo(name="actuator_force", width=2, names=("hip", "knee"), unit="N·m"),
            ChannelInfo(
                name="sensordata", width=4, names=("touch", "imu.x", "imu.y", "imu.z"), unit="m/s²"
            ),
            ChannelInfo(name="energy.total", unit="J"),
            ChannelInfo(name="contact.count"),
            ChannelInfo(name="reward", kind=ChannelKind.USER),
            ChannelInfo(name="obs", width=4, kind=ChannelKind.USER),
            ChannelInfo(name="loss/policy", kind=ChannelKind.USER),
        ),
        bodies=("world", "trunk", "hand"),
        sites=("tip",),
        geoms=("floor", "trunk", "foot", "heel"),
        geom_bodies=(0, 1, 2, 2),
    )


VALUES = {
    "qpos": np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.5, -0.25]),
    "ctrl": np.array([0.1, 0.2]),
    "qvel": np.array([3.0, 4.0]),
    "actuator_force": np.array([10.0, 20.0]),
    "sensordata": np.array([7.0, 1.0, 2.0, 2.0]),
    "energy.total": np.array([12.5]),
    "contact.count": np.array([3.0]),
    "reward": np.array([0.75]),
    "obs": np.array([4.0, 3.0, 2.0, 1.0]),
    "loss/policy": np.array([0.125]),
    "time": np.array([1.5]),
    "xpos": np.arange(9.0),
    "xquat": np.arange(12.0),
    "site_xpos": np.array([5.0, 6.0, 7.0]),
    "contact['foot','floor'].force": np.array([3.0, 0.0, 4.0]),
    "contact['hand','floor'].depth": np.array([0.001]),
}


@pytest.fixture
def values():
    """What the signals are at some instant."""
    return VALUES


@pytest.fixture
def value(table):
    """``value("2 * time")``: what an expression gives, a list."""

    def evaluate(text: str) -> list[float]:
        expression = compile_expression(text, table)
        return expression.evaluate(VALUES).tolist()

    return evaluate
