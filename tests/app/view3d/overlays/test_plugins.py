"""What plugins draw of themselves is what they draw in MuJoCo's viewer."""

from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.overlays import Role
from stroboscope.app.view3d.overlays.glyphs import Shape
from stroboscope.app.view3d.overlays.legend import legend_rows
from stroboscope.debugger_protocol.topics import Topic

SOLIDS = """<mujoco><extension><plugin plugin="mujoco.sdf.bowl"><instance name="bowl"/></plugin>
<plugin plugin="mujoco.sdf.nut"><instance name="nut"/></plugin></extension>
<option sdf_initpoints="6" sdf_iterations="5"/>
<asset><mesh name="bowl"><plugin instance="bowl"/></mesh>
<mesh name="nut"><plugin instance="nut"/></mesh></asset>
<worldbody><body pos=".1 0 .3"><freejoint/>
<geom type="sdf" mesh="bowl"><plugin instance="bowl"/></geom></body>
<body euler="20 0 0"><freejoint/><geom type="sdf" mesh="nut"><plugin instance="nut"/></geom></body>
</worldbody></mujoco>"""
GRID = """<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension><worldbody>
<body><geom size=".2 .2 .05" type="box"/><site name="eye" pos="0 0 -.1" quat="0 1 0 0"/></body>
<body pos="0 0 .14"><freejoint/><geom size=".1"/></body></worldbody>
<sensor><plugin name="grid" plugin="mujoco.sensor.touch_grid" objtype="site" objname="eye">
<config key="size" value="7 7"/><config key="fov" value="45 45"/><config key="gamma" value="0"/>
<config key="nchannel" value="3"/></plugin></sensor></mujoco>"""


def shown(engine_view: Any, model: str, **options: Any) -> Any:
    case = engine_view(model, steps=3)
    case.set(legend=True, **options)
    return case


def mujocos(case: Any, kind: Any, *, iterations: bool) -> Any:
    """Return position and first size (n, 4) of what is drawn beside the model."""
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    state = mujoco.mjtState.mjSTATE_INTEGRATION
    row = np.empty(mujoco.mj_stateSize(model, state))
    mujoco.mj_getState(model, case.scene.data, row, state)
    mujoco.mj_setState(model, data, row, state)
    mujoco.mj_forward(model, data)
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 5000)
    option.flags[int(mujoco.mjtVisFlag.mjVIS_SDFITER)] = iterations
    # Plugins leave a geom's category and object undefined: only this is asked for, then.
    decor = int(mujoco.mjtCatBit.mjCAT_DECOR)
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), decor, scene)
    found = [
        [*geom.pos, geom.size[0]] for geom in scene.geoms[: scene.ngeom] if geom.type == int(kind)
    ]
    return in_order(np.array(found).reshape(-1, 4))


def in_order(rows: Any) -> Any:
    rounded = np.round(np.asarray(rows, dtype=np.float64), 4) + 0.0
    return rounded[np.lexsort(rounded.T)]


def test_descents_go_from_ball_to_ball_as_in_mujocos_viewer(engine_view: Any) -> None:
    case = shown(engine_view, SOLIDS, sdf_iterations=True)
    parts = case.parts(Role.DESCENT_START)
    (balls,) = [part for part in parts if part.shape is Shape.BALL]
    (lines,) = [part for part in parts if part.shape is Shape.LINE]
    radius = np.linalg.norm(balls.texels[:, :3, 0], axis=1)
    found = in_order(np.column_stack([balls.texels[:, :3, 3], radius]))
    expected = mujocos(case, mujoco.mjtGeom.mjGEOM_SPHERE, iterations=True)
    assert len(expected) > 4
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 2e-3
    theirs = mujocos(case, mujoco.mjtGeom.mjGEOM_LINE, iterations=True)
    ours = in_order(np.column_stack([lines.texels[:, 0, :3], np.full(len(lines.texels), 2.0)]))
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < 2e-3
    rows = {row.text: row.present for row in legend_rows(case.picture)}
    assert rows["start of an SDF's descent"]
    assert rows["its end"]


def test_nothing_of_descents_is_drawn_or_asked_for_unless_switched_on(engine_view: Any) -> None:
    case = shown(engine_view, SOLIDS)
    assert not case.parts(Role.DESCENT_START)
    assert Topic.PLUGINS not in topics_of(case.view.options, case.view.description)
    case.set(sdf_iterations=True)
    assert Topic.PLUGINS in topics_of(case.view.options, case.view.description)
    plain = engine_view("<mujoco><worldbody/></mujoco>")
    plain.set(sdf_iterations=True)
    assert Topic.PLUGINS not in topics_of(plain.view.options, plain.view.description)


def test_a_touch_grid_draws_its_taxels_as_in_mujocos_viewer(engine_view: Any) -> None:
    case = shown(engine_view, GRID)
    boxes = [part for part in case.picture.parts if part.shape is Shape.BOX]
    expected = mujocos(case, mujoco.mjtGeom.mjGEOM_BOX, iterations=False)
    assert len(expected)
    texels = np.concatenate([part.texels for part in boxes])
    half = np.linalg.norm(texels[:, :3, 0], axis=1)
    found = in_order(np.column_stack([texels[:, :3, 3], half]))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-3
    case.set(plugin_drawings=False)
    assert not [part for part in case.picture.parts if part.shape is Shape.BOX]


def test_arrays_of_different_lengths_draw_nothing(engine_view: Any) -> None:
    case = shown(engine_view, SOLIDS, sdf_iterations=True)
    whole = dict(case.view._scene.values[Topic.PLUGINS])
    for name in ("iteration", "kind", "pos", "size", "rgba"):
        case.view.set_values(Topic.PLUGINS, {**whole, name: whole[name][:-1]})
        assert not case.parts(Role.DESCENT_START), name
        case.view.set_values(Topic.PLUGINS, {n: v for n, v in whole.items() if n != name})
        assert not case.parts(Role.DESCENT_START), name
    case.view.set_values(Topic.PLUGINS, whole)
    assert case.parts(Role.DESCENT_START)


@pytest.mark.parametrize("model", [SOLIDS, GRID], ids=["solids", "grid"])
def test_asking_plugins_leaves_the_scene_as_it_was(engine_view: Any, model: str) -> None:
    case = shown(engine_view, model, sdf_iterations=True)
    before = case.scene.data.qpos.copy(), case.scene.data.sensordata.copy(), case.scene.data.ncon
    case.feed()
    assert (case.scene.data.qpos == before[0]).all()
    assert (case.scene.data.sensordata == before[1]).all()
    assert case.scene.data.ncon == before[2]
