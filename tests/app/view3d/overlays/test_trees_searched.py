"""Nodes that were searched, and the cells of octrees, are drawn as in MuJoCo's viewer."""

from typing import Any

import mujoco
import numpy as np
import pytest
from samples import few

from stroboscope.app.models.assets import asset_digests, tree_digests
from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.overlays import Role
from stroboscope.app.view3d.overlays.legend import legend_rows
from stroboscope.app.view3d.overlays.trees import tree_boxes
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.topics import Topic

PILE = """<mujoco><visual><global bvactive="{active}"/></visual><worldbody>
<geom type="box" size="1 1 .1"/><geom type="box" size="1 1 .1" pos="3 0 0"/>
<body pos="0 0 .19"><freejoint/><geom type="box" size=".1 .1 .1"/>
<geom type="sphere" size=".1" pos="0 0 2"/></body></worldbody></mujoco>"""
SDF = """<mujoco><asset><mesh name="m" builtin="sphere" params="1" scale=".1 .1 .1"/></asset>
<worldbody><body pos="1 2 3"><freejoint/><geom type="sdf" mesh="m"/></body></worldbody></mujoco>"""


def shown(engine_view: Any, model: str, **changes: Any) -> Any:
    case = engine_view(model)
    backend = case.scene.link.backend
    for digest in (*asset_digests(case.view.description), *tree_digests(case.view.description)):
        case.view.set_asset(digest, dict(parse_asset(backend.asset(digest), digest)))
    mujoco.mj_forward(case.scene.model, case.scene.data)
    case.set(**changes)
    return case


def theirs(case: Any, flag: str, depth: int) -> Any:
    """Return centre, half size and whether it has the colour of what was searched, of each box."""
    model, data = case.scene.model, case.scene.data
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 100_000)
    option.flags[getattr(mujoco.mjtVisFlag, flag)] = True
    option.bvh_depth = depth
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), 7, scene)
    kind = int(mujoco.mjtGeom.mjGEOM_LINEBOX)
    boxes = [g for g in scene.geoms[: scene.ngeom] if g.type == kind]
    # Red boxes were searched, green ones were not.
    rows = [[*g.pos, *g.size, g.rgba[0] > g.rgba[1]] for g in boxes]
    return in_order(np.array(rows, dtype=np.float64))


def ours(case: Any) -> Any:
    parts = [
        np.column_stack([boxes.pos, boxes.half, boxes.searched])
        for boxes in tree_boxes(case.picture.subject)
    ]
    return in_order(np.concatenate(parts))


def in_order(rows: Any) -> Any:
    rounded = np.round(rows, 3) + 0.0
    return rounded[np.lexsort(rounded.T)]


@pytest.mark.parametrize("depth", few([0, 1, 2], 2))
def test_searched_nodes_are_those_that_mujoco_paints_otherwise(
    engine_view: Any, depth: int
) -> None:
    case = shown(engine_view, PILE.format(active="true"), body_trees=True, tree_depth=depth)
    expected, mine = theirs(case, "mjVIS_BODYBVH", depth), ours(case)
    assert mine.shape == expected.shape
    assert np.abs(mine - expected).max() < 2e-3
    if depth:
        assert 0 < mine[:, -1].sum() < len(mine)
        assert case.parts(Role.SEARCHED)
        rows = {row.text: row.scale for row in legend_rows(case.picture)}
        assert rows["searched for contacts"] == str(int(mine[:, -1].sum()))


def test_what_was_searched_is_asked_for_only_where_it_is_known_and_wanted(
    engine_view: Any,
) -> None:
    case = shown(engine_view, PILE.format(active="true"), body_trees=True)
    assert Topic.VOLUMES in topics_of(case.view.options, case.view.description)
    case.set()
    assert Topic.VOLUMES not in topics_of(case.view.options, case.view.description)
    plain = shown(engine_view, PILE.format(active="false"), body_trees=True)
    assert Topic.VOLUMES not in topics_of(plain.view.options, plain.view.description)
    assert not plain.parts(Role.SEARCHED)


@pytest.mark.parametrize("depth", few([0, 2, 3], 2))
def test_cells_of_an_octree_are_mujocos(engine_view: Any, depth: int) -> None:
    case = shown(engine_view, SDF, mesh_trees=True, tree_depth=depth)
    expected, mine = theirs(case, "mjVIS_MESHBVH", depth), ours(case)
    assert len(mine) == 8**depth or depth == 3
    assert mine.shape == expected.shape
    assert np.abs(mine[:, :6] - expected[:, :6]).max() < 2e-3
