"""Fog, haze, additive transparency and back faces look as in MuJoCo's viewer."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from front_view import looking

from stroboscope.debugger_protocol.scene_description import (
    FogInfo,
    GeomInfo,
    GeomType,
    SceneDescription,
)

FOG = FogInfo(start=1.0, end=5.0, rgba=(1.0, 0.0, 1.0, 1.0))
THEIRS = """
import sys
import mujoco, numpy as np
model = mujoco.MjModel.from_xml_string(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
camera = mujoco.MjvCamera()
camera.azimuth, camera.elevation, camera.distance = 90, 0, 4
renderer = mujoco.Renderer(model, 120, 160)
for flag in sys.argv[3:]:
    renderer.scene.flags[getattr(mujoco.mjtRndFlag, flag)] = 1
renderer.update_scene(data, camera)
np.save(sys.argv[2], renderer.render())
"""
# Glowing walls at depths of 2, 6 and 10 m: their colour is the fog's share of white.
WALLS = """<mujoco><statistic extent="1" center="0 0 0"/>
<visual><map fogstart="3" fogend="9" znear=".01"/><rgba fog="0 0 1 1"/>
<headlight ambient="0 0 0" diffuse="0 0 0" specular="0 0 0"/></visual>
<asset><material name="glow" emission="1" rgba="1 1 1 1"/></asset><worldbody>
<geom type="box" material="glow" size=".2 .01 .2" pos="-.6 -2 0"/>
<geom type="box" material="glow" size=".4 .01 .4" pos="0 2 0"/>
<geom type="box" material="glow" size=".8 .01 .8" pos="3 6 0"/></worldbody></mujoco>"""
_POINTS = ((-0.6, -2.01, 0.0), (0.0, 1.99, 0.0), (3.0, 5.99, 0.0))


def change(view: Any, **changes: Any) -> None:
    view.options = dataclasses.replace(view.options, **changes)


def described(view: Any, scene: SceneDescription, poses: Any, **changes: Any) -> None:
    view.set_description(msgspec.structs.replace(scene, **changes), {})
    view.set_poses(*poses)
    view.set_camera(looking())


def test_fog_hides_what_is_far_and_the_sky_but_not_what_is_near(
    viewport: Any, scene: SceneDescription, poses: Any, at: Any, pixels: Any
) -> None:
    described(viewport, scene, poses, fog=FOG)
    clear = pixels(viewport)
    change(viewport, fog=True)
    foggy = pixels(viewport)
    assert foggy[2, 2] == pytest.approx([1.0, 0.0, 1.0], abs=0.02)
    depth = float((np.array([0.0, -0.3, 0.3]) - viewport.view().eye) @ viewport.view().forward)
    share = np.clip((depth - 1.0) / 4.0, 0.0, 1.0)
    row, column = 240, 320
    expected = (1.0 - share) * clear[row, column] + share * np.array([1.0, 0.0, 1.0])
    assert foggy[row, column] == pytest.approx(expected, abs=0.05)
    change(viewport, fog=False)
    assert np.abs(pixels(viewport) - clear).max() < 0.02


def test_fog_covers_as_much_at_each_depth_as_mujocos_renderer(
    qapp: Any, show: Callable[..., Any], tmp_path: Path
) -> None:
    import stroboscope.engine as physics
    from stroboscope.app.models.view_options import Lighting, Quality, ViewOptions
    from stroboscope.app.view3d.camera import CameraState
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    script, saved = tmp_path / "theirs.py", tmp_path / "theirs.npy"
    script.write_text(THEIRS, encoding="utf-8")
    command = [sys.executable, str(script), WALLS, str(saved), "mjRND_FOG"]
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, timeout=120)
    if done.returncode:
        pytest.skip(f"MuJoCo's renderer does not run here: {done.stderr[-200:]!r}")
    theirs = np.load(saved) / 255.0
    scene = physics.create_scene("walls", model=WALLS)
    backend = scene.link.backend
    view = Viewport(DARK)
    view.options = ViewOptions(
        quality=Quality.LOW, triad=False, fog=True, haze=False, lighting=Lighting.MODEL
    )
    view.set_description(backend.describe(1, "walls"), {})
    from stroboscope.debugger_protocol.topics import Topic

    pose = backend.frame_now(frozenset({Topic.POSE})).arrays[Topic.POSE]
    view.set_poses(pose["xpos"], pose["xquat"])
    view.set_camera(CameraState(azimuth=90.0, elevation=0.0, distance=4.0, lookat=(0.0, 0.0, 0.0)))
    show(view, 160, 120)
    ours = _colours(view)
    physics.shutdown()
    for point, mine in zip(_POINTS, ours, strict=True):
        x, y, _ = view.view().project(np.array(point), width=160, height=120)[0]
        their = theirs[int(y), int(x)]
        # Both are white where there is no fog and blue where there is nothing else.
        assert mine[2] - mine[0] == pytest.approx(their[2] - their[0], abs=0.08)


def _colours(view: Any) -> list[Any]:
    from PySide6.QtGui import QImage

    image = view.grab_image().convertToFormat(QImage.Format.Format_RGB888)
    data = np.frombuffer(image.constBits(), dtype=np.uint8)
    rows = data.reshape(image.height(), image.bytesPerLine())[:, : 3 * image.width()]
    picture = rows.reshape(image.height(), image.width(), 3) / 255.0
    found = []
    for point in _POINTS:
        x, y, _ = view.view().project(np.array(point), width=160, height=120)[0]
        found.append(picture[int(y), int(x)].copy())
    return found


def _glass(scene: SceneDescription) -> SceneDescription:
    panes = tuple(
        GeomInfo(
            name=f"pane {i}", body=0, type=GeomType.BOX, size=(2.0, 0.01, 2.0),
            pos=(0.0, -1.0 - 0.2 * i, 0.5), rgba=rgba,
        )
        for i, rgba in enumerate([(0.5, 0.0, 0.0, 0.5), (0.0, 0.0, 0.5, 0.5)])
    )  # fmt: skip
    return msgspec.structs.replace(scene, geoms=(*scene.geoms, *panes))


def test_additive_transparency_only_ever_adds_light(
    viewport: Any, scene: SceneDescription, poses: Any, pixels: Any
) -> None:
    described(viewport, scene, poses)
    without = pixels(viewport)
    described(viewport, _glass(scene), poses)
    change(viewport, shadows=False)
    blended = pixels(viewport)
    change(viewport, additive=True)
    added = pixels(viewport)
    change(viewport, additive=False)
    middle = (slice(200, 280), slice(280, 360))
    assert (added[middle] >= without[middle] - 0.06).all()
    assert (blended[middle] < without[middle] - 0.02).any()
    assert added[middle][..., 0].mean() > without[middle][..., 0].mean() + 0.02
    assert added[middle][..., 2].mean() > without[middle][..., 2].mean() + 0.02


def test_back_faces_show_when_they_are_not_hidden(
    viewport: Any, scene: SceneDescription, poses: Any, pixels: Any
) -> None:
    described(viewport, scene, poses)
    # Inside the ball: its surface is seen from behind only.
    view = dataclasses.replace(looking(), lookat=(0.0, 0.1, 0.3), distance=0.12)
    viewport.set_camera(view)
    hidden = pixels(viewport)[240, 320]
    change(viewport, cull_face=False)
    shown = pixels(viewport)[240, 320]
    assert shown[1] > shown[0] + 0.15
    assert np.abs(shown - hidden).max() > 0.1


def test_the_distance_fades_into_the_models_own_haze_where_it_has_one() -> None:
    from stroboscope.app.view3d.fog import haze_color

    horizon = (0.1, 0.2, 0.3)
    description = SceneDescription(scene_id=1, name="plain")
    assert haze_color(description, horizon) == horizon
    brown = msgspec.structs.replace(description, fog=FogInfo(haze_rgba=(0.4, 0.3, 0.2, 1.0)))
    assert haze_color(brown, horizon) == (0.4, 0.3, 0.2)


def test_a_model_without_haze_has_none(
    viewport: Any, scene: SceneDescription, poses: Any, pixels: Any
) -> None:
    described(viewport, scene, poses)
    hazy = pixels(viewport)
    described(viewport, scene, poses, fog=FogInfo(haze=0.0))
    assert np.abs(pixels(viewport) - hazy).max() > 0.03
