"""Slider-cranks are drawn as MuJoCo's viewer draws them."""

from typing import Any

import mujoco
import numpy as np
import pytest
from samples import few

from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays.legend import legend_rows

ENGINE = """<mujoco><worldbody>
<body pos="0 0 .5"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
<site name="pin" pos=".3 0 0"/></body>
<body pos="1 0 .5" euler="0 5 0"><joint type="slide" axis="1 0 0"/><geom size=".05"/>
<site name="piston" euler="0 90 0"/></body></worldbody>
<actuator><general name="drive" cranksite="pin" slidersite="piston"
 cranklength="{length}"/></actuator></mujoco>"""


def mujocos_ends(case: Any) -> Any:
    """Return both ends (2, 6) and the colours (2, 4) of its slider and its rod."""
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    data.qpos[:] = case.scene.data.qpos
    mujoco.mj_forward(model, data)
    scene = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), 7, scene)
    of_actuator = int(mujoco.mjtObj.mjOBJ_ACTUATOR)
    geoms = [geom for geom in scene.geoms[: scene.ngeom] if geom.objtype == of_actuator]
    ends = [[*(g.pos - g.mat[:, 2] * g.size[2]), *(g.pos + g.mat[:, 2] * g.size[2])] for g in geoms]
    return np.array(ends), np.array([geom.rgba for geom in geoms])


@pytest.mark.parametrize("length", [0.8, 0.1], ids=["reaches", "too short"])
@pytest.mark.parametrize("angle", few([0.0, 1.2, 2.5], 2))
def test_slider_and_rod_are_mujocos(engine_view: Any, length: float, angle: float) -> None:
    case = engine_view(ENGINE.format(length=length))
    case.scene.data.qpos[0] = angle
    case.set(slider_cranks=True, legend=True)
    slider, rod = case.parts(Role.CRANK)
    texels = np.concatenate([slider.texels, rod.texels])
    found = np.concatenate([texels[:, 0, :3], texels[:, 0, :3] + texels[:, 1, :3]], axis=1)
    expected, colors = mujocos_ends(case)
    for mine, theirs in zip(found, expected, strict=True):
        flipped = np.concatenate([theirs[3:], theirs[:3]])
        assert min(np.abs(mine - theirs).max(), np.abs(mine - flipped).max()) < 1e-4
    np.testing.assert_allclose(texels[:, 3], colors, atol=1e-6)
    assert rod.element(0) == Element(ElementKind.ACTUATOR, 0)
    rows = {row.text: row.present for row in legend_rows(case.picture)}
    assert ("rod that is too short" in rows) == (colors[1, 0] > 0.8)


def test_without_slider_cranks_the_legend_says_nothing_of_them(engine_view: Any) -> None:
    case = engine_view("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    case.set(slider_cranks=True, legend=True)
    assert not case.parts(Role.CRANK)
    assert not [row for row in legend_rows(case.picture) if "crank" in row.text]
