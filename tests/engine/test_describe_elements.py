"""Every kind of element that a model may have is described, in MuJoCo's own numbers."""

from pathlib import Path

import msgspec
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.scene_description import (
    CameraMode,
    EqualityInfo,
    GeomType,
    JointType,
    SceneDescription,
    TextureKind,
)

MODEL = Path(__file__).parent / "every_element.xml"
TORUS = """
<mujoco>
  <extension><plugin plugin="mujoco.sdf.torus"><instance name="torus">
    <config key="radius1" value="0.35"/><config key="radius2" value="0.15"/>
  </instance></plugin></extension>
  <asset><mesh name="torus"><plugin instance="torus"/></mesh></asset>
  <worldbody><body pos="0 0 1"><freejoint/>
    <geom name="ring" type="sdf" mesh="torus"><plugin instance="torus"/></geom>
  </body></worldbody>
</mujoco>
"""

Described = tuple[physics.Scene, SceneDescription]


@pytest.fixture
def described() -> Described:
    scene = physics.create_scene("Everything", MODEL)
    return scene, scene.link.backend.describe(1, "Everything")


def asset(scene: physics.Scene, digest: str) -> dict[str, NDArray[np.generic]]:
    data = scene.link.backend.asset(digest)
    assert data is not None
    return parse_asset(data, digest)


def test_the_description_of_everything_travels(described: Described) -> None:
    _, d = described
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(d), type=SceneDescription) == d
    assert d.notes == (), "everything is drawn"


def test_bodies_know_their_subtree_and_what_they_are_welded_to(described: Described) -> None:
    scene, d = described
    body = {b.name: b for b in d.bodies}
    arm, part = body["arm"], body["fixed part"]
    assert arm.subtree_mass == pytest.approx(scene.model.body("arm").subtreemass[0])
    assert arm.subtree_mass == pytest.approx(4.5)
    assert d.bodies[part.weld].name == "slider", "it has no joint of its own"
    assert d.bodies[arm.weld] is arm
    assert (arm.gravcomp, part.gravcomp) == (0.5, 0.0)
    assert [(b.mocap, b.mocap_index) for b in (arm, body["target"], body["second target"])] == [
        (False, -1),
        (True, 0),
        (True, 1),
    ]


def test_geoms_have_what_their_contacts_are_made_of(described: Described) -> None:
    _, d = described
    upper = next(g for g in d.geoms if g.name == "upper")
    assert (upper.contype, upper.conaffinity, upper.condim, upper.priority) == (2, 5, 4, 1)
    assert (upper.friction, upper.solmix) == ((0.7, 0.02, 0.003), 2.0)
    assert (upper.solref, upper.solimp) == ((0.01, 0.9), (0.8, 0.9, 0.002, 0.4, 3.0))
    assert (upper.margin, upper.gap) == (0.02, 0.01)


def test_joints_have_springs_damping_and_initial_positions(described: Described) -> None:
    scene, d = described
    joint = {j.name: j for j in d.joints}
    hinge, slide = joint["hinge"], joint["slide"]
    assert (hinge.stiffness, hinge.damping, hinge.armature) == (2.0, 0.4, 0.05)
    assert (hinge.springref, hinge.frictionloss, hinge.margin) == (0.3, 0.06, 0.01)
    assert (hinge.qpos0, slide.qpos0, slide.stiffness) == ((0.2,), (0.1,), 3.0)
    assert joint["ball joint"].type is JointType.BALL
    assert joint["ball joint"].qpos0 == (1.0, 0.0, 0.0, 0.0)
    assert joint["root"].qpos0 == pytest.approx((2.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert sum((j.qpos0 for j in d.joints), ()) == tuple(scene.model.qpos0)
    assert next(s for s in d.sites if s.name == "tip").material == 0


def test_tendons_with_their_way_and_their_spring(described: Described) -> None:
    _, d = described
    cable, gearing, string = d.tendons
    assert (cable.name, cable.spatial, cable.group) == ("cable", True, 1)
    assert (cable.width, cable.range, cable.margin) == (0.01, (0.0, 3.0), 0.02)
    assert (cable.stiffness, cable.damping, cable.frictionloss) == (4.0, 0.5, 0.1)
    assert cable.lengthspring == (0.2, 0.6)
    assert cable.rgba == (1.0, 0.0, 0.0, 1.0)
    assert [d.sites[i].name for i in cable.sites] == [
        *("anchor", "anchor 2", "anchor", "tip", "anchor", "end")
    ]
    assert cable.joints == ()
    assert (gearing.spatial, gearing.sites, gearing.range) == (False, (), None)
    assert [d.joints[i].name for i in gearing.joints] == ["hinge", "slide"]
    assert string.rgba == pytest.approx((0.1, 0.2, 0.3, 1.0)), "its material's"


def test_equalities_say_what_they_hold_together(described: Described) -> None:
    _, d = described
    named = {e.name: e for e in d.equalities}
    lists = {"body": d.bodies, "site": d.sites, "joint": d.joints, "tendon": d.tendons}

    def ends(equality: EqualityInfo) -> tuple[str, ...]:
        elements = lists[equality.object_kind]
        both = (equality.object1, equality.object2)
        return tuple(elements[i].name if i >= 0 else "" for i in both)

    assert {name: (e.kind, e.object_kind) for name, e in named.items() if e.kind != "flex"} == {
        "pin": ("connect", "body"),
        "pin sites": ("connect", "site"),
        "glue": ("weld", "body"),
        "coupled": ("joint", "joint"),
        "locked": ("joint", "joint"),
        "equal": ("tendon", "tendon"),
    }
    assert ends(named["pin"]) == ("arm", "free")
    assert ends(named["pin sites"]) == ("tip", "anchor")
    assert ends(named["glue"]) == ("free", "world")
    assert ends(named["coupled"]) == ("hinge", "slide")
    assert ends(named["locked"]) == ("slide", "")
    assert ends(named["equal"]) == ("cable", "string")
    assert (named["pin"].active, named["coupled"].active) == (False, True)
    assert named["pin"].solref == (0.03, 0.8)
    assert named["glue"].solimp == (0.8, 0.9, 0.002, 0.4, 3.0)
    flexes = [e for e in d.equalities if e.kind == "flex"]
    assert [(e.object_kind, e.object1) for e in flexes] == [("flex", i) for i in range(3)]


def test_pairs_keyframes_and_scales(described: Described) -> None:
    _, d = described
    names = [g.name for g in d.geoms]
    assert [(p.name, names[p.geom1], names[p.geom2]) for p in d.pairs] == [
        ("chosen", "upper", "lump"),
        ("pair 1", "bob", "lump"),
    ]
    assert [(k.name, k.time) for k in d.keyframes] == [("bent", 1.5), ("keyframe 1", 0.0)]
    scale = d.scale
    assert (scale.meansize, scale.meanmass) == (0.07, 0.9)
    assert (scale.force, scale.torque) == pytest.approx((0.02, 0.3))
    assert (scale.forcewidth, scale.contactwidth, scale.com) == pytest.approx((0.15, 0.4, 0.5))
    assert (scale.framelength, scale.slidercrank) == pytest.approx((2.0, 0.25))
    assert not d.headlight_active
    assert d.constraint_states[0] == "satisfied"


def test_cameras_and_lights_that_follow_know_where_from(described: Described) -> None:
    scene, d = described
    follow, riding = d.cameras
    assert (follow.mode, riding.mode) == (CameraMode.TRACK, CameraMode.TRACKCOM)
    assert (follow.resolution, follow.pos0) == ((64, 48), (0.0, -2.0, 1.0))
    np.testing.assert_allclose(riding.poscom0, scene.model.cam_poscom0[1])
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, np.array(follow.quat0))
    np.testing.assert_allclose(turned, scene.model.cam_mat0[0], atol=1e-12)
    lamp, spot = d.lights
    assert (lamp.attenuation, lamp.pos0) == ((1.0, 0.5, 0.25), (0.0, 0.0, 3.0))
    assert (spot.mode, spot.cutoff) == (CameraMode.TRACKCOM, 20.0)
    np.testing.assert_allclose(spot.poscom0, scene.model.light_poscom0[1])
    assert spot.dir0 == (0.0, 0.0, -1.0)


@pytest.mark.skipif(not hasattr(mujoco, "mjtLightType"), reason="this MuJoCo has no light types")
def test_a_point_light_shines_all_around() -> None:
    scene = physics.create_scene(
        "Lamp", "<mujoco><worldbody><light type='point' cutoff='20'/></worldbody></mujoco>"
    )
    (lamp,) = scene.link.backend.describe(1, "Lamp").lights
    assert (lamp.directional, lamp.cutoff) == (False, 180.0)


def test_actuators_say_what_they_drive_and_how(described: Described) -> None:
    _, d = described
    by_name = {a.name: a for a in d.actuators}
    gains = {name: (a.kp, a.kv) for name, a in by_name.items() if a.kp is not None or a.kv}
    assert gains == {
        "position": (50.0, 4.0),
        "velocity": (None, 3.0),
        "integrated": (7.0, 0.0),
        "damper": (None, 6.0),
        "scaled servo": (100.0, 10.0),
    }
    assert by_name["motor"].gear[0] == 3.0
    assert by_name["thruster"].gear == (1.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    words = {name: (a.dynamics, a.gain, a.bias) for name, a in by_name.items()}
    assert words["position"] == ("none", "fixed", "affine")
    assert words["muscle"] == ("muscle", "muscle", "muscle")
    assert words["cylinder"] == ("filter", "fixed", "affine")
    assert by_name["scaled servo"].gainprm[0] == 0.5
    assert by_name["scaled servo"].biasprm[:3] == (0.0, -100.0, -10.0)
    integrated = by_name["integrated"]
    assert (integrated.act, integrated.nact, integrated.actrange) == (0, 1, (-1.0, 1.0))
    assert (by_name["motor"].act, by_name["motor"].nact) == (-1, 0)
    assert d.tendons[by_name["pull"].tendon].name == "string"
    assert d.sites[by_name["thruster"].site].name == "end"
    assert d.bodies[by_name["suction"].body].name == "slider"
    assert d.sites[by_name["crank"].site].name == "tip"
    assert all(a.joint == -1 for a in d.actuators if a.tendon >= 0 or a.site >= 0)


@pytest.mark.skipif(
    not hasattr(mujoco.mjtTrn, "mjTRN_SO3"), reason="this MuJoCo has one control per actuator"
)
def test_actuators_with_several_controls_are_servos_too() -> None:
    scene = physics.create_scene(
        "several",
        "<mujoco><worldbody><body><joint name='b' type='ball'/><geom size='.1' pos='.2 0 0'/>"
        "<body><joint name='j'/><geom size='.1' pos='.3 0 0'/></body></body></worldbody>"
        "<actuator><orientation joint='b' kp='10' kv='2'/><pid joint='j' kp='9' ki='3' kv='.5'/>"
        "<motor joint='j' gear='7'/></actuator></mujoco>",
    )
    turn, pid, motor = scene.link.backend.describe(1, "several").actuators
    assert (turn.joint, turn.kp, turn.kv) == (0, 10.0, 2.0)
    assert (pid.kp, pid.kv, pid.gain, pid.nact) == (9.0, 0.5, "pid", 1)
    assert motor.gear[0] == 7.0


def test_sensors_point_to_what_they_measure(described: Described) -> None:
    _, d = described
    assert {s.name: (s.object_kind, s.object, s.body) for s in d.sensors} == {
        "angle": ("joint", "hinge", 3 - 2),
        "touch": ("site", "tip", 1),
        "stretch": ("tendon", "cable", -1),
        "effort": ("actuator", "motor", -1),
        "where": ("geom", "upper", 1),
        "seen": ("site", "tip", 1),
        "com": ("body", "arm", 1),
        "now": ("", "", -1),
    }
    touch = d.sensors[1]
    assert (d.sites[touch.object_index].name, touch.cutoff) == ("tip", 10.0)
    assert d.sensors[-1].object_index == -1


def test_meshes_bring_their_convex_hull(described: Described) -> None:
    scene, d = described
    arrays = asset(scene, d.meshes[0].digest)
    assert arrays["vertices"].shape == (5, 3)
    hull = arrays["hull_faces"]
    assert hull.shape == (4, 3), "the fifth point is inside the tetrahedron"
    inner = {i for i in range(5) if i not in hull}
    (inside,) = inner
    corners = arrays["vertices"][sorted(set(range(5)) - inner)]
    np.testing.assert_array_less(corners.min(axis=0), arrays["vertices"][inside])
    assert len({frozenset(face) for face in hull.tolist()}) == 4


def test_skins_with_their_bones(described: Described) -> None:
    scene, d = described
    coat, bare = d.skins
    assert (coat.name, coat.nvert, coat.nface, coat.group) == ("coat", 4, 2, 3)
    assert (coat.rgba, coat.inflate) == ((1.0, 0.0, 0.0, 1.0), pytest.approx(0.01))
    arrays = asset(scene, coat.digest)
    assert arrays["vertices"].tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1], [0, 0, 2]]
    assert arrays["faces"].tolist() == [[0, 1, 2], [0, 1, 3]]
    assert arrays["texcoords"].shape == (4, 2)
    assert [d.bodies[i].name for i in arrays["bone_body"]] == ["arm", "slider"]
    assert arrays["bone_pos"].tolist() == [[0, 0, 1], [0.5, 0, 1]]
    assert arrays["bone_quat"].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert arrays["bone_count"].tolist() == [3, 2]
    assert arrays["bone_vertex"].tolist() == [0, 1, 2, 1, 3]
    assert arrays["bone_weight"].tolist() == [1.0, 0.5, 1.0, 0.5, 1.0]
    second = asset(scene, bare.digest)
    assert "texcoords" not in second
    assert [d.bodies[i].name for i in second["bone_body"]] == ["free"]
    assert second["bone_vertex"].tolist() == [0, 1, 2]


def test_flexes_of_every_dimension(described: Described) -> None:
    scene, d = described
    model = scene.model
    rope, cloth, jelly = d.flexes
    assert [(f.dim, f.nvert) for f in d.flexes] == [(1, 5), (2, 12), (3, 27)]
    assert [f.vert for f in d.flexes] == [0, 5, 17]
    assert (rope.radius, jelly.group, cloth.flatskin) == (0.01, 4, True)
    assert cloth.rgba == (0.0, 1.0, 0.0, 1.0)
    assert cloth.material == 0
    lines = asset(scene, rope.digest)
    assert lines["elements"].tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    sheet = asset(scene, cloth.digest)
    assert sheet["elements"].shape == (12, 3)
    assert sheet["element_texcoords"].shape == (12, 3)
    assert sheet["element_texcoords"].max() < len(sheet["texcoords"])
    solid = asset(scene, jelly.digest)
    assert solid["elements"].shape == (48, 4)
    assert solid["shell"].shape == (48, 3)
    for i, flex in enumerate(d.flexes):
        arrays = asset(scene, flex.digest)
        assert set(np.unique(arrays["elements"])) == set(range(flex.nvert))
        assert arrays["edges"].shape == (model.flex_edgenum[i], 2)
        assert arrays["edges"].max() < flex.nvert


def test_textures_of_every_kind() -> None:
    spec = mujoco.MjSpec.from_file(str(MODEL))
    pixels = {channels: bytes(range(8 * channels)) for channels in (1, 2, 4)}
    for channels, data in pixels.items():
        texture = spec.add_texture(
            name=f"{channels} channels",
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            width=4,
            height=2,
            nchannel=channels,
        )
        texture.data = data
    knows_srgb = hasattr(mujoco, "mjtColorSpace")
    if knows_srgb:
        spec.textures[-1].colorspace = mujoco.mjtColorSpace.mjCOLORSPACE_SRGB
    scene = physics.create_scene("Textures", spec.compile())
    d = scene.link.backend.describe(1, "Textures")
    assert [(t.name, t.kind, t.nchannel) for t in d.textures] == [
        ("flat", TextureKind.TWO_D, 3),
        ("dice", TextureKind.CUBE, 3),
        ("sky", TextureKind.SKYBOX, 3),
        ("1 channels", TextureKind.TWO_D, 1),
        ("2 channels", TextureKind.TWO_D, 2),
        ("4 channels", TextureKind.TWO_D, 4),
    ]
    assert [t.srgb for t in d.textures] == [False] * 5 + [knows_srgb]
    for texture in d.textures:
        arrays = asset(scene, texture.digest)
        assert arrays["data"].shape == (texture.height, texture.width, texture.nchannel)
        channels = texture.nchannel
        if channels in pixels:
            assert arrays["data"].tobytes() == pixels[channels]
    assert (d.textures[2].width, d.textures[2].height) == (16, 96)


def test_a_signed_distance_field_is_drawn_as_its_mesh() -> None:
    try:
        scene = physics.create_scene("Torus", TORUS)
    except Exception as error:  # noqa: BLE001 - whatever a MuJoCo without plugins raises
        pytest.skip(f"this MuJoCo has no SDF plugin: {error}")
    d = scene.link.backend.describe(1, "Torus")
    (ring,) = d.geoms
    assert (ring.name, ring.type, ring.mesh) == ("ring", GeomType.SDF, 0)
    arrays = asset(scene, d.meshes[0].digest)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, np.array(ring.quat))
    points = arrays["vertices"] @ rotation.reshape(3, 3).T + np.array(ring.pos)
    # The surface of a torus around its axis, whichever that is: 0.35 ± 0.15 from the centre.
    distance = np.linalg.norm(points, axis=1)
    assert (distance.min(), distance.max()) == pytest.approx((0.2, 0.5), abs=0.02)
