"""Doubt where it belongs: in rows of which nobody knows with which model they were stepped."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from noted_run import Run

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import (
    EditKind,
    GhostRef,
    GhostSource,
    RolloutInfo,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic

Make = Callable[..., physics.Scene]
SENSED = frozenset({Topic.SENSORS})

TARGET = """
<mujoco>
  <worldbody>
    <body name="target" pos="1 0 0">
      <geom name="mark" size=".05" contype="0" conaffinity="0"/></body>
    <site name="goal" pos="0 0 2"/>
    <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom name="link" type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <body pos=".3 0 0"><joint name="idle" axis="0 1 0"/><geom size=".04"/></body></body>
  </worldbody>
  <actuator><motor joint="hinge" gear="3"/><motor name="rests" joint="idle"/></actuator>
  <sensor><actuatorpos actuator="rests"/></sensor>
</mujoco>
"""


def move_target(model: Any) -> None:
    model.body_pos[1] = (2.0, 1.0, 0.5)


def gear_what_rests(model: Any) -> None:
    model.actuator_gear[1, 0] = 4.0


@pytest.mark.parametrize("resets", [False, True], ids=["goes on", "reset"])
@pytest.mark.parametrize(
    ("untold", "both"), [(move_target, ("body_pos", 3)), (gear_what_rests, ("actuator_gear", 0))]
)
def test_an_object_that_nothing_touches_is_in_doubt_beside_one_that_moves(
    untold: Callable[[Any], None], both: tuple[str, int], resets: bool
) -> None:
    """Both are numbers of one field, or one is written at a reset: each may have its own time."""
    scene = physics.create_scene("target", TARGET)
    scene.keep_history(True)
    seen = []

    def step(count: int) -> None:
        for k in range(count):
            scene.ctrl[0] = 0.1 + 0.01 * k
            scene.step()
            seen.append((scene.data.xpos.tobytes(), scene.data.sensordata.tobytes()))

    step(10)
    untold(scene.model)
    step(5)
    if resets:
        scene.model.body_mass[2] *= 2.0
        scene.reset()
    else:
        field, moving = both
        getattr(scene.model, field)[moving, 0] += 0.05
    step(5)
    machine = scene.backend.time_machine()
    for axis, (places, values) in enumerate(seen):
        frame = machine.look_at(axis, frozenset({Topic.POSE, Topic.SENSORS}))
        arrays = frame.frames.arrays
        is_true = (
            arrays[Topic.POSE]["xpos"].tobytes() == places
            and arrays[Topic.SENSORS]["sensordata"].tobytes() == values
        )
        assert is_true or frame.note, axis
        assert not frame.note or axis < 15 + 5 * (not resets)


@pytest.mark.parametrize("resets", [False, True], ids=["goes on", "reset"])
def test_what_no_step_tells_and_nobody_sees_puts_nothing_in_doubt(
    make_scene: Make, resets: bool
) -> None:
    """Friction of what touches nothing, as scripts randomise all of it at once."""
    scene = make_scene("humanoid")
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    run.model.geom_friction[:, 0] *= 1.5
    run.model.dof_damping[:] *= 1.1
    run.model.body_mass[1:] *= 1.1
    run.model.actuator_gear[:, 0] *= 0.9
    if resets:
        run.scene.reset()
    run.step(10)
    machine = run.scene.backend.time_machine()
    notes = {machine.look_at(axis, frozenset({Topic.STATE})).note for axis in range(20)}
    assert notes == {""}


SEEN_BY_A_RAY = """
<mujoco>
  <worldbody>
    <geom name="wall" type="box" size=".1 1 1" pos="3 0 0"/>
    <body name="mast"><site name="eye" pos="0 0 .5" zaxis="1 0 0"/></body>
    <site name="goal" pos="1 0 0"/>
    <body name="arm" pos="0 2 1"><joint name="hinge" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 0 .3 0" size=".02"/>
      <geom size=".05" pos=".1 0 0"/></body>
  </worldbody>
  <actuator><motor joint="hinge" gear="3"/></actuator>
  <sensor><rangefinder site="eye"/><framepos objtype="site" objname="goal"/></sensor>
</mujoco>
"""


@pytest.fixture
def seen_by_a_ray() -> Run:
    scene = physics.create_scene("ray", SEEN_BY_A_RAY)
    scene.keep_history(True)
    return Run(scene)


def notes(run: Run, begin: int, end: int) -> set[str]:
    """Return the first words of what is said of rows."""
    machine = run.scene.backend.time_machine()
    return {machine.look_at(axis, SENSED).note.split(":")[0] for axis in range(begin, end)}


def trial(run: Run, axis: int, steps: int = 0) -> RolloutInfo:
    machine = run.scene.backend.time_machine()
    for _ in machine.resimulate(axis, steps=steps, edits=(), name=""):
        pass
    return machine.rollouts()[-1]


def test_a_wall_made_invisible_is_not_met_by_rays_and_puts_rows_in_doubt(
    seen_by_a_ray: Run,
) -> None:
    run = seen_by_a_ray
    run.step(10)
    before = run.scene.data.sensordata[0]
    run.model.geom_rgba[0, 3] = 0.0
    run.step(10)
    assert run.scene.data.sensordata[0] == -1.0 != before
    assert notes(run, 0, 20) == {"approximate"}


def test_a_trial_that_runs_into_rows_in_doubt_says_so(seen_by_a_ray: Run) -> None:
    run = seen_by_a_ray
    run.step(10)
    run.look(5)
    run.step(5)
    run.model.site_pos[0] = (5.0, 0.0, 0.0)
    run.step(5)
    assert notes(run, 0, 10) == {""}
    assert notes(run, 10, 20) == {"approximate"}
    assert trial(run, 2).reproducible.startswith("approximate: the model was written into")
    assert not trial(run, 2, steps=8).reproducible
    assert trial(run, 2, steps=9).reproducible


def test_a_trial_ends_where_the_model_was_written_into_looked_at_or_not(make_scene: Make) -> None:
    lengths = []
    for is_looked_at in (False, True):
        scene = make_scene("humanoid")
        scene.keep_history(True)
        run = Run(scene)
        run.step(10)
        run.look(5)
        run.step(5)
        run.model.actuator_gear[:, 0] *= 2.0
        run.step(10)
        if is_looked_at:
            run.look(20)
        told = trial(run, 2)
        assert not told.reproducible
        lengths.append(told.steps)
    assert lengths == [13, 13]


@pytest.mark.parametrize("how", ["reset", "restored", "edited"])
def test_what_no_row_can_carry_is_not_said_of_rows_before_it_was_written(
    seen_by_a_ray: Run, how: str
) -> None:
    run = seen_by_a_ray
    standing = run.scene.checkpoint()
    run.step(10)
    run.model.actuator_gear[0, 0] = 9.0
    run.step(5)
    if how == "reset":
        run.scene.reset()
    elif how == "restored":
        run.scene.restore(standing)
    else:
        run.scene.data.qvel[:] *= 0.5
    run.model.sensor_objid[1] = 1  # the other site
    run.step(5)
    assert notes(run, 0, 15) == {"approximate"}
    assert notes(run, 15, 20) == {""}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_of_several_writes_in_a_row_each_is_asked_about(
    seen_by_a_ray: Run, order: tuple[int, ...]
) -> None:
    run = seen_by_a_ray

    def place() -> None:
        run.model.site_pos[0] = (5.0, 0.0, 0.0)

    def gear() -> None:
        run.model.actuator_gear[0, 0] = 9.0

    def mass() -> None:
        run.model.body_mass[2] *= 2.0

    seen: list[bytes] = []

    def step(count: int) -> None:
        for _ in range(count):
            run.step(1)
            seen.append(run.scene.data.sensordata.tobytes())

    step(10)
    for each in order:
        (gear, mass, place)[each]()
        step(5)
    machine = run.scene.backend.time_machine()
    for axis, values in enumerate(seen):
        past = machine.look_at(axis, SENSED)
        is_true = past.frames.arrays[Topic.SENSORS]["sensordata"].tobytes() == values
        assert is_true or past.note, axis


def test_curves_are_refused_where_a_callback_writes_controls_within_steps(
    seen_by_a_ray: Run,
) -> None:
    run = seen_by_a_ray

    def control(_model: Any, data: Any) -> None:
        data.ctrl[0] = np.sin(40.0 * data.time)

    mujoco.set_mjcb_control(control)
    try:
        run.step(10)
        for name in ("actuator_force", "qacc", "sensordata"):
            with pytest.raises(CommandError, match=r"callbacks \(control\)"):
                run.read(name)
        axes, _ = run.read("qpos")
        assert len(axes) == 10
    finally:
        mujoco.set_mjcb_control(None)


def test_who_goes_back_to_the_original_run_hears_that_a_trial_s_timestep_stays(
    make_scene: Make,
) -> None:
    scene = make_scene("arm")
    scene.keep_history(True)
    run = Run(scene)
    own = scene.model.opt.timestep
    run.step(10)
    machine = scene.backend.time_machine()
    assert "timestep" not in machine.continue_from(8).text
    scene.backend.edit_option("timestep", (0.5 * own,))
    run.step(10)
    told = machine.continue_from(5).text
    assert f"other values then of timestep ({own:g} s, {0.5 * own:g} s now)" in told
    assert "timestep" not in machine.continue_from(12).text
    scene.step(0.25 * own)  # cut: no edit
    run.step(1)
    assert "timestep" not in machine.continue_from(scene.counters.axis - 2).text


FALLS_SHORT = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="ball" pos="0 0 .5"><joint type="slide" axis="0 0 1" stiffness="500"/>
      <geom name="skin" size=".2" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def test_contacts_of_two_trials_are_found_with_the_model_of_each() -> None:
    scene = physics.create_scene("falls short", FALLS_SHORT)
    scene.keep_history(True)
    run = Run(scene)
    run.step(20)
    machine = scene.backend.time_machine()
    lower = WhatIf(kind=EditKind.MODEL, name="geom_pos", index=5, values=(-0.4,))
    other = WhatIf(kind=EditKind.OPTION, name="gravity", values=(0.0, 0.0, -9.0))
    refs = []
    for edits in ((), (lower,), (other,)):
        for _ in machine.resimulate(5, steps=10, edits=edits, name=""):
            pass
        number = machine.rollouts()[-1].rollout_id
        refs.append(GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id))
    assert machine.compare(refs[0], refs[1], tolerance=0.0).first_contacts == 0
    assert machine.compare(refs[0], refs[2], tolerance=0.0).first_contacts == -1
    scene.model.geom_pos[1, 2] = -0.4
    assert machine.compare(refs[0], refs[2], tolerance=0.0).first_contacts == -1
    rows = [
        GhostRef(source=GhostSource.ROW, number=number, scene_id=scene.scene_id)
        for number in (2, 15)
    ]
    told = machine.compare(*rows, tolerance=0.0)
    assert "contacts were not compared: the script has written into its model" in told.text


def test_a_second_write_is_placed_where_rows_do_not_say_what_sleeps() -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    flag = '<mujoco><option><flag sleep="enable"/></option>'
    scene = physics.create_scene("sleeps", SEEN_BY_A_RAY.replace("<mujoco>", flag))
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    run.model.actuator_gear[0, 0] = 9.0
    run.step(2)
    run.look(11)
    run.step(8)
    run.model.actuator_gear[0, 0] = 2.0
    run.step(10)
    assert notes(run, 0, 30) == {"", "verified"}
    begins = [each.begin for each in scene.backend.time_machine().history().segments]
    assert begins == [0, 10, 20]


SENSED_BY_THE_SCRIPT = SEEN_BY_A_RAY.replace(
    '<rangefinder site="eye"/>', '<user name="felt" dim="1" needstage="pos"/>'
)


@pytest.fixture
def felt() -> Iterator[Run]:
    """A scene with a sensor that a callback of the script fills; callbacks are taken out again."""
    scene = physics.create_scene("felt", SENSED_BY_THE_SCRIPT)
    scene.keep_history(True)
    yield Run(scene)
    mujoco.set_mjcb_sensor(None)


def feel(model: Any, data: Any, stage: int) -> None:
    if stage == mujoco.mjtStage.mjSTAGE_POS:
        data.sensordata[model.sensor("felt").adr[0]] = 7.0 + data.time


@pytest.mark.parametrize("at_first", [False, True], ids=["set later", "set at first"])
def test_rows_that_a_removed_callback_has_sensed_say_that_it_is_gone(
    felt: Run, at_first: bool
) -> None:
    """Steps lead to the same without it: only what is computed again is another value."""
    felt.step(0 if at_first else 20)
    mujoco.set_mjcb_sensor(feel)
    felt.step(20)
    mujoco.set_mjcb_sensor(None)
    felt.step(20)
    end = felt.scene.counters.axis
    before, gone = (0, 20) if at_first else (20, 40)
    machine = felt.scene.backend.time_machine()
    for axis in range(before, gone):
        assert "mjcb_sensor" in machine.look_at(axis, SENSED).note
    assert notes(felt, 0, before) | notes(felt, gone, end) == {""}
    assert "mjcb_sensor" in trial(felt, before + 5).reproducible


def test_a_recording_says_of_which_frames_it_lacks_a_callback(felt: Run, tmp_path: Path) -> None:
    with felt.scene.start_recording(tmp_path / "felt") as recording:
        felt.step(20)
        mujoco.set_mjcb_sensor(feel)
        felt.step(20)
        mujoco.set_mjcb_sensor(None)
        felt.step(20)
    with physics.load_trajectory(recording.path) as trajectory:
        replayed = Run(trajectory.scene)
        assert notes(replayed, 20, 40) == {"approximate"}
        assert notes(replayed, 0, 20) | notes(replayed, 40, 60) <= {"", "verified"}


FILTERED = """
<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="puck" pos="0 0 .2"><joint name="slide" type="slide" axis="1 0 0"/>
    <geom size=".1" gap=".3"/></body></worldbody>
<actuator><motor joint="slide"/></actuator><sensor><jointpos joint="slide"/></sensor></mujoco>
"""


@pytest.mark.parametrize("saves", [False, True], ids=["live", "saved"])
def test_rows_whose_contacts_a_removed_callback_has_filtered_say_that_it_is_gone(
    tmp_path: Path, saves: bool
) -> None:
    """A contact within the gap has no force: the step leads to the same with it."""
    scene = physics.create_scene("filtered", FILTERED)
    scene.keep_history(True)
    run = Run(scene)
    try:
        mujoco.set_mjcb_contactfilter(lambda *_: 1)
        run.step(10)
        assert scene.data.ncon == 0
    finally:
        mujoco.set_mjcb_contactfilter(None)
    if not saves:
        assert notes(run, 0, 10) == {"approximate"}
        with pytest.raises(CommandError, match="mjcb_contactfilter"):
            run.read("contact.count")
        return
    with physics.load_trajectory(scene.save_history(tmp_path / "past")) as trajectory:
        assert notes(Run(trajectory.scene), 0, 10) == {"approximate"}


def test_what_only_some_rows_show_is_in_doubt_in_all_of_them() -> None:
    """A ray that turns meets a post now and then: rows that were asked about may all miss it."""
    turning = SEEN_BY_A_RAY.replace(
        '<body name="mast">',
        '<body name="mast"><joint axis="0 0 1"/><geom size=".01" contype="0" conaffinity="0"/>',
    ).replace('size=".1 1 1"', 'size=".1 .1 1"')
    scene = physics.create_scene("turning", turning)
    scene.keep_history(True)
    run = Run(scene)
    scene.data.qvel[0] = 2 * np.pi / (23 * run.model.opt.timestep)
    run.step(20)
    run.model.geom_rgba[0, 3] = 0.0
    run.step(40)
    assert notes(run, 0, 60) == {"approximate"}
    assert trial(run, 30, 5).reproducible


def test_colours_that_rays_meet_all_the_same_put_nothing_in_doubt(seen_by_a_ray: Run) -> None:
    seen_by_a_ray.step(10)
    seen_by_a_ray.model.geom_rgba[0] = (1.0, 0.0, 0.0, 0.5)
    seen_by_a_ray.step(10)
    assert notes(seen_by_a_ray, 0, 20) == {""}


def test_of_many_objects_each_that_was_written_is_asked_about() -> None:
    crowd = TARGET.replace(
        "</worldbody>",
        "".join(f'<body pos="{k} 9 0"><geom size=".1"/></body>' for k in range(300))
        + "</worldbody>",
    )
    scene = physics.create_scene("crowd", crowd)
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    move_target(run.model)
    run.step(5)
    run.model.body_pos[2, 0] += 0.05  # the arm
    run.step(10)
    assert notes(run, 10, 15) == {"approximate"}


def test_contacts_of_a_row_and_a_trial_are_found_with_the_model_of_each() -> None:
    scene = physics.create_scene(
        "ball",
        '<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/><body pos="0 0 1">'
        '<freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>',
    )
    scene.keep_history(True)
    Run(scene).step(20)
    machine = scene.backend.time_machine()
    lower = WhatIf(kind=EditKind.MODEL, name="geom_pos", index=5, values=(-1.0,))
    for _ in machine.resimulate(10, steps=5, edits=(lower,), name="lower"):
        pass
    number = machine.rollouts()[-1].rollout_id
    refs = [
        GhostRef(source=GhostSource.ROW, number=10, scene_id=scene.scene_id),
        GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id),
    ]
    for pair in (refs, refs[::-1]):
        assert machine.compare(*pair, tolerance=0.0).first_contacts == 0


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_frames_of_a_file_whose_steps_had_a_callback_say_that_it_is_not_there(
    felt: Run, tmp_path: Path, mode: str
) -> None:
    mujoco.set_mjcb_sensor(feel)
    with felt.scene.start_recording(physics.TrajectoryFile(tmp_path / "felt", mode=mode)) as made:
        felt.step(20)
    mujoco.set_mjcb_sensor(None)
    with physics.load_trajectory(made.path) as trajectory:
        replayed = Run(trajectory.scene)
        assert notes(replayed, 0, 20) == {"approximate"}
        with pytest.raises(CommandError, match="mjcb_sensor can't be in a file"):
            replayed.read("sensordata")
        replayed.scene.keep_history(True)
        replayed.step(5)
        assert notes(replayed, 20, 25) == {""}


def test_a_step_in_whose_middle_a_callback_has_restored_says_so(sensed: Run) -> None:
    """The next row begins another stretch: nothing else tells that this step was torn."""
    sensed.step(5)
    scene, kept = sensed.scene, sensed.scene.checkpoint()
    sensed.step(5)
    mujoco.set_mjcb_passive(lambda _model, _data: scene.restore(kept))
    try:
        sensed.step(1)
    finally:
        mujoco.set_mjcb_passive(None)
    sensed.step(5)
    assert notes(sensed, 10, 11) == {"not reproducible"}
    assert notes(sensed, 0, 10) | notes(sensed, 11, 16) == {""}
    assert 10 not in sensed.read("qacc")[0]


@pytest.mark.parametrize("by", ["a client", "the script"])
def test_the_last_executed_step_is_shown_with_the_model_that_it_was_taken_with(
    sensed: Run, by: str
) -> None:
    """Who subscribes while a scene stands gets it computed again."""
    sensed.step(10)
    seen, backend = sensed.seen[9], sensed.scene.backend
    if by == "a client":
        backend.edit_option("gravity", (0.0, 0.0, -1.0))
    else:
        sensed.model.body_mass[1] *= 3.0
    made = backend.frame_last_executed(frozenset({Topic.STATE}))
    assert made is not None
    clock, frames = made
    assert clock.axis == 9
    assert frames.arrays[Topic.STATE]["qacc"].tobytes() == seen["qacc"].tobytes()
    assert frames.arrays[Topic.STATE]["qfrc_bias"].tobytes() == seen["qfrc_bias"].tobytes()
