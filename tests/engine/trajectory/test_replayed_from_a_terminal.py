"""``stroboscope replay`` and ``stroboscope open`` of files that are no run of one scene."""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import record_plain

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.engine.launch import EXECUTABLE_VARIABLE

Start = Callable[..., Any]
MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body name="arm"><joint name="shoulder" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
</mujoco>
"""
# Stands for the window: watches where the view goes until it has been there, and goes.
WINDOW = """
import sys
from pathlib import Path
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session

session = find_session(sys.argv[sys.argv.index("--session") + 1])
views = []
with DebuggerClient(session) as client:
    assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
    scene_id = client.scenes()[0].scene_id

    def look(client):
        view = client.history(scene_id).view
        if not views or view != views[-1]:
            views.append(view)
        known = [each for each in views if each is not None]
        back = sum(two < one for one, two in zip(known, known[1:]))
        return back >= 2 if {loops} else len(known) > 2 and view in (None, {last})

    reached = client.wait_until(look, 60)
Path({told!r}).write_text(" ".join(map(str, [reached, *views])))
"""


@pytest.mark.parametrize("loops", [False, True])
def test_a_run_is_replayed_to_its_end_or_again_and_again(
    loops: bool,
    tmp_path: Path,
    stroboscope_command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "throw.mcap"
    model = mujoco.MjModel.from_xml_string(MODEL)
    record_plain(run, model, steps=250, control=lambda step, data: None)
    told, program = tmp_path / "told", tmp_path / "window"
    window = WINDOW.format(told=str(told), loops=loops, last=250)
    program.write_text(f"#!{sys.executable}\n{window}")
    program.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setenv(EXECUTABLE_VARIABLE, str(program))
    words = ["replay", run, "--speed", "0.5", *(["--loop"] if loops else [])]
    done = stroboscope_command(*words)
    assert done.returncode == 0, done.stderr
    reached, *views = told.read_text().split()
    assert reached == "True", views
    between = {int(view) for view in views if view != "None"}
    assert len(between) >= 3
    assert between <= set(range(251))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["--speed", "0"], "--speed must be above 0"), (["--speed", "nan"], "--speed must be above")],
)
def test_a_pace_that_is_none_is_refused(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "throw.mcap"
    model = mujoco.MjModel.from_xml_string(MODEL)
    record_plain(run, model, steps=5, control=lambda step, data: None)
    assert main(["replay", str(run), *words]) == 4
    assert complaint in capsys.readouterr().err


OPEN = """
import sys
from stroboscope.app.main.cli import main

sys.exit(main(["open", "--wait", "60", *sys.argv[1:]]))
"""


@contextlib.contextmanager
def opened(start_warm: Start, path: Path, *words: str) -> Iterator[DebuggerClient]:
    """Open a file as a person does, and be its window."""
    script = start_warm(OPEN, str(path), *words)
    with script.connect() as client:
        # Who leaves before it stands has not been there.
        assert client.wait_until(
            lambda c: any(each.activity == "parked" for each in c.scenes()), 60
        )
        yield client
    code, _, errors = script.end()
    assert code == 0, errors


def test_a_checkpoint_file_is_opened_standing_there_and_goes_on(
    start_warm: Start, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.step(nstep=25)
    path = scene.save_checkpoint(tmp_path / "there")
    scene.step(nstep=10)
    with opened(start_warm, path) as client:
        (shown,) = client.scenes()
        assert client.wait_until(lambda c: bool(c.history(shown.scene_id)), 60)
        assert (shown.name, client.history(shown.scene_id).recording_end) == ("Arm", 25)
        client.step(shown.scene_id, 10)
        assert client.wait_until(lambda c: c.scenes()[0].time == scene.data.time, 60)


def test_all_scenes_of_a_file_are_opened(start_warm: Start, tmp_path: Path) -> None:
    scenes = [physics.create_scene(name, MODEL) for name in ("Left", "Right")]
    with physics.start_recording(tmp_path / "both", scenes=scenes) as recording:
        for scene in scenes:
            scene.data.qvel[:] = 1.0
            scene.step(nstep=20)
    expected = scenes[0].data.qpos.copy()
    for scene in scenes:
        scene.destroy()
    with opened(start_warm, recording.path) as client:
        assert client.wait_until(lambda c: len(c.scenes()) == 2, 60)
        assert sorted(each.name for each in client.scenes()) == ["Left", "Right"]
        for each in client.scenes():
            assert client.wait_until(lambda c, of=each.scene_id: bool(c.history(of)), 60)
            client.goto(each.scene_id, axis=19)
            found = client.read_rows(each.scene_id, ["qpos"], first=19, last=19)["qpos"][0]
            assert np.abs(found - expected).max() > 0.0  # of the step before the end


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), ["Right", "Left"]),
        pytest.param(("--scene", "Left"), ["Left", "Right"], marks=pytest.mark.slow),
        (("--env", "0"), ["Many[0]"]),
    ],
)
def test_a_file_is_opened_at_the_scene_that_stopped_or_that_is_named(
    words: tuple[str, ...], names: list[str], start_warm: Start, tmp_path: Path
) -> None:
    scenes: list[Any]
    if "--env" in words:
        scenes = [physics.create_scene("Many", MODEL, n_envs=3)]
    else:
        scenes = [physics.create_scene(name, MODEL) for name in ("Left", "Right")]
    with physics.start_recording(tmp_path / "run", scenes=scenes) as recording:
        for scene in scenes:
            scene.step(nstep=3)
        scenes[-1].qvel[-1] = np.nan
        scenes[-1].step()
    for scene in scenes:
        scene.destroy()
    with opened(start_warm, recording.path, *words) as client:
        assert client.wait_until(lambda c: len(c.scenes()) == len(names), 60)
        # Windows begin with the first.
        assert [each.name for each in client.scenes()] == names


@pytest.mark.parametrize("form", ["mjz", "mjb", "urdf", "mjcf"])
def test_models_of_others_are_opened_by_what_is_in_them(
    form: str, start_warm: Start, tmp_path: Path
) -> None:
    path = tmp_path / "model.of.somebody"
    match form:
        case "mjcf":
            path.write_text(MODEL)
        case "urdf":
            path.write_text(
                '<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="1"/>'
                '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
                '<joint name="shoulder" type="continuous"><parent link="base"/><child link="rod"/>'
                '<axis xyz="0 1 0"/></joint></robot>'
            )
        case "mjb":
            mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(MODEL), str(path), None)
        case _:
            spec = mujoco.MjSpec.from_string(MODEL)
            if not hasattr(spec, "encode"):
                pytest.skip("this MuJoCo writes no MJZ")
            spec.encode(str(tmp_path / "model.mjz"), spec.compile())
            (tmp_path / "model.mjz").rename(path)
    with opened(start_warm, path) as client:
        (shown,) = client.scenes()
        description = client.description(shown.scene_id)
        assert [joint.name for joint in description.joints] == ["shoulder"]
        assert shown.step_count == 0


@pytest.mark.parametrize("words", [("verify",), ("repair",), ("export", "--to", "csv")])
def test_progress_is_shown_in_a_terminal_and_not_in_a_file(
    words: tuple[str, ...], tmp_path: Path, stroboscope_command: Callable[..., Any]
) -> None:
    termios = pytest.importorskip("termios", reason="no terminals can be made here")
    run = tmp_path / "run.mcap"
    model = mujoco.MjModel.from_xml_string(MODEL)
    record_plain(run, model, steps=50, control=lambda step, data: None)
    line = [words[0], run, *words[1:]]
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    try:
        done = stroboscope_command(*line, stderr=theirs)
        assert done.returncode == 0
        told = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout
    assert "100 %|" in told
    piped = stroboscope_command(*line)
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, done.stdout, "")


PLAY = """
import sys
from stroboscope.engine.trajectory.showing import Playing, show_trajectory

playing = Playing(speed=float(sys.argv[2]), loop=sys.argv[3] == "again")
show_trajectory(sys.argv[1], launch=False, playing=playing)
"""


@pytest.mark.parametrize(
    ("which", "again"), [({"every": 50}, "once"), ({"every": 50}, "again"), ({"hz": 5}, "again")]
)
def test_a_run_of_few_frames_is_played_to_its_end_and_again(
    which: dict[str, int], again: str, start_warm: Start, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    file = physics.TrajectoryFile(tmp_path / "few", **which)
    with scene.start_recording(file) as recording:
        scene.step(nstep=203)
    scene.destroy()
    with physics.load_trajectory(recording.path) as trajectory:
        axes = [trajectory.axis(number) for number in range(len(trajectory))]
    seen = _views(start_warm(PLAY, str(recording.path), "1", again), again=again == "again")
    assert set(seen) <= {None, *axes}


def _views(script: Any, *, again: bool) -> list[int | None]:
    """Return where the view goes until it has come to the end; ``again``: has begun twice more."""
    seen: list[int | None] = []

    def is_over(client: DebuggerClient) -> bool:
        history = client.history(client.scenes()[0].scene_id)
        if history.view != (seen[-1] if seen else None):
            seen.append(history.view)
        places = [each for each in seen if each is not None]
        if again:
            return sum(two < one for one, two in itertools.pairwise(places)) >= 2
        return len(places) > 2 and history.view in (None, history.recording_end)

    with script.connect() as client:
        assert client.wait_until(lambda c: c.scenes() and c.history(c.scenes()[0].scene_id), 60)
        assert client.wait_until(is_over, 10), seen
    code, _, errors = script.end()
    assert code == 0, errors
    return seen


def test_steps_that_became_shorter_are_played_in_their_own_time(
    start_warm: Start, tmp_path: Path
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step()
        scene.model.opt.timestep = 0.0004
        scene.step(nstep=1000)
    scene.destroy()
    # 0.4 s in all: with the first timestep for each it would be 4 s, and few of them in view.
    seen = _views(start_warm(PLAY, str(recording.path), "1", "again"), again=True)
    places = [each for each in seen if each is not None]
    ends = [one for one, two in itertools.pairwise(places) if two < one]
    assert max(ends) > 500
    between = [two - one for one, two in itertools.pairwise(places) if two > one]
    # The view is told ten times a second: some 250 of 0.4 ms each, not some 25.
    assert sorted(between)[len(between) // 2] > 60
