"""How large things beside the bodies are, and how long an arrow is for one unit.

MuJoCo's sizes are multiples of the scene's mean size; forces become longer the lighter the scene
is, so that one's own weight is always a good arrow (``visual/map/force`` over ``meanmass``).
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlays import Amount
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.debugger_protocol.scene_description import SceneDescription, VisualScale

__all__ = ["Sizes"]

Floats = NDArray[np.float64]

# Of the scene's radius: a mean size that a huge floor or one tiny geom has spoiled.
_LEAST_MEAN, _MOST_MEAN = 0.02, 0.2
# Arrows longer than this many radii of the scene are cut.
LONGEST = 1.2
# [m] per unit, at a mean size of 0.1 m: how far a body gets in a tenth of a second, and so on.
_MOTION = {
    Amount.VELOCITY: 0.1,
    Amount.ANGULAR_VELOCITY: 0.02,
    Amount.ACCELERATION: 0.02,
    Amount.ANGULAR_ACCELERATION: 0.002,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes [m] for one scene and the user's factors."""

    extent: float
    mean: float
    scale: VisualScale
    options: ViewOptions

    @staticmethod
    def of(description: SceneDescription, options: ViewOptions, *, extent: float) -> "Sizes":
        """Return the sizes for a scene of radius ``extent`` [m]."""
        scale = description.scale
        mean = min(max(scale.meansize, _LEAST_MEAN * extent), _MOST_MEAN * extent)
        return Sizes(extent, mean * options.marker_scale, scale, options)

    def metres_per(self, amount: Amount) -> float:
        """Return how long [m] an arrow for one unit is."""
        factor = float(getattr(self.options, amount.scale_field))
        mass = self.scale.meanmass if self.scale.meanmass > 0.0 else 1.0
        if amount is Amount.FORCE:
            return factor * self.scale.force / mass
        if amount is Amount.TORQUE:
            return factor * self.scale.torque / mass
        return factor * _MOTION[amount]

    def vectors(self, values: Floats, amount: Amount) -> Floats:
        """Return arrows (n, 3) [m] for ``values`` (n, 3), the longest cut."""
        scaled = values * self.metres_per(amount)
        length = np.linalg.norm(scaled, axis=1, keepdims=True)
        cut = np.minimum(1.0, LONGEST * self.extent / np.maximum(length, 1e-30))
        return np.asarray(scaled * cut)

    @property
    def arrow_radius(self) -> float:
        """Radius [m] of force arrows."""
        return 0.5 * self.scale.forcewidth * self.mean
