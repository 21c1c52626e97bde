"""Draws the sky behind everything: a gradient of the theme's colours, or the model's own."""

import math
from typing import Any

from vispy import gloo

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.light_rig import LightRig
from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.shaders import SCREEN_VERTEX, SKY_FRAGMENT, with_defines
from stroboscope.app.view3d.textures import Sky

__all__ = ["SkyPass"]


class SkyPass:
    """The programs of both skies; ``quad`` covers the screen."""

    def __init__(self, quad: Any) -> None:
        self._programs = {
            image: Program(SCREEN_VERTEX, with_defines(SKY_FRAGMENT, IMAGE=int(image)))
            for image in (False, True)
        }
        for program in self._programs.values():
            program["a_position"] = quad

    def draw(
        self,
        view: View,
        *,
        rig: LightRig,
        sky: Sky | None,
        mist: tuple[float, float, float, float],
    ) -> None:
        """Draw what ``view`` sees of the model's ``sky``, or the gradient of the ``rig``."""
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        tangent = math.tan(math.radians(view.fovy) / 2.0) if not view.orthographic else 0.0
        program = self._programs[sky is not None]
        if sky is not None:
            program["u_cube"] = sky.cube
        else:
            program["u_top"], program["u_horizon"] = rig.sky_top, rig.sky_horizon
        program["u_forward"] = view.forward
        program["u_right"] = view.right * tangent * view.aspect
        program["u_up"] = view.up * tangent
        program["u_mist"] = mist
        program.draw("triangles")
