"""Tables of the state: what each row says at one instant of a real scene."""

import numpy as np
import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.actuators import ActuatorTable
from stroboscope.app.models.tables.energy import EnergyTable
from stroboscope.app.models.tables.joints import JointTable
from stroboscope.app.models.tables.profile import StageTable, step_times
from stroboscope.app.models.tables.small_tables import (
    EqualityTable,
    SensorTable,
    TendonTable,
    UserdataTable,
)
from stroboscope.app.models.tables.state import EMPTY_TEXTS, StateKind, make_state_table
from stroboscope.app.models.tables.table import WARN
from stroboscope.debugger_protocol.topics import Topic

ARM = """
<mujoco><size nuserdata="2"/><option timestep="0.002"/><worldbody>
<body name="base" pos="0 0 1"><joint name="knee" axis="0 1 0" range="-10 10" damping="2"/>
<geom name="shin" type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1"/>
<body name="tip" pos=".3 0 0"><joint name="ankle" type="ball"/><geom size=".05" mass=".1"/>
<site name="toe"/></body></body>
<body name="puck" pos="2 0 1"><freejoint name="free"/><geom size=".1" mass="2"/></body>
</worldbody>
<actuator><position name="servo" joint="knee" kp="500" kv="20" ctrlrange="-.5 .5"
forcerange="-10 10"/></actuator>
<sensor><gyro name="imu" site="toe"/><jointpos name="angle" joint="knee"/></sensor></mujoco>
"""


def named(table):
    return {table.text("name", n): n for n in range(table.count)}


@pytest.fixture
def arm(engine_scene):
    case = engine_scene(ARM)
    case.scene.ctrl[0] = 2.0
    for _ in range(5):
        case.scene.step()
    return case


def test_joints_have_a_row_per_dof_and_show_what_the_step_had(arm):
    joints = JointTable(arm.description)
    frames = arm.executed()
    table = joints.table(frames)
    rows = named(table)
    assert "ankle ωx" in rows
    assert "free x" in rows
    assert "free qw" in rows
    qvel = frames.array(Topic.STATE, "qvel")
    knee, x = rows["knee"], rows["free x"]
    assert table.number("velocity", knee) == qvel[0]
    assert table.number("velocity", x) == qvel[4]
    assert table.number("qfrc_damper", knee) == pytest.approx(-2.0 * qvel[0])
    assert table.number("inertia", knee) > 0.0
    assert table.cells["position"].units[knee] == "rad"
    assert table.cells["position"].units[x] == "m"
    assert (table.cells["position"].channel, int(table.cells["position"].signals[x])) == ("qpos", 5)
    assert table.number("position", rows["ankle ωx"]) is None, "a rotation has no single position"
    assert table.number("position", rows["free qw"]) == pytest.approx(1.0)
    assert table.element(rows["free qw"]) == Element(ElementKind.JOINT, 2)


def test_a_joint_pushed_beyond_its_limit_says_so(arm):
    arm.scene.data.qpos[0] = 0.2
    table = JointTable(arm.description).table(arm.now())
    knee = named(table)["knee"]
    assert table.text("state", knee) == "beyond upper"
    assert table.number("margin", knee) == pytest.approx(np.radians(10) - 0.2)
    assert table.cells["margin"].level(knee) == WARN
    assert table.text("margin", named(table)["free x"]) == "—"


def test_a_servo_says_that_its_control_is_clamped_and_its_force_saturated(arm):
    arm.scene.ctrl[0] = 2.0
    table = ActuatorTable(arm.description).table(arm.now())
    assert table.number("clamped", 0) == 0.5
    assert table.number("force", 0) == pytest.approx(10.0)
    assert table.number("used", 0) == pytest.approx(100.0)
    assert table.text("state", 0) == "force saturated, control clamped"
    assert table.text("drives", 0) == "knee"


def test_c01_a_servo_too_stiff_for_its_inertia_shows_the_ratio(engine_scene, case_model):
    case = engine_scene(case_model("C01"))
    table = ActuatorTable(case.description).table(case.now())
    wrist = named(table)["wrist_servo"]
    assert table.number("kv", wrist) == pytest.approx(2000.0, rel=0.05)
    assert table.cells["kv"].level(wrist) == WARN


def test_sensors_have_a_row_per_number_with_its_signal(arm):
    frames = arm.executed()
    table = SensorTable(arm.description).table(frames)
    rows = named(table)
    assert set(rows) == {"imu x", "imu y", "imu z", "angle"}
    values = frames.array(Topic.SENSORS, "sensordata")
    assert table.number("value", rows["angle"]) == values[3]
    assert int(table.cells["value"].signals[rows["angle"]]) == 3


def test_user_data_is_shown_as_the_script_wrote_it(arm):
    arm.scene.data.userdata[1] = 0.25
    table = UserdataTable(arm.description).table(arm.now())
    assert [table.number("value", n) for n in range(table.count)] == [0.0, 0.25]


def test_energy_drifts_from_the_first_instant_seen_until_it_is_reset(arm):
    energy = EnergyTable(arm.description)
    first = energy.table(arm.now())
    rows = named(first)
    total = rows["total energy"]
    assert first.number("value", total) == pytest.approx(
        first.number("value", 0) + first.number("value", 1)
    )
    assert first.number("drift", total) == 0.0
    for _ in range(50):
        arm.scene.step()
    later = energy.table(arm.now())
    assert later.number("drift", total) == pytest.approx(
        later.number("value", total) - first.number("value", total)
    )
    assert later.number("drift", total) != 0.0
    energy.reset()
    assert energy.table(arm.now()).number("drift", total) == 0.0
    assert "drift since t" in energy.start.text


@pytest.mark.parametrize("kind", list(StateKind))
def test_every_kind_has_rows_or_a_sentence_before_values_arrive(arm, kind):
    source = make_state_table(kind, arm.description)
    table = source.table(None)
    assert EMPTY_TEXTS[kind]
    for row in range(table.count):
        for column in table.columns:
            assert table.text(column.key, row) is not None


def test_an_engine_that_sends_the_old_arrays_only_is_shown_without_the_rest(make_frame):
    from stroboscope.app.models.frames import FrameSet
    from stroboscope.debugger_protocol.scene_description import (
        JointInfo,
        JointType,
        SceneDescription,
    )
    from stroboscope.debugger_protocol.topics import Instant

    joint = JointInfo(name="knee", body=0, type=JointType.HINGE, qpos=0, dof=0)
    description = SceneDescription(scene_id=1, name="Old", joints=(joint,))
    frame = make_frame(Topic.STATE, Instant.NOW, qpos=[0.5], qvel=[np.nan])
    frames = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.STATE: frame})
    table = JointTable(description).table(frames)
    assert table.text("position", 0) == "0.500"
    assert table.text("velocity", 0) == "NaN"
    assert table.text("inertia", 0) == "—"
    assert table.cells["inertia"].absent == "not computed in this step"


COUPLED = """
<mujoco><worldbody>
<body name="left" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/><site name="a" pos=".1 0 0"/>
</body><body name="right" pos="1 0 1"><freejoint/><geom size=".1" mass="1"/>
<site name="b" pos="-.1 0 0"/></body></worldbody>
<tendon><spatial name="rope" range="0.1 0.5" limited="true" stiffness="10"><site site="a"/>
<site site="b"/></spatial></tendon>
<equality><weld name="hold" body1="left"/><connect name="off" body1="right" anchor="0 0 0"
active="false"/></equality></mujoco>
"""


def test_tendons_and_equalities_say_how_far_they_are_from_being_fulfilled(engine_scene):
    case = engine_scene(COUPLED)
    for _ in range(20):
        case.scene.step()
    frames = case.executed()
    tendons = TendonTable(case.description).table(frames)
    assert tendons.number("length", 0) == pytest.approx(
        float(frames.array(Topic.TENDONS, "length")[0])
    )
    assert tendons.text("state", 0) == "beyond upper"
    equalities = EqualityTable(case.description).table(frames)
    assert equalities.text("first", 0) == "left"
    assert equalities.number("residual", 0) > 0.0
    assert equalities.number("force", 0) > 0.0
    assert equalities.text("state", 1) == "off"
    assert equalities.text("residual", 1) == "—"


def test_stages_are_a_tree_and_their_parts_fill_the_step(engine_scene):
    case = engine_scene(COUPLED)
    stages = StageTable(case.description)
    case.executed()
    for _ in range(20):
        case.scene.step()
    table = stages.table(case.executed())
    names = [table.text("name", n).strip() for n in range(table.count)]
    assert names[0] == "step"
    assert names.index("narrow phase") > names.index("collision") > names.index("position")
    if stages.step is None:
        pytest.skip("this MuJoCo does not time its stages")
    assert sum(part.seconds for part in stages.parts) == pytest.approx(stages.step)
    assert stages.parts[-1].name in ("other", "integrate")


def test_step_times_have_percentiles_and_nothing_falls_out_of_the_histogram():
    seconds = np.concatenate((np.full(990, 24e-6), np.full(10, 4e-3), [np.nan]))
    times = step_times(seconds)
    assert (times.count, times.p50, times.longest) == (1000, 24e-6, 4e-3)
    assert times.bins.sum() == 1000
    assert "p50 24.0" in times.text
    assert step_times(np.empty(0)) is None
