"""What every test gets: folders of its own, and a check that it left nothing behind.

A test fails when it leaves a thread, a socket, an open file, a child process or a file in the
runtime directory. Threads and processes may take a moment to end, so each check waits a little
before it complains; it costs next to nothing when there is nothing to wait for.
"""

import contextlib
import gc
import importlib.util
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from late_tests import begin_to_count, leave_out_when_late, put_last
from warm_process import WarmProcess

REPOSITORY = Path(__file__).resolve().parent.parent
# Long, as all deadlines: on a busy machine everything takes its time, and what works ends sooner.
LEAK_DEADLINE_S = 30.0
ENDING_S = 0.2
# Examples have no deadline, which a busy machine misses, and are the same in every run: what fails
# can be repeated. `make fuzz` is where new ones are tried.
hypothesis.settings.register_profile(
    "steady",
    deadline=None,
    derandomize="STROBOSCOPE_FUZZ_FACTOR" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("steady")
# These two live until the interpreter ends by design.
_LASTING_CHILDREN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
# It ends by itself a moment after the last step, and has tests of its own (test_memory_ahead):
# waiting for it took longer than what most tests are about.
_LINGERING_THREADS = ("stroboscope history",)


def pytest_configure() -> None:
    """Let hundreds of child processes share what each would compile again.

    Modules, whatever the shell's PYTHONDONTWRITEBYTECODE says, and shaders: each test has a cache
    folder of its own, which Mesa would use, and it makes no parents of the folder it is given.
    """
    begin_to_count()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    shaders = REPOSITORY / ".cache" / "mesa"
    with contextlib.suppress(OSError):  # a checkout to read: everybody compiles
        shaders.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("MESA_SHADER_CACHE_DIR", str(shaders))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the tests that take long run after the others."""
    put_last(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave them out where no time is left."""
    leave_out_when_late(item)


@pytest.fixture(scope="session")
def warm_process() -> Iterator[WarmProcess]:
    """What starts scripts in no time, each in a process of its own."""
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture
def stroboscope_command(
    warm_process: WarmProcess,
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """``stroboscope_command("info", path)``: run ``stroboscope info …`` to its end.

    In a process of its own, which has this one's folder and environment, and starts in no time.
    ``stderr``: a descriptor to write to, for instance that of a terminal.
    """

    def run(*words: object, stderr: int | None = None) -> "subprocess.CompletedProcess[str]":
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as errors,
            open(os.devnull) as nothing,
        ):
            files = (out.fileno(), nothing.fileno(), errors.fileno() if stderr is None else stderr)
            command = Path(__file__).with_name("warm_command.py")
            script = warm_process.start(command, *map(str, words), descriptors=files)
            try:
                code = script.wait(110)
            finally:
                script.kill()
            for file in (out, errors):
                file.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), errors.read())

    return run


@pytest.fixture
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """``wait_until(condition, deadline_s=60)``: wait until the condition holds, or fail."""

    def wait(condition: Callable[[], object], deadline_s: float = 60.0) -> None:
        if not _becomes_true(condition, deadline_s):
            pytest.fail(f"still false after {deadline_s} s: {condition}")

    return wait


@pytest.fixture
def runtime_directory(own_folders: Path) -> Path:
    """The runtime directory of this test: where connection files appear."""
    return own_folders / "runtime"


@pytest.fixture
def robot_model() -> Callable[[str], Path]:
    """``robot_model("g1")``: the MJCF file of a real robot, fetched in set-up.

    Names are those of ``packaging/fetch_robots.py``. The test skips when the model is not there.
    """
    path = REPOSITORY / "packaging" / "fetch_robots.py"
    spec = importlib.util.spec_from_file_location("fetch_robots", path)
    assert spec is not None
    assert spec.loader is not None
    fetch_robots = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = fetch_robots
    spec.loader.exec_module(fetch_robots)

    def find(name: str) -> Path:
        model: Path = fetch_robots.model_path(name)
        if not model.exists():
            pytest.skip(f"robot {name!r} is not there: run `python packaging/fetch_robots.py`")
        return model

    return find


@pytest.fixture
def case_model() -> Callable[..., Path]:
    """``case_model("R7")``: a model of tests/cases; another file of the case as second argument."""

    def find(case: str, file: str = "model.xml") -> Path:
        model = REPOSITORY / "tests" / "cases" / case / file
        assert model.is_file(), f"{model} is not there: see tests/cases/README.md"
        return model

    return find


@pytest.fixture(scope="session")
def unused_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Paths of folders that nobody has made; pytest's own way reads all there are each time."""
    parent = tmp_path_factory.mktemp("own")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_folders(unused_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test runtime, config, cache and current folders of its own; yield their parent.

    The engine appends MUJOCO_LOG.TXT to the current folder, so it must not be the checkout.
    """
    folder = next(unused_folders)
    folder.mkdir(mode=0o700)
    for name in ("runtime", "config", "cache", "work"):
        (folder / name).mkdir(mode=0o700)
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(folder / "runtime"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    # A window that a test's script opens is always the one of this checkout.
    monkeypatch.delenv("STROBOSCOPE_DEBUGGER", raising=False)
    # Hundreds of processes import us: compiling all modules anew takes as long as the rest of that.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.chdir(folder / "work")
    yield folder
    os.chdir(REPOSITORY)


@pytest.fixture(autouse=True)
def nothing_left_behind(own_folders: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test when it leaves threads, descriptors, children or runtime files behind."""
    threads = set(threading.enumerate())
    descriptors = _descriptors()
    children = _children()
    yield
    leaks = []

    def check(what: str, remaining: Callable[[], list[str]]) -> None:
        # What is about to end needs no search for garbage, which takes longer than most tests.
        if not remaining() or _becomes_true(lambda: not remaining(), ENDING_S):
            return
        gc.collect()
        if not _becomes_true(lambda: not remaining(), LEAK_DEADLINE_S):
            leaks.append(f"{what}: {', '.join(remaining())}")

    check("threads", lambda: _new_threads(threads))
    check("child processes", lambda: _new_children(children))
    check("open descriptors", lambda: _new_descriptors(descriptors, own_folders))
    if request.node.get_closest_marker("leaves_runtime_files") is None:
        check("runtime files", lambda: _runtime_files(own_folders / "runtime"))
    for pid in _children() - children:
        if not _lasting(pid):
            os.kill(pid, signal.SIGKILL)
    if leaks:
        pytest.fail("the test left behind " + "; ".join(leaks))


def _becomes_true(condition: Callable[[], object], deadline_s: float) -> bool:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            return False
        # Bounded by the deadline above; lets other threads run between two looks.
        threading.Event().wait(0.005)
    return True


def _new_threads(before: set[threading.Thread]) -> list[str]:
    return [
        thread.name
        for thread in threading.enumerate()
        if thread not in before
        and thread.name not in _LINGERING_THREADS
        and (not thread.daemon or thread.name.lower().startswith("stroboscope"))
    ]


def _children() -> set[int]:
    """Return the process ids of the children of all threads; empty where there is no /proc."""
    pids: set[int] = set()
    for task in _listed("/proc/self/task"):
        # A thread may have ended meanwhile.
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", "rb") as file:
            pids.update(map(int, file.read().split()))
    return pids


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip() or "(zombie)"
    except OSError:
        return "(gone)"


def _lasting(pid: int) -> bool:
    return any(name in _command(pid) for name in _LASTING_CHILDREN)


def _new_children(before: set[int]) -> list[str]:
    return [
        f"{pid} {_command(pid)[:120]}"
        for pid in _children()
        if pid not in before and not _lasting(pid)
    ]


def _descriptors() -> dict[int, str]:
    """Return what each descriptor of this process is; empty where there is no /proc."""
    seen = {}
    for name in _listed("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that listed the folder
            seen[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return seen


def _new_descriptors(before: dict[int, str], own_folder: Path) -> list[str]:
    return [
        f"{number} {target}"
        for number, target in _descriptors().items()
        if before.get(number) != target and _is_ours(number, target, own_folder)
    ]


def _is_ours(number: int, target: str, own_folder: Path) -> bool:
    """Tell our descriptors from those that Qt, X and GL open once and keep."""
    if target == "anon_inode:[eventpoll]" or target.startswith("pipe:"):
        return True
    if target.startswith("socket:"):
        try:
            with socket.socket(fileno=os.dup(number)) as duplicate:
                return duplicate.family in (socket.AF_INET, socket.AF_INET6)
        except OSError:
            return False
    return target.startswith(str(own_folder))


def _runtime_files(folder: Path) -> list[str]:
    if not _listed(str(folder)):
        return []
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()]
