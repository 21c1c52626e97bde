"""The cages of flexes are the lattices that MuJoCo's viewer draws."""

from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.assets import asset_digests
from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays.glyphs import Shape
from stroboscope.app.view3d.overlays.legend import legend_rows
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.engine.errors import ModelError

BLOCK = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
<flexcomp name="block" type="grid" count="5 5 5" spacing=".1 .1 .1" dim="3" dof="{dof}"{cells}
 radius=".01" mass="1" pos="0 0 .5" euler="10 20 30"><contact selfcollide="none"{internal}/>
<elasticity young="1e4" poisson=".1" damping=".01"/></flexcomp></worldbody></mujoco>"""
OLD = not hasattr(mujoco.MjModel, "flex_cellnum")
INTERNAL = ' internal="false"' if OLD else ""
CELLS = [
    ("trilinear", "1 1 1"),
    ("trilinear", "2 1 3"),
    ("quadratic", "1 1 1"),
    ("quadratic", "2 1 1"),
]


def block(engine_view: Any, dof: str, cells: str = "", **options: Any) -> Any:
    many = f' cellcount="{cells}"' if cells and cells != "1 1 1" else ""
    try:
        case = engine_view(BLOCK.format(dof=dof, cells=many, internal=INTERNAL), steps=40)
    except ModelError:
        if not OLD:
            raise
        pytest.skip("this MuJoCo has no such flexes")
    case.set(flex_cages=True, legend=True, **options)
    backend = case.scene.link.backend
    for digest in asset_digests(case.view.description):
        case.view.set_asset(digest, dict(parse_asset(backend.asset(digest), digest)))
    return case


def mujocos_lines(case: Any) -> Any:
    """Return both ends (n, 6) of the lines that its viewer draws with the trees of meshes."""
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    data.qpos[:] = case.scene.data.qpos
    mujoco.mj_forward(model, data)
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 5000)
    option.flags[int(mujoco.mjtVisFlag.mjVIS_MESHBVH)] = True
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), 7, scene)
    kind = int(mujoco.mjtGeom.mjGEOM_LINE)
    return np.array(
        [
            [*geom.pos, *(geom.pos + geom.mat[:, 2] * geom.size[2])]
            for geom in scene.geoms[: scene.ngeom]
            if geom.type == kind
        ]
    ).reshape(-1, 6)


def in_order(lines: Any) -> Any:
    """Return middles and lengths (n, 4), sorted: which end comes first does not matter."""
    start, end = lines[:, :3], lines[:, 3:]
    rows = np.column_stack([(start + end) / 2, np.linalg.norm(end - start, axis=1)])
    rows = np.round(rows, 3) + 0.0
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize(("dof", "cells"), CELLS)
def test_lines_and_nodes_are_mujocos(engine_view: Any, dof: str, cells: str) -> None:
    case = block(engine_view, dof, cells)
    parts = case.parts(Role.CAGE)
    (lines,) = [part for part in parts if part.shape is Shape.LINE]
    (nodes,) = [part for part in parts if part.shape is Shape.BALL]
    start, along = lines.texels[:, 0, :3], lines.texels[:, 1, :3]
    found = np.concatenate([start, start + along], axis=1).astype(np.float64)
    expected = mujocos_lines(case)
    if not len(expected) and OLD:
        pytest.skip("this MuJoCo's viewer draws none")
    assert len(expected)
    assert found.shape == expected.shape
    assert np.abs(in_order(found) - in_order(expected)).max() < 3e-3
    assert len(nodes.texels) == case.scene.model.nflexnode
    assert {part.element(0) for part in parts} == {Element(ElementKind.FLEX, 0)}


def test_a_flex_whose_vertices_move_by_themselves_has_no_cage(engine_view: Any) -> None:
    case = block(engine_view, "full")
    assert not case.parts(Role.CAGE)
    (row,) = [row for row in legend_rows(case.picture) if row.text == "control cage of a flex"]
    assert not row.present


def test_a_flex_that_is_hidden_hides_its_cage(engine_view: Any) -> None:
    case = block(engine_view, "trilinear", flex_groups=(False,) * 6)
    assert not case.parts(Role.CAGE)


def test_damaged_cages_are_not_drawn(engine_view: Any) -> None:
    case = block(engine_view, "trilinear")
    (digest,) = asset_digests(case.view.description)
    whole = case.view._scene.asset(digest)
    for name, damaged in (
        ("node_body", whole["node_body"] + 1000),
        ("node_body", whole["node_body"][:-1]),
        ("node_pos", whole["node_pos"][:-1]),
        ("cage", whole["cage"] + 1000),
        ("cage", whole["cage"].ravel()),
    ):
        case.view.set_asset(digest, {**whole, name: damaged})
        assert not case.parts(Role.CAGE), name
    case.view.set_asset(digest, whole)
    assert case.parts(Role.CAGE)
