"""The newest seconds of environments in memory, and in a file when one of them goes wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.recording import batch_flight_recorder
from stroboscope.engine.recording.recorded_stops import signal_data

pytest.importorskip("mujoco.batch")

Read = Callable[..., Any]
ModelPath = Callable[[str], Path]


class Steps:
    """Steps a batch with random controls and knows all rows before each step."""

    def __init__(self, scene: physics.BatchScene, seed: int = 0) -> None:
        self.scene = scene
        self.rows: list[NDArray[np.float64]] = []
        self._random = np.random.default_rng(seed)

    def __call__(self, count: int) -> None:
        for _ in range(count):
            self.scene.ctrl[:] = self._random.uniform(-1, 1, self.scene.ctrl.shape)
            self.rows.append(self.scene.environments.state.copy())
            self.scene.step()

    def of(self, env: int, first: int, end: int | None = None) -> bytes:
        """The rows of an environment from a step on, and the state as it stands."""
        everything = np.array([*self.rows, self.scene.environments.state])
        return np.ascontiguousarray(everything[first:end, env]).tobytes()


@pytest.fixture
def make(model_path: ModelPath) -> Callable[..., physics.BatchScene]:
    return lambda count=6: physics.create_scene("batch", model_path("arm"), n_envs=count)


Make = Callable[..., physics.BatchScene]


def recorder(path: Path, **options: Any) -> physics.TrajectoryFile:
    return physics.TrajectoryFile(path / "flight.mcap", **{"keep_last": 0.4, **options})


def test_the_newest_seconds_of_chosen_environments_are_written_when_recording_stops(
    make: Make, read: Read, tmp_path: Path
) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, envs=[4, 1]))
    step(700)
    assert not list(tmp_path.iterdir())
    assert recording.nbytes > 0
    path = scene.stop_recording()
    timestep = float(scene.model.opt.timestep)
    first = 700 - round(0.4 / timestep)
    for index, env in enumerate((1, 4)):
        recorded = read(path, index)
        assert recorded.complete
        assert recorded.axes == list(range(first, 701))
        assert recorded.rows.tobytes() == step.of(env, first)
        begin = recorded.events[0]
        assert (begin.kind, begin.axis, begin.physics_step, begin.step_count) == (
            "begin",
            first,
            first,
            first,
        )
        assert begin.time == pytest.approx(first * timestep)
    assert not scene.guards_detached
    assert scene.batch_history.is_empty


def test_a_stop_of_one_environment_is_written_with_the_step_that_went_wrong(
    make: Make, read: Read, tmp_path: Path
) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    step(300)
    scene.reset(envs_idx=[2, 3])
    step(20)
    scene.qvel[3] = 1e9
    step(1)
    step(20)
    recording.finish()
    assert recording.paths[0].name == "flight.mcap"
    for env in range(6):
        recorded = read(recording.paths[0], env)
        # The last frame is what the step that went wrong began with, of all of them.
        assert recorded.axes[-1] == 320
        assert recorded.blocks[-1].kind is BlockKind.FINAL
        assert recorded.rows.tobytes() == step.of(env, recorded.axes[0], 321)
        stops = [event for event in recorded.events if event.kind == "stop"]
        assert len(stops) == (env == 3)
        if env == 3:
            assert (stops[0].axis, stops[0].data["env"], stops[0].physics_step) == (320, 3, 20)
            assert stops[0].text.startswith("environment 3: ")
    with physics.load_trajectory(recording.paths[0], scene="batch[3]") as trajectory:
        assert trajectory.frame(-1).physics_step == 20
        assert trajectory.verify().exit_code == 0
        assert trajectory.to_show() == {"batch": "batch[3]"}


def test_the_environment_that_stopped_is_shown_also_when_a_signal_ends_the_process_later(
    make: Make, tmp_path: Path
) -> None:
    scene = make()
    step = Steps(scene)
    watching = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    recording = scene.start_recording(tmp_path / "all.mcap")
    step(20)
    scene.qvel[3] = 1e9
    step(20)
    scene.recorders.script_ended("it was told to", signal_data("SIGTERM", "it was told to"))
    recording.finish()
    watching.finish()
    with physics.load_trajectory(tmp_path / "all.mcap") as trajectory:
        ends = [each.events[-1] for each in trajectory.others().values()]
        assert [event.data["signal"] for event in ends] == ["SIGTERM"] * 6
        assert trajectory.to_show() == {"batch": "batch[3]"}


def test_several_that_go_wrong_in_the_same_step_are_in_one_file(
    make: Make, read: Read, tmp_path: Path
) -> None:
    scene = make(20)
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    scene.raise_on_stop = True
    step(10)
    scene.qvel[3:] = 1e9
    with pytest.raises(physics.SimulationStopped):
        step(1)
    recording.shut_down()
    assert len(recording.paths) == 1
    stopped = [env for env in range(20) if "stop" in read(recording.path, env).kinds()]
    assert stopped == list(range(3, 11))  # so many are explained


def test_a_stop_of_an_environment_that_is_not_kept_is_not_worth_a_file(
    make: Make, tmp_path: Path
) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True, envs=[0, 1]))
    step(10)
    scene.qvel[5] = 1e9
    step(3)
    assert not list(tmp_path.iterdir())
    scene.qvel[1] = 1e9
    step(1)
    recording.shut_down()
    assert [path.name for path in tmp_path.iterdir()] == ["flight.mcap"]


def test_an_exception_in_the_block_is_written_with_the_states_as_they_stand(
    make: Make, read: Read, tmp_path: Path
) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True, envs=[2, 5]))

    def run() -> None:
        with recording:
            step(20)
            scene.log("reward", 2.0)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        run()
    for index, env in enumerate((2, 5)):
        assert read(recording.path, index).rows.tobytes() == step.of(env, 0)
    stop = read(recording.path, 0).events[-1]
    assert (stop.kind, stop.axis) == ("stop", 20)
    assert "ZeroDivisionError" in stop.text
    with physics.load_trajectory(recording.path) as trajectory:
        reward = trajectory.signals["reward"]
        assert reward.axes.tolist() == [20]
        assert reward.times[0] == float(scene.time[0])


def test_what_a_condition_stops_for_is_written_too(make: Make, read: Read, tmp_path: Path) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    scene.break_when("time > 0.1", envs_idx=[4])
    scene.raise_on_stop = True
    with pytest.raises(physics.SimulationStopped):
        step(500)
    recording.finish()
    stop = read(recording.path, 4).events[-1]
    assert (stop.kind, stop.data["env"], stop.data["reason"]) == ("stop", 4, "condition")
    # Its step is complete.
    assert read(recording.path, 4).rows.tobytes() == step.of(4, 0)


def test_its_memory_stays_flat_whatever_happens(make: Make, tmp_path: Path) -> None:
    scene = make()
    step = Steps(scene)
    recording = scene.start_recording(recorder(tmp_path, keep_last=2.0))
    step(2_500)
    full, tap = recording.nbytes, recording._tap  # type: ignore[attr-defined]
    for k in range(1_000):
        scene.reset(envs_idx=k % 6)
        scene.log("k", k)
        scene.log("note", "again")
        step(2)
        step.rows.clear()
    assert recording.nbytes <= 1.3 * full
    assert tap._many <= 3 * 1_300
    assert len(tap.values) <= 1_300
    needed = 8 * scene.environments.layout.size * 6 * 2.0 / float(scene.model.opt.timestep)
    assert recording.nbytes <= 1.6 * needed


def test_where_more_happens_than_is_kept_older_rows_go_and_it_is_said(
    make: Make,
    tmp_path: Path,
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(batch_flight_recorder, "_MOST_EVENTS", 2_000)
    scene = make()
    scene.start_recording(recorder(tmp_path, keep_last=60.0))
    step = Steps(scene)
    for _ in range(900):
        scene.reset(envs_idx=[0, 1, 2, 3, 4])
        step(1)
    path = scene.stop_recording()
    (told,) = [each for each in caplog.records if "less than keep_last" in each.getMessage()]
    assert told.levelname == "WARNING"
    for env in range(6):
        recorded = read(path, env)
        assert recorded.axes == list(range(recorded.axes[0], 901))
        assert 200 < len(recorded.axes) < 900
        assert recorded.rows.tobytes() == step.of(env, recorded.axes[0])
        assert len(recorded.events) == (1 if env == 5 else len(recorded.axes) - 1)


def test_each_environment_keeps_as_many_seconds_at_its_own_timestep(
    make: Make, read: Read, tmp_path: Path
) -> None:
    scene = make()
    timestep = float(scene.model.opt.timestep)
    scene.expand("opt.timestep")[3] = timestep / 2
    scene.start_recording(recorder(tmp_path, keep_last=100 * timestep))
    Steps(scene)(500)
    path = scene.stop_recording()
    assert len(read(path, 0).axes) == 101
    assert len(read(path, 3).axes) == 201
    with physics.load_trajectory(path, scene="batch[3]") as trajectory:
        assert trajectory.timestep == timestep / 2
        assert trajectory.time(-1) - trajectory.time(0) == pytest.approx(100 * timestep)
        assert trajectory.verify().exit_code == 0


SCRIPT = """
    import sys
    import numpy as np
    import stroboscope.engine as physics

    scene = physics.create_scene("batch", sys.argv[2], n_envs=4)
    scene.start_recording(
        physics.TrajectoryFile(sys.argv[1] + "/flight", keep_last=0.2, save_on_stop=True)
    )
    for k in range(300):
        if k == 250:
            scene.ctrl[2] = np.nan
        scene.step()
        scene.ctrl[2] = 0.0
    raise RuntimeError("the policy diverged")
"""


def test_a_script_without_anybody_leaves_what_led_to_a_stop_and_to_its_end(
    start_warm: Callable[..., Any], read: Read, model_path: ModelPath, tmp_path: Path
) -> None:
    code, _, errors = start_warm(SCRIPT, str(tmp_path), str(model_path("arm"))).end()
    assert code == 1
    assert "the policy diverged" in errors
    assert read(tmp_path / "flight.mcap", 2).events[-1].data["env"] == 2
    assert read(tmp_path / "flight.mcap", 2).axes[-1] == 250
    last = read(tmp_path / "flight-2.mcap", 0)
    assert last.complete
    assert last.axes[-1] == 300
    assert "RuntimeError: the policy diverged" in last.events[-1].text


# --- hostile values


@pytest.mark.parametrize(
    ("envs", "error", "says"),
    [
        ([1, 1], ValueError, "named 2 times"),
        ([6], IndexError, "there is no environment 6"),
        ([-7], IndexError, "there is no environment -7"),
        ([], ValueError, "needs one at least"),
        (np.zeros(6, dtype=bool), ValueError, "needs one at least"),
        (np.ones(5, dtype=bool), ValueError, "an entry per environment"),
        (True, TypeError, "single True"),
        ([0.5], TypeError, "whole numbers"),
        (float("nan"), TypeError, "nan"),
        ("3", TypeError, "whole numbers"),
        ([[0], [1]], ValueError, "one dimension"),
    ],
)
@pytest.mark.parametrize("how", ["file", "flight", "history"])
def test_what_is_no_choice_of_environments_is_refused_and_nothing_is_begun(
    make: Make, tmp_path: Path, envs: Any, error: type[Exception], says: str, how: str
) -> None:
    scene = make()
    calls: dict[str, Callable[[], object]] = {
        "file": lambda: scene.start_recording(physics.TrajectoryFile(tmp_path / "run", envs=envs)),
        "flight": lambda: scene.start_recording(recorder(tmp_path, envs=envs)),
        "history": lambda: scene.save_history(tmp_path / "run", envs_idx=envs),
    }
    with pytest.raises(error, match=says):
        calls[how]()
    assert not list(tmp_path.iterdir())
    assert not scene.guards_detached
    assert not scene.recorders.recordings
    assert not scene.runtime.recordings.recordings


@pytest.mark.parametrize("seconds", [float("nan"), 0.0, -1.0, float("inf"), 1e300, True, "60"])
def test_seconds_that_can_not_be_kept_are_refused_and_nothing_is_begun(
    make: Make, tmp_path: Path, seconds: Any
) -> None:
    scene = make()
    with pytest.raises((ValueError, TypeError), match="keep_last"):
        scene.start_recording(recorder(tmp_path, keep_last=seconds))
    assert not scene.guards_detached
    assert not scene.runtime.recordings.recordings
    scene.step()


@pytest.mark.parametrize("envs", [-1, slice(None), np.array([5, 0]), np.arange(6) > 3, range(2)])
def test_all_forms_of_a_choice_are_taken(make: Make, read: Read, tmp_path: Path, envs: Any) -> None:
    scene = make()
    scene.start_recording(recorder(tmp_path, envs=envs))
    step = Steps(scene)
    step(5)
    path = scene.stop_recording()
    chosen = np.sort(np.atleast_1d(np.arange(6)[envs if not isinstance(envs, range) else [*envs]]))
    for index, env in enumerate(chosen.tolist()):
        assert read(path, index).rows.tobytes() == step.of(env, 0)


def test_many_environments_have_to_be_chosen_here_as_well(make: Make, tmp_path: Path) -> None:
    scene = make(300)
    with pytest.raises(ValueError, match="say which are to be recorded"):
        scene.start_recording(recorder(tmp_path))


def test_a_scene_of_one_world_has_no_environments_to_choose(
    model_path: ModelPath, tmp_path: Path
) -> None:
    scene = physics.create_scene("arm", model_path("arm"))
    for call in (
        lambda: scene.start_recording(recorder(tmp_path, envs=[0])),
        lambda: scene.save_history(tmp_path / "run", envs_idx=0),
    ):
        with pytest.raises(ValueError, match="no environments to choose from"):
            call()
    assert not list(tmp_path.iterdir())
