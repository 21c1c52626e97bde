"""The past of a scene whose script writes into its model: looked at with the model of then."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from noted_run import DERIVED, WRITES, Run, gain, gravity, mass
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import EditKind, SegmentKind, WhatIf
from stroboscope.debugger_protocol.topics import Topic

Make = Callable[..., physics.Scene]

SMALL = 1 << 20
SENSED = """
<mujoco>
  <worldbody>
    <camera name="seer" pos="0 -2 0" xyaxes="1 0 0 0 0 1" resolution="100 100"/>
    <body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <site name="tip" pos=".3 0 0"/></body>
  </worldbody>
  <sensor>
    <framepos objtype="site" objname="tip"/>
    <camprojection site="tip" camera="seer"/>
  </sensor>
</mujoco>
"""
DOUBTS = ("not reproducible: ", "approximate: ")


@pytest.mark.parametrize("field", [name for name in WRITES if name != "solver"])
def test_what_follows_from_a_row_is_computed_with_the_model_of_then(run: Run, field: str) -> None:
    WRITES[field](run.model, 7)  # before the first step
    run.step(30)
    WRITES[field](run.model, 1)
    run.step(25)
    run.check([10, 30])  # whoever looks back has the model looked at
    WRITES[field](run.model, 2)
    run.step(1)
    now = (
        run.model.actuator_gainprm.copy(),
        run.model.opt.gravity.copy(),
        run.model.body_mass.copy(),
    )
    run.check([0, 10, 28, 29, 30, 31, 54, 55, *range(0, 56, 9)])
    model = run.model
    after = model.actuator_gainprm, model.opt.gravity, model.body_mass
    assert [each.tobytes() for each in after] == [each.tobytes() for each in now]


def test_curves_of_the_past_are_computed_with_the_model_of_then(run: Run) -> None:
    for k in range(4):
        run.step(20)
        run.read("qpos")
        gain(run.model, k)
    axes, values = run.read("actuator_force")
    assert axes.tolist() == list(range(80))
    then = np.array([run.seen[axis]["actuator_force"] for axis in range(80)])
    assert values.tobytes() == then.tobytes()


def test_rows_that_were_thinned_out_are_stepped_to_with_the_model_of_then(run: Run) -> None:
    run.scene.keep_history(max_bytes=4 * SMALL)
    run.step(200)
    gain(run.model, 3)
    run.step(1400)
    mass(run.model, 1)
    run.step(1400)
    ring = run.scene.history.ring
    assert ring.first == 0 < ring.dense
    run.check([*range(150, 250, 7), 199, 200, 201, 1599, 1600, 1601], {"", "verified"})
    found = [(s.begin, s.kind) for s in run.scene.history.segments.told()]
    kinds = [(0, SegmentKind.BEGIN), (200, SegmentKind.EDIT), (1600, SegmentKind.EDIT)]
    assert found == kinds


@pytest.mark.parametrize("is_before", [True, False])
def test_a_model_that_is_randomised_at_each_reset_is_the_one_of_its_episode(
    run: Run, is_before: bool
) -> None:
    for episode in range(6):
        if is_before:
            mass(run.model, episode)
        run.scene.reset()
        if not is_before:
            mass(run.model, episode)
        run.step(40)
    run.check([0, *range(37, 240, 20), 39, 40, 41, 79, 80, 81, 199, 200])
    told = run.scene.history.segments.told()
    assert [s.kind for s in told] == [SegmentKind.BEGIN, *[SegmentKind.EPISODE] * 5], told


def test_of_a_model_that_changes_all_the_time_nothing_wrong_is_shown_without_a_word(
    run: Run,
) -> None:
    for k in range(330):
        gain(run.model, k % 50)
        run.step(1)
    looks = [run.look(axis) for axis in range(330)]
    wrong = [note for same, note in looks if not same]
    assert wrong
    assert all(note.startswith(DOUBTS) for note in wrong)
    right = sum(same for same, _ in looks)
    assert right, "the last row's model is known"
    axes, values = run.read("actuator_force")
    assert len(axes) < 330
    then = np.array([run.seen[axis]["actuator_force"] for axis in axes.tolist()])
    assert values.tobytes() == then.tobytes()


def test_of_a_field_that_no_row_can_carry_it_is_said_that_the_step_leads_elsewhere(
    run: Run,
) -> None:
    run.step(150)
    run.model.geom_condim[:] = 1
    run.step(150)
    looks = [run.look(axis) for axis in range(300)]
    wrong = [note for same, note in looks if not same]
    assert wrong
    assert all(note.startswith(DOUBTS) for note in wrong)
    with pytest.raises(CommandError, match=r"qacc can't be read from the past: "):
        run.read("qacc")


def test_fields_of_a_long_past_take_no_more_than_their_memory_and_what_is_lost_is_said(
    make_scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stroboscope.engine.history.segments.MOST_NUMBERS", 1000)
    scene = make_scene("humanoid")
    scene.keep_history(True)
    run = Run(scene)
    for k in range(12):
        scene.reset()
        gain(run.model, k)  # 210 numbers
        run.step(10)
    looks = [run.look(axis) for axis in range(120)]
    notes = [note for _, note in looks]
    lost = sum("what the model's fields were then is not remembered" in note for note in notes)
    assert 0 < lost < 110
    assert notes[lost:] == [""] * (120 - lost)
    assert all(same for same, _ in looks[lost:])


def test_edits_in_the_debugger_and_of_the_script_are_each_told_apart(run: Run) -> None:
    backend, model = run.scene.link.backend, run.model
    run.step(20)
    gravity(model, 0)
    run.step(20)
    backend.edit_option("gravity", (0.0, 0.0, -1.0))
    run.step(20)
    gravity(model, 1)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
    run.step(20)
    backend.edit_option("disable.spring", (1.0,))
    run.step(20)
    gain(model, 4)
    run.step(20)
    backend.edit_option("disable.spring", (0.0,))
    run.step(20)
    run.check(range(0, 140, 3))


@pytest.mark.parametrize("seed", few(range(8), 2))
def test_whatever_a_script_writes_when_every_row_is_seen_as_it_was(
    make_scene: Make, seed: int
) -> None:
    random = np.random.default_rng(seed)
    scene = make_scene("humanoid")
    scene.keep_history(True)
    run = Run(scene)
    machine = scene.backend.time_machine()
    for k in range(60):
        match random.integers(8):
            case 0 | 1 | 2:
                WRITES[list(WRITES)[random.integers(len(WRITES))]](run.model, k)
            case 3:
                scene.reset()
            case 4:
                scene.link.backend.edit_option("gravity", (0.0, 0.0, -float(k)))
            case 5 if scene.counters.axis:
                run.look(int(random.integers(scene.counters.axis)))
            case 6 if scene.counters.axis:
                machine.continue_from(int(random.integers(scene.counters.axis)))
            case _:
                pass
        run.step(int(random.integers(1, 25)))
    live = scene.counters.axis
    doubtful = 0
    for axis in random.permutation(live)[:200].tolist():
        same, note = run.look(axis)
        assert same or note.startswith(DOUBTS), (axis, note)
        doubtful += bool(note)
    assert doubtful <= 120  # where several writes fell between two looks, or no step tells


def test_a_what_if_begins_with_the_model_of_then(run: Run) -> None:
    run.step(30)
    gain(run.model, 3)
    run.step(30)
    machine = run.scene.backend.time_machine()
    for axis in (10, 40):
        for _ in machine.resimulate(axis, steps=0, edits=(), name="again"):
            pass
        made = machine.rollouts()[-1]
        assert (made.reproducible, made.steps) == ("", 20), made
    edit = WhatIf(kind=EditKind.OPTION, name="gravity", index=2, values=(-1.0,))
    for _ in machine.resimulate(10, steps=0, edits=(edit,), name="lighter"):
        pass
    rollout = run.scene.rollouts.get(machine.rollouts()[-1].rollout_id)
    assert rollout.model.actuator_gainprm[0, 0] != run.model.actuator_gainprm[0, 0]
    assert rollout.model.opt.gravity[2] == -1.0


def test_a_history_that_is_saved_has_the_model_of_every_frame(run: Run, tmp_path: Path) -> None:
    run.step(300)
    gain(run.model, 3)
    run.step(150)
    run.scene.reset()
    mass(run.model, 2)
    run.step(50)
    path = run.scene.save_history(tmp_path / "past")
    with physics.load_trajectory(path) as trajectory:
        found = trajectory.verify()
        assert (found.exit_code, found.differing) == (0, 0), str(found)
        for frame in (0, 299, 300, 449, 499):
            trajectory.seek(frame)
            again = trajectory.scene
            again.step()
            then = run.seen[frame]["actuator_force"]
            assert again.data.actuator_force.tobytes() == then.tobytes(), frame


def test_a_scene_that_goes_on_from_a_file_remembers_the_model_that_it_had(
    run: Run, tmp_path: Path
) -> None:
    with run.scene.start_recording(tmp_path / "run") as made:
        run.step(30)
        gain(run.model, 3)
        run.step(30)
    with physics.load_trajectory(made.path) as trajectory:
        trajectory.seek(-1)
        again = Run(trajectory.scene)
        again.scene.keep_history(True)
        again.step(20)
        gain(again.model, 9)
        again.step(20)
        again.seen |= run.seen
        again.check([0, 29, 30, 59, 60, 79, 80, 99])


@pytest.mark.parametrize("field", ["site_pos", "cam_pos"])
def test_of_what_no_step_tells_it_is_said_that_nobody_knows_where_it_was_written(
    field: str,
) -> None:
    scene = physics.create_scene("Seen", SENSED)
    scene.keep_history(True)
    seen = []

    def step(count: int) -> None:
        for _ in range(count):
            scene.step()
            seen.append(scene.data.sensordata.copy())

    def look(axis: int) -> tuple[bool, str]:
        past = machine.look_at(axis, frozenset({Topic.SENSORS}))
        (values,) = [v for v in past.frames.arrays[Topic.SENSORS].values() if v.size == 5]
        return values.tobytes() == seen[axis].tobytes(), past.note

    machine = scene.backend.time_machine()
    step(30)
    getattr(scene.model, field)[0, 0] += 0.05
    step(30)
    looks = [look(axis) for axis in range(60)]
    assert all(same for same, _ in looks[:30])
    assert not any(same for same, _ in looks[30:])
    assert {note[:12] for _, note in looks} == {"approximate:"}
    step(10)
    assert look(65) == (True, "")


def test_looking_places_what_was_written_before_it_goes_to_the_row(run: Run) -> None:
    for k in range(60):
        if k == 30:
            gain(run.model, 3)
        run.scene.data.qvel[0] = 0.01 * k  # no row follows from the one before
        run.step(1)
    machine = run.scene.backend.time_machine()
    qpos = {axis: row for axis, row in zip(*run.read("qpos"), strict=True)}
    for axis in (10, 29, 30, 45):
        past = machine.look_at(axis, DERIVED)
        assert past.frames.arrays[Topic.STATE]["qpos"].tobytes() == qpos[axis].tobytes()
        same, note = run.look(axis)
        assert same or note.startswith(DOUBTS)


def test_what_is_computed_of_a_row_has_the_timestep_of_then(run: Run) -> None:
    run.model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    run.step(20)
    run.model.opt.timestep = 0.001
    run.step(20)
    run.check(range(0, 40, 3))
    axes, values = run.read("qacc")
    assert values.tobytes() == np.array([run.seen[a]["qacc"] for a in axes.tolist()]).tobytes()


def test_what_is_written_between_the_start_of_a_recording_and_its_first_step_is_in_it(
    run: Run, tmp_path: Path
) -> None:
    with run.scene.start_recording(tmp_path / "run") as made:
        gain(run.model, 3)
        run.step(10)
    with physics.load_trajectory(made.path) as trajectory:
        assert trajectory.verify().exit_code == 0, str(trajectory.verify())


@pytest.mark.parametrize("what", ["reset", "branch", "edit"])
def test_a_look_before_the_state_is_replaced_takes_nothing_from_a_recording(
    run: Run, tmp_path: Path, what: str
) -> None:
    with run.scene.start_recording(tmp_path / "run") as made:
        run.step(30)
        gain(run.model, 3)
        run.step(25)
        run.check([10])
        if what == "reset":
            run.scene.reset()
        elif what == "branch":
            run.scene.backend.time_machine().continue_from(40)
        else:
            run.scene.link.backend.edit_option("gravity", (0.0, 0.0, -5.0))
        run.step(20)
    with physics.load_trajectory(made.path) as trajectory:
        assert trajectory.verify().exit_code == 0, str(trajectory.verify())


def test_a_history_that_is_saved_after_an_edited_flag_has_it_only_from_then_on(
    run: Run, tmp_path: Path
) -> None:
    run.step(20)
    run.scene.link.backend.edit_option("disable.gravity", (1.0,))
    run.step(20)
    with physics.load_trajectory(run.scene.save_history(tmp_path / "past")) as trajectory:
        assert trajectory.verify().exit_code == 0, str(trajectory.verify())


@pytest.mark.parametrize("is_edited_first", [True, False])
def test_a_saved_history_tells_edits_in_the_debugger_and_of_the_script_apart(
    run: Run, tmp_path: Path, is_edited_first: bool
) -> None:
    run.step(20)
    for is_edited in (is_edited_first, not is_edited_first):
        if is_edited:
            run.scene.link.backend.edit_option("gravity", (0.0, 0.0, -2.0))
        else:
            gravity(run.model, 0)
        run.step(20)
    with physics.load_trajectory(run.scene.save_history(tmp_path / "past")) as trajectory:
        assert trajectory.verify().exit_code == 0, str(trajectory.verify())


def test_a_file_that_is_closed_takes_nothing_of_what_its_scene_records(
    run: Run, tmp_path: Path
) -> None:
    with run.scene.start_recording(tmp_path / "first") as made:
        run.step(10)
    trajectory = physics.load_trajectory(made.path)
    trajectory.seek(-1)
    scene = trajectory.scene
    recording = scene.start_recording(tmp_path / "second")
    for _ in range(3):
        scene.step()
    trajectory.close()
    for _ in range(3):
        scene.step()
    recording.stop()
    assert recording.frames == 7
