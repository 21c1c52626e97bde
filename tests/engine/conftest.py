"""Scenes of real models for the engine's tests; the engine is shut down after each test."""

import dataclasses
import importlib.resources
import importlib.util
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import ConnectionInfo, list_sessions
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.runtime import current_runtime

if "driven_scene" not in sys.modules:
    # importlib mode puts no test folder on sys.path.
    _spec = importlib.util.spec_from_file_location(
        "driven_scene", Path(__file__).with_name("driven_scene.py")
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["driven_scene"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["driven_scene"])

from driven_scene import Driven, plain
from noted_run import SENSED, Run
from warm_compiler import use_warm_compilers
from warm_process import Script as WarmScript
from warm_process import WarmProcess

SCRIPT_DEADLINE_S = 60.0
FULL = mujoco.mjtState.mjSTATE_INTEGRATION


@pytest.fixture(autouse=True)
def engine_ends() -> Iterator[None]:
    """Shut the engine down after each test."""
    yield
    physics.shutdown()


@pytest.fixture(autouse=True)
def warm_compilers(warm_process: WarmProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the processes that compile models from outside; tests of their start override this."""
    use_warm_compilers(monkeypatch, warm_process)


@pytest.fixture
def model_path() -> Callable[[str], Path]:
    """``model_path("humanoid")``: the file of one of our own models."""

    def find(name: str) -> Path:
        return Path(str(importlib.resources.files("stroboscope.resources"))) / f"models/{name}.xml"

    return find


@pytest.fixture
def make_scene(model_path: Callable[[str], Path]) -> Callable[..., physics.Scene]:
    """``make_scene("humanoid")``: a scene of one of our own models."""

    def make(model: str = "humanoid", **arguments: object) -> physics.Scene:
        return physics.create_scene(model, model_path(model), **arguments)

    return make


def full_state(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    """Return all that the next step of ``data`` reads."""
    row = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, row, FULL)
    return row


@pytest.fixture
def state_of() -> Callable[[physics.Scene], NDArray[np.float64]]:
    """``state_of(scene)``: all that its next step reads."""
    return lambda scene: full_state(scene.model, scene.data)


@pytest.fixture
def drive() -> Callable[..., NDArray[np.float64]]:
    """``drive(scene, steps, seed=0)``: step with random controls; return qpos after each step."""

    def run(scene: physics.Scene, steps: int, *, seed: int = 0) -> NDArray[np.float64]:
        controls = np.random.default_rng(seed).uniform(-1, 1, (steps, scene.model.nu))
        positions = np.empty((steps, scene.model.nq))
        for k in range(steps):
            scene.ctrl[:] = controls[k]
            scene.step()
            positions[k] = scene.data.qpos
        return positions

    return run


@pytest.fixture
def record(
    state_of: Callable[[physics.Scene], NDArray[np.float64]],
) -> Callable[..., list[NDArray[np.float64]]]:
    """``record(scene, steps, seed=0)``: step with random controls; return the row before each."""

    def run(
        scene: physics.Scene, steps: int, *, seed: int = 0, nstep: int = 1
    ) -> list[NDArray[np.float64]]:
        random = np.random.default_rng(seed)
        rows = []
        for _ in range(steps):
            scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
            rows.append(state_of(scene))
            scene.step(nstep=nstep)
        return rows

    return run


# --- a scene with a thread of its own


@pytest.fixture
def host() -> Iterator[Host]:
    """The engine's host; the test attaches."""
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    yield host
    host.detach("the test is over")


@pytest.fixture
def drive_box(host: Host) -> Iterator[Callable[..., Driven]]:
    """``drive_box(option="", loop=plain)``: a paused scene with a loop of its own."""
    made: list[Driven] = []

    def make(option: str = "", loop: Callable[[Driven], None] = plain) -> Driven:
        host.attach(PlaybackMode.PAUSED)
        made.append(Driven(host, option, loop))
        assert made[-1].error is None, made[-1].error
        return made[-1]

    yield make
    for driven in made:
        driven.end()


# --- scripts in processes of their own


@dataclasses.dataclass
class Script:
    """A running script, and how to reach its session."""

    process: "subprocess.Popen[str] | Forked"
    wait_until: Callable[..., None]

    def session(self) -> ConnectionInfo:
        """Wait until the script has opened a session."""

        def mine() -> list[ConnectionInfo]:
            assert self.process.poll() is None, self.process.communicate()
            return [info for _, info in list_sessions() if info.pid == self.process.pid]

        self.wait_until(mine, SCRIPT_DEADLINE_S)
        return mine()[0]

    def connect(self, **options: bool) -> DebuggerClient:
        """Return a client of the script's session."""
        return DebuggerClient.connect(self.session(), **options)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return exit code, standard output and standard error."""
        out, err = self.process.communicate(timeout=SCRIPT_DEADLINE_S)
        return self.process.returncode, out, err


def _written(folder: Path, text: str) -> Path:
    """Write a script where no other one is, which may not have been read yet."""
    path = folder / "script.py"
    if path.exists() and path.read_text(encoding="utf-8") != text:
        path = Path(tempfile.mkdtemp(dir=folder)) / "script.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def start_script(
    tmp_path: Path, wait_until: Callable[..., None]
) -> Iterator[Callable[..., Script]]:
    """``start_script(source, *args, command=[...])``: run a script; killed when the test ends.

    ``command`` stands before the script's path: the interpreter alone unless given.
    """
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *args: str, command: list[str] | None = None) -> Script:
        path = _written(tmp_path, textwrap.dedent(source))
        process = subprocess.Popen(
            [*(command or [sys.executable]), str(path), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return Script(process, wait_until)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Forked:
    """A script that was forked, as ``subprocess.Popen`` shows others."""

    def __init__(self, script: WarmScript, output: Path, errors: Path) -> None:
        self.pid = script.pid
        self.poll, self.kill, self._wait = script.poll, script.kill, script.wait
        self.send_signal = script.send_signal
        self._output, self._errors = output, errors

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def communicate(self, timeout: float = SCRIPT_DEADLINE_S) -> tuple[str, str]:
        """Wait for the end; return standard output and standard error."""
        self._wait(timeout)
        return self._output.read_text(), self._errors.read_text()


@pytest.fixture
def start_warm(
    tmp_path: Path, warm_process: WarmProcess, wait_until: Callable[..., None]
) -> Iterator[Callable[..., Script]]:
    """``start_warm(source, *args, command=[...])``: as ``start_script``, in a fraction of its time.

    Where it matters what is imported when, or what the terminal is told, use ``start_script``.
    """
    started: list[Forked] = []

    def start(source: str, *args: str, command: list[str] | None = None) -> Script:
        path = _written(tmp_path, textwrap.dedent(source))
        files = [tmp_path / f"{what} {len(started)}" for what in ("output", "errors")]
        runner = Path(__file__).with_name("warm_script.py")
        words = [*(command or [])[1:], str(path), *args]
        forked = Forked(warm_process.run(runner, *map(str, files), *words), *files)
        started.append(forked)
        return Script(forked, wait_until)

    yield start
    for forked in started:
        forked.kill()
        forked.communicate()


def parked(client: DebuggerClient, count: int = 1, timeout: float = SCRIPT_DEADLINE_S) -> bool:
    """Wait until ``count`` scenes stand still in a step."""
    return client.wait_until(
        lambda c: sum(scene.activity == "parked" for scene in c.scenes()) >= count, timeout
    )


@pytest.fixture
def wait_parked() -> Callable[..., bool]:
    """``wait_parked(client, count=1)``: wait until that many scenes are parked."""
    return parked


@pytest.fixture
def run(make_scene: Callable[..., physics.Scene]) -> Run:
    """Return a humanoid whose history is kept, and whose every step is noted."""
    scene = make_scene("humanoid")
    scene.keep_history(True)
    return Run(scene)


@pytest.fixture
def sensed() -> Run:
    """Return likewise an arm with a sensor of something that nothing moves."""
    scene = physics.create_scene("sensed", SENSED)
    scene.keep_history(True)
    return Run(scene)
