"""Whose lights shine, and what they become."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.view_options import Lighting
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.light_rig import LightRig
from stroboscope.app.view3d.model_lights import rig_for, uses_model_lights
from stroboscope.debugger_protocol.scene_description import LightInfo, SceneDescription
from stroboscope.resources.themes import DARK

SUN = LightInfo(name="sun", body=0, pos=(0.0, 0.0, 3.0), dir=(0.5, 0.5, -1.0), directional=True)
SPOT = LightInfo(name="spot", body=0, pos=(0.0, 0.0, 2.0), dir=(0.0, 0.0, -1.0))


def lit(scene: SceneDescription, *lights: LightInfo) -> DrawnScene:
    drawn = DrawnScene()
    drawn.set_description(msgspec.structs.replace(scene, lights=lights), {})
    return drawn


def test_a_plain_spot_from_above_leaves_the_studio_on(scene: SceneDescription) -> None:
    drawn = lit(scene, SPOT)
    assert not uses_model_lights(drawn.description, Lighting.AUTO)
    assert uses_model_lights(drawn.description, Lighting.MODEL)
    studio = LightRig.of(DARK)
    assert rig_for(drawn, studio, Lighting.AUTO) is studio


@pytest.mark.parametrize(
    "light", [SUN, msgspec.structs.replace(SPOT, diffuse=(0.9, 0.4, 0.2))], ids=["sun", "colour"]
)
def test_lights_that_somebody_placed_or_coloured_are_used(
    scene: SceneDescription, light: LightInfo
) -> None:
    drawn = lit(scene, light)
    assert uses_model_lights(drawn.description, Lighting.AUTO)
    assert not uses_model_lights(drawn.description, Lighting.STUDIO)


def test_the_brightest_light_that_casts_shadows_comes_first(scene: SceneDescription) -> None:
    bright = msgspec.structs.replace(SUN, castshadow=False, diffuse=(1.0, 1.0, 1.0))
    dim = msgspec.structs.replace(SUN, diffuse=(0.3, 0.3, 0.3), dir=(0.0, 1.0, -1.0))
    rig = rig_for(lit(scene, bright, dim), LightRig.of(DARK), Lighting.MODEL)
    assert rig.casts_shadow
    assert rig.lamps[0].direction == pytest.approx([0.0, np.sqrt(0.5), -np.sqrt(0.5)])


def test_too_many_lights_are_dimmed_together_and_eight_at_most_shine(
    scene: SceneDescription,
) -> None:
    rig = rig_for(lit(scene, *[SUN] * 12), LightRig.of(DARK), Lighting.MODEL)
    assert len(rig.lamps) == 8
    assert sum(np.mean(lamp.color) for lamp in rig.lamps) < 1.6


def test_lights_that_are_off_do_not_shine(scene: SceneDescription) -> None:
    off = msgspec.structs.replace(SUN, active=False)
    assert not uses_model_lights(lit(scene, off).description, Lighting.AUTO)


def test_a_lamp_packs_its_cone_and_attenuation_for_the_shaders(scene: SceneDescription) -> None:
    spot: Any = msgspec.structs.replace(SPOT, cutoff=60.0, attenuation=(1.0, 0.2, 0.3))
    (lamp,) = rig_for(lit(scene, spot), LightRig.of(DARK), Lighting.MODEL).lamps
    rows = lamp.uniform()
    assert rows[0] == pytest.approx([0.0, 0.0, 2.0, 0.0])
    assert rows[1] == pytest.approx([0.0, 0.0, -1.0, 0.5])
    assert rows[3, 1:] == pytest.approx([1.0, 0.2, 0.3])
    assert dataclasses.replace(lamp, pos=None).uniform()[0, 3] == 1.0
