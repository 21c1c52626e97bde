"""What reads each channel of the engine from data that holds the instant of a physics step."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.engine.contacts import contact_forces
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.frames.bodies import momenta
from stroboscope.engine.limit_channels import JOINT_MARGIN, LIMIT_CHANNELS, limit_reader
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["ARRAYS_AFTER", "INPUTS", "READ_BEFORE", "ChannelReaders"]

# What a physics step reads: it is taken before the step, everything else after it.
INPUTS = ("qpos", "qvel", "act", "ctrl", "qfrc_applied")
ARRAYS_AFTER = (
    "qacc",
    "qfrc_actuator",
    "qfrc_passive",
    "qfrc_constraint",
    "qfrc_bias",
    "qfrc_spring",
    "qfrc_damper",
    "qfrc_gravcomp",
    "qfrc_fluid",
    "actuator_force",
    "actuator_length",
    "actuator_velocity",
    "sensordata",
)
_NAN = math.nan
READ_BEFORE = (*INPUTS, JOINT_MARGIN)
"""What follows from what a step reads."""


class ChannelReaders:
    """Makes readers of channels for one model; owner thread only.

    ``table``: the channels as they are described. ``row``: the state before the step, where
    energies are asked for.
    """

    def __init__(
        self,
        model: Any,
        live: Callable[[], Any],
        *,
        table: Mapping[str, ChannelInfo],
        frames: FrameMaker,
        adapter: MujocoAdapter,
    ) -> None:
        self._model = model
        self._table = table
        self._frames = frames
        self._adapter = adapter
        self.row: NDArray[np.float64] | None = None
        enums = adapter.module
        self._pyramidal = int(enums.mjtCone.mjCONE_PYRAMIDAL)
        self._first_contact_kind = int(enums.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
        self._keeps_forces_elsewhere = bool(adapter.hidden_state_reason(model))
        self._step_durations = live().timer.duration.data

    def reader(self, name: str) -> Callable[[Any], Any]:
        """Return what reads a channel from data of its instant."""
        if name in INPUTS or name in ARRAYS_AFTER:
            return operator.attrgetter(name)
        if name.startswith("energy."):
            part = name.removeprefix("energy.")
            return lambda source: self._energy(source, part)
        if name in LIMIT_CHANNELS:
            return limit_reader(name, self._table[name].names, self._model, adapter=self._adapter)
        computed: dict[str, Callable[[Any], Any]] = {
            "contact.count": operator.attrgetter("ncon"),
            "contact.force": self._contact_force,
            "contact.depth": _contact_depth,
            "constraint.count": operator.attrgetter("nefc"),
            "solver.iterations": _solver_iterations,
            "timing.step": self._step_duration_reader(),
            "momentum": lambda source: momenta(self._model, source)[0],
            "angular_momentum": lambda source: momenta(self._model, source)[1],
        }
        return computed[name]

    def _energy(self, source: Any, part: str) -> float:
        potential, kinetic = self._frames.energy(source, self.row)
        return float({"potential": potential, "kinetic": kinetic}.get(part, potential + kinetic))

    def _step_duration_reader(self) -> Callable[[Any], float]:
        """Return what tells how long the step took [s], NaN where MuJoCo doesn't measure.

        Each remembers for itself what it has read last: several look at the same step.
        """
        durations, timer = self._step_durations, 0.0

        def read(_source: Any) -> float:
            nonlocal timer
            before, timer = timer, durations[0]
            taken = timer - before
            return taken if before > 0.0 < taken else _NAN

        return read

    def _contact_force(self, source: Any) -> float:
        """Return the sum of all normal forces [N]."""
        if not source.ncon or not source.nefc:
            return 0.0
        if self._keeps_forces_elsewhere:
            return float(contact_forces(self._model, source, adapter=self._adapter)[:, 0].sum())
        force, kinds = source.efc_force, source.efc_type
        # Edges of pyramids add up to the normal force; contacts come last among the rows.
        if self._model.opt.cone == self._pyramidal:
            return float(force[kinds >= self._first_contact_kind].sum())
        address = source.contact.efc_address
        return float(force[address[address >= 0]].sum())


def _contact_depth(source: Any) -> float:
    """Return the deepest penetration [m], 0 when nothing overlaps."""
    if not source.ncon:
        return 0.0
    return float(max(0.0, -np.min(source.contact.dist)))


def _solver_iterations(source: Any) -> int:
    """Return the most iterations of any island."""
    if not source.nefc:
        return 0
    islands = source.nisland
    # An array's maximum takes as long as several of the steps that small models take.
    if islands <= 1:
        return int(source.solver_niter[0])
    return int(max(source.solver_niter[:islands].tolist()))
