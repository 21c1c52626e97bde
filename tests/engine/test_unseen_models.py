"""What a script writes into its model and nobody sees: nothing wrong is shown without a word."""

import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest
from noted_run import SENSED, Run, gain, gravity, pieces_of
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import (
    GhostRef,
    GhostSource,
    Reduction,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.history.past import Past

Values = dict[int, NDArray[np.float64]]


def ghost(run: Run, axis: int) -> NDArray[np.float64]:
    ref = GhostRef(source=GhostSource.ROW, number=axis, scene_id=run.scene.scene_id)
    return run.scene.backend.time_machine().ghost_pose(ref, time=0.0)["xpos"]


def assert_true(run: Run, read: Values, name: str = "actuator_force") -> None:
    for axis, values in read.items():
        if axis in run.seen:
            assert values.tobytes() == run.seen[axis][name].tobytes(), axis


def step_with_a_gain_that_is_taken_back(run: Run, *, k: int) -> None:
    """Take 25 steps, the tenth to the fourteenth of them with another gain."""
    first = run.model.actuator_gainprm.copy()
    run.step(10)
    gain(run.model, k)
    run.step(5)
    run.model.actuator_gainprm[:] = first
    run.step(10)


# --- written, and written back before anybody has looked


def test_curves_leave_out_steps_with_a_model_that_was_taken_back_again(run: Run) -> None:
    step_with_a_gain_that_is_taken_back(run, k=3)
    axes, values = run.read("actuator_force")
    read = dict(zip(axes.tolist(), values, strict=True))
    assert set(range(10)) | set(range(15, 25)) <= read.keys()
    assert not read.keys() & set(range(10, 14))
    assert_true(run, read)


def test_a_ghost_is_refused_where_bodies_stood_elsewhere_for_a_while(run: Run) -> None:
    first = run.model.body_pos.copy()
    run.step(10)
    run.model.body_pos[3, 0] += 0.3
    run.step(4)
    run.model.body_pos[:] = first
    run.step(4)
    assert ghost(run, 5).tobytes() == run.seen[5]["xpos"].tobytes()
    with pytest.raises(CommandError, match="can't be placed: not reproducible"):
        ghost(run, 11)


@pytest.mark.parametrize("channel", ["energy.potential", "= xpos['lower_waist']"])
def test_energies_and_places_are_left_out_where_nobody_knows_the_model(
    run: Run, channel: str
) -> None:
    run.step(5)
    for k in range(15):
        run.model.body_pos[3, 0] = 0.01 * k
        run.model.body_mass[3] = 3.0 + 0.1 * k
        run.step(1)
    axes, _ = run.read(channel)
    assert set(range(5)) <= set(axes.tolist())
    assert not set(axes.tolist()) & set(range(5, 18))


def test_of_what_no_row_can_carry_every_row_before_says_so(sensed: Run) -> None:
    sensed.step(8)
    sensed.look(3)
    sensed.model.sensor_objid[0] = 1
    sensed.step(8)
    machine = sensed.scene.backend.time_machine()
    topics = frozenset({Topic.SENSORS})
    before = machine.look_at(3, topics)
    sensed.step(4)
    after = machine.look_at(18, topics)
    assert before.note.startswith("approximate: what was in sensor_objid then is not remembered")
    assert after.note == ""
    assert after.frames.arrays[Topic.SENSORS]["sensordata"].tolist() == [0.0, 0.0, 2.0]
    with pytest.raises(CommandError, match="sensor_objid"):
        sensed.read("sensordata")


# --- written at one time, told at another


TERRAIN = """
<mujoco>
  <asset><hfield name="terrain" nrow="60" ncol="60" size="2 2 1 .1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="terrain"/>
    <body pos="0 0 3"><joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>
    <body pos="0 0 2"><site name="eye" zaxis="0 0 -1"/></body>
  </worldbody>
  <actuator><motor joint="hinge" gear="3"/></actuator>
  <sensor><rangefinder site="eye"/></sensor>
</mujoco>
"""


@pytest.mark.parametrize("is_all", [True, False])
def test_what_is_written_into_an_array_too_large_to_be_kept_twice_is_found(
    monkeypatch: pytest.MonkeyPatch, *, is_all: bool
) -> None:
    monkeypatch.setattr("stroboscope.engine.history.model_watch._LARGEST", 4096)
    scene = physics.create_scene("terrain", TERRAIN)
    scene.keep_history(True)
    run, data = Run(scene), scene.data
    ranges = {}

    def step(count: int) -> None:
        for _ in range(count):
            run.step(1)
            ranges[scene.counters.axis - 1] = float(data.sensordata[0])

    def seen(axis: int) -> tuple[float, str]:
        past = scene.backend.time_machine().look_at(axis, frozenset({Topic.SENSORS}))
        return float(past.frames.arrays[Topic.SENSORS]["sensordata"][0]), past.note

    step(10)
    assert [seen(axis) for axis in (3, 9)] == [(ranges[3], ""), (ranges[9], "")]
    heights = scene.model.hfield_data.reshape(60, 60)
    if is_all:
        heights[:] = 0.5
    else:
        heights[28:32, 28:32] = 0.5  # few of its numbers
    step(10)
    assert ranges[5] - ranges[15] > 0.4
    assert "what was in hfield_data then is not remembered" in seen(5)[1]
    step(10)
    assert seen(25) == (ranges[25], "")
    for axis in range(30):
        found, note = seen(axis)
        assert note or found == ranges[axis], axis
    values = scene.backend.time_machine()
    with pytest.raises(CommandError, match="hfield_data"):
        list(values.read_rows(0, ["sensordata"], first=0, last=29, max_rows=99))
    heights[30, 30] = heights[29, 30] = heights[30, 29] = heights[29, 29] = 0.7
    assert "hfield_data" in seen(25)[1]


def test_a_value_that_was_written_before_the_state_was_changed_is_found(run: Run) -> None:
    run.step(10)
    gain(run.model, 3)
    run.step(4)
    run.scene.data.qvel[:] *= 0.5
    run.step(4)
    run.check(range(18))


def test_what_only_a_sensor_sees_is_in_doubt_although_something_else_is_placed(
    sensed: Run,
) -> None:
    sensed.step(6)
    sensed.look(2)
    sensed.model.site_pos[0, 0] = 3.0
    sensed.step(4)
    sensed.model.actuator_gear[0, 0] = 6.0
    sensed.step(4)
    machine = sensed.scene.backend.time_machine()
    for axis in range(6, 10):
        assert machine.look_at(axis, frozenset({Topic.SENSORS})).note.startswith("approximate: ")


def test_what_a_restored_copy_takes_back_was_there_before(run: Run) -> None:
    run.step(6)
    copy = run.scene.__getstate__()
    gain(run.model, 3)
    run.step(4)
    run.scene.__setstate__(copy)
    run.step(3)
    run.check(range(13))


# --- while something is read


def test_what_a_script_writes_while_a_curve_is_read_is_not_in_it(run: Run) -> None:
    run.step(60)
    machine = run.scene.backend.time_machine()
    pieces = machine.read_rows(0, ["actuator_force"], first=0, last=59, max_rows=100)
    read = {}
    for piece in pieces:
        read |= dict(zip(piece["axis"].tolist(), piece["values"], strict=True))
        gain(run.model, 5)
    assert len(read) == 60
    assert_true(run, read)


def test_looking_back_touches_no_model_that_another_thread_steps_with() -> None:
    model = mujoco.MjModel.from_xml_string(SENSED)
    scene = physics.create_scene("shared", model)
    scene.keep_history(True)
    run = Run(scene)
    run.step(20)
    model.actuator_gear[0, 0] = 30.0
    gravity(model, 4)
    run.step(5)
    run.look(3)
    other, alone = mujoco.MjData(model), mujoco.MjData(model)
    steps, done = 4_000, threading.Event()
    for _ in range(steps):
        alone.ctrl[0] = np.sin(alone.time)
        mujoco.mj_step(model, alone)

    def step() -> None:
        for _ in range(steps):
            other.ctrl[0] = np.sin(other.time)
            mujoco.mj_step(model, other)
        done.set()

    thread = threading.Thread(target=step)
    thread.start()
    while not done.is_set():
        run.look(5)
        ghost(run, 7)
        run.read("actuator_force")
    thread.join()
    assert other.qpos.tobytes() == alone.qpos.tobytes()


@pytest.mark.parametrize("how", ["reset", "edited", "restored", "branch"])
def test_a_value_of_the_very_last_step_of_an_episode_is_in_doubt(run: Run, how: str) -> None:
    scene, first = run.scene, run.model.actuator_gainprm.copy()
    machine = scene.backend.time_machine()
    run.step(2)
    kept = scene.checkpoint()
    for k in range(4):
        run.step(6)
        if k % 2:
            gain(run.model, 20 + k)
        run.step(1)
        run.model.actuator_gainprm[:] = first
        match how:
            case "reset":
                scene.reset()
            case "edited":
                scene.data.qvel[:] *= 0.9
            case "restored":
                scene.restore(kept)
            case _:
                machine.continue_from(1)
        if k == 3:
            assert run.look(29)[1].startswith("not reproducible: physics step")
    run.step(3)
    odd = {15, 29}
    looks = {axis: run.look(axis) for axis in range(scene.counters.axis)}
    assert {axis for axis, (same, _) in looks.items() if not same} == odd
    noted = {axis for axis, (_, note) in looks.items() if note}
    assert noted == odd
    assert all(looks[axis][1].startswith("not reproducible: physics step") for axis in odd)
    axes, values = run.read("actuator_force")
    assert set(range(scene.counters.axis)) - set(axes.tolist()) == odd
    assert_true(run, dict(zip(axes.tolist(), values, strict=True)))
    known = [run.seen[axis]["actuator_force"].tobytes() for axis in run.seen]
    *ended, _newest = machine.finish()
    assert len(ended) == 4
    for left in ended:
        read = pieces_of(left.read_rows(("actuator_force",), first=0, last=-1, max_rows=100))
        assert len(read) >= 6
        assert all(values.tobytes() in known for values in read.values())


# --- what stays


def test_a_finished_run_shows_no_step_with_a_model_that_nobody_knows(run: Run) -> None:
    step_with_a_gain_that_is_taken_back(run, k=3)
    (left,) = run.scene.backend.time_machine().finish()
    read = pieces_of(left.read_rows(("actuator_force",), first=0, last=-1, max_rows=1000))
    assert set(range(10)) <= read.keys()
    assert not read.keys() & set(range(10, 14))
    assert_true(run, read)
    positions = pieces_of(left.read_rows(("qpos",), first=0, last=-1, max_rows=1000))
    assert len(positions) == 26


def test_a_finished_run_has_the_timestep_of_every_step(run: Run) -> None:
    run.step(10)
    run.model.opt.timestep = 4 * run.model.opt.timestep
    run.step(5)
    (left,) = run.scene.backend.time_machine().finish()
    assert_true(run, pieces_of(left.read_rows(("qacc",), first=0, last=-1, max_rows=1000)), "qacc")


def test_what_is_written_when_a_scene_has_ended_changes_nothing_of_it() -> None:
    model = mujoco.MjModel.from_xml_string(SENSED)
    scene = physics.create_scene("shared", model)
    scene.keep_history(True)
    run = Run(scene)
    run.step(20)
    (left,) = scene.backend.time_machine().finish()
    physics.destroy_scene(scene)
    model.actuator_gear[0, 0] = 30.0
    model.opt.gravity[2] = 0.0
    read = pieces_of(left.read_rows(("qfrc_bias",), first=0, last=-1, max_rows=1000))
    assert_true(run, read, "qfrc_bias")
    assert run.seen[3]["qfrc_bias"].any()


def test_rows_of_a_file_stay_in_doubt_and_keep_their_timestep_when_its_scene_lives_on(
    sensed: Run, tmp_path: Path
) -> None:
    recording = sensed.scene.start_recording(tmp_path / "run.mcap")
    sensed.step(6)
    sensed.model.site_pos[0, 0] = 3.0
    sensed.step(4)
    sensed.model.opt.timestep *= 4.0
    sensed.step(6)
    recording.stop()
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        scene = trajectory.scene
        machine = scene.backend.time_machine()
        scene.step()
        machine.set_history(keep=False, max_bytes=None)
        machine.set_history(keep=True, max_bytes=None)
        note = machine.look_at(7, frozenset({Topic.SENSORS})).note
        assert note.startswith("approximate: ")
        rows = machine.read_rows(0, ["qpos", "qvel"], first=0, last=15, max_rows=100)
        assert len(pieces_of(rows)) == 16


def test_a_file_says_of_which_rows_it_does_not_have_a_field(sensed: Run, tmp_path: Path) -> None:
    recording = sensed.scene.start_recording(tmp_path / "run.mcap")
    sensed.step(6)
    sensed.scene.reset()
    sensed.model.sensor_objid[0] = 1
    sensed.step(6)
    recording.stop()
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        machine = trajectory.scene.backend.time_machine()
        notes = [machine.look_at(axis, frozenset({Topic.SENSORS})).note for axis in range(11)]
    assert all("what was in sensor_objid then" in note for note in notes[6:])
    assert not any(notes[:5])


def test_whoever_else_looks_back_has_the_model_of_his_own_row(run: Run) -> None:
    run.step(6)
    gain(run.model, 3)
    run.step(6)
    one, other = Past(run.scene), Past(run.scene)
    run.scene.history.look_at_model()
    for past, axis in ((one, 2), (other, 9), (one, 3), (other, 8), (one, 9), (other, 9)):
        _, frames, note = past.frames(axis, frozenset({Topic.STATE}))
        force = frames.arrays[Topic.STATE]["actuator_force"]
        assert (force.tobytes(), note) == (run.seen[axis]["actuator_force"].tobytes(), "")


def test_a_number_of_a_run_says_of_how_many_steps_it_is(run: Run) -> None:
    step_with_a_gain_that_is_taken_back(run, k=30)
    (left,) = run.scene.backend.time_machine().finish()
    for _ in left.derive("max(actuator_force)", reduction=Reduction.MAX, name=""):
        pass
    (title,) = [name for name, _ in left.info.numbers if "actuator_force" in name]
    assert "of 26 steps: of the others the model is unknown" in title


def test_a_curve_of_a_file_has_the_timestep_of_each_row(run: Run, tmp_path: Path) -> None:
    recording = run.scene.start_recording(tmp_path / "run.mcap")
    run.step(6)
    run.model.opt.timestep *= 4.0
    run.step(6)
    recording.stop()
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        machine = trajectory.scene.backend.time_machine()
        read = pieces_of(machine.read_rows(0, ["qacc"], first=0, last=11, max_rows=100))
    assert len(read) == 12
    assert_true(run, read, "qacc")


def test_a_field_that_moves_nothing_is_in_doubt_beside_one_that_does(sensed: Run) -> None:
    sensed.step(6)
    sensed.look(2)
    sensed.model.opt.magnetic[0] = 3.0
    sensed.step(4)
    sensed.model.actuator_gear[0, 0] = 6.0
    sensed.step(4)
    machine = sensed.scene.backend.time_machine()
    assert machine.look_at(8, frozenset({Topic.SENSORS})).note.startswith("approximate: ")


def test_of_two_values_the_later_one_is_in_doubt_where_no_step_had_told_it_yet() -> None:
    two = SENSED.replace("</actuator>", '<motor joint="hinge" name="also" gear="2"/></actuator>')
    scene = physics.create_scene("two", two)
    scene.keep_history(True)
    data, model, lengths = scene.data, scene.model, {}
    for axis in range(30):
        if axis == 10:
            model.actuator_gear[0, 0] = 5.0
        if axis == 15:
            model.actuator_gear[1, 0] = 7.0  # which drives nothing from row 10 on
        scene.ctrl[:] = (1.0, 0.0 if axis >= 10 else 1.0)
        scene.step()
        lengths[axis] = data.actuator_length.copy()
    machine = scene.backend.time_machine()
    for axis in range(30):
        past = machine.look_at(axis, frozenset({Topic.STATE}))
        same = past.frames.arrays[Topic.STATE]["actuator_length"].tobytes()
        assert past.note or same == lengths[axis].tobytes(), axis
        assert not (past.note and axis < 10), axis


def test_who_goes_on_from_a_row_hears_that_the_model_is_another_one(run: Run) -> None:
    run.step(10)
    gain(run.model, 3)
    run.step(10)
    machine = run.scene.backend.time_machine()
    with pytest.raises(CommandError, match="no further"):
        next(machine.replay_from(5))
    told = machine.continue_from(5).text
    assert told.startswith("the model stays as it is now: other values then of actuator_gainprm;")
    machine.continue_from(15)
    assert "the model stays" not in machine.history().segments[-1].text


def test_a_file_says_of_steps_with_a_model_taken_back_that_they_do_not_reproduce(
    run: Run, tmp_path: Path
) -> None:
    first = run.model.actuator_gainprm.copy()
    recording = run.scene.start_recording(tmp_path / "run.mcap")
    run.step(8)
    gain(run.model, 3)
    run.step(4)
    run.model.actuator_gainprm[:] = first
    run.step(8)
    recording.stop()
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        machine = trajectory.scene.backend.time_machine()
        notes = {axis: machine.look_at(axis, frozenset({Topic.STATE})).note for axis in range(19)}
    assert all(notes[axis].startswith("not reproducible") for axis in range(8, 11))
    assert not any(notes[axis] for axis in (*range(7), *range(13, 19)))
