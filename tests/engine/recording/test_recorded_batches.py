"""Environments that are recorded, against scenes of one world that do the same: bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.trajectory.verify import Outcome

pytest.importorskip("mujoco.batch")

Read = Callable[..., Any]
# Contacts, and a servo that is late: its samples are part of the state.
MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body name="arm" pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2" stiffness="1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><position joint="elbow" kp="30" kv="1" delay=".01" nsample="6"/></actuator>
</mujoco>
"""
COUNT = 5
WORDS = ("step", "step", "step", "reset", "fork", "keep", "restore", "nan", "write", "field")
STRETCHES = ("begin", "episode", "restore", "edit")


def run_commands(count: int, seed: int, folder: Path, *, mode: str) -> set[int]:
    """Do the same to a recorded batch and to recorded scenes of one world.

    Returns the environments whose model was written into: nobody notes that in one world.
    """
    scene = physics.create_scene("many", MODEL, n_envs=COUNT)
    alone = [physics.create_scene(f"alone {k}", MODEL) for k in range(COUNT)]
    chance = np.random.default_rng(seed)
    kept: list[physics.BatchCheckpoint] = []
    written: set[int] = set()
    scene.start_recording(physics.TrajectoryFile(folder / "many", mode=mode))
    for each in alone:
        each.start_recording(physics.TrajectoryFile(folder / each.name))
    for _ in range(count):
        some = np.flatnonzero(chance.random(COUNT) < 0.4).tolist()
        one = int(chance.integers(COUNT))
        match str(chance.choice(WORDS)):
            case "step":
                control, nstep = chance.uniform(-1, 1, COUNT), int(chance.integers(1, 4))
                scene.ctrl[:, 0] = control
                scene.step(nstep=nstep)
                for each, value in zip(alone, control, strict=True):
                    each.ctrl[0] = value
                    each.step(nstep=nstep)
            case "nan":  # MuJoCo resets that one, silently
                scene.bind("qfrc_applied")[one, 2] = np.nan
                scene.step()
                scene.bind("qfrc_applied")[one] = 0.0
                alone[one].data.qfrc_applied[2] = np.nan
                for each in alone:
                    each.step()
                alone[one].data.qfrc_applied[:] = 0.0
                for each in (scene, *alone):  # what goes on and on is told once
                    each.step()
            case "reset":
                scene.reset(envs_idx=some)
                for env in some:
                    alone[env].reset()
            case "fork":
                scene.fork(one, some)
                for env in set(some) - {one}:
                    alone[env].restore(alone[one].checkpoint())
                    alone[env].model.dof_damping[:] = alone[one].model.dof_damping
                    written |= {env} if one in written else set()
            case "keep" if some:
                kept.append(scene.checkpoint(envs_idx=some))
                del kept[:-5]
            case "restore" if kept:
                checkpoint = kept[int(chance.integers(len(kept)))]
                scene.restore(checkpoint)
                for env in checkpoint.envs.tolist():
                    alone[env].restore(checkpoint.env(env))
            case "write":
                scene.qvel[one, 1] += 0.25
                alone[one].data.qvel[1] += 0.25
            case "field":
                damping = chance.uniform(0.1, 0.3)
                scene.expand("dof_damping")[one] = damping
                alone[one].model.dof_damping[:] = damping
                written.add(one)
    for each in (scene, *alone):
        each.stop_recording()
    return written


def stretches_of(trajectory: physics.Trajectory) -> list[tuple[Any, ...]]:
    """What happened, by where: without what was changed in a model, and texts."""
    return [
        (e.kind, e.axis, e.time, e.episode, e.physics_step, e.step_count, e.total_steps)
        for e in trajectory.events
        if e.kind in STRETCHES and "of the model" not in e.text
    ]


@pytest.mark.parametrize(
    ("seed", "mode"),
    [(0, "exact"), (1, "minimal"), pytest.param(2, "exact", marks=pytest.mark.slow)],
)
def test_random_commands_are_recorded_as_those_to_scenes_of_one_world(
    tmp_path: Path, seed: int, mode: str
) -> None:
    compare_after_commands(200, seed, tmp_path, mode=mode)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_thousands_of_random_commands_are_recorded_so(tmp_path: Path, seed: int, mode: str) -> None:
    compare_after_commands(1_000, seed, tmp_path, mode=mode)


def compare_after_commands(count: int, seed: int, tmp_path: Path, *, mode: str) -> None:
    written = run_commands(count, seed, tmp_path, mode=mode)
    for env in range(COUNT):
        with (
            physics.load_trajectory(tmp_path / "many.mcap", scene=f"many[{env}]") as mine,
            physics.load_trajectory(tmp_path / f"alone {env}.mcap") as theirs,
        ):
            assert len(mine) == len(theirs)
            for frame, other in zip(mine, theirs, strict=True):
                assert frame.row.tobytes() == other.row.tobytes(), (env, frame.index)
                assert frame.axis == other.axis
                assert frame.episode == other.episode, (env, frame.index)
                assert frame.physics_step == other.physics_step
                assert frame.step_count == other.step_count
                assert mine.time(frame.index) == frame.time == other.time
            if env not in written:
                assert stretches_of(mine) == stretches_of(theirs)
            stops = [[e.axis for e in t.events if e.kind == "stop"] for t in (mine, theirs)]
            assert stops[0] == stops[1]
            found = mine.verify(jobs=2)
            assert found.outcome in (Outcome.SAME, Outcome.CHANGED), (env, str(found))


@pytest.mark.parametrize("env", [0, 3])
def test_a_recorded_environment_with_own_model_fields_goes_on_from_any_frame_bit_for_bit(
    tmp_path: Path, env: int
) -> None:
    scene = physics.create_scene("many", MODEL, n_envs=COUNT)
    scene.expand("body_mass")[3] *= 2.0
    scene.set_const()
    with scene.start_recording(tmp_path / "run"):
        for k in range(60):
            if k == 30:
                scene.reset(envs_idx=3)
                scene.expand("opt.gravity")[3] = (0.0, 0.0, -1.62)
            scene.step()
        end = scene.environments.state[env].tobytes()
    with physics.load_trajectory(tmp_path / "run.mcap", scene=f"many[{env}]") as trajectory:
        assert trajectory.verify().exit_code == 0
        for begin in (10, 30, 45):
            frame = trajectory.seek(begin)
            twin = trajectory.scene
            twin.step()
            assert trajectory.frame(begin + 1).qpos.tobytes() == twin.data.qpos.tobytes()
            assert twin.model.body_mass[1] == scene.get_model(env).body_mass[1]
            gravity = -1.62 if (env, begin >= 30) == (3, True) else -9.81
            assert twin.model.opt.gravity[2] == gravity, frame.index
        assert trajectory.frame(-1).row.tobytes() == end


def test_a_script_that_sets_every_state_is_one_edit(read: Read, tmp_path: Path) -> None:
    scene = physics.create_scene("many", MODEL, n_envs=2)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step()
        for _ in range(50):
            scene.qpos[1, 0] += 0.01
            scene.step()
        scene.step()
        scene.qpos[1, 0] += 0.01
    recorded = read(recording.path, 1)
    assert [(e.kind, e.axis) for e in recorded.events] == [("begin", 0), ("edit", 1), ("edit", 52)]
    assert recorded.flagged == [0, *range(1, 51), 52]
    assert read(recording.path, 0).kinds() == ["begin"]
    assert physics.load_trajectory(recording.path, scene=1).verify().changes == (*range(1, 51), 52)


def test_what_the_script_logs_has_the_time_of_the_environment_that_is_looked_at(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("many", MODEL, n_envs=3)
    with scene.start_recording(tmp_path / "run"):
        times = []
        for k in range(5):
            scene.log("k", k)
            times.append(float(scene.time[0]))
            scene.step()
        scene.log("note", "the end")
        end = float(scene.time[0])
    with physics.load_trajectory(tmp_path / "run.mcap", scene="many[2]") as last:
        assert last.signals["k"].times.tolist() == times
        assert "k" in last.scene.history.recorded_signals
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        assert trajectory.signals["k"].times.tolist() == times
        assert trajectory.events[-1].time == end


def test_named_checkpoints_and_what_nobody_stops_for_are_noted(read: Read, tmp_path: Path) -> None:
    scene = physics.create_scene("many", MODEL, n_envs=3)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step()
        scene.checkpoint("good", note="so far")
        scene.stops.switch_off([StopReason.BAD_INPUT])
        scene.ctrl[2] = np.nan
        scene.step()
        scene.step()
    saved = read(recording.path, 0).events[-1]
    assert (saved.kind, saved.axis, saved.text) == ("checkpoint", 1, "good")
    warned = read(recording.path, 2).events[1:]
    assert [(e.kind, e.axis, e.data["env"]) for e in warned] == [("warning", 1, 2)]
    assert warned[0].text.startswith("environment 2: ")
    assert read(recording.path, 1).kinds() == ["begin"]


SLEEPING = """
<mujoco>
  <option><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .15 .2"/></body>
    <body pos="1 0 .5"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("keep_last", [None, 0.7])
def test_what_sleeps_in_recorded_environments_is_known(
    tmp_path: Path, keep_last: float | None
) -> None:
    scene = physics.create_scene("many", SLEEPING, n_envs=3)
    scene.qpos[1, 9] = 1.5
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", keep_last=keep_last))
    for k in range(900):
        if k == 500:
            scene.reset(envs_idx=1)
        scene.step()
    path = scene.stop_recording()
    for env in range(3):
        with physics.load_trajectory(path, scene=env) as trajectory:
            found = trajectory.verify(jobs=2)
            assert found.outcome is Outcome.SAME
            was_reset = env == 1 and trajectory.axis(0) < 500
            assert found.checked == len(trajectory) - 1 - was_reset
            assert trajectory.time(-1) - trajectory.time(0) >= (keep_last or 0.0) * 0.999
    scene.keep_history()
    for _ in range(5):
        scene.step()
    with physics.load_trajectory(scene.save_history(tmp_path / "past")) as trajectory:
        assert "slept" in trajectory.exactness
        found = trajectory.verify(jobs=1)
        assert (found.outcome, found.checked) == (Outcome.UNKNOWN, 0)
        assert "which bodies sleep" in found.note


def test_options_that_are_edited_in_the_debugger_are_those_of_the_environment_that_is_looked_at(
    read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("many", MODEL, n_envs=3)
    scene.select_environment(1)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step()
        scene.backend.edit_option("gravity", (0.0, 0.0, -2.0))
        scene.step()
        scene.select_environment(2)
        scene.backend.edit_option("timestep", (0.001,))
        scene.step()
        scene.backend.edit_option("iterations", (7.0,))
        scene.step()
    happened = [[(e.kind, e.axis) for e in read(recording.path, env).events] for env in range(3)]
    assert happened[0] == [("begin", 0)]
    assert sorted(happened[1]) == [("begin", 0), ("edit", 1), ("option", 1)]
    assert sorted(happened[2]) == [("begin", 0), ("edit", 3), ("option", 2), ("option", 3)]
    for env in range(3):
        with physics.load_trajectory(recording.path, scene=env) as trajectory:
            assert trajectory.verify().exit_code == 0
            trajectory.seek(3)
            option = trajectory.scene.model.opt
            assert option.gravity[2] == (-2.0 if env == 1 else -9.81)
            assert option.timestep == (0.001 if env == 2 else 0.002)
            assert option.iterations == (7 if env == 2 else 100)
