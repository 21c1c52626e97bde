"""How large things beside the bodies are, and how long an arrow is for one unit.

MuJoCo's sizes are multiples of the scene's mean size. The lighter the scene, the longer its
arrows: the weight of a mean body that moves is a good arrow in every scene. MuJoCo takes
0.005 m·kg/N over the mean mass, whatever the size of the scene; here that length grows with it.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Amount
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.debugger_protocol.scene_description import SceneDescription, VisualScale

__all__ = ["LONGEST", "TRUE_TO_SCALE", "Sizes", "Vectors"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Of the scene's radius: a mean size that a huge floor or one tiny geom has spoiled.
_LEAST_MEAN, _MOST_MEAN = 0.02, 0.12
# Of the scene's radius: how long an arrow is drawn to scale, and how long it is at most. Between
# them every factor of ten adds the same, and the arrow is drawn broken: of two forces that are
# both huge the larger one still is the longer arrow, and neither hides the model.
TRUE_TO_SCALE, LONGEST = 0.4, 0.55
_DECADES = 3.0  # beyond this many powers of ten all arrows are equally long
WIDEST = 1.1  # of the mean size: rings
# Of the mean size: how long the weight of a mean body is, with MuJoCo's own ``map`` values.
_WEIGHT_LENGTH, _MAP_FORCE, _MAP_TORQUE = 2.0, 0.005, 0.1
_GRAVITY = 9.81  # [m/s²], also where there is none
# [m] per unit, at a mean size of 0.1 m: how far a body gets in a tenth of a second, and so on.
_MOTION = {
    Amount.VELOCITY: 0.1,
    Amount.ANGULAR_VELOCITY: 0.02,
    Amount.ACCELERATION: 0.02,
    Amount.ANGULAR_ACCELERATION: 0.002,
}


class Vectors(NamedTuple):
    """Arrows (n, 3) [m], and which of them (n,) are shorter than their scale says."""

    vector: Floats
    cut: Bools


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes [m] for one scene and the user's factors."""

    extent: float
    mass: float  # [kg] of a mean body
    mean: float  # of what is drawn, with the user's factor
    scene_mean: float
    scale: VisualScale
    options: ViewOptions

    @staticmethod
    def of(
        description: SceneDescription, options: ViewOptions, *, extent: float, mass: float = 0.0
    ) -> "Sizes":
        """Return the sizes for a scene of radius ``extent`` [m].

        ``mass`` [kg] is that of a mean body that moves: MuJoCo's mean counts pedestals as well.
        """
        scale = description.scale
        mean = min(max(scale.meansize, _LEAST_MEAN * extent), _MOST_MEAN * extent)
        mass = mass if mass > 0.0 else scale.meanmass
        mass = mass if mass > 0.0 else 1.0
        return Sizes(extent, mass, mean * options.marker_scale, mean, scale, options)

    def metres_per(self, amount: Amount) -> float:
        """Return how long [m] an arrow for one unit is."""
        factor = float(getattr(self.options, amount.scale_field))
        # A model that brings its own scales gets MuJoCo's arrows: its author has looked at them.
        # Engines carry single precision, so the defaults are only nearly equal.
        own = self.scale.meanmass if self.scale.meanmass > 0.0 else self.mass
        if amount is Amount.FORCE:
            if not math.isclose(self.scale.force, _MAP_FORCE, rel_tol=1e-6):
                return factor * self.scale.force / own
            return factor * _WEIGHT_LENGTH * self.scene_mean / (self.mass * _GRAVITY)
        if amount is Amount.TORQUE:
            if not math.isclose(self.scale.torque, _MAP_TORQUE, rel_tol=1e-6):
                return factor * self.scale.torque / own
            return factor / (self.mass * _GRAVITY)
        return factor * _MOTION[amount]

    def vectors(self, values: Floats, amount: Amount) -> Vectors:
        """Return arrows for ``values`` (n, 3), to scale, never longer than ``LONGEST`` radii."""
        scaled = values * self.metres_per(amount)
        length = np.linalg.norm(scaled, axis=1)
        true = TRUE_TO_SCALE * self.extent
        cut = length > true
        decades = np.log10(np.maximum(length / true, 1.0))
        beyond = (LONGEST - TRUE_TO_SCALE) * self.extent * np.minimum(decades / _DECADES, 1.0)
        factor = np.where(cut, (true + beyond) / np.maximum(length, 1e-30), 1.0)
        return Vectors(np.asarray(scaled * factor[:, None]), np.asarray(cut))

    def largest_to_scale(self, amount: Amount) -> float:
        """Return the largest value whose arrow is as long as the scale says."""
        return TRUE_TO_SCALE * self.extent / self.metres_per(amount)

    def ring_sizes(self, values: Floats, amount: Amount) -> Floats:
        """Return radii (n, 3) [m] of rings for ``values`` (n, 3): small ones stay visible."""
        radius = np.linalg.norm(values, axis=1) * self.metres_per(amount)
        limited = np.clip(radius, 0.3 * self.mean, WIDEST * self.mean)
        return np.repeat(limited[:, None], 3, axis=1)

    @property
    def arrow_radius(self) -> float:
        """Radius [m] of force arrows."""
        return 0.5 * self.scale.forcewidth * self.mean
