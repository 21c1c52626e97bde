"""What the inspector says about each kind of element."""

import math

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.element_values import (
    EditTarget,
    Level,
    element_name,
    element_values,
    signals_of,
    topics_for,
)
from stroboscope.app.models.elements import sensor_components
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    BodyInfo,
    EqualityInfo,
    FlexInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    LightInfo,
    SceneDescription,
    SensorInfo,
    SiteInfo,
    SkinInfo,
    TendonInfo,
)
from stroboscope.debugger_protocol.topics import Instant, Topic

DESCRIPTION = SceneDescription(
    scene_id=1,
    name="Arm",
    bodies=(BodyInfo(name="world", parent=0), BodyInfo(name="arm", parent=0, mass=2.5)),
    joints=(
        JointInfo(name="knee", body=1, type=JointType.HINGE, qpos=7, dof=6, range=(-0.5, 0.5)),
        JointInfo(name="", body=1, type=JointType.FREE, qpos=0, dof=0),
    ),
    geoms=(
        GeomInfo(name="tip", body=1, type=GeomType.SPHERE, size=(0.1, 0, 0), pos=(1.0, 0.0, 0.0)),
        GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(0, 0, 1)),
    ),
    sites=(SiteInfo(name="hand", body=1, type=GeomType.SPHERE, size=(0.01, 0, 0)),),
    lights=(LightInfo(name="sun", body=0, pos=(0, 0, 3), dir=(0, 0, -1)),),
    actuators=(
        ActuatorInfo(name="servo", joint=0, ctrlrange=(-1.0, 1.0), forcerange=(-40.0, 40.0)),
    ),
    tendons=(TendonInfo(name="cable", range=(0.1, 0.5), stiffness=20.0, sites=(0,)),),
    equalities=(EqualityInfo(name="hold", kind="weld", object1=1, object2=-1),),
    flexes=(FlexInfo(name="cloth", digest="f", dim=2, vert=0, nvert=9, radius=0.001),),
    skins=(SkinInfo(name="hide", digest="s", nvert=30, nface=20),),
    constraint_types=("equality", "limit_joint"),
    sensors=(SensorInfo(name="gyro", kind="gyro", adr=2, dim=3, unit="rad/s"),),
)


@pytest.fixture
def frames(make_frame):
    qpos = np.zeros(8)
    qpos[7] = 0.6
    qfrc_actuator = np.zeros(7)
    qfrc_actuator[6] = 40.0
    half = math.sqrt(0.5)
    arrays = {
        Topic.STATE: {
            "qpos": qpos,
            "qvel": np.arange(7.0),
            "qacc": np.full(7, np.nan),
            "qfrc_actuator": qfrc_actuator,
            "ctrl": [1.5],
            "actuator_force": [3.0],
            "body_velocity": np.arange(12.0).reshape(2, 6),
        },
        # The arm is turned by 90 degrees about z.
        Topic.POSE: {
            "xpos": [[0, 0, 0], [1, 2, 3]],
            "xquat": [[1, 0, 0, 0], [half, 0, 0, half]],
        },
        Topic.SENSORS: {"sensordata": [0.0, 0.0, 1.0, 2.0, 3.0]},
    }
    return FrameSet(
        instant=Instant.NOW,
        axis=0,
        step=0,
        time=0.0,
        frames={
            topic: make_frame(topic, Instant.NOW, **values) for topic, values in arrays.items()
        },
    )


def rows_of(kind, index, frames):
    values = element_values(DESCRIPTION, Element(kind, index), frames)
    assert values is not None
    return {
        (section.title, row.label.strip()): row
        for section in values.sections
        for row in section.rows
    }


def test_a_joint_beyond_its_limit_warns_and_names_the_side(frames):
    rows = rows_of(ElementKind.JOINT, 0, frames)
    position = rows["Motion", "position"]
    assert (position.value, position.unit) == (0.6, "rad")
    assert position.edit == EditTarget(EditField.QPOS, 7)
    assert (position.channel, position.column) == ("qpos", 7)
    margin = rows["Limits", "margin"]
    assert margin.value == pytest.approx(-0.1)
    assert margin.level == Level.WARN
    assert margin.note == "beyond upper"


def test_a_saturated_torque_warns_with_the_actuators_limit(frames):
    torque = rows_of(ElementKind.JOINT, 0, frames)["Torque", "actuators"]
    assert (torque.value, torque.note, torque.level) == (40.0, "of ±40.0", Level.WARN)


def test_a_number_that_is_not_finite_is_marked(frames):
    assert rows_of(ElementKind.JOINT, 0, frames)["Motion", "acceleration"].level == Level.STOP


def test_what_did_not_come_is_said_to_be_not_computed(frames):
    passive = rows_of(ElementKind.JOINT, 0, frames)["Torque", "passive"]
    assert passive.value is None
    assert passive.text == "not computed"


def test_a_free_joint_has_position_orientation_and_velocities(frames):
    rows = rows_of(ElementKind.JOINT, 1, frames)
    assert rows["Orientation", "w"].column == 3
    assert rows["Angular velocity", "x"].value == 3.0
    assert rows["Position", "z"].edit == EditTarget(EditField.QPOS, 2)
    assert rows["Orientation", "w"].edit is None


def test_a_body_has_pose_velocity_and_mass(frames):
    rows = rows_of(ElementKind.BODY, 1, frames)
    assert rows["Position", "y"].value == 2.0
    assert rows["Velocity", "x"].value == 6.0
    assert rows["Angular velocity", "z"].value == 11.0
    assert rows["About", "mass"].value == 2.5


def test_a_geom_stands_where_its_turned_body_puts_it(frames):
    rows = rows_of(ElementKind.GEOM, 0, frames)
    position = [rows["Position", axis].value for axis in "xyz"]
    assert position == pytest.approx([1.0, 3.0, 3.0])
    assert rows["Shape", "radius"].value == 0.1


def test_an_infinite_plane_says_so(frames):
    assert rows_of(ElementKind.GEOM, 1, frames)["Shape", "half x"].text == "infinite"


def test_a_control_beyond_its_range_warns(frames):
    rows = rows_of(ElementKind.ACTUATOR, 0, frames)
    assert rows["Values", "control"].level == Level.WARN
    assert rows["Values", "force"].level == Level.NORMAL
    assert rows["About", "drives"].text == "knee"


def test_a_sensor_shows_its_own_part_of_the_data(frames):
    rows = rows_of(ElementKind.SENSOR, 0, frames)
    assert [rows["Values", axis].value for axis in "xyz"] == [1.0, 2.0, 3.0]
    assert rows["Values", "z"].column == 4


@pytest.mark.parametrize("kind", list(ElementKind))
def test_every_kind_is_described_before_values_arrive(kind):
    if kind is ElementKind.CAMERA:
        assert element_values(DESCRIPTION, Element(kind, 0), None) is None
        return
    values = element_values(DESCRIPTION, Element(kind, 0), None)
    assert values is not None
    assert not values.known
    assert element_values(DESCRIPTION, Element(kind, 99), None) is None
    assert topics_for(Element(kind, 0))


def test_unnamed_elements_are_called_by_kind_and_index():
    assert element_name(DESCRIPTION, Element(ElementKind.JOINT, 1)) == "joint 1"


def test_dragging_an_element_carries_its_signals():
    assert signals_of(DESCRIPTION, Element(ElementKind.JOINT, 0)) == (("qpos", 7),)
    assert len(signals_of(DESCRIPTION, Element(ElementKind.JOINT, 1))) == 7
    assert signals_of(DESCRIPTION, Element(ElementKind.SENSOR, 0))[0] == ("sensordata", 2)
    channel = f"= xpos['{DESCRIPTION.bodies[1].name}']"
    body = signals_of(DESCRIPTION, Element(ElementKind.BODY, 1))
    assert body == ((channel, 0), (channel, 1), (channel, 2))
    assert signals_of(DESCRIPTION, Element(ElementKind.CAMERA, 0)) == ()


def test_an_actuator_shows_its_own_controls_and_outputs_wherever_they_stand(make_frame):
    description = msgspec.structs.replace(
        DESCRIPTION,
        actuators=(
            ActuatorInfo(name="turn", ctrl=0, nctrl=3, output=0, noutput=2),
            ActuatorInfo(name="last", ctrl=3, output=2, ctrlrange=(-5.0, 5.0)),
        ),
    )
    state = make_frame(
        Topic.STATE,
        Instant.NOW,
        ctrl=[1.0, 2.0, 3.0, 9.0],
        actuator_force=[10.0, 20.0, 30.0],
        actuator_length=[0.1, 0.2, 0.3],
        actuator_velocity=[4.0, 5.0, 6.0],
    )
    frames = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: state})

    def values(index):
        found = element_values(description, Element(ElementKind.ACTUATOR, index), frames)
        return {row.label: row for row in found.sections[0].rows}

    turn, last = values(0), values(1)
    assert [turn[f"control {n}"].value for n in range(3)] == [1.0, 2.0, 3.0]
    assert [turn[f"force {n}"].value for n in range(2)] == [10.0, 20.0]
    assert (last["control"].value, last["control"].level) == (9.0, Level.WARN)
    assert last["control"].edit == EditTarget(EditField.CTRL, 3)
    assert (last["force"].value, last["force"].column) == (30.0, 2)
    assert (last["length"].value, last["velocity"].value) == (0.3, 6.0)
    assert signals_of(description, Element(ElementKind.ACTUATOR, 1)) == (
        ("ctrl", 3),
        ("actuator_force", 2),
    )


def test_a_ball_joint_shows_how_far_it_is_turned_and_its_range(make_frame):
    ball = JointInfo(name="hip", body=1, type=JointType.BALL, qpos=0, dof=0, range=(0.0, 0.8))
    description = msgspec.structs.replace(DESCRIPTION, joints=(ball,))
    quat = [math.cos(0.25), 0.0, math.sin(0.25), 0.0]  # 0.5 rad about y
    frame = make_frame(Topic.STATE, Instant.NOW, qpos=quat, qvel=[0.0, 0.0, 0.0])
    frames = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: frame})
    values = element_values(description, Element(ElementKind.JOINT, 0), frames)
    limits = next(section for section in values.sections if section.title == "Limits")
    rows = {row.label: row for row in limits.rows}
    assert "0.8" in rows["range"].text
    assert rows["angle"].value == pytest.approx(0.5)
    assert rows["margin"].value == pytest.approx(0.3)
    assert rows["margin"].note == "upper"


def test_a_joint_shows_inertia_bias_and_what_it_is_made_of(frames, make_frame):
    joint = JointInfo(
        name="knee", body=1, type=JointType.HINGE, qpos=0, dof=0, damping=0.4, armature=0.01
    )
    description = msgspec.structs.replace(DESCRIPTION, joints=(joint,))
    state = make_frame(
        Topic.STATE,
        Instant.NOW,
        qpos=[0.1],
        qvel=[2.0],
        qfrc_bias=[-1.5],
        qfrc_damper=[-0.8],
        dof_inertia=[0.0625],
    )
    one = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: state})
    values = element_values(description, Element(ElementKind.JOINT, 0), one)
    rows = {row.label.strip(): row for section in values.sections for row in section.rows}
    assert rows["inertia"].value == 0.0625
    assert (rows["bias"].value, rows["bias"].channel) == (-1.5, "qfrc_bias")
    assert (rows["damper"].value, rows["damper"].note) == (-0.8, "of passive")
    assert rows["damping"].text.split("\u202f") == ["0.4", "N·m·s/rad"]
    assert rows["armature"].text.split("\u202f") == ["0.01", "kg·m²"]


def test_a_servo_shows_its_clamped_control_saturation_and_stiffness(make_frame):
    servo = ActuatorInfo(
        name="servo",
        joint=0,
        ctrlrange=(-1.0, 1.0),
        forcerange=(-40.0, 40.0),
        kp=1000.0,
        kv=10.0,
        gear=(2.0,),
        act=0,
        nact=1,
    )
    joint = JointInfo(name="knee", body=1, type=JointType.HINGE, qpos=0, dof=0)
    description = msgspec.structs.replace(
        DESCRIPTION, joints=(joint,), actuators=(servo,), timestep=0.002
    )
    state = make_frame(
        Topic.STATE,
        Instant.NOW,
        ctrl=[1.5],
        act=[0.7],
        actuator_force=[-40.0],
        dof_inertia=[0.01],
    )
    one = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: state})
    values = element_values(description, Element(ElementKind.ACTUATOR, 0), one)
    rows = {row.label: row for section in values.sections for row in section.rows}
    assert (rows["as used"].value, rows["as used"].note) == (1.0, "clamped")
    assert rows["activation"].edit == EditTarget(EditField.ACT, 0)
    assert (rows["of limit"].value, rows["of limit"].note) == (100.0, "saturated")
    # A gear of 2 makes both gains four times as large at the joint.
    assert rows["kp·dt²/I"].value == pytest.approx(1000 * 4 * 0.002**2 / 0.01)
    assert rows["kv·dt/I"].value == pytest.approx(10 * 4 * 0.002 / 0.01)
    assert rows["kv·dt/I"].level == Level.WARN


def test_an_equality_can_be_switched_and_shows_its_residual(make_frame):
    rows_of_step = make_frame(
        Topic.CONSTRAINTS,
        Instant.NOW,
        type=[0, 0, 1],
        id=[0, 0, 0],
        pos=[0.001, -0.002, 0.1],
        force=[4.0, 5.0, 6.0],
        eq_active=[1],
    )
    one = FrameSet(
        instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.CONSTRAINTS: rows_of_step}
    )
    values = element_values(DESCRIPTION, Element(ElementKind.EQUALITY, 0), one)
    rows = {row.label: row for section in values.sections for row in section.rows}
    assert rows["active"].edit == EditTarget(EditField.EQ_ACTIVE, 0)
    assert [rows[f"residual {n}"].value for n in range(2)] == [0.001, -0.002]
    assert rows["to"].text == "the world"


def test_a_tendon_beyond_its_range_warns(make_frame):
    frame = make_frame(Topic.TENDONS, Instant.NOW, length=[0.55], velocity=[0.0], force=[-9.0])
    one = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.TENDONS: frame})
    values = element_values(DESCRIPTION, Element(ElementKind.TENDON, 0), one)
    rows = {row.label: row for section in values.sections for row in section.rows}
    assert rows["margin"].value == pytest.approx(-0.05)
    assert (rows["margin"].level, rows["margin"].note) == (Level.WARN, "beyond upper")
    assert rows["force"].value == -9.0


def test_a_pair_of_contacts_is_called_by_both_geoms_and_shows_forces_on_the_body_that_moves(
    make_frame,
):
    pair = Element(ElementKind.CONTACT, 1, 0)
    assert element_name(DESCRIPTION, pair) == "floor – tip"
    frame = make_frame(
        Topic.CONTACTS,
        Instant.NOW,
        pos=np.zeros((1, 3)),
        frame=np.array([[[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]]),
        force=np.array([[10.0, 3.0, 4.0, 0, 0, 0]]),
        dist=np.array([-0.002]),
        geom=np.array([[1, 0]]),
        friction=np.array([[1.0, 1.0, 0.005, 0.0001, 0.0001]]),
        dim=np.array([3]),
    )
    one = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.CONTACTS: frame})
    values = element_values(DESCRIPTION, pair, one)
    total = {row.label: row for row in values.sections[0].rows}
    assert (total["acts on"].text, total["from"].text) == ("arm", "world")
    assert (total["normal"].value, total["friction"].value) == (10.0, 5.0)
    assert [total[f"force {axis}"].value for axis in "xyz"] == [3.0, 4.0, 10.0]
    contact = {row.label: row for row in values.sections[2].rows}
    assert contact["depth"].value == pytest.approx(2.0)
    assert contact["used"].value == pytest.approx(50.0)
    assert contact["state"].text == "sticks"


def test_a_mocap_body_can_be_moved_while_paused(make_frame):
    body = BodyInfo(name="target", parent=0, mocap=True, mocap_index=2)
    description = msgspec.structs.replace(DESCRIPTION, bodies=(DESCRIPTION.bodies[0], body))
    pose = make_frame(Topic.POSE, Instant.NOW, xpos=np.ones((2, 3)), xquat=np.ones((2, 4)))
    one = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.POSE: pose})
    values = element_values(description, Element(ElementKind.BODY, 1), one)
    position = next(section for section in values.sections if section.title == "Position")
    assert position.rows[2].edit == EditTarget(EditField.MOCAP_POS, 8)


def test_numbers_of_a_range_finder_are_no_vector():
    ray = SensorInfo(name="ray", kind="rangefinder", adr=0, dim=4, unit="m")
    assert sensor_components(ray) == ("[0]", "[1]", "[2]", "[3]")
    gyro = msgspec.structs.replace(ray, kind="gyro", dim=3)
    assert sensor_components(gyro) == ("x", "y", "z")
    assert sensor_components(msgspec.structs.replace(ray, dim=1)) == ("",)


@pytest.mark.parametrize(
    ("angle", "note"), [(0.5, "28.6°"), (-146.303, "−8383°"), (1e5, ""), (math.nan, "")]
)
def test_an_angle_in_degrees_is_as_short_as_it_means_something(make_frame, angle, note):
    qpos = np.zeros(8)
    qpos[7] = angle
    state = make_frame(Topic.STATE, Instant.NOW, qpos=qpos)
    frames = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: state})
    assert rows_of(ElementKind.JOINT, 0, frames)["Motion", "position"].note == note
