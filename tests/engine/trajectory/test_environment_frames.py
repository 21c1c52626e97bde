"""Any frame of a recording of many environments, put back into all of them at once."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.trajectory.lookup import NoSuchFrameError

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <option timestep=".004"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .3"><freejoint/><geom type="box" size=".1 .15 .2"/></body>
    <body pos="1 0 1"><joint name="swing" axis="0 1 0"/><geom size=".1" pos="0 0 -.3"/></body>
  </worldbody>
  <actuator><motor joint="swing"/></actuator>
</mujoco>
"""
COUNT, STEPS, RESET_AT, WRITTEN_AT = 4, 40, 25, 12
MASSES = {12: 3.0, 30: 0.5}
"""What the box of environment 3 weighs from a step on, times what it did."""


class Loop:
    """One environment, as a plain loop of ``mj_step`` takes it."""

    def __init__(self, env: int) -> None:
        self.env = env
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.data = mujoco.MjData(self.model)
        self.data.qvel[0] = env
        self.mass = float(self.model.body_mass[1])

    def row(self) -> bytes:
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION)
        state = np.empty(size)
        mujoco.mj_getState(self.model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        return state.tobytes()

    def prepare(self, step: int, *, has_own: bool) -> None:
        if step == RESET_AT and self.env == 1:
            mujoco.mj_resetData(self.model, self.data)
        if has_own and self.env == 3 and step in MASSES:
            self.model.body_mass[1] = self.mass * MASSES[step]
        self.data.ctrl[0] = np.sin(0.1 * step) * self.env

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)


def rows_of(scene: Any) -> list[bytes]:
    return [row.tobytes() for row in scene.environments.state]


def loops(*, has_own: bool) -> list[list[bytes]]:
    """The rows of plain loops: of each step, those with which it begins, and the last ones."""
    worlds, rows = [Loop(env) for env in range(COUNT)], []
    for step in range(STEPS):
        for world in worlds:
            world.prepare(step, has_own=has_own)
        rows.append([world.row() for world in worlds])
        for world in worlds:
            world.step()
    return [*rows, [world.row() for world in worlds]]


def recorded(target: Any, *, has_own: bool = False) -> Path:
    scene = physics.create_scene("Many", MODEL, n_envs=COUNT)
    scene.qvel[:, 0] = np.arange(COUNT)
    masses = scene.expand("body_mass") if has_own else None
    with scene.start_recording(target) as recording:
        for step in range(STEPS):
            prepare(scene, step, masses)
            scene.step()
    scene.destroy()
    path: Path = recording.path
    return path


def prepare(scene: Any, step: int, masses: Any) -> None:
    if step == RESET_AT:
        scene.reset(envs_idx=1)
    if masses is not None and step in MASSES:
        own = scene.environments.model.body_mass[1]
        masses[3, 1] = own * MASSES[step]
    scene.ctrl[:, 0] = np.sin(0.1 * step) * np.arange(COUNT)


def go_on(scene: Any, frame: int, masses: Any = None) -> None:
    """Take the steps from a frame on as the script has: its inputs stand there."""
    for step in range(frame, STEPS):
        if step > frame:
            prepare(scene, step, masses)
        scene.step()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("frame", [0, 7, RESET_AT, -3, -1])
def test_a_batch_stands_at_any_frame_as_plain_loops_did_and_goes_on_so(
    run: Path, frame: int
) -> None:
    expected = loops(has_own=False)
    number = frame % (STEPS + 1)
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    assert scene.load_checkpoint(run, frame=frame).is_exact
    assert rows_of(scene) == expected[number]
    steps = [number] * COUNT
    steps[1] -= RESET_AT if number >= RESET_AT else 0
    assert scene.step_count.tolist() == steps
    go_on(scene, number)
    assert rows_of(scene)[2] == expected[-1][2]
    assert rows_of(scene) == expected[-1]


def test_a_scene_is_built_with_the_model_of_each_as_it_was_at_the_frame(tmp_path: Path) -> None:
    run = recorded(tmp_path / "own", has_own=True)
    expected = loops(has_own=True)
    for frame in (5, 12, 29):
        scene: Any = physics.load_checkpoint(run, frame=frame)
        assert rows_of(scene) == expected[frame]
        for step in range(frame, min(frame + 6, STEPS)):
            if step > frame:
                prepare(scene, step, scene.expand("body_mass"))
            scene.step()
        assert rows_of(scene)[3] == rows_after(frame, 6, expected)[3], f"from {frame} on"
        scene.destroy()


def rows_after(frame: int, count: int, expected: list[list[bytes]]) -> list[bytes]:
    """Rows with the inputs of the step before, as a scene has them that has just stepped."""
    last = min(frame + count, STEPS)
    worlds = [Loop(env) for env in range(COUNT)]
    for step in range(last):
        for world in worlds:
            world.prepare(step, has_own=True)
            world.step()
    return [world.row() for world in worlds]


@pytest.mark.parametrize(
    "how", [{"mode": "minimal"}, {"every": 5}, {"hz": 50}], ids=["minimal", "every", "hz"]
)
def test_recordings_of_every_kind_lead_back_to_what_their_frames_were(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    run = recorded(physics.TrajectoryFile(tmp_path / "run", **how))
    expected = loops(has_own=False)
    with physics.load_trajectory(run) as trajectory:
        frames = {number: trajectory.axis(number) for number in (0, 3, len(trajectory) - 2)}
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    for number, axis in frames.items():
        assert scene.load_checkpoint(run, frame=number).is_exact
        assert rows_of(scene) == expected[axis], f"frame {number}, step {axis}"
    assert len(current_runtime().scenes) == 1, "what was built to step is gone"


def test_some_environments_go_back_to_a_frame_and_the_others_stay(run: Path) -> None:
    expected = loops(has_own=False)
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    before = rows_of(scene)
    scene.load_checkpoint(run, frame=9, envs_idx=[3, 1])
    there = rows_of(scene)
    assert [there[3], there[1]] == [expected[9][3], expected[9][1]]
    assert [there[0], there[2]] == [before[0], before[2]]


def test_every_environment_has_a_time_of_its_own_in_a_frame(run: Path) -> None:
    expected = loops(has_own=False)
    with physics.load_trajectory(run) as trajectory:
        for frame in (0, RESET_AT - 1, RESET_AT + 2, -1):
            times = [np.frombuffer(row)[0] for row in expected[frame]]
            assert trajectory.times(frame).tolist() == times
        assert trajectory.times(-1)[1] < trajectory.times(-1)[0], "it was reset"


def test_a_frame_that_no_environment_has_is_refused_and_nothing_has_changed(run: Path) -> None:
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    before = rows_of(scene)
    for frame in (STEPS + 1, -STEPS - 2):
        with pytest.raises(NoSuchFrameError, match=rf"no frame {frame}: run.mcap has 41"):
            scene.load_checkpoint(run, frame=frame)
        with pytest.raises(NoSuchFrameError, match=f"no frame {frame}"):
            physics.load_checkpoint(run, frame=frame)
    with pytest.raises(TypeError, match="frame must be a whole number"):
        scene.load_checkpoint(run, frame=1.5)  # type: ignore[arg-type]
    assert rows_of(scene) == before
    assert len(current_runtime().scenes) == 1, "what was built is gone"


def test_of_a_file_that_was_cut_it_is_said_which_environments_lack_a_frame(tmp_path: Path) -> None:
    run = recorded(physics.TrajectoryFile(tmp_path / "run", chunk_size=8))
    expected, content, refused = loops(has_own=False), run.read_bytes(), set()
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    for length in range(len(content) * 2 // 5, len(content), len(content) // 40):
        run.write_bytes(content[:length])
        with physics.load_trajectory(run) as trajectory:
            each = list(trajectory.others().values())
            ends = {one.name: one.axes[1] for one in each}
        if len(each) < COUNT:
            continue
        last = min(ends.values())
        scene.load_checkpoint(run)
        assert rows_of(scene) == expected[last], "one instant, that all have"
        if last < max(ends.values()):
            with pytest.raises(NoSuchFrameError, match=r"is not there of .*Many\[3\]") as caught:
                scene.load_checkpoint(run, frame=last + 1)
            refused.add(str(caught.value))
            assert rows_of(scene) == expected[last]
            longest = max(each, key=len).record.env
            scene.load_checkpoint(run, frame=last + 1, envs_idx=longest)
            assert rows_of(scene)[longest] == expected[last + 1][longest]
    assert refused


def test_of_a_lost_block_it_is_said_whose_frame_is_lost(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    expected = loops(has_own=False)
    scene = physics.create_scene("Other", MODEL, n_envs=COUNT)
    content, names = bytearray(run.read_bytes()), set()
    for at in range(len(content) // 4, len(content), len(content) // 60):
        content[at] ^= 0xFF
        run.write_bytes(content)
        content[at] ^= 0xFF
        before = rows_of(scene)
        try:
            scene.load_checkpoint(run, frame=9)
        except FileDamagedError as error:
            names.update(name for name in ("Many[0]", "Many[2]") if repr(name) in str(error))
            assert rows_of(scene) == before
        except physics.EngineError:
            assert rows_of(scene) == before
        else:
            assert rows_of(scene) == expected[9]
    assert names


def test_one_world_goes_to_any_frame_of_its_recording_and_goes_on_so(tmp_path: Path) -> None:
    scene = physics.create_scene("One", MODEL)
    rows, damping = [], float(scene.model.dof_damping[6])
    with scene.start_recording(tmp_path / "run") as recording:
        for step in range(20):
            if step == 8:
                scene.model.dof_damping[6] = damping + 0.3
            scene.ctrl[0] = np.sin(step)
            rows.append(row_of(scene))
            scene.step()
    end = row_of(scene)
    for frame in (-1, 3, 12):
        exactness = scene.load_checkpoint(recording.path, frame=frame)
        assert row_of(scene) == [*rows, end][frame]
        then = damping if frame == 3 else damping + 0.3
        assert exactness.is_exact == (scene.model.dof_damping[6] == then), exactness.reason
        assert scene.load_checkpoint(recording.path, frame=frame, with_model=True).is_exact
        assert scene.model.dof_damping[6] == then
        twin = physics.load_checkpoint(recording.path, frame=frame)
        assert row_of(twin) == row_of(scene)
        scene.step()
        twin.step()
        assert row_of(twin) == row_of(scene)
        twin.destroy()
    before = row_of(scene)
    with pytest.raises(NoSuchFrameError, match="there is no frame 99"):
        scene.load_checkpoint(recording.path, frame=99)
    assert row_of(scene) == before


def row_of(scene: Any) -> bytes:
    row: bytes = scene.world.codec.read_row()[0].tobytes()
    return row


def test_a_frame_whose_model_the_file_does_not_say_goes_on_only_approximately(
    tmp_path: Path,
) -> None:
    """Values that no row carries, written on the way; frames before that stay exact."""
    scene = physics.create_scene("crowd", MODEL, n_envs=2)
    scene.keep_history()
    for _ in range(10):
        scene.step()
    scene.expand("geom_condim")[1] = 1
    for _ in range(10):
        scene.step()
    path = scene.save_history(tmp_path / "past")
    other = physics.create_scene("other", MODEL, n_envs=2)
    doubtful = other.load_checkpoint(path, frame=15)
    assert doubtful.reason == "environment 1: what was in geom_condim then is not in the file"
    assert other.load_checkpoint(path, frame=15, envs_idx=0).is_exact
    assert other.load_checkpoint(path, frame=5).is_exact


def test_a_frame_stepped_with_values_that_nobody_has_seen_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("box", MODEL)
    recording = scene.start_recording(tmp_path / "run")
    scene.data.qvel[-1] = 1.0
    for step in range(30):
        if step in (10, 20):
            scene.model.dof_damping[:] = step
        scene.step()
    recording.stop()
    other = physics.create_scene("other", MODEL)
    found = {frame: other.load_checkpoint(recording.path, frame=frame) for frame in (5, 15)}
    assert found[5].is_exact
    assert "values of the model that nobody has seen" in found[15].reason
    assert other.load_checkpoint(recording.path, frame=25, with_model=True).is_exact
    physics.load_checkpoint(recording.path, frame=25)
    assert not caplog.records
    physics.load_checkpoint(recording.path, frame=15)
    assert "goes on only approximately: not reproducible: the rows 10 to 19" in caplog.text


def test_a_frame_of_some_steps_only_says_that_none_of_them_tells_when_the_model_was_written(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("box", MODEL)
    scene.data.qvel[-1] = 1.0
    recording = scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=2))
    for step in range(20):
        if step == 5:
            scene.model.dof_damping[:] = 3.0
        scene.step()
    recording.stop()
    other = physics.create_scene("other", MODEL)
    found = other.load_checkpoint(recording.path, frame=4, with_model=True)
    assert "none of them tells which" in found.reason
    assert other.load_checkpoint(recording.path, with_model=True).is_exact


@pytest.mark.parametrize("timesteps", [(0.002, 0.002, 0.002), (0.002, 0.002, 0.001)])
def test_timesteps_that_environments_had_of_their_own_are_theirs_also_where_all_are_alike(
    timesteps: tuple[float, ...], tmp_path: Path
) -> None:
    scene = physics.create_scene("crowd", MODEL, n_envs=3)
    scene.expand("opt.timestep").reshape(-1)[:] = timesteps
    recording = scene.start_recording(tmp_path / "run")
    for _ in range(10):
        scene.step()
    recording.stop()
    scene.step()
    loaded = physics.load_checkpoint(recording.path)
    running = physics.create_scene("other", MODEL, n_envs=3)
    running.load_checkpoint(recording.path, with_model=True)
    some = physics.create_scene("some", MODEL, n_envs=3)
    some.load_checkpoint(recording.path, with_model=True, envs_idx=[0, 1])
    for each, count in ((loaded, 3), (running, 3), (some, 2)):
        each.step()
        assert rows_of(each)[:count] == rows_of(scene)[:count]
