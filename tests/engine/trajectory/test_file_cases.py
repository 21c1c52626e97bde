"""Cases of tests/cases that are about files: R16 and C19, and the states of R1, R2, C01, C11.

What is recorded is read in another process, in a folder without the model.
"""

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from samples import few

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.plain_text import typed_numbers
from stroboscope.debugger_protocol.time_messages import StopReason

Start = Callable[..., Any]
Case = Callable[..., Path]
Rows = NDArray[np.float64]

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
RECORD = """
import sys
import numpy as np
import stroboscope.engine as physics

model, folder, mode, at, controls = sys.argv[1:]
scene = physics.create_scene("Recorded", model)
scene.start_recording(physics.TrajectoryFile(folder + "/run.mcap", mode=mode))
for k, control in enumerate(np.load(controls)):
    if k == int(at):
        scene.save_checkpoint(folder + "/there.mcap")
    scene.ctrl[:] = control
    scene.step()
scene.stop_recording()
"""
# Goes on from a frame, or from a checkpoint, with the same controls.
RESUME = """
import sys
import numpy as np
import stroboscope.engine as physics

folder, at, controls, target = sys.argv[1:]
rest = np.load(controls)[int(at):]

def resumed(scene):
    positions = []
    for control in rest:
        scene.ctrl[:] = control
        scene.step()
        positions.append(np.r_[scene.data.qpos, scene.data.qvel])
    slept = getattr(scene.data, "tree_asleep", np.empty(0))
    return np.array(positions), np.array(slept)

with physics.load_trajectory(folder + "/run.mcap") as trajectory:
    trajectory.seek(int(at))
    slept = np.array(getattr(trajectory.scene.data, "tree_asleep", np.empty(0)))
    ran, asleep = resumed(trajectory.scene)
    trajectory.seek(-1 - len(rest))
    again, _ = resumed(trajectory.scene)
checkpoint = physics.load_checkpoint(folder + "/there.mcap")
assert checkpoint.step_count == int(at)
loaded, loaded_asleep = resumed(checkpoint)
np.savez(target, ran=ran, again=again, loaded=loaded, slept=slept, asleep=asleep,
         loaded_asleep=loaded_asleep, steps=checkpoint.step_count)
"""


class Plain:
    """What MuJoCo alone does with the same controls, (steps, …)."""

    def __init__(self, model_path: Path, controls: Rows, *, note_sleep_at: int = -1) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(model_path))
        data = mujoco.MjData(self.model)
        rows, after, self.slept = [], [], np.empty(0)
        for k, control in enumerate(controls):
            if k == note_sleep_at and hasattr(data, "tree_asleep"):
                self.slept = data.tree_asleep.copy()
            data.ctrl[:] = control
            rows.append(np.empty(mujoco.mj_stateSize(self.model, FULL)))
            mujoco.mj_getState(self.model, data, rows[-1], FULL)
            mujoco.mj_step(self.model, data)
            after.append(np.r_[data.qpos, data.qvel])
        rows.append(np.empty_like(rows[0]))
        mujoco.mj_getState(self.model, data, rows[-1], FULL)
        self.asleep = np.array(getattr(data, "tree_asleep", np.empty(0)))
        self.rows, self.after = np.array(rows), np.array(after)


@pytest.fixture
def elsewhere(
    start_warm: Start, case_model: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """``elsewhere("R1", controls, at=200, mode="exact")``: record here, go on from there.

    The model is a copy that is gone when the second process goes on, in another folder.
    """

    def run(case: str, controls: Rows, *, at: int, mode: str) -> Any:
        places = [tmp_path / name for name in ("cluster", "laptop")]
        for place in places:
            place.mkdir()
        cluster, laptop = places
        model, inputs = cluster / "model.xml", tmp_path / "controls.npy"
        model.write_bytes(case_model(case).read_bytes())
        np.save(inputs, controls)
        monkeypatch.chdir(cluster)
        code, _, errors = start_warm(
            RECORD, str(model), str(cluster), mode, str(at), str(inputs)
        ).end()
        assert code == 0, errors
        for name in ("run.mcap", "there.mcap"):
            (cluster / name).rename(laptop / name)
        model.unlink()
        monkeypatch.chdir(laptop)
        code, _, errors = start_warm(
            RESUME, str(laptop), str(at), str(inputs), str(laptop / "found.npz")
        ).end()
        assert code == 0, errors
        return np.load(laptop / "found.npz"), laptop / "run.mcap"

    return run


def _check_continued(found: Any, plain: Plain, at: int) -> None:
    for name in ("ran", "again", "loaded"):
        assert np.abs(found[name] - plain.after[at:]).max() == 0.0, name
        assert found[name].tobytes() == plain.after[at:].tobytes(), name


def _check_rows(path: Path, plain: Plain) -> None:
    with physics.load_trajectory(path) as trajectory:
        assert len(trajectory) == len(plain.rows)
        for index in range(0, len(plain.rows), 7):
            assert trajectory.frame(index).row.tobytes() == plain.rows[index].tobytes(), index
        assert trajectory.frame(-1).row.tobytes() == plain.rows[-1].tobytes()


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_c19_a_run_goes_on_from_its_file_as_it_did_and_the_file_says_so(
    elsewhere: Callable[..., Any],
    case_model: Case,
    capsys: pytest.CaptureFixture[str],
    mode: str,
) -> None:
    controls = np.random.default_rng(0).uniform(-1, 1, (500, 18))
    plain = Plain(case_model("C19"), controls)
    found, path = elsewhere("C19", controls, at=200, mode=mode)
    _check_continued(found, plain, 200)
    _check_rows(path, plain)
    assert main(["verify", str(path)]) == 0
    assert "reproduces bit for bit (500 of 501 frames compared)" in capsys.readouterr().out


def test_c19_a_careless_restore_is_marked_and_its_frame_shows_what_it_misses(
    case_model: Case, tmp_path: Path
) -> None:
    controls = np.random.default_rng(0).uniform(-1, 1, (500, 18))
    scene = physics.create_scene("Careless", case_model("C19"))
    scene.start_recording(tmp_path / "run")

    def step(first: int, end: int) -> None:
        for control in controls[first:end]:
            scene.ctrl[:] = control
            scene.step()

    step(0, 200)
    state = scene.get_state()
    step(200, 500)
    # Positions, velocities and time, and nothing else.
    scene.data.qpos[:], scene.data.qvel[:] = state.qpos, state.qvel
    scene.data.time = state.time
    step(200, 500)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        exact, careless = trajectory.frame(200), trajectory.frame(500)
        differing = {name for name in exact if exact[name].tobytes() != careless[name].tobytes()}
        assert differing == {"warmstart"}
        first, second = trajectory.frame(201), trajectory.frame(501)
        assert np.abs(first.qpos - second.qpos).max() > 0.0, "not exact from step 200 on"
        found = trajectory.verify(jobs=2)
        marked = [(event.kind, event.axis) for event in trajectory.events]
    assert marked == [("begin", 0), ("episode", 500)]
    # All but what leads to the first frame and to the one that was put there.
    assert (found.exit_code, found.checked) == (0, 799)


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_r1_a_stirred_pile_goes_on_from_its_file_in_the_middle_of_many_contacts(
    elsewhere: Callable[..., Any], case_model: Case, mode: str
) -> None:
    controls = np.random.default_rng(0).uniform(-3, 3, (300, 1))
    plain = Plain(case_model("R1"), controls)
    assert plain.model.nv == 163
    found, path = elsewhere("R1", controls, at=200, mode=mode)
    _check_continued(found, plain, 200)
    _check_rows(path, plain)


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_r2_boxes_that_sleep_in_a_file_sleep_on_and_go_on_exactly(
    elsewhere: Callable[..., Any], case_model: Case, mode: str
) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    controls = np.empty((1400, 0))
    plain = Plain(case_model("R2"), controls, note_sleep_at=1100)
    assert (plain.slept >= 0).sum() == 6
    found, _ = elsewhere("R2", controls, at=1100, mode=mode)
    _check_continued(found, plain, 1100)
    assert found["slept"].tolist() == plain.slept.tolist()
    assert found["asleep"].tolist() == plain.asleep.tolist()
    assert found["loaded_asleep"].tolist() == plain.asleep.tolist()


# --- killed

KILLED = """
import sys
import time
import numpy as np
import stroboscope.engine as physics

model, folder = sys.argv[1:]
scene = physics.create_scene("Driven", model)
scene.start_recording(folder + "/run.mcap")
clock = open(folder + "/clock", "wb", buffering=0)
for k in range(15000):
    scene.ctrl[0] = 1.2 * np.sin(2 * np.pi * 0.4 * k * scene.model.opt.timestep)
    clock.write(np.int64(time.thread_time_ns()).tobytes())
    scene.step()
while True:
    time.sleep(60)
"""
QPOS_AFTER = {
    1000: (-0.6740775039, 0.03603238666),
    5000: (-0.2589750248, 0.0230016195),
    10000: (-0.2589694104, 0.02300146702),
    15000: (-0.2589694105, 0.02300146703),
}


@pytest.mark.parametrize("trial", few(range(8), 1))
def test_r16_all_but_the_last_moment_of_a_killed_recording_is_there_and_it_says_that_it_was_cut(
    start_warm: Start,
    case_model: Case,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    trial: int,
) -> None:
    steps = np.arange(15000)
    controls = 1.2 * np.sin(2 * np.pi * 0.4 * steps * 0.002)[:, None]
    plain = Plain(case_model("R16"), controls)
    script = start_warm(KILLED, str(case_model("R16")), str(tmp_path))
    clock = tmp_path / "clock"
    at = 5001 + int(np.random.default_rng(trial).integers(9000))
    script.wait_until(lambda: clock.exists() and clock.stat().st_size >= 8 * at, 60)
    script.process.kill()
    script.process.communicate()
    began = np.frombuffer(clock.read_bytes()[: clock.stat().st_size // 8 * 8], dtype=np.int64)
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        assert not trajectory.complete
        assert repr(trajectory).endswith("not complete>")
        frames = len(trajectory)
        # Every frame is whole, and the one that MuJoCo had.
        for index, frame in enumerate(trajectory):
            assert frame.row.tobytes() == plain.rows[index].tobytes(), index
            assert not frame.note
        lost = began[frames:]
        # Of the stepping thread's own time: a busy machine has no part in it.
        assert len(lost) < 2 or lost[-1] - lost[0] < 250_000_000
        for after, expected in QPOS_AFTER.items():
            if after < frames:
                assert trajectory.frame(after).qpos == pytest.approx(expected, abs=1e-6)
        trajectory.seek(-1)
        scene = trajectory.scene
        scene.step()
        assert np.r_[scene.data.qpos, scene.data.qvel].tobytes() == (
            plain.after[min(frames - 1, 14999)].tobytes()
        )
        assert trajectory.verify().exit_code == 0
    assert main(["info", str(tmp_path / "run.mcap")]) == 0
    assert "CUT OFF: its writer did not close it" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run.mcap")]) == 0
    assert "the file was cut off" in capsys.readouterr().out
    assert main(["repair", str(tmp_path / "run.mcap")]) == 0
    with physics.load_trajectory(tmp_path / "run.repaired.mcap") as repaired:
        assert (repaired.complete, len(repaired)) == (True, frames)
        assert repaired.frame(-1).row.tobytes() == plain.rows[frames - 1].tobytes()


def test_r16_a_whole_recording_of_thirty_seconds_ends_where_it_has_to(
    case_model: Case, tmp_path: Path
) -> None:
    scene = physics.create_scene("Driven", case_model("R16"))
    with scene.start_recording(tmp_path / "run") as recording:
        for k in range(15000):
            scene.ctrl[0] = 1.2 * np.sin(2 * np.pi * 0.4 * k * 0.002)
            scene.step()
    with physics.load_trajectory(recording.path) as trajectory:
        assert trajectory.complete
        assert len(trajectory) == 15001
        for after, expected in QPOS_AFTER.items():
            assert trajectory.frame(after).qpos == pytest.approx(expected, abs=1e-6)
        assert trajectory.time(-1) == pytest.approx(30.0, abs=1e-8)


# --- it fails once in four hours

FLIGHT = """
import sys
import stroboscope.engine as physics

model, folder, steps, control = sys.argv[1:]
scene = physics.create_scene("Flight", model)
wanted = physics.TrajectoryFile(folder + "/crash.mcap", keep_last=60, save_on_stop=True)
scene.start_recording(folder + "/run.mcap")
scene.start_recording(wanted)
for _ in range(int(steps)):
    scene.ctrl[:] = float(control)
    scene.step()
"""
OPEN = """
import sys
from stroboscope.app.main.cli import main

sys.exit(main(["open", "--wait", "60", sys.argv[1]]))
"""
FAILING = {"C01": ("6", "0.5", 0), "C11": ("100", "0", 42)}


@pytest.fixture
def failed(
    start_warm: Start, case_model: Case, tmp_path: Path
) -> Callable[[str], "subprocess.CompletedProcess[str]"]:
    """``failed("C11")``: a script that nobody watches; what it has left is in ``tmp_path``."""

    def run(case: str) -> "subprocess.CompletedProcess[str]":
        steps, control, _ = FAILING[case]
        script = start_warm(FLIGHT, str(case_model(case)), str(tmp_path), steps, control)
        return subprocess.CompletedProcess([], *script.end())

    return run


def _stops(path: Path) -> list[Any]:
    with physics.load_trajectory(path) as trajectory:
        return [event for event in trajectory.events if event.kind == "stop"]


def test_c01_a_recording_names_the_servo_that_is_too_stiff_where_it_went_wrong(
    failed: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed("C01").returncode == 0
    stop = _stops(tmp_path / "run.mcap")[0]
    assert (stop.data["reason"], stop.axis) == (StopReason.EXPLODING, 0)
    assert [stop.data[name] for name in ("joint", "dof", "actuator")] == ["wrist", 1, "wrist_servo"]
    assert stop.data["value"] == pytest.approx(20001.9802, rel=0.01)
    assert "kv·dt/I = 2000" in stop.data["culprit"]
    assert 'integrator="implicitfast"' in stop.data["advice"]
    assert main(["info", "--json", str(tmp_path / "run.mcap")]) == 0
    told = json.loads(capsys.readouterr().out)
    first = next(event for event in told["events"] if event["kind"] == "stop")
    assert first["data"]["joint"] == "wrist"
    # What is advised holds when it is tried from there, without the script.
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        trajectory.seek(0)
        scene = trajectory.scene
        scene.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        fastest = 0.0
        for _ in range(5000):
            scene.step()
            fastest = max(fastest, float(np.abs(scene.data.qvel).max()))
        assert np.isfinite(scene.data.qpos).all()
        assert fastest < 100.0


def test_c01_a_flight_recorder_writes_a_stop_at_its_very_first_step(
    failed: Callable[..., Any], tmp_path: Path
) -> None:
    assert failed("C01").returncode == 0
    assert [stop.axis for stop in _stops(tmp_path / "crash.mcap")] == [0]


def test_c11_the_file_of_a_full_memory_ends_with_the_last_good_state(
    failed: Callable[..., Any], tmp_path: Path
) -> None:
    done = failed("C11")
    assert done.returncode == 1
    assert "FatalError" in done.stderr
    path = tmp_path / "crash.mcap"
    (stop,) = _stops(path)
    assert (stop.data["reason"], stop.axis) == (StopReason.ARENA, 42)
    assert "the memory limit of 60K" in stop.data["culprit"]
    with physics.load_trajectory(path) as trajectory:
        # No state after the truncation is in it.
        assert trajectory.complete
        assert trajectory.axes == (0, 42)
        assert trajectory.time(-1) == pytest.approx(42 * 0.002)
    found = {stop.data["reason"]: stop.axis for stop in _stops(tmp_path / "crash-2.mcap")}
    assert found[StopReason.FATAL] == pytest.approx(45, abs=4)
    with physics.load_trajectory(tmp_path / "crash-2.mcap") as trajectory:
        assert trajectory.axes[1] == found[StopReason.FATAL]


@contextlib.contextmanager
def _opened(start_warm: Start, path: Path) -> Iterator[tuple[DebuggerClient, int]]:
    script = start_warm(OPEN, str(path))
    with script.connect() as client:
        assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
        scene_id = client.scenes()[0].scene_id
        assert client.wait_until(lambda c: c.stops(scene_id), 60)
        yield client, scene_id
    code, _, errors = script.end()
    assert code == 0, errors


@pytest.mark.parametrize("case", FAILING)
def test_what_a_script_has_left_is_opened_at_the_stop_which_says_why(
    failed: Callable[..., Any], start_warm: Start, tmp_path: Path, case: str
) -> None:
    failed(case)
    path = tmp_path / "run.mcap"
    stops = _stops(path)
    with _opened(start_warm, path) as (client, scene_id):
        told = client.stops(scene_id)
        culprits = [typed_numbers(str(each.data.get("culprit", ""))) for each in stops]
        assert [each.culprit for each in told] == culprits
        # A view of the end is none of the past.
        at = stops[-1].axis if stops[-1].axis < client.history(scene_id).recording_end else None
        assert client.wait_until(lambda c: c.history(scene_id).view == at, 60)
        client.goto(scene_id, axis=FAILING[case][2])
        assert client.history(scene_id).view == FAILING[case][2]
        # Nothing behind a step without room for its contacts is shown as valid.
        for axis in (0, 44) if case == "C11" else ():
            client.goto(scene_id, axis=axis)
            assert ("missing since step 42" in client.history(scene_id).invalid) == (axis == 44)


@pytest.mark.parametrize("case", FAILING)
def test_what_a_recorded_stop_advises_can_be_tried_beside_it(
    failed: Callable[..., Any], start_warm: Start, tmp_path: Path, case: str
) -> None:
    failed(case)
    with _opened(start_warm, tmp_path / "run.mcap") as (client, scene_id):
        told = client.stops(scene_id)[0]
        offers = [edits for name, edits in told.what_if if name != "half the timestep"]
        made = [
            client.resimulate(scene_id, axis=told.axis, steps=1000, edits=edits) for edits in offers
        ]
        found = {each.rollout_id: str(each.outcome) for each in client.rollouts(scene_id)}
    assert offers
    # The timestep that is small enough takes so many steps that they are cut off: it held so far.
    ended = {"ended", "ended after 100000 steps: more would take too much memory"}
    assert {found[rollout_id] for rollout_id in made} <= ended
    assert "ended" in {found[rollout_id] for rollout_id in made}
