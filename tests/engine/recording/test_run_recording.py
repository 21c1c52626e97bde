"""``stroboscope run --record FILE script.py`` records scripts that say nothing of it."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stroboscope.engine.instrument.run import parse_arguments

Read = Callable[..., Any]
Command = Callable[..., "subprocess.CompletedProcess[str]"]

PRELUDE = """
import sys, threading
import mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])

def run(steps, wrong_at=-1):
    data = mujoco.MjData(model)
    for k in range(steps):
        if k == wrong_at:
            data.qvel[:] = 1e12
        mujoco.mj_step(model, data)
    return data
"""


class Run:
    """Scripts under the runner, each in a folder of its own."""

    def __init__(self, command: Command, read: Read, folder: Path, model: Path) -> None:
        self._command, self._read = command, read
        self.folder, self._model = folder, model

    def __call__(self, source: str, *options: str, prelude: str = PRELUDE) -> tuple[int, str]:
        """Run a script; return the exit code and what was printed as an error."""
        script = self.folder / "train.py"
        script.write_text(prelude + source, encoding="utf-8")
        words = ("run", "--no-window", "--record", str(self.folder / "run"), *options)
        done = self._command(*words, script, self._model)
        lines = done.stderr.splitlines()
        return done.returncode, "\n".join(each for each in lines if "listening" not in each)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.suffix == ".mcap")

    def recorded(self, name: str = "run.mcap") -> Any:
        recorded = self._read(self.folder / name)
        assert recorded.complete
        return recorded


@pytest.fixture
def run(
    stroboscope_command: Command, read: Read, tmp_path: Path, model_path: Callable[[str], Path]
) -> Run:
    return Run(stroboscope_command, read, tmp_path, model_path("arm"))


def test_every_step_is_recorded_and_the_user_is_told_where_although_the_data_is_gone_by_then(
    run: Run,
) -> None:
    code, errors = run("run(300)")
    assert code == 0
    assert errors.startswith("stroboscope: recorded 300 frames: stroboscope open ")
    assert errors.endswith("run.mcap")
    recorded = run.recorded()
    assert recorded.axes == list(range(300))
    assert run.files == ["run.mcap"]


def test_a_file_that_is_full_is_followed_by_another_one_and_raises_nothing(run: Run) -> None:
    code, errors = run("""
from stroboscope.engine.runtime import current_runtime
data = run(3)
(recording,) = current_runtime().recordings.recordings
assert recording._wanted.rotate
""")
    assert code == 0, errors


def test_each_scene_has_its_own_file_also_those_that_come_late_and_are_called_the_same(
    run: Run,
) -> None:
    code, errors = run("""
kept = run(10)
run(20)
run(30)
mujoco.mj_step(model, kept)
threads = [threading.Thread(target=run, args=(50 + k,)) for k in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""")
    assert (code, errors.count("recorded")) == (0, 5)
    assert run.files[-1] == "run.mcap"
    assert len(run.files) == 5
    assert all(name.startswith("run.arm") for name in run.files[:-1])
    assert run.recorded().axes == list(range(12))  # and the state that it was left in
    lengths = {run.recorded(name).axes[-1] + 1 for name in run.files}
    assert {20, 30} < lengths


def test_scenes_of_ours_and_environments_are_recorded_from_their_first_step(run: Run) -> None:
    code, errors = run(
        """
import sys
import stroboscope.engine as physics
one, never = (physics.create_scene("The arm", sys.argv[1]) for _ in range(2))
one.model.opt.gravity[2] = -1.0
many = physics.create_scene("Many", sys.argv[1], n_envs=3)
for k in range(20):
    one.step()
    many.step()
one.destroy()
again = physics.create_scene("The arm", sys.argv[1])
again.step()
physics.shutdown()
later = physics.create_scene("Later", sys.argv[1])
later.step()
""",
        prelude="",
    )
    assert code == 0, errors
    assert run.files == ["run.Later.mcap", "run.Many.mcap", "run.The_arm.mcap", "run.mcap"]
    assert run.recorded().axes == list(range(21))
    # It has begun with what the script wrote into its model before the first step.
    assert [event.kind for event in run.recorded().events] == ["begin", "begin"]
    assert run.recorded("run.Many.mcap").axes == list(range(21))
    assert run.recorded("run.Later.mcap").axes == [0, 1]


WATCHED = """
import stroboscope.engine as physics
data = mujoco.MjData(model)
scene = physics.debugger.watch(model, data, "mine")
"""


@pytest.mark.parametrize(
    ("loop", "options", "first"),
    [
        ("mujoco.mj_step(model, data)", (), 0),
        ("mujoco.mj_step1(model, data); mujoco.mj_step2(model, data)", (), 0),
        ("mujoco.mj_step(model, data)", ("--keep-last=0.05",), 5),
    ],
)
def test_a_watched_loop_that_only_calls_mujoco_is_recorded_step_by_step(
    run: Run, loop: str, options: tuple[str, ...], first: int
) -> None:
    code, errors = run(f"{WATCHED}for k in range(30):\n    {loop}\n", *options)
    assert code == 0, errors
    assert "WARNING" not in errors
    recorded = run.recorded()
    assert (recorded.axes[0], recorded.axes[-1]) == (first, 30)
    flags = [int(flag) for block in recorded.blocks for flag in block.flags]
    assert not any(flags[1:])  # each follows from the one before


def test_a_loop_that_steps_by_itself_and_says_so_is_recorded(run: Run) -> None:
    code, errors = run(
        f"{WATCHED}for k in range(30):\n    mujoco.mj_step(model, data)\n    scene.sync()\n"
        "assert (scene.step_count, scene.physics_step_count) == (30, 30)"
    )
    assert (code, run.recorded().axes) == (0, list(range(31))), errors


def test_steps_before_the_first_sync_are_followed_and_those_behind_it_are_the_script_s(
    run: Run,
) -> None:
    code, errors = run(
        f"{WATCHED}for k in range(9):\n    mujoco.mj_step(model, data, 5)\n    scene.sync()\n"
        "assert (scene.step_count, scene.physics_step_count) == (9, 45)"
    )
    assert (code, run.recorded().axes) == (0, [*range(6), *range(10, 50, 5)]), errors


def test_steps_that_nobody_can_follow_are_told_of_at_once_and_when_all_is_over(run: Run) -> None:
    code, errors = run(f"""{WATCHED}
def work():
    for k in range(30):
        mujoco.mj_step(model, data)

worker = threading.Thread(target=work, name="worker")
worker.start()
worker.join()
print("stepped", file=sys.stderr)
""")
    assert code == 0, errors
    before, _, behind = errors.partition("stepped")
    assert "scene 'mine': thread 'worker' steps its data, and thread 'MainThread'" in before
    assert before.count("transfer_to") == 1
    assert "no step of scene 'mine' is recorded, yet MuJoCo has taken 30 steps" in behind
    assert "scene.step()" in behind
    assert "warning" in [event.kind for event in run.recorded().events]


def test_of_more_environments_than_anybody_wants_the_first_are_recorded(run: Run) -> None:
    code, errors = run(
        """
import sys
import stroboscope.engine as physics
many = physics.create_scene("Many", sys.argv[1], n_envs=300)
many.step()
""",
        "--keep-last=1",
        prelude="",
    )
    assert code == 0, errors
    assert "of the 300 environments of scene 'Many' the first 256 are recorded" in errors


@pytest.mark.parametrize(
    ("options", "first"), [((), 0), (("--keep-last", "0.1"), 150), (("--keep-last=9",), 0)]
)
def test_the_last_seconds_are_those_of_the_end_of_the_script(
    run: Run, options: tuple[str, ...], first: int
) -> None:
    code, errors = run("data = run(200)\nraise ValueError('it diverged')", *options)
    assert code == 1
    assert "ValueError: it diverged" in errors
    recorded = run.recorded()
    assert (recorded.axes[0], recorded.axes[-1]) == (first, 200)
    assert "the script ended with ValueError: it diverged (train.py:" in recorded.events[-1].text


ON_STOP = ("--keep-last", "0.1", "--save-on-stop")


def test_where_nothing_stops_nothing_is_saved_and_that_is_said(run: Run) -> None:
    code, errors = run("run(100)", *ON_STOP)
    assert (code, run.files) == (0, [])
    assert errors == "stroboscope: no scene has stopped, so nothing was saved"


def test_an_exception_is_saved_of_every_scene_that_is_there_and_of_no_other(run: Run) -> None:
    code, errors = run(
        "kept = [run(100) for _ in range(5)]\nrun(100)\nraise ValueError('it diverged')", *ON_STOP
    )
    assert code == 1
    assert len(run.files) == 5
    for name in run.files:
        assert run.recorded(name).axes == list(range(50, 101))
        assert "it diverged" in run.recorded(name).events[-1].text
    assert errors.count("the script ended with ValueError: it diverged") == 5


def test_after_the_end_of_a_scene_an_exception_says_nothing_of_it_and_completes_all_files(
    run: Run,
) -> None:
    code, errors = run(
        "thread = threading.Thread(target=run, args=(20,))\n"
        "thread.start()\nthread.join()\nraise ValueError('it diverged')"
    )
    assert code == 1
    assert "an action before shutdown failed" not in errors
    assert [event.kind for event in run.recorded().events] == ["begin"]


def test_a_stop_is_saved_with_nothing_attached_and_the_script_goes_on(run: Run) -> None:
    code, errors = run("for _ in range(5):\n    run(80, wrong_at=60)\nprint('done')", *ON_STOP)
    assert code == 0
    # All of them have the same cause: of that there are three.
    assert len(run.files) == 3
    assert errors.count("stopped at episode 0, physics step 60 (t = 0.12") == 4
    assert errors.count("not saved, nor will others like it be") == 1
    assert run.recorded().axes == list(range(10, 61))
    assert run.recorded().events[-1].data["reason"] == "autoreset"


def test_a_stop_of_an_environment_is_saved(run: Run) -> None:
    code, errors = run(
        """
import sys
import stroboscope.engine as physics
many = physics.create_scene("Many", sys.argv[1], n_envs=4)
for k in range(80):
    if k == 60:
        many.qvel[2] = 1e12
    many.step()
""",
        *ON_STOP,
        prelude="",
    )
    assert code == 0, errors
    assert "environment 2" in errors
    assert run.recorded().axes[-1] == 60


def test_threads_are_saved_with_what_ended_them(run: Run) -> None:
    code, errors = run(
        """
def work(k):
    data = run(50)
    if k:
        raise ValueError("not today")
threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
        *ON_STOP,
    )
    assert code == 0
    assert len(run.files) == 2
    assert errors.count("ended with ValueError: not today") == 2


def test_children_record_nothing_and_say_nothing(run: Run) -> None:
    code, errors = run("""
import os
run(10)
child = os.fork()
if not child:
    run(20)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    assert (code, run.files) == (0, ["run.mcap"])
    assert errors.count("\n") == 0
    assert run.recorded().axes == list(range(10))


def test_a_script_without_a_simulation_says_that_nothing_was_recorded(run: Run) -> None:
    assert "nothing was recorded" in run("")[1]
    assert "nothing was recorded" in run("", prelude="")[1]
    assert run.files == []


@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize("options", [(), ("--keep-last", "0.1"), ON_STOP])
def test_a_script_that_is_told_to_end_leaves_its_file_and_says_where(
    start_warm: Callable[..., Any],
    read: Read,
    tmp_path: Path,
    model_path: Callable[[str], Path],
    options: tuple[str, ...],
    where: str,
    wait_until: Callable[..., None],
) -> None:
    command = ["stroboscope", "run", "--no-window", "--record", str(tmp_path / "run"), *options]
    source = (
        PRELUDE
        + """
def work():
    data = run(100)
    open(sys.argv[2], "w").close()
    while True:
        mujoco.mj_step(model, data)

if sys.argv[3] == "main":
    work()
thread = threading.Thread(target=work, daemon=True)
thread.start()
thread.join()
"""
    )
    ready = tmp_path / "ready"
    script = start_warm(source, str(model_path("arm")), str(ready), where, command=command)
    wait_until(ready.exists)
    script.process.send_signal(signal.SIGTERM)
    code, _, errors = script.end()
    assert code == -signal.SIGTERM, errors
    recorded = read(tmp_path / "run.mcap")
    assert recorded.complete
    assert recorded.has_final
    assert recorded.events[-1].text == "the process was ended by SIGTERM"
    assert len(recorded.axes) >= 100 if not options else len(recorded.axes) == 51
    assert "stroboscope open" in errors


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--record"], "--record needs a value"),
        (["--record", "train.py", "x.py"], "'train.py'; it must name a file of recorded runs"),
        (["--record", "no/such/run", "x.py"], "there is no folder"),
        (["--record", "/", "x.py"], "must name a file"),
        (["--keep-last", "5", "x.py"], "--keep-last needs --record FILE"),
        (["--save-on-stop", "x.py"], "--save-on-stop needs --record FILE"),
        (["--record", "run", "--save-on-stop", "x.py"], "needs --keep-last SECONDS"),
        (["--record", "run", "--keep-last", "0", "x.py"], "must be above 0"),
        (["--record", "run", "--keep-last", "inf", "x.py"], "must be above 0, and finite"),
        (["--record", "run", "--detached", "x.py"], "leave it out, or --record"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(words)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_what_to_record_is_said_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = parse_arguments(
        ["--record=run", "--keep-last=2.5", "--save-on-stop", "x.py", "--record"]
    )
    assert (found.record, found.keep_last, found.save_on_stop) == (str(tmp_path / "run"), 2.5, True)
    assert found.args == ("--record",)
