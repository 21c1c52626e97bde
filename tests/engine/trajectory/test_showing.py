"""A file in the debugger: looked at like a scene that has just run, and continued like one."""

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import PlainRun, record_plain

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.exceptions import CommandError

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
SHOW = """
import sys
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory(sys.argv[1], launch=False)
"""

OPEN = """
import sys
from stroboscope.app.main.cli import main

sys.exit(main(["open", "--wait", "600", sys.argv[1]]))
"""

SHOW_AND_TELL = """
import sys
from stroboscope.engine.trajectory import showing

class Told(showing._Shown):
    def serve(self):
        super().serve()
        print("stands at", self._scene.counters.axis, flush=True)

showing._Shown = Told
showing.show_trajectory(sys.argv[1], launch=False)
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step)


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """200 steps with a reset."""
    return record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(MODEL),
        steps=200,
        control=_control,
        resets=(120,),
    )


@pytest.fixture
def shown(start_warm: Callable[..., Any]) -> Callable[..., Any]:
    """``with shown(path) as (client, scene)``: the file's process, which ends with its client."""

    @contextlib.contextmanager
    def show(path: Path) -> Iterator[tuple[Any, Any]]:
        script = start_warm(SHOW, str(path))
        with script.connect() as client:
            assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
            yield client, client.scenes()[0]
        code, _, errors = script.end()
        assert code == 0, errors

    return show


def _qpos(client: Any, scene_id: int, axis: int) -> Any:
    return client.read_rows(scene_id, ["qpos"], first=axis, last=axis)["qpos"][0]


def test_every_row_can_be_looked_at_and_the_view_begins_with_the_first(
    run: PlainRun, shown: Callable[..., Any]
) -> None:
    with shown(run.path) as (client, scene):
        assert scene.name == "Plain"
        assert client.wait_until(lambda c: c.history(scene.scene_id).view == 0, 60)
        told = client.history(scene.scene_id)
        assert (told.recording, told.recording_end, told.rows) == ("run.mcap", 200, 200)
        nq = run.model.nq
        for axis in (0, 119, 120, 199):
            assert (
                _qpos(client, scene.scene_id, axis).tobytes()
                == run.rows[axis, 1 : 1 + nq].tobytes()
            )
        client.goto(scene.scene_id, episode=1)
        assert client.history(scene.scene_id).view == 120
        client.step_forward(scene.scene_id, 5)
        client.step_back(scene.scene_id, 2)
        assert client.history(scene.scene_id).view == 123


def test_it_is_continued_from_any_row_and_goes_on_as_plain_mujoco_does(
    run: PlainRun, shown: Callable[..., Any]
) -> None:
    with shown(run.path) as (client, scene):
        client.goto(scene.scene_id, step=60)
        segment = client.continue_from_here(scene.scene_id)
        assert segment.parent_axis == 60
        client.step(scene.scene_id, 30)
        nq = run.model.nq
        expected = run.after(60, 29)[1 : 1 + nq]
        assert _qpos(client, scene.scene_id, 229).tobytes() == expected.tobytes()
        # What was recorded is still there.
        recorded = run.rows[150, 1 : 1 + nq]
        assert _qpos(client, scene.scene_id, 150).tobytes() == recorded.tobytes()


def test_it_is_continued_from_its_last_frame_where_it_stands(
    run: PlainRun, shown: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with shown(run.path) as (client, scene):
        client.goto(scene.scene_id, axis=200)
        with pytest.raises(CommandError, match=r"last frame of run\.mcap: no recorded inputs lead"):
            client.continue_from_here(scene.scene_id, with_script=False)
        assert ctl.main(["continue"]) == 0
        assert "branch, from axis 200  from the last frame of run.mcap" in capsys.readouterr().out
        (branch,) = client.branches(scene.scene_id)
        assert (branch.begin, branch.episode) == (200, 1)
        with pytest.raises(CommandError, match="the view is live"):
            client.continue_from_here(scene.scene_id)
        client.step(scene.scene_id, 30)
        expected = run.after(200, 29)[1 : 1 + run.model.nq]
        assert _qpos(client, scene.scene_id, 229).tobytes() == expected.tobytes()


def test_the_first_branch_stays_when_it_is_stepped_and_its_inputs_can_be_run_again(
    run: PlainRun, shown: Callable[..., Any]
) -> None:
    with shown(run.path) as (client, scene):
        client.goto(scene.scene_id, step=60)
        branch = client.continue_from_here(scene.scene_id)
        client.step(scene.scene_id, 3)
        assert client.branches(scene.scene_id) == (branch,)
        assert client.history(scene.scene_id).segments[-1] == branch
        ended = _qpos(client, scene.scene_id, 202).tobytes()
        client.goto(scene.scene_id, axis=201)
        again = client.continue_from_here(scene.scene_id, with_script=False)
        assert client.branches(scene.scene_id) == (branch, again)
        assert again.parent_axis == 201
        assert _qpos(client, scene.scene_id, 204).tobytes() == ended


def test_recorded_inputs_are_run_again_right_after_a_file_was_opened(
    run: PlainRun, shown: Callable[..., Any]
) -> None:
    with shown(run.path) as (client, scene):
        client.goto(scene.scene_id, axis=150)
        branch = client.continue_from_here(scene.scene_id, with_script=False)
        assert client.branches(scene.scene_id) == (branch,)
        for axis in (150, 180, 199):
            expected = _qpos(client, scene.scene_id, axis).tobytes()
            assert _qpos(client, scene.scene_id, axis + 50).tobytes() == expected
        client.step(scene.scene_id, 1)
        assert client.branches(scene.scene_id) == (branch,)


def test_what_was_logged_is_read_beside_channels_and_time_in_a_terminal(
    tmp_path: Path, shown: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "logged.mcap"
    scene = physics.create_scene("Logged", MODEL)
    with scene.start_recording(path):
        for step in range(4):
            scene.log("ball height", step + 0.5)
            scene.step()
    scene.destroy()
    with shown(path):
        for channels in (["time"], ["time", "ctrl"], ["ball height"], ["ball height", "ctrl"]):
            capsys.readouterr()
            assert ctl.main(["rows", *channels]) == 0
            head, *rows = capsys.readouterr().out.splitlines()
            named = [name for name in channels if name != "time"]
            typed = [name.replace(" ", "_") for name in named]
            assert head == ",".join(["axis", "time", *typed])
            assert len(rows) >= 4
            if named[:1] == ["ball height"]:
                told = {float(row.split(",")[2]) for row in rows}
                assert {0.5, 1.5, 2.5, 3.5} <= told
        assert ctl.main(["rows", "= user['ball height']"]) == 1
        assert "What a script logs is only read from a recording" in capsys.readouterr().err


def test_it_is_not_simulated_on_because_the_client_has_gone(
    run: PlainRun, start_warm: Callable[..., Any]
) -> None:
    script = start_warm(SHOW_AND_TELL, str(run.path))
    with script.connect() as client:
        assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
    code, told, errors = script.end()
    assert code == 0, errors
    assert "stands at 200\n" in told


@pytest.mark.parametrize("is_model", [False, True])
def test_a_client_that_came_for_a_moment_ends_what_was_opened_for_it(
    run: PlainRun, start_warm: Callable[..., Any], tmp_path: Path, is_model: bool
) -> None:
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    for _ in range(3):
        script = start_warm(OPEN, str(path if is_model else run.path))
        with script.connect():
            pass
        code, _, errors = script.end()
        assert code == 0, errors


def test_a_file_that_is_still_recorded_is_followed(
    run: PlainRun, tmp_path: Path, shown: Callable[..., Any]
) -> None:
    whole = run.path.read_bytes()
    growing = tmp_path / "growing.mcap"
    growing.write_bytes(whole[: len(whole) // 2])
    with shown(growing) as (client, scene):
        before = client.history(scene.scene_id).recording_end
        assert before < 200
        with growing.open("ab") as file:
            file.write(whole[len(whole) // 2 :])
        assert client.wait_until(lambda c: c.history(scene.scene_id).recording_end == 200, 60)
        nq = run.model.nq
        found = _qpos(client, scene.scene_id, 199)
        assert np.array_equal(found, run.rows[199, 1 : 1 + nq])


def test_where_no_row_was_recorded_the_one_before_is_looked_at_and_that_is_said(
    shown: Callable[..., Any], tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    file = physics.TrajectoryFile(tmp_path / "few", every=20)
    with scene.start_recording(file) as recording:
        scene.step(nstep=130)
    scene.destroy()
    with shown(recording.path) as (client, few):
        client.goto(few.scene_id, axis=20)
        assert client.history(few.scene_id).view == 20
        client.goto(few.scene_id, axis=59)
        assert client.history(few.scene_id).view == 40
        assert client.last_note == "row 59 was not recorded: row 40, before it, is in view"
        client.goto(few.scene_id, axis=129)
        assert client.history(few.scene_id).view == 120


def test_what_is_said_while_a_file_is_still_recorded_is_told(
    shown: Callable[..., Any], tmp_path: Path
) -> None:
    scene = physics.create_scene("Talks", MODEL)
    file = physics.TrajectoryFile(tmp_path / "talks", chunk_size=100)
    with scene.start_recording(file) as recording:
        for step in range(1000):
            if step % 100 == 50:
                scene.log("phase", f"at {step}")
            scene.step()
    scene.destroy()
    whole = recording.path.read_bytes()
    growing = tmp_path / "growing.mcap"
    growing.write_bytes(whole[: len(whole) // 2])
    with shown(growing) as (client, told):
        before = client.notes(told.scene_id)
        assert before.count < 10
        with growing.open("ab") as more:
            more.write(whole[len(whole) // 2 :])
        assert client.wait_until(lambda c: c.notes(told.scene_id).count == 10, 60)
        notes = client.notes(told.scene_id).notes
        assert [note.axis for note in notes] == list(range(50, 1000, 100))
        assert {note.kind for note in notes} == {"text"}
        assert notes[3].text == "phase: at 350"
        assert all(note.more == 0 for note in notes)
