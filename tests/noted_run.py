"""A scene whose every step is noted as MuJoCo computes it, and what scripts write into models."""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "DERIVED", "READ", "SENSED", "WRITES", "Run",
    "gain", "gravity", "mass", "pieces_of", "place", "solver",
]  # fmt: skip

Values = dict[str, NDArray[np.float64]]

DERIVED = frozenset({Topic.STATE, Topic.POSE})
READ = ("actuator_force", "qfrc_bias", "qfrc_passive", "qfrc_constraint", "qacc")


# Nothing moves what its sensor sees.
SENSED = """
<mujoco>
  <worldbody>
    <site name="goal" pos="1 0 0"/><site name="other" pos="0 0 2"/>
    <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>
  </worldbody>
  <actuator><motor joint="hinge" name="push" gear="3"/></actuator>
  <sensor><framepos objtype="site" objname="goal"/></sensor>
</mujoco>
"""


def gain(model: Any, k: int) -> None:
    model.actuator_gainprm[:, 0] = 0.5 + 0.1 * k


def gravity(model: Any, k: int) -> None:
    model.opt.gravity[2] = -5.0 - k


def mass(model: Any, k: int) -> None:
    model.body_mass[2] = 3.0 + k
    mujoco.mj_setConst(model, mujoco.MjData(model))


def place(model: Any, k: int) -> None:
    model.body_pos[3, 0] = 0.01 * (k + 1)


def solver(model: Any, k: int) -> None:
    model.opt.iterations = 5 + k % 3


WRITES = {each.__name__: each for each in (gain, gravity, mass, place, solver)}


class Run:
    """Steps a scene, and notes what MuJoCo has computed in every step."""

    def __init__(self, scene: physics.Scene) -> None:
        self.scene = scene
        self.model = scene.model
        self.seen: dict[int, Values] = {}
        self._random = np.random.default_rng(0)

    def step(self, count: int) -> None:
        scene, data = self.scene, self.scene.data
        for _ in range(count):
            axis = scene.counters.axis
            scene.ctrl[:] = self._random.uniform(-1, 1, self.model.nu)
            scene.step()
            self.seen[axis] = {name: getattr(data, name).copy() for name in (*READ, "xpos")}

    def look(self, axis: int) -> tuple[bool, str]:
        """Return whether everything is, to the bit, what the step has computed; and the note."""
        past = self.scene.backend.time_machine().look_at(axis, DERIVED)
        assert past.clock.axis == axis
        then, arrays = self.seen[axis], past.frames.arrays
        same = all(arrays[Topic.STATE][name].tobytes() == then[name].tobytes() for name in READ)
        same = same and arrays[Topic.POSE]["xpos"].tobytes() == then["xpos"].tobytes()
        return same, past.note

    def check(self, axes: Any, notes: set[str] | None = None) -> None:
        for axis in axes:
            same, note = self.look(axis)
            assert same, (axis, note)
            assert note in (notes or {""}), axis

    def read(self, channel: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        last = self.scene.counters.axis - 1
        machine = self.scene.backend.time_machine()
        pieces = list(machine.read_rows(0, [channel], first=0, last=last, max_rows=10_000))
        axes = np.concatenate([piece["axis"] for piece in pieces])
        return axes, np.concatenate([piece["values"] for piece in pieces])


def pieces_of(pieces: Iterator[Any]) -> dict[int, NDArray[np.float64]]:
    found: dict[int, NDArray[np.float64]] = {}
    for piece in pieces:
        found |= dict(zip(piece["axis"].tolist(), piece["values"], strict=True))
    return found
