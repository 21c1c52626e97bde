"""However the process ends: what was recorded is in a file that can be read, and says why."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stroboscope.engine.files.reader import TrajectoryReader

StartScript = Callable[..., Any]
Read = Callable[..., Any]
WaitUntil = Callable[..., None]

# `note(scene)` says what the row of the coming step is, for comparison.
PRELUDE = """
import multiprocessing, os, signal, sys, threading, time, warnings
import numpy as np
import mujoco
import stroboscope.engine as physics

warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on: fork with threads
folder, model = sys.argv[1:3]
FULL = mujoco.mjtState.mjSTATE_INTEGRATION
out = open(folder + "/oracle", "wb", buffering=0)

def note(scene):
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    out.write(row.tobytes())

def record(scene, **options):
    return scene.start_recording(physics.TrajectoryFile(folder + "/run", **options))

def flushed():
    while recording.frames < 300:
        time.sleep(0.01)

def ready():
    open(folder + "/ready", "w").close()

def steps(scene, count):
    for k in range(count):
        scene.ctrl[:] = np.sin(0.1 * k)
        note(scene)
        scene.step()
"""

# Numbers of a row of the arm.
_WIDTH = 143


class Case:
    """A script that records into ``run.mcap``, and what becomes of that."""

    def __init__(self, start: Any, wait: WaitUntil, read: Read, folder: Path, model: Path) -> None:
        self._start, self._wait, self._read = start, wait, read
        self.folder, self.model = folder, model
        self.script: Any = None

    def run(self, source: str) -> None:
        text = PRELUDE + textwrap.dedent(source)
        self.script = self._start(text, str(self.folder), str(self.model))

    def wait_until_ready(self, rows: int = 0) -> None:
        """Wait until the script has said that it is, and has taken so many steps."""
        size = rows * 8 * _WIDTH

        def is_ready() -> bool:
            assert self.script.process.poll() is None, self.script.process.communicate()
            oracle = self.folder / "oracle"
            return (self.folder / "ready").exists() and oracle.stat().st_size >= size

        self._wait(is_ready, 60)

    def send(self, number: int) -> None:
        os.kill(self.script.process.pid, number)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was printed as an error."""
        code, _, errors = self.script.end()
        return code, errors

    def recorded(self, name: str = "run.mcap") -> Any:
        return self._read(self.folder / name)

    def rows(self, width: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the rows that the script has noted, (rows, width)."""
        seen = np.fromfile(self.folder / "oracle", dtype=np.float64)
        return seen[: len(seen) // width * width].reshape(-1, width)

    def check_rows(self, recorded: Any, *, loses: int = 0) -> None:
        """Compare what is in the file with what the script has seen, to the last step."""
        rows = recorded.rows
        seen = self.rows(rows.shape[1])
        common = [axis for axis in recorded.axes if axis < len(seen)]
        assert rows[: len(common)].tobytes() == seen[common].tobytes()
        assert len(seen) - loses <= recorded.axes[-1] + 1 <= len(seen) + 1


@pytest.fixture
def case(
    start_warm: StartScript,
    wait_until: WaitUntil,
    read: Read,
    tmp_path: Path,
    model_path: Callable[[str], Path],
) -> Case:
    return Case(start_warm, wait_until, read, tmp_path, model_path("arm"))


# What the main thread does when the signal comes.
WHEREABOUTS = {
    "steps": """
scene = physics.create_scene("scene", model)
record(scene, {options})
ready()
steps(scene, 1 << 40)
""",
    "sleeps": """
scene = physics.create_scene("scene", model)
record(scene, {options})
steps(scene, 700)
ready()
time.sleep(600)
""",
    "joins a thread that steps": """
def work():
    scene = physics.create_scene("scene", model)
    begin.set()
    go_on.wait()
    steps(scene, 1 << 40)

begin, go_on = threading.Event(), threading.Event()
thread = threading.Thread(target=work, daemon=True)
thread.start()
begin.wait()
other = physics.create_scene("other", model)
from stroboscope.engine.runtime import current_runtime
record_of = [each for each in current_runtime().scenes if each.name == "scene"]
physics.start_recording(physics.TrajectoryFile(folder + "/run", {options}), scenes=record_of)
go_on.set()
ready()
thread.join()
""",
    "is in a callback of a step": """
scene = physics.create_scene("scene", model)
record(scene, {options})
steps(scene, 700)

def stay(scene):
    ready()
    time.sleep(600)

scene.register_pre_step_callback(stay)
steps(scene, 1)
""",
    "is in a control callback": """
scene = physics.create_scene("scene", model)
record(scene, {options})
mujoco.set_mjcb_control(lambda m, d: [None for _ in range(20000)])
ready()
steps(scene, 1 << 40)
""",
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
@pytest.mark.parametrize("whereabouts", ["steps", "sleeps"])
def test_a_signal_that_nobody_handles_ends_the_process_as_ever_and_files_are_complete(
    case: Case, whereabouts: str, number: signal.Signals
) -> None:
    case.run(WHEREABOUTS[whereabouts].format(options=""))
    case.wait_until_ready(700)
    case.send(number)
    code, errors = case.end()
    assert (code, errors) == (-number, "")
    recorded = case.recorded()
    assert recorded.complete
    assert recorded.has_final
    case.check_rows(recorded)
    stop = recorded.events[-1]
    assert (stop.kind, stop.text) == ("stop", f"the process was ended by {number.name}")
    assert (stop.data["reason"], stop.data["signal"]) == ("signal", number.name)
    assert stop.axis == recorded.axes[-1]


@pytest.mark.parametrize("options", ["", "keep_last=0.5, save_on_stop=True"])
@pytest.mark.parametrize("how", ["a signal", "an exception"])
def test_each_recorded_environment_says_what_has_ended_the_process_at_its_own_time(
    case: Case, how: str, options: str
) -> None:
    case.run(
        f"""
        scene = physics.create_scene("scene", model, n_envs=4)
        record(scene, envs=[1, 3], {options})
        for k in range(20):
            scene.step()
            if k == 4:
                scene.reset(envs_idx=[3])
        ready()
        if {how == "an exception"}:
            raise ValueError("it diverged")
        time.sleep(600)
        """
    )
    if how == "a signal":
        case.wait_until_ready()
        case.send(signal.SIGTERM)
    code, errors = case.end()
    assert code == (1 if how == "an exception" else -signal.SIGTERM), errors
    with TrajectoryReader(case.folder / "run.mcap") as reader:
        assert [reader.scene(index).env for index in reader.scenes] == [1, 3]
        timestep = reader.scene(0).timestep
        stops = [[e for e in reader.events(i) if e.kind == "stop"] for i in reader.scenes]
    assert [len(each) for each in stops] == [1, 1]
    for (stop,), env, steps in zip(stops, (1, 3), (20, 15), strict=True):
        assert (stop.axis, stop.data["env"], stop.physics_step) == (20, env, steps)
        assert stop.time == pytest.approx(steps * timestep)
        assert "SIGTERM" in stop.text if how == "a signal" else "it diverged" in stop.text


@pytest.mark.parametrize("whereabouts", [each for each in WHEREABOUTS if "thread" not in each])
@pytest.mark.parametrize("options", ["keep_last=0.5", "keep_last=0.5, save_on_stop=True"])
def test_a_flight_recorder_is_written_when_the_process_is_told_to_end(
    case: Case, whereabouts: str, options: str
) -> None:
    case.run(WHEREABOUTS[whereabouts].format(options=options))
    case.wait_until_ready(0 if "control" in whereabouts else 700)
    case.send(signal.SIGTERM)
    assert case.end()[0] == -signal.SIGTERM
    recorded = case.recorded()
    assert recorded.complete
    case.check_rows(recorded)
    assert recorded.events[-1].text == "the process was ended by SIGTERM"
    assert [path.name for path in case.folder.glob("*.mcap")] == ["run.mcap"]
    assert not list(case.folder.glob(".*"))


def test_a_recorded_scene_of_another_thread_is_complete_as_far_as_it_came(case: Case) -> None:
    case.run(WHEREABOUTS["joins a thread that steps"].format(options=""))
    case.wait_until_ready(700)
    case.send(signal.SIGTERM)
    assert case.end() == (-signal.SIGTERM, "")
    recorded = case.recorded()
    assert recorded.complete
    assert recorded.events[-1].text == "the process was ended by SIGTERM"
    assert len(recorded.axes) >= 700
    seen = case.rows(recorded.rows.shape[1])
    assert recorded.rows.tobytes() == seen[: len(recorded.rows)].tobytes()


def test_a_handler_of_the_script_stays_the_only_one(case: Case) -> None:
    case.run(
        """
        def handler(number, frame):
            os.write(2, b"handled")
            sys.exit(3)

        signal.signal(signal.SIGTERM, handler)
        scene = physics.create_scene("scene", model)
        record(scene)
        assert signal.getsignal(signal.SIGTERM) is handler
        ready()
        steps(scene, 1 << 40)
        """
    )
    case.wait_until_ready(50)
    case.send(signal.SIGTERM)
    assert case.end() == (3, "handled")
    recorded = case.recorded()
    assert recorded.complete
    case.check_rows(recorded)
    assert recorded.kinds() == ["begin"]


def test_handlers_are_as_they_were_while_nothing_is_recorded_and_after_it(case: Case) -> None:
    case.run(
        """
        numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1, signal.SIGINT]
        def handlers():
            return [signal.getsignal(each) for each in numbers]
        before = handlers()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
        scene = physics.create_scene("scene", model)
        steps(scene, 3)
        assert handlers()[0] is signal.SIG_DFL
        recording = record(scene)
        assert handlers()[0] is not signal.SIG_DFL
        assert handlers()[1] is signal.SIG_IGN
        assert handlers()[3:] == before[3:]
        mine = lambda number, frame: None
        signal.signal(signal.SIGXCPU, mine)
        steps(scene, 3)
        recording.stop()
        assert handlers()[0] is signal.SIG_DFL
        assert handlers()[1:3] == [signal.SIG_IGN, mine]
        """
    )
    assert case.end() == (0, "")


def test_a_handler_that_a_library_has_set_without_python_s_knowledge_stays(case: Case) -> None:
    case.run(
        """
        import faulthandler
        faulthandler.register(signal.SIGTERM)
        scene = physics.create_scene("scene", model)
        record(scene)
        steps(scene, 3)
        signal.raise_signal(signal.SIGTERM)
        steps(scene, 3)
        """
    )
    code, errors = case.end()
    assert code == 0
    assert "most recent call first" in errors
    assert case.recorded().complete


@pytest.mark.parametrize("begins", ["fork", "multiprocessing"])
def test_a_forked_child_that_is_told_to_end_does_so_at_once_and_leaves_the_file_alone(
    case: Case, begins: str
) -> None:
    case.run(
        f"""
        scene = physics.create_scene("scene", model)
        record(scene)
        steps(scene, 30)
        def child():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            scene.step()
            os.write(write, b"x")
            time.sleep(600)
        read, write = os.pipe()
        if "{begins}" == "fork":
            number = os.fork()
            if not number:
                child()
            os.read(read, 1)
            os.kill(number, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == -signal.SIGTERM
        else:
            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            os.read(read, 1)
            process.terminate()
            process.join()
            assert process.exitcode == -signal.SIGTERM
        steps(scene, 30)
        """
    )
    assert case.end() == (0, "")
    recorded = case.recorded()
    assert recorded.complete
    assert recorded.axes == list(range(61))
    case.check_rows(recorded)
    assert recorded.kinds() == ["begin"]


def test_a_child_that_just_ends_leaves_the_file_of_its_parent_alone(case: Case) -> None:
    case.run(
        """
        scene = physics.create_scene("scene", model)
        record(scene, keep_last=1.0)
        record_too = scene.start_recording(folder + "/all")
        steps(scene, 30)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(abs, range(-5, 0)) == [5, 4, 3, 2, 1]
        number = os.fork()
        if not number:
            sys.exit(0)
        os.waitpid(number, 0)
        assert not os.path.exists(folder + "/run.mcap")
        steps(scene, 30)
        """
    )
    assert case.end() == (0, "")
    for name in ("run.mcap", "all.mcap"):
        recorded = case.recorded(name)
        assert recorded.complete
        assert recorded.axes == list(range(61))
    assert len(list(case.folder.glob("*.mcap"))) == 2


RECORDS = """
scene = physics.create_scene("scene", model)
recording = record(scene)
steps(scene, 300)
"""
ENDS = {
    "sys.exit": ("sys.exit(3)", 3, True),
    "an exception": ("raise ValueError('it diverged')", 1, True),
    "os._exit": ("flushed(); os._exit(4)", 4, False),
    "os.abort": ("flushed(); os.abort()", -signal.SIGABRT, False),
    "SIGKILL": ("flushed(); os.kill(os.getpid(), 9)", -signal.SIGKILL, False),
    "SIGINT": ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT, True),
}


@pytest.mark.parametrize("how", ENDS)
def test_however_a_script_ends_its_file_can_be_read(case: Case, how: str) -> None:
    source, expected, is_complete = ENDS[how]
    case.run(RECORDS + source)
    code, errors = case.end()
    assert code == expected, errors
    with TrajectoryReader(case.folder / "run.mcap") as reader:
        assert reader.complete == is_complete
        assert not reader.damage
        assert reader.frame_count(0) == (301 if is_complete else 300)
    recorded = case.recorded()
    case.check_rows(recorded)
    stops = [event.text for event in recorded.events if event.kind == "stop"]
    assert [text.split(" (")[0] for text in stops] == (
        ["the script ended with ValueError: it diverged"] if how == "an exception" else []
    )


def test_a_daemon_thread_that_steps_when_the_interpreter_ends_leaves_a_complete_file(
    case: Case,
) -> None:
    case.run(
        """
        def work():
            scene = physics.create_scene("scene", model)
            record(scene)
            steps(scene, 300)
            ready.set()
            steps(scene, 1 << 40)

        ready = threading.Event()
        threading.Thread(target=work, daemon=True).start()
        ready.wait()
        """
    )
    assert case.end()[0] == 0  # that thread says that its scene is no more
    recorded = case.recorded()
    assert recorded.complete
    seen = case.rows(recorded.rows.shape[1])
    assert recorded.rows.tobytes() == seen[: len(recorded.rows)].tobytes()


def test_an_exception_that_ends_a_thread_is_in_the_file_and_the_others_go_on(case: Case) -> None:
    case.run(
        """
        def work():
            scene = physics.create_scene("scene", model)
            record(scene)
            steps(scene, 50)
            raise ValueError("it diverged")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        mine = physics.create_scene("mine", model)
        for _ in range(20):
            mine.step()
        """
    )
    code, errors = case.end()
    assert code == 0
    assert "it diverged" in errors
    recorded = case.recorded()
    assert recorded.complete
    assert recorded.axes == list(range(51))
    assert "ValueError: it diverged" in recorded.events[-1].text


def test_the_first_process_of_a_container_ends_as_well(
    case: Case, start_script: StartScript, wait_until: WaitUntil
) -> None:
    container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None or subprocess.run([*container, "true"]).returncode:
        pytest.skip("no such thing as a container can be made here")
    source = PRELUDE + "assert os.getpid() == 1\n" + WHEREABOUTS["steps"].format(options="")
    arguments = [str(case.folder), str(case.model)]
    script = start_script(source, *arguments, command=[*container, sys.executable])
    oracle = case.folder / "oracle"
    wait_until(lambda: oracle.exists() and oracle.stat().st_size > 100 * 8 * _WIDTH, 60)
    children = Path(f"/proc/{script.process.pid}/task/{script.process.pid}/children").read_text()
    os.kill(int(children.split()[0]), signal.SIGTERM)
    assert script.end()[0] == 128 + signal.SIGTERM
    assert case.recorded().complete
    assert case.recorded().events[-1].text == "the process was ended by SIGTERM"
