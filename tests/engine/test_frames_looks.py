"""What a script writes into a model's looks is told, and only then; nodes that were searched."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.topics import Topic

MODEL = """<mujoco><visual><global bvactive="{active}"/></visual>
<asset><material name="red" rgba="1 0 0 1"/></asset><worldbody><geom type="plane" size="1 1 1"/>
<site name="goal" pos="1 2 3"/>
<body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1" material="red"/>
<geom type="sphere" size=".1" pos="1 0 0"/></body></worldbody></mujoco>"""
LOOKS = frozenset({Topic.POSE, Topic.LOOKS})


@pytest.fixture
def made() -> Iterator[Any]:
    def make(model: str) -> Any:
        return physics.create_scene("case", model=model)

    yield make
    physics.shutdown()


def frames(scene: Any, *topics: Topic) -> Any:
    return scene.link.backend.frame_now(frozenset({Topic.POSE, *topics})).arrays


def test_nothing_is_told_while_the_model_looks_as_it_was_described(made: Any) -> None:
    scene = made(MODEL.format(active="false"))
    assert Topic.LOOKS not in frames(scene, Topic.LOOKS)
    assert scene.link.backend.describe(1, "case").tells_looks


def test_colours_and_places_that_a_script_writes_are_told_from_then_on(made: Any) -> None:
    scene = made(MODEL.format(active="false"))
    model = scene.model
    model.geom_rgba[2] = (0.0, 1.0, 0.0, 0.5)
    model.site_pos[0] = (4.0, 5.0, 6.0)
    looks = frames(scene, Topic.LOOKS)[Topic.LOOKS]
    assert looks["geom_rgba"][2].tolist() == [0.0, 1.0, 0.0, 0.5]
    assert looks["geom_rgba"][1].tolist() == [1.0, 0.0, 0.0, 1.0]  # the material's
    assert looks["site_pos"].tolist() == [[4.0, 5.0, 6.0]]
    model.geom_rgba[2], model.site_pos[0] = (0.5, 0.5, 0.5, 1.0), (1.0, 2.0, 3.0)
    back = frames(scene, Topic.LOOKS)[Topic.LOOKS]
    assert back["site_pos"].tolist() == [[1.0, 2.0, 3.0]]


def test_sizes_that_a_script_writes_are_told_from_then_on(made: Any) -> None:
    cable = (
        '<tendon><spatial width=".01"><site site="goal"/><site site="end"/></spatial></tendon>'
        "</mujoco>"
    )
    model = MODEL.format(active="false").replace("</worldbody>", '<site name="end"/></worldbody>')
    for name, value in (
        ("geom_size", (0.3, 0.2, 0.1)),
        ("site_size", (0.05, 0.0, 0.0)),
        ("tendon_width", 0.02),
    ):
        scene = made(model.replace("</mujoco>", cable))
        assert Topic.LOOKS not in frames(scene, Topic.LOOKS)
        getattr(scene.model, name)[0] = value
        told = frames(scene, Topic.LOOKS)[Topic.LOOKS][name]
        assert told.dtype == np.float32
        np.testing.assert_allclose(told[0], value, rtol=1e-6)
        physics.shutdown()


def test_a_material_painted_anew_paints_what_it_is_on(made: Any) -> None:
    scene = made(MODEL.format(active="false"))
    scene.model.mat_rgba[0] = (0.0, 0.0, 1.0, 1.0)
    looks = frames(scene, Topic.LOOKS)[Topic.LOOKS]
    assert looks["geom_rgba"][:, 2].tolist() == [0.5, 1.0, 0.5]


def test_nodes_that_were_searched_are_marked_where_the_model_asks_for_it(made: Any) -> None:
    beside = '<geom type="box" pos="3 0 0" size=".1 .1 .1"/></worldbody>'
    scene = made(MODEL.format(active="true").replace("</worldbody>", beside))
    description = scene.link.backend.describe(1, "case")
    assert description.trees.active
    active = frames(scene, Topic.VOLUMES)[Topic.VOLUMES]["active"]
    assert active.shape == (description.trees.nnode,)
    assert 0 < active.sum() < len(active)
    physics.shutdown()
    plain = made(MODEL.format(active="false"))
    assert not plain.link.backend.describe(1, "case").trees.active


def test_fog_and_haze_are_described(made: Any) -> None:
    look = '<visual><map fogstart="2" fogend="4" haze=".1"/><rgba fog="1 0 0 1"/></visual>'
    scene = made(MODEL.format(active="false").replace("<asset>", look + "<asset>", 1))
    fog = scene.link.backend.describe(1, "case").fog
    assert (fog.start, fog.end) == (2.0, 4.0)
    assert fog.rgba == (1.0, 0.0, 0.0, 1.0)
    assert np.isclose(fog.haze, 0.1)


def test_the_octree_of_a_mesh_is_part_of_the_trees(made: Any) -> None:
    scene = made(
        """<mujoco><asset><mesh name="m" builtin="sphere" params="1"
        scale=".1 .1 .1"/></asset>
        <worldbody><body><freejoint/><geom type="sdf" mesh="m"/></body></worldbody></mujoco>"""
    )
    backend, model = scene.link.backend, scene.model
    trees = backend.describe(1, "case").trees
    assert model.noct > 1
    arrays = parse_asset(backend.asset(trees.digest), trees.digest)
    first, count = arrays["octree"][0].tolist()
    assert (first, count) == (int(model.mesh_octadr[0]), int(model.mesh_octnum[0]))
    assert arrays["oct_aabb"].shape == (model.noct, 6)
