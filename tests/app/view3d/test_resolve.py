"""Cameras and lights of a model stand and look as MuJoCo computes it, in every mode."""

import mujoco
import numpy as np
import pytest
from reference_scenes import ReferenceScene, Shown, shown_by_engine

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.resolve import camera_pose, light_pose

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
XML = f"""<mujoco><worldbody><light name="sun" pos="0 0 3" dir="0 0 -1" directional="true"/>
<camera name="room" pos="2 2 1" xyaxes="-1 1 0 -.3 -.3 1"/>
<camera name="above" pos="0 0 4" mode="targetbody" target="arm"/>
<body name="target" pos="1 .5 .8"><freejoint/><geom size=".1" mass="2"/></body>
<body name="arm" pos="0 0 1" euler="10 20 30"><freejoint/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".05" mass="1"/>
{
    "".join(
        f'<camera name="c_{mode}" pos=".3 -.5 .4" euler="20 40 10" mode="{mode}" target="target"/>'
        f'<light name="l_{mode}" pos=".1 .2 .5" dir=".1 .3 -1" mode="{mode}" target="target"/>'
        for mode in MODES
    )
}
<body pos=".4 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .3" size=".04"
 mass=".7"/></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def shown() -> Shown:
    return shown_by_engine(ReferenceScene("", XML, (0.0, 0.0, 1.0, (0.0, 0.0, 0.0)), seconds=0.4))


@pytest.fixture(scope="module")
def drawn(shown: Shown) -> DrawnScene:
    drawn = DrawnScene()
    drawn.set_description(shown.description, {})
    drawn.set_poses(*shown.poses)
    return drawn


def test_every_camera_is_where_mujoco_has_it(shown: Shown, drawn: DrawnScene) -> None:
    for index, camera in enumerate(shown.description.cameras):
        pos, mat = camera_pose(camera, drawn)
        assert pos == pytest.approx(shown.data.cam_xpos[index], abs=1e-6), camera.name
        expected = np.array(shown.data.cam_xmat[index]).reshape(3, 3)
        assert np.abs(mat - expected).max() < 1e-6, camera.name


def test_every_light_is_where_mujoco_has_it(shown: Shown, drawn: DrawnScene) -> None:
    assert shown.model.nlight == len(MODES) + 1
    for index, light in enumerate(shown.description.lights):
        pos, direction = light_pose(drawn, index)
        assert pos == pytest.approx(shown.data.light_xpos[index], abs=1e-6), light.name
        assert direction == pytest.approx(shown.data.light_xdir[index], abs=1e-6), light.name


def test_the_modes_really_differ(shown: Shown) -> None:
    assert int(mujoco.mjtCamLight.mjCAMLIGHT_TRACK) in shown.model.cam_mode
    assert np.ptp(np.array(shown.data.cam_xpos)[2:], axis=0).max() > 0.01
