"""Wrong names, numbers and kinds are refused in words that say what there is."""

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import record_plain

import stroboscope.engine as physics
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.trajectory.frame import Frame
from stroboscope.engine.trajectory.lookup import NoSuchFrameError, NoSuchNameError
from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory

PENDULUM = """
<mujoco>
  <worldbody><body><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
WRONG: dict[str, Any] = {
    "None": None,
    "true": True,
    "text": "xyz",
    "no text": "",
    "half a character": "a\ud800",
    "zero byte": "a\0b",
    "bytes": b"xyz",
    "half": 1.5,
    "minus": -100,
    "nan": math.nan,
    "infinite": math.inf,
    "huge": 10**400,
    "complex": 1j,
    "list": [1.0, "a", None],
    "dict": {"a": 1},
    "slice": slice(0, 2),
    "array": np.zeros((2, 5)),
    "object": object(),
    "class": int,
}
Call = Callable[[Trajectory, Any], object]
# What is called, and which of the values above it may take.
CALLS: dict[str, tuple[Call, set[str]]] = {
    "frame": (lambda t, v: t.frame(v), set()),
    "seek": (lambda t, v: t.seek(v), set()),
    "seek time": (lambda t, v: t.seek(time=v), {"half"}),
    "seek episode": (lambda t, v: t.seek(time=0.0, episode=v), {"None"}),
    "seek both": (lambda t, v: t.seek(0, time=v), {"None"}),
    "time": (lambda t, v: t.time(v), set()),
    "axis": (lambda t, v: t.axis(v), set()),
    "wall": (lambda t, v: t.wall(v), set()),
    "timings": (lambda t, v: t.timings(v), set()),
    "timings again": (lambda t, v: t.timings(3, again=v), {"true"}),
    "last": (lambda t, v: t.last[v], set()),
    "stored_state": (lambda t, v: t.stored_state(v), set()),
    "find": (lambda t, v: t.find(time=v), {"half"}),
    "find episode": (lambda t, v: t.find(time=0.0, episode=v), {"None"}),
    "frames_at": (lambda t, v: t.frames_at(v), {"half"}),
    "signals": (lambda t, v: t.signals[v], set()),
    "signal_names": (lambda t, v: t.signal_names(v), set()),
    "others": (lambda t, v: t.others()[v], set()),
    "array": (lambda t, v: t.frame(0)[v], set()),
    "verify jobs": (lambda t, v: t.verify(jobs=v), {"None"}),
    "verify progress": (lambda t, v: t.verify(jobs=1, progress=v), {"class"}),
    "play": (lambda t, v: t.play(v), {"half", "huge", "true"}),
    "play loop": (lambda t, v: t.play(1e6, loop=v), set()),
    "load scene": (lambda t, v: load_trajectory(t.path, scene=v).close(), {"None"}),
    "load show": (lambda t, v: load_trajectory(t.path, show=v).close(), set()),
}
FOREVER = {("play loop", "true"), ("load show", "true")}


@pytest.fixture(params=list(RecordMode))
def trajectory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Forty frames without mocap bodies, with one signal."""
    run = record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(PENDULUM),
        steps=39,
        control=lambda step, data: None,
        mode=request.param,
        resets=(20,),
        reward=lambda steps: steps * 0.5,
    )
    with load_trajectory(run.path) as opened:
        yield opened


@pytest.mark.parametrize("place", CALLS)
def test_a_wrong_value_is_refused_in_words_by_everything_of_a_recorded_run(
    trajectory: Trajectory, place: str
) -> None:
    function, right = CALLS[place]
    wrong = []
    for name, value in WRONG.items():
        if (place, name) in FOREVER:
            continue
        try:
            function(trajectory, value)
        except (EngineError, TypeError, ValueError) as error:
            innermost = error.__traceback__
            while innermost is not None and innermost.tb_next is not None:
                innermost = innermost.tb_next
            assert innermost is not None
            if "stroboscope" not in innermost.tb_frame.f_globals["__name__"]:
                wrong.append(f"{name}: {type(error).__name__} from elsewhere: {error}")
            elif len(str(error)) < 20 or len(str(error)) > 600:
                wrong.append(f"{name}: says {len(str(error))} characters: {error}")
        except Exception as error:  # noqa: BLE001 - all of them are looked at
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        else:
            if name not in right:
                wrong.append(f"{name}: was accepted")
    assert not wrong, "\n".join(wrong)


def test_an_array_that_the_model_does_not_have_is_refused_with_those_that_there_are(
    trajectory: Trajectory,
) -> None:
    frame = trajectory.frame(3)
    for name in ("mocap_pos", "act", "qpoz"):
        with pytest.raises(NoSuchNameError, match=f"no array '{name}': it has time, qpos, qvel"):
            frame[name]
        with pytest.raises(AttributeError, match=f"has no '{name}': it has time, qpos, qvel"):
            getattr(frame, name)
        assert name not in frame
        assert frame.get(name) is None
        assert not hasattr(frame, name)
    with pytest.raises(KeyError):  # who expects a mapping's own error
        frame["mocap_pos"]


def test_arrays_have_the_names_of_mujocos_data_too(trajectory: Trajectory) -> None:
    frame = trajectory.frame(3)
    assert frame["qacc_warmstart"].tobytes() == frame["warmstart"].tobytes()
    assert frame.qacc_warmstart.tobytes() == frame.warmstart.tobytes()


def _sent(frame: Frame) -> Any:
    return pickle.loads(pickle.dumps(frame))  # noqa: S301 - it is our own


def test_a_frame_is_copied_and_travels(trajectory: Trajectory) -> None:
    frame = trajectory.frame(3)
    for twin in (copy.copy(frame), copy.deepcopy(frame), _sent(frame)):
        assert isinstance(twin, Frame)
        assert (twin.index, twin.time, twin.qpos.tolist()) == (3, frame.time, frame.qpos.tolist())


def test_a_signal_or_a_scene_that_is_not_there_is_refused_with_those_that_are(
    trajectory: Trajectory,
) -> None:
    with pytest.raises(NoSuchNameError, match=r"no signal 'rewart': it has reward"):
        trajectory.signals["rewart"]
    with pytest.raises(NoSuchNameError, match="'Plane': it has Plain"):
        trajectory.others()["Plane"]
    assert trajectory.signals.get("rewart") is None


def test_frames_outside_of_the_run_are_errors_of_an_index_and_of_ours(
    trajectory: Trajectory,
) -> None:
    with pytest.raises(NoSuchFrameError, match=r"no frame 40: run\.mcap has 40, from 0 to 39"):
        trajectory.frame(40)
    assert issubclass(NoSuchFrameError, IndexError)
    assert len(list(trajectory)) == 40


def test_what_is_read_of_a_closed_run_says_that_it_was_closed(tmp_path: Path) -> None:
    run = record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(PENDULUM),
        steps=39,
        control=lambda step, data: None,
        reward=lambda steps: steps * 0.5,
    )
    trajectory = load_trajectory(run.path)
    trajectory.close()
    calls: list[Callable[[], object]] = [
        lambda: trajectory.frame(30),
        lambda: trajectory.time(30),
        lambda: trajectory.seek(30),
        lambda: trajectory.scene,
        lambda: trajectory.timings(30),
        lambda: trajectory.signals,
        lambda: trajectory.verify(jobs=1),
    ]
    for call in calls:
        with pytest.raises(EngineError, match=r"run\.mcap: has been closed; open it again"):
            call()
    trajectory.close()


def _frames_in(path: Path) -> int:
    try:
        with load_trajectory(path) as trajectory:
            return len(trajectory)
    except EngineError:  # there is none yet
        return 0


def test_frames_that_a_growing_file_has_got_are_stood_at_with_all_that_follows_from_them(
    tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    scene = physics.create_scene("Growing", PENDULUM)
    recording = scene.start_recording(tmp_path / "run.mcap")
    path = recording.path
    scene.data.ctrl[:] = 0.4
    for _ in range(20):
        scene.step()
    wait_until(lambda: _frames_in(path) == 20)
    with load_trajectory(path) as trajectory:
        trajectory.seek(-1)
        shown = trajectory.scene
        for _ in range(20):
            scene.step()
        wait_until(lambda: _frames_in(path) == 40)
        before = len(trajectory)
        assert trajectory.refresh()
        assert len(trajectory) > before
        last = trajectory.frame(-1)
        assert shown.data.qpos.tolist() == last.qpos.tolist()
        assert trajectory.position == len(trajectory) - 1
        fresh = mujoco.MjData(shown.model)
        mujoco.mj_setState(shown.model, fresh, last.row, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(shown.model, fresh)
        for name in ("xpos", "geom_xmat", "qacc", "actuator_force"):
            assert getattr(shown.data, name).tobytes() == getattr(fresh, name).tobytes(), name
