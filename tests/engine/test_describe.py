"""Descriptions: everything there is, named, in MuJoCo's own frames."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.scene_description import (
    CameraMode,
    GeomType,
    JointType,
    SceneDescription,
    TextureKind,
)

Make = Callable[..., physics.Scene]

ZOO = """
<mujoco model="zoo"><compiler angle="radian"/>
  <option timestep="0.004" gravity="0 0 -1.6"/>
  <visual><global azimuth="70" elevation="-20"/><headlight ambient=".3 .3 .3"/></visual>
  <statistic center="1 2 3" extent="4"/>
  <asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1  1 1 1"/>
    <mesh name="twin" vertex="0 0 0  1 0 0  0 1 0  0 0 1  1 1 1"/>
    <hfield name="hills" nrow="3" ncol="4" size="2 1 .5 .1"
      elevation="0 1 2 3 0 1 2 3 0 0 0 4"/>
    <texture name="checks" type="2d" builtin="checker" width="8" height="8" rgb1="1 0 0"/>
    <texture name="sky" type="skybox" builtin="gradient" width="8" height="48"/>
    <material name="checked" texture="checks" texrepeat="3 2" texuniform="true" rgba=".1 .2 .3 1"
      reflectance=".25"/>
  </asset>
  <worldbody>
    <light name="sun" directional="true" dir="0 0 -1" castshadow="false"/>
    <light pos="0 0 3" mode="targetbody" target="arm"/>
    <camera name="eye" pos="0 -2 1" mode="targetbody" target="arm" fovy="33"/>
    <geom name="ground" type="plane" size="0 0 1" material="checked"/>
    <geom name="terrain" type="hfield" hfield="hills"/>
    <body name="arm" pos="0 0 1">
      <joint name="slide" type="slide" axis="1 0 0" range="-.5 .5" limited="true"/>
      <joint name="hinge" axis="0 1 0" actuatorfrcrange="-9 9" actuatorfrclimited="true"/>
      <geom type="box" size=".1 .2 .3" pos=".1 0 0" quat="0 1 0 0" group="3" rgba="1 0 0 .5"/>
      <geom type="mesh" mesh="wedge" contype="0" conaffinity="0"/>
      <geom type="capsule" size=".1" fromto="0 0 0 1 0 0" material="checked"/>
      <site name="tool" pos="0 0 .5" type="box" size=".1 .1 .1" rgba="0 1 0 1"/>
      <body><joint type="ball"/><geom type="ellipsoid" size=".1 .2 .3"/></body>
    </body>
    <body name="mover" mocap="true"><geom type="cylinder" size=".1 .2"/></body>
    <body name="drifter"><freejoint name="root"/><geom type="sphere" size=".1"/>
      <geom type="mesh" mesh="twin"/></body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="hinge" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="push" joint="slide" forcerange="-20 20" forcelimited="true"/>
    <position name="hold" joint="hinge" kp="50" ctrlrange="-1 1" ctrllimited="true" group="2"/>
    <velocity name="spin" joint="hinge" kv="3"/>
    <motor name="pull" tendon="cable"/>
    <intvelocity name="creep" joint="slide" kp="10" actrange="-1 1"/>
    <general joint="slide" gaintype="fixed" gainprm="2" biastype="affine" biasprm="1 0 0"/>
  </actuator>
  <sensor>
    <jointpos name="where" joint="slide"/>
    <jointvel name="how_fast" joint="hinge"/>
    <framepos name="tool_pos" objtype="site" objname="tool"/>
    <accelerometer site="tool"/>
    <framequat name="turned" objtype="xbody" objname="arm"/>
    <clock name="now"/>
  </sensor>
</mujoco>
"""


@pytest.fixture
def zoo() -> tuple[physics.Scene, SceneDescription]:
    scene = physics.create_scene("Zoo", ZOO)
    return scene, scene.link.backend.describe(7, "Zoo")


def test_the_scene_itself(zoo: tuple[physics.Scene, SceneDescription]) -> None:
    _, d = zoo
    assert (d.scene_id, d.name, d.revision, d.timestep) == (7, "Zoo", 0, 0.004)
    assert d.engine.startswith("MuJoCo ")
    assert d.gravity == (0.0, 0.0, -1.6)
    assert (d.center, d.extent) == ((1.0, 2.0, 3.0), 4.0)
    assert (d.camera_azimuth, d.camera_elevation) == (70.0, -20.0)
    assert d.headlight_ambient == pytest.approx((0.3, 0.3, 0.3))
    assert d.timer_stages[0] == "step"
    assert "limit_joint" in d.constraint_types


def test_bodies_and_joints(zoo: tuple[physics.Scene, SceneDescription]) -> None:
    _, d = zoo
    assert [b.name for b in d.bodies] == ["world", "arm", "body 2", "mover", "drifter"]
    assert [b.parent for b in d.bodies] == [0, 0, 1, 0, 0]
    assert [b.mocap for b in d.bodies] == [False, False, False, True, False]
    assert [(j.name, j.type, j.qpos, j.dof) for j in d.joints] == [
        ("slide", JointType.SLIDE, 0, 0),
        ("hinge", JointType.HINGE, 1, 1),
        ("joint 2", JointType.BALL, 2, 2),
        ("root", JointType.FREE, 6, 5),
    ]
    assert d.joints[0].range == (-0.5, 0.5)
    assert d.joints[1].range is None
    assert d.joints[1].actfrcrange == (-9.0, 9.0)


def test_geoms_in_the_compiled_frame(zoo: tuple[physics.Scene, SceneDescription]) -> None:
    scene, d = zoo
    model = scene.model
    types = [g.type for g in d.geoms]
    assert set(types) == set(GeomType) - {GeomType.SDF}
    names = {g.name: g for g in d.geoms}
    assert names["ground"].type is GeomType.PLANE
    assert names["ground"].rgba == pytest.approx((0.1, 0.2, 0.3, 1.0)), "the material's colour"
    box = next(g for g in d.geoms if g.type is GeomType.BOX)
    assert (box.size, box.group, box.collides) == ((0.1, 0.2, 0.3), 3, True)
    assert box.rgba == (1.0, 0.0, 0.0, 0.5)
    assert box.name == "geom 2"
    wedge = next(g for g in d.geoms if g.type is GeomType.MESH)
    assert (wedge.mesh, wedge.collides) == (0, False)
    assert names["terrain"].hfield == 0
    for i, geom in enumerate(d.geoms):
        np.testing.assert_array_equal(geom.pos, model.geom_pos[i])
        np.testing.assert_array_equal(geom.quat, model.geom_quat[i])


def test_a_mesh_drawn_at_its_geom_stands_where_its_file_put_it(
    zoo: tuple[physics.Scene, SceneDescription],
) -> None:
    scene, d = zoo
    data = scene.link.backend.asset(d.meshes[0].digest)
    assert data is not None
    arrays = parse_asset(data, d.meshes[0].digest)
    assert arrays["vertices"].shape == (d.meshes[0].nvert, 3)
    assert arrays["faces"].shape == (d.meshes[0].nface, 3)
    assert arrays["face_normals"].shape == arrays["faces"].shape
    assert arrays["face_normals"].max() < len(arrays["normals"])
    assert arrays["vertices"].dtype == np.float32
    geom = next(g for g in d.geoms if g.type is GeomType.MESH)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, np.array(geom.quat))
    placed = arrays["vertices"] @ rotation.reshape(3, 3).T + np.array(geom.pos)
    file = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    np.testing.assert_allclose(
        sorted(map(tuple, placed.round(5) + 0.0)), sorted(map(tuple, file)), atol=1e-5
    )


def test_equal_assets_have_one_digest_and_unknown_ones_are_none(
    zoo: tuple[physics.Scene, SceneDescription],
) -> None:
    scene, d = zoo
    assert d.meshes[0].digest == d.meshes[1].digest
    assert scene.link.backend.asset("0" * 64) is None


def test_height_fields_and_textures(zoo: tuple[physics.Scene, SceneDescription]) -> None:
    scene, d = zoo
    hills = d.hfields[0]
    assert (hills.name, hills.nrow, hills.ncol, hills.size) == ("hills", 3, 4, (2, 1, 0.5, 0.1))
    data = scene.link.backend.asset(hills.digest)
    assert data is not None
    heights = parse_asset(data, hills.digest)["data"]
    assert heights.shape == (3, 4)
    assert (heights.min(), heights.max()) == (0.0, 1.0)
    checks, sky = d.textures
    assert (checks.kind, checks.width, checks.nchannel) == (TextureKind.TWO_D, 8, 3)
    assert (sky.kind, sky.height) == (TextureKind.SKYBOX, 6 * sky.width)
    data = scene.link.backend.asset(checks.digest)
    assert data is not None
    assert parse_asset(data, checks.digest)["data"].shape == (8, 8, 3)
    material = d.materials[0]
    assert (material.texture, material.texrepeat, material.texuniform) == (0, (3.0, 2.0), True)
    assert material.reflectance == pytest.approx(0.25)


def test_cameras_lights_and_sites(zoo: tuple[physics.Scene, SceneDescription]) -> None:
    _, d = zoo
    (eye,) = d.cameras
    assert (eye.name, eye.fovy, eye.mode, eye.target) == ("eye", 33.0, CameraMode.TARGETBODY, 1)
    sun, lamp = d.lights
    assert (sun.directional, sun.castshadow) == (True, False)
    assert (lamp.name, lamp.directional, lamp.mode) == ("light 1", False, CameraMode.TARGETBODY)
    (tool,) = d.sites
    assert (tool.name, tool.body, tool.type, tool.rgba) == ("tool", 1, GeomType.BOX, (0, 1, 0, 1))


def test_actuators_with_kinds_ranges_and_units(
    zoo: tuple[physics.Scene, SceneDescription],
) -> None:
    _, d = zoo
    by_name = {a.name: a for a in d.actuators}
    assert {a.name: a.kind for a in d.actuators} == {
        "push": "motor",
        "hold": "position",
        "spin": "velocity",
        "pull": "motor",
        "creep": "intvelocity",
        "actuator 5": "general",
    }
    assert (by_name["push"].ctrl_unit, by_name["push"].force_unit) == ("N", "N")
    assert by_name["push"].forcerange == (-20.0, 20.0)
    assert by_name["push"].joint == 0
    assert (by_name["hold"].ctrl_unit, by_name["hold"].force_unit) == ("rad", "N·m")
    assert (by_name["hold"].ctrlrange, by_name["hold"].group) == ((-1.0, 1.0), 2)
    assert by_name["spin"].ctrl_unit == "rad/s"
    assert by_name["spin"].ctrlrange is None
    assert (by_name["pull"].joint, by_name["pull"].target) == (-1, "cable")
    assert by_name["creep"].ctrl_unit == "m/s"


def test_sensors_say_where_they_stand_what_they_mean_and_in_which_unit(
    zoo: tuple[physics.Scene, SceneDescription],
) -> None:
    _, d = zoo
    assert [(s.name, s.kind, s.adr, s.dim, s.unit) for s in d.sensors] == [
        ("where", "jointpos", 0, 1, "m"),
        ("how_fast", "jointvel", 1, 1, "rad/s"),
        ("tool_pos", "framepos", 2, 3, "m"),
        ("sensor 3", "accelerometer", 5, 3, "m/s²"),
        ("turned", "framequat", 8, 4, ""),
        ("now", "clock", 12, 1, "s"),
    ]
    assert [(s.object, s.body) for s in d.sensors] == [
        ("slide", 1),
        ("hinge", 1),
        ("tool", 1),
        ("tool", 1),
        ("arm", 1),
        ("", -1),
    ]


def test_channels_have_labels_and_units_per_component(
    zoo: tuple[physics.Scene, SceneDescription],
) -> None:
    scene, d = zoo
    channels = {c.name: c for c in d.channels}
    for channel in d.channels:
        assert channel.width == len(channel.names) or not channel.names
        assert channel.width == len(channel.units) or not channel.units
    assert channels["qpos"].width == scene.model.nq
    assert channels["qpos"].names[:3] == ("slide", "hinge", "joint 2.qw")
    assert channels["qpos"].names[-7:-4] == ("root.x", "root.y", "root.z")
    assert channels["qvel"].units[:3] == ("m/s", "rad/s", "rad/s")
    assert channels["ctrl"].names[:2] == ("push", "hold")
    assert channels["act"].names == ("creep",)
    assert channels["sensordata"].names[2:5] == ("tool_pos.x", "tool_pos.y", "tool_pos.z")
    assert channels["energy.kinetic"].unit == "J"
    assert "qfrc_constraint" in channels


def test_the_description_travels_and_a_model_without_anything_has_no_empty_channels() -> None:
    scene = physics.create_scene("Zoo", ZOO)
    d = scene.link.backend.describe(1, "Zoo")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(d), type=SceneDescription) == d
    empty = physics.create_scene("Empty").link.backend.describe(1, "Empty")
    assert all(channel.width > 0 for channel in empty.channels)
    assert "qpos" not in {channel.name for channel in empty.channels}


@pytest.mark.parametrize("robot", ["g1", "go1", "yam", "aloha"])
def test_real_robots_with_meshes_are_described_completely(
    robot: str, robot_model: Callable[[str], Path]
) -> None:
    scene = physics.create_scene(robot, robot_model(robot))
    d = scene.link.backend.describe(1, robot)
    assert len(d.geoms) == scene.model.ngeom
    assert d.meshes
    for mesh in d.meshes:
        data = scene.link.backend.asset(mesh.digest)
        assert data is not None
        arrays = parse_asset(data, mesh.digest)
        assert arrays["vertices"].shape == (mesh.nvert, 3)
        assert arrays["faces"].max() < mesh.nvert


def test_names_of_any_encoding_and_length_are_shown(tmp_path: Path) -> None:
    # MuJoCo keeps the bytes of the file, whatever encoding it declares.
    text = (
        "<mujoco><worldbody><body name='café'><joint name='{long}'/><geom size='.1'/></body>"
        "</worldbody><sensor><jointpos name='stellung é' joint='{long}'/></sensor></mujoco>"
    ).format(long="n" * 5000)
    path = tmp_path / "latin.xml"
    path.write_bytes(text.encode("latin-1"))
    scene = physics.create_scene("latin", path)
    description = scene.link.backend.describe(1, "latin")
    assert description.bodies[1].name == "caf\\xe9"
    assert description.sensors[0].name == "stellung \\xe9"
    assert len(description.joints[0].name.encode()) <= 256
    assert description.joints[0].name.endswith("…")
    scene.capture_state_to_file(tmp_path / "state.json")
    assert "n" * 5000 in (tmp_path / "state.json").read_text(encoding="utf-8")
    with pytest.raises(physics.EngineError, match="caf"):
        scene.get_articulation("nothing")


@pytest.mark.skipif(
    not hasattr(mujoco.mjtTrn, "mjTRN_SO3"), reason="this MuJoCo has one control per actuator"
)
def test_actuators_say_where_their_controls_and_outputs_stand() -> None:
    scene = physics.create_scene(
        "several",
        "<mujoco><worldbody><body><joint name='b' type='ball'/><geom size='.1' pos='.2 0 0'/>"
        "<body><joint name='j'/><geom size='.1' pos='.3 0 0'/></body></body></worldbody>"
        "<actuator><orientation name='turn' joint='b' kp='10'/><pid name='hold' joint='j' kp='9'/>"
        "<motor name='last' joint='j' gear='3' ctrlrange='-5 5' forcerange='-2 2'/></actuator>"
        "</mujoco>",
    )
    turn, hold, last = scene.link.backend.describe(1, "several").actuators
    assert (turn.ctrl, turn.nctrl, turn.output, turn.noutput) == (0, 3, 0, 3)
    assert (hold.ctrl, hold.nctrl, hold.output, hold.noutput) == (3, 2, 3, 1)
    assert (last.ctrl, last.nctrl, last.output, last.noutput) == (5, 1, 4, 1)
    assert (last.ctrlrange, last.forcerange) == ((-5.0, 5.0), (-2.0, 2.0))
    assert (last.gear[0], last.ctrl_unit) == (3.0, "")
    scene.ctrl[last.ctrl] = 9.0
    scene.step()
    assert scene.data.actuator_force[last.output] == 2.0
