"""The lamps of the studio: where they stand and what the theme makes of them."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.resources.themes import Palette

__all__ = ["SELECTION_COLOR", "Color", "Lamp", "LightRig", "rgb", "selection_color"]

Color = tuple[float, float, float]
# Of the outline and the tint: the one hue that neither grounds nor most robots have.
SELECTION_COLOR: Color = (1.0, 0.62, 0.16)
# In the world frame, so that shadows lie still while the camera moves.
KEY_DIRECTION = (-0.28, -0.55, 0.80)
FILL_DIRECTION = (0.75, 0.30, 0.25)


def rgb(text: str) -> Color:
    """Return ``#rrggbb`` as three numbers 0…1 (display space)."""
    return int(text[1:3], 16) / 255.0, int(text[3:5], 16) / 255.0, int(text[5:7], 16) / 255.0


def selection_color(own: NDArray[np.float32], palette: Palette) -> Color:
    """Return the colour of outline and tint for things of colours ``own`` (n, 3).

    Orange, or the theme's accent on what is orange itself.
    """
    away = np.linalg.norm(own - np.array(SELECTION_COLOR), axis=1)
    return rgb(palette.accent) if len(away) and away.min() < 0.45 else SELECTION_COLOR


def _unit(vector: tuple[float, float, float]) -> NDArray[np.float64]:
    array = np.array(vector)
    return np.asarray(array / np.linalg.norm(array))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Lamp:
    """One lamp in the world: ``direction`` is where it shines, ``pos`` is None when it is far away.

    ``cutoff`` [deg] is half its cone, 180 for none; ``gloss`` its highlights' share of ``color``.
    """

    direction: NDArray[np.float64]
    color: Color
    gloss: float
    pos: NDArray[np.float64] | None = None
    cutoff: float = 180.0
    exponent: float = 0.0
    attenuation: Color = (1.0, 0.0, 0.0)

    def uniform(self) -> NDArray[np.float32]:
        """Return the four columns that shaders read, as rows (4, 4)."""
        place = np.zeros(3) if self.pos is None else self.pos
        cone = -1.0 if self.cutoff >= 180.0 else math.cos(math.radians(self.cutoff))
        rows = [
            [*place, float(self.pos is None)],
            [*self.direction, cone],
            [*self.color, self.exponent],
            [self.gloss, *self.attenuation],
        ]
        return np.array(rows, dtype=np.float32)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class LightRig:
    """Lamps, the first of which casts shadows, soft light from everywhere, and the sky.

    Light is linear, the sky's colours are those of the display.
    """

    lamps: tuple[Lamp, ...]
    casts_shadow: bool
    fill_direction: NDArray[np.float64]
    fill: Color
    head: Color
    sky_light: Color
    ground_light: Color
    sky_top: Color
    sky_horizon: Color
    haze: Color

    @staticmethod
    def of(palette: Palette) -> "LightRig":
        """Return the studio for ``palette``: the same lamps, a darker surround in a dark theme."""
        bright = sum(rgb(palette.sky_horizon)) / 3.0
        surround = 0.27 + 0.15 * bright
        strength = 1.12 - 0.24 * bright  # a dark surround gives less light: the key makes up
        key = (strength, 0.96 * strength, 0.89 * strength)
        return LightRig(
            lamps=(Lamp(-_unit(KEY_DIRECTION), key, gloss=0.45),),
            casts_shadow=True,
            fill_direction=_unit(FILL_DIRECTION),
            fill=(0.07, 0.09, 0.13),
            head=(0.13, 0.13, 0.13),
            sky_light=(surround * 0.95, surround, surround * 1.08),
            ground_light=(surround * 0.50, surround * 0.49, surround * 0.48),
            sky_top=rgb(palette.sky_top),
            sky_horizon=rgb(palette.sky_horizon),
            haze=rgb(palette.sky_horizon),
        )
