"""Where tendons run and flexes are, against MuJoCo's own arrays and forces."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic

MODEL = Path(__file__).parent / "every_element.xml"
TOPICS = frozenset({Topic.TENDONS, Topic.DEFORMABLE})

PULLED = """
<mujoco><option gravity="0 0 0"/>
  <worldbody><site name="a"/><body pos="1 0 0">
    <joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/><site name="b"/>
  </body></worldbody>
  <tendon><spatial name="t" stiffness="30" damping="2" springlength=".4 .6">
    <site site="a"/><site site="b"/></spatial></tendon>
  <actuator><motor name="m" tendon="t" gear="3"/></actuator>
</mujoco>
"""

Arrays = Mapping[str, NDArray[Any]]


def frames(scene: physics.Scene) -> tuple[Arrays, Arrays]:
    """The topics for the state as it stands."""
    arrays = scene.link.backend.frame_now(TOPICS).arrays
    return arrays[Topic.TENDONS], arrays[Topic.DEFORMABLE]


@pytest.fixture
def scene() -> physics.Scene:
    return physics.create_scene("Everything", MODEL)


@pytest.fixture
def a_passive_callback(scene: physics.Scene) -> Iterator[None]:
    assert scene.step_count == 0, "compiling a model would call it, too"
    mujoco.set_mjcb_passive(lambda model, data: None)
    yield
    mujoco.set_mjcb_passive(None)


def test_a_tendon_runs_from_site_to_site_around_its_geom_and_over_pulleys(
    scene: physics.Scene,
) -> None:
    tendons, _ = frames(scene)
    reference = mujoco.MjData(scene.model)
    mujoco.mj_forward(scene.model, reference)
    np.testing.assert_array_equal(tendons["first"], reference.ten_wrapadr)
    np.testing.assert_array_equal(tendons["count"], reference.ten_wrapnum)
    first, count = int(tendons["first"][0]), int(tendons["count"][0])
    path, wrap = tendons["path"][first : first + count], tendons["wrap"][first : first + count]
    post = mujoco.mj_name2id(scene.model, mujoco.mjtObj.mjOBJ_GEOM, "post")
    assert wrap.tolist() == [-1, post, post, -1, -2, -1, -1, -2, -1, -1]
    pulley = wrap == -2
    assert np.isnan(path[pulley]).all()
    assert np.isfinite(path[~pulley]).all()
    for at, name in ((0, "anchor"), (3, "anchor 2"), (5, "anchor"), (6, "tip"), (9, "end")):
        np.testing.assert_allclose(path[at], reference.site(name).xpos, atol=1e-6)
    distance = np.linalg.norm((path[1:3] - reference.geom("post").xpos)[:, [0, 2]], axis=1)
    np.testing.assert_allclose(distance, 0.05, atol=1e-4)
    assert tendons["count"][1] == 0, "a fixed tendon runs nowhere"
    assert path.dtype == np.float32
    np.testing.assert_array_equal(tendons["length"], reference.ten_length)


def test_flexes_are_where_mujoco_has_them(scene: physics.Scene) -> None:
    for _ in range(20):
        scene.step()
    _, flexes = frames(scene)
    reference = mujoco.MjData(scene.model)
    reference.qpos[:] = scene.data.qpos
    mujoco.mj_forward(scene.model, reference)
    assert flexes["flexvert_xpos"].dtype == np.float32
    np.testing.assert_allclose(flexes["flexvert_xpos"], reference.flexvert_xpos, atol=1e-6)
    fallen = flexes["flexvert_xpos"][-1, 2] - scene.model.flex_vert0[-1, 2]
    assert np.isfinite(fallen)


@pytest.mark.parametrize("control", [0.0, 5.0])
@pytest.mark.parametrize(("position", "velocity"), [(0.0, 0.0), (0.5, 2.0), (-0.8, -1.0)])
def test_the_force_of_a_tendon_is_what_moves_its_joint(
    control: float, position: float, velocity: float
) -> None:
    scene = physics.create_scene("Pulled", PULLED)
    data = scene.data
    data.qpos[0], data.qvel[0], data.ctrl[0] = position, velocity, control
    tendons, _ = frames(scene)
    reference = mujoco.MjData(scene.model)
    reference.qpos[:], reference.qvel[:], reference.ctrl[:] = data.qpos, data.qvel, data.ctrl
    mujoco.mj_forward(scene.model, reference)
    force = reference.qfrc_passive[0] + reference.qfrc_actuator[0]
    assert tendons["velocity"][0] == pytest.approx(velocity)
    assert tendons["force"][0] == pytest.approx(force, abs=1e-12)
    assert control == 0.0 or abs(force) > 1.0


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel.from_xml_string("<mujoco/>"), "tendon_dampingpoly"),
    reason="this MuJoCo has linear springs only",
)
def test_springs_and_dampers_of_higher_order_count() -> None:
    text = PULLED.replace('stiffness="30" damping="2"', 'stiffness="30 4 5" damping="2 3 1"')
    text = text.replace('gear="3"', 'gear="3" damping=".2 .1 .05"')
    scene = physics.create_scene("Pulled", text)
    data = scene.data
    data.qpos[0], data.qvel[0], data.ctrl[0] = 0.5, -2.0, 1.0
    mujoco.mj_forward(scene.model, data)
    tendons, _ = frames(scene)
    force = data.qfrc_passive[0] + data.qfrc_actuator[0]
    assert tendons["force"][0] == pytest.approx(force)


def test_a_spring_that_is_switched_off_does_not_pull() -> None:
    bits = mujoco.mjtDisableBit
    off = getattr(bits, "mjDSBL_SPRING", None) or bits.mjDSBL_PASSIVE
    scene = physics.create_scene("Pulled", PULLED)
    scene.model.opt.disableflags |= int(off)
    scene.data.qpos[0] = 1.0
    assert frames(scene)[0]["force"][0] == 0.0


@pytest.mark.usefixtures("a_passive_callback")
def test_where_forces_can_not_be_known_the_paths_and_flexes_still_are(scene: physics.Scene) -> None:
    topics = TOPICS | {Topic.CONTACTS}
    frame = scene.link.backend.frame_now(topics)
    assert Topic.CONTACTS not in frame.arrays
    tendons = frame.arrays[Topic.TENDONS]
    assert np.isnan(tendons["force"]).all()
    reference = mujoco.MjData(scene.model)
    mujoco.set_mjcb_passive(None)
    mujoco.mj_forward(scene.model, reference)
    np.testing.assert_allclose(tendons["length"], reference.ten_length)
    flexes = frame.arrays[Topic.DEFORMABLE]["flexvert_xpos"]
    np.testing.assert_allclose(flexes, reference.flexvert_xpos, atol=1e-6)


def test_a_model_without_any_has_empty_arrays() -> None:
    tendons, flexes = frames(physics.create_scene("Empty"))
    assert flexes["flexvert_xpos"].shape == (0, 3)
    assert tendons["path"].shape == (0, 3)
    assert len(tendons["length"]) == len(tendons["first"]) == 0
