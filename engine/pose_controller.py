"""Position actuators that hold an articulation at a target pose."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.arguments import number_array, shown

__all__ = ["PerJoint", "PoseControllerParams"]

PerJoint = float | Sequence[float] | Mapping[str, float]
"""One number for all joints, one per joint in order, or by joint name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PoseControllerParams:
    """Gains of a pose controller, per joint.

    ``stiffness`` [N/m for slides, N·m/rad for hinges], ``damping`` [N·s/m, N·m·s/rad], and
    optionally ``max_force`` [N, N·m].
    """

    stiffness: PerJoint
    damping: PerJoint = 0.0
    max_force: PerJoint | None = None

    def stiffness_of(self, joints: Sequence[str]) -> NDArray[np.float64]:
        """Return the stiffness per joint, (len(joints),); ValueError when it does not fit."""
        return _per_joint("stiffness", self.stiffness, joints)

    def damping_of(self, joints: Sequence[str]) -> NDArray[np.float64]:
        """Return the damping per joint, (len(joints),)."""
        return _per_joint("damping", self.damping, joints)

    def max_force_of(self, joints: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the force limit per joint, or None when there is none."""
        if self.max_force is None:
            return None
        return _per_joint("max_force", self.max_force, joints)


def _per_joint(what: str, value: PerJoint, joints: Sequence[str]) -> NDArray[np.float64]:
    if isinstance(value, Mapping):
        unknown = sorted(map(str, set(value) - set(joints)))
        missing = sorted(set(joints) - set(value))
        if unknown or missing:
            raise ValueError(
                f"{what} by name must name each joint of {list(joints)}; "
                f"unknown: {unknown}, missing: {missing}, in {shown(value)}"
            )
        numbers = number_array([value[name] for name in joints], what)
    else:
        numbers = number_array(value, what)
        if numbers.ndim == 0 and not isinstance(value, bool):
            numbers = np.full(len(joints), float(numbers))
        if numbers.shape != (len(joints),):
            raise ValueError(
                f"{what} has shape {numbers.shape}, the articulation has {len(joints)} joints: "
                f"{', '.join(joints)}"
            )
    if not all(math.isfinite(n) and n >= 0.0 for n in numbers):
        raise ValueError(f"{what} must be finite and not negative, not {numbers.tolist()}")
    return numbers
