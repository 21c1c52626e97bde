"""Trees of bounding volumes are drawn where MuJoCo's viewer draws them."""

from typing import Any

import mujoco
import numpy as np
import pytest
from samples import few

from stroboscope.app.models.assets import asset_digests, tree_digests
from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays import trees as module
from stroboscope.app.view3d.overlays.legend import legend_rows
from stroboscope.app.view3d.overlays.trees import tree_boxes
from stroboscope.debugger_protocol.arrays import parse_asset

BODIES = """<mujoco><asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 2" euler="10 20 30"><freejoint/>
<geom type="box" size=".1 .2 .3" euler="40 0 0"/><geom type="sphere" size=".1" pos="1 0 0"/>
<geom type="mesh" mesh="t" pos="0 1 0"/></body>
<body pos="3 0 1"><freejoint/><geom type="mesh" mesh="t"/></body></worldbody></mujoco>"""
CLOTH = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<flexcomp name="f" type="grid" dim="2" count="5 4 1" spacing=".1 .1 .1" radius=".01" pos="0 0 1">
<edge equality="true"/></flexcomp></worldbody></mujoco>"""


def shown(engine_view: Any, model: str, *, steps: int = 0, **changes: Any) -> Any:
    case = engine_view(model, steps=steps)
    case.set(**changes)
    backend = case.scene.link.backend
    description = case.view.description
    for digest in (*asset_digests(description), *tree_digests(description)):
        case.view.set_asset(digest, dict(parse_asset(backend.asset(digest), digest)))
    return case


def theirs(case: Any, flag: str, depth: int) -> Any:
    """Return (centre, half size) of each box of MuJoCo's, without endless ones, in order."""
    model, data = case.scene.model, case.scene.data
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 1000)
    option.flags[getattr(mujoco.mjtVisFlag, flag)] = True
    option.bvh_depth = depth
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), 7, scene)
    kind = int(mujoco.mjtGeom.mjGEOM_LINEBOX)
    boxes = [(g.pos, g.size) for g in scene.geoms[: scene.ngeom] if g.type == kind]
    return in_order(np.array([np.concatenate(box) for box in boxes if box[1][0] < 1e6]))


def in_order(rows: Any) -> Any:
    rounded = np.round(rows, 4) + 0.0
    return rounded[np.lexsort(rounded.T)]


def ours(case: Any) -> Any:
    found = tree_boxes(case.picture.subject)
    return in_order(
        np.concatenate([np.concatenate([boxes.pos, boxes.half], axis=1) for boxes in found])
    )


@pytest.mark.parametrize("depth", few([0, 1, 2, 3], 2))
@pytest.mark.parametrize(
    ("name", "flag"), [("body_trees", "mjVIS_BODYBVH"), ("mesh_trees", "mjVIS_MESHBVH")]
)
def test_boxes_are_mujocos(engine_view: Any, name: str, flag: str, depth: int) -> None:
    case = shown(engine_view, BODIES, steps=20, tree_depth=depth, **{name: True})
    mujoco.mj_forward(case.scene.model, case.scene.data)
    case.feed()
    expected, mine = theirs(case, flag, depth), ours(case)
    assert mine.shape == expected.shape
    assert np.abs(mine - expected).max() < 2e-3


@pytest.mark.parametrize("depth", few([0, 1, 2, 4], 2))
def test_boxes_of_a_flex_hold_its_elements_where_they_are(engine_view: Any, depth: int) -> None:
    case = shown(engine_view, CLOTH, steps=10, tree_depth=depth, flex_trees=True)
    model, data = case.scene.model, case.scene.data
    mujoco.mj_forward(model, data)
    case.feed()
    first, count = int(model.flex_bvhadr[0]), int(model.flex_bvhnum[0])
    leaf = model.bvh_nodeid[first : first + count] >= 0
    level = model.bvh_depth[first : first + count]
    chosen = (level == depth) | (leaf & (level < depth))
    mine = ours(case)
    assert len(mine) == chosen.sum()
    expected = data.bvh_aabb_dyn[first - model.nbvhstatic :][:count][chosen]
    assert np.abs(mine - in_order(expected)).max() < 2e-3


def test_a_box_is_the_body_or_geom_it_is_about_and_has_a_line_in_the_legend(
    engine_view: Any,
) -> None:
    case = shown(engine_view, BODIES, body_trees=True, mesh_trees=True, legend=True)
    kinds = {part.kind for part in case.parts(Role.TREE)}
    assert kinds == {ElementKind.BODY, ElementKind.GEOM}
    (row,) = [row for row in legend_rows(case.picture) if row.text == "bounding volume"]
    assert int(row.scale) == len(ours(case))


def test_without_its_asset_or_with_a_damaged_one_no_box_is_drawn(engine_view: Any) -> None:
    case = engine_view(BODIES)
    case.set(body_trees=True, mesh_trees=True)
    assert not case.parts(Role.TREE)
    (row,) = [row for row in legend_rows(case.picture) if row.text == "bounding volume"]
    assert not row.present
    (digest,) = tree_digests(case.view.description)
    arrays = dict(parse_asset(case.scene.link.backend.asset(digest), digest))
    for name in arrays:
        damaged = {**arrays, name: arrays[name][:1]}
        case.view.set_asset(digest, damaged)
        assert case.picture is not None
        case.view.set_asset(digest, {n: values for n, values in arrays.items() if n != name})
        assert not case.parts(Role.TREE)
    case.view.set_asset(digest, arrays)
    assert case.parts(Role.TREE)


def test_more_boxes_than_can_be_seen_are_left_out_and_counted(
    engine_view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stroboscope.app.view3d.overlays import legend

    for place in (module, legend):
        monkeypatch.setattr(place, "MOST_BOXES", 2)
    case = shown(engine_view, BODIES, mesh_trees=True, tree_depth=3)
    total = len(ours(case))
    assert total > 2
    (part,) = case.parts(Role.TREE)
    assert len(part.texels) == 2 * 12
    rows = [row.text for row in legend_rows(case.picture)]
    assert f"{total - 2} more are left out" in rows
