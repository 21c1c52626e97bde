"""``stroboscope run`` against ``python``: what a script can see must not differ.

Every script runs twice, bare and under the runner, and all that it prints is compared.
"""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DEADLINE_S = 60.0
RUNNER = [str(Path(sys.executable).with_name("stroboscope")), "run"]
WAYS = {
    "detached": [*RUNNER, "--detached"],
    "listening": [*RUNNER, "--no-window"],
    "module": [sys.executable, "-m", "stroboscope.engine", "run", "--detached"],
}

MODEL = """
import mujoco
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><body><joint name="j" damping="0.1"/><geom size="0.1"/></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>''')
data = mujoco.MjData(model)
"""


def python(command: list[str], **options: Any) -> tuple[int, str, str]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options
    )
    # What we say about ourselves is not the script's.
    err = [line for line in done.stderr.splitlines() if not line.startswith("stroboscope: ")]
    return done.returncode, done.stdout, "\n".join(err)


def both(
    tmp_path: Path, source: str, *args: str, way: str = "detached"
) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """Return what the script does bare and under the runner."""
    script = tmp_path / "the_script.py"
    script.write_text(textwrap.dedent(source), encoding="utf-8")
    tail = [str(script), *args]
    return python([sys.executable, *tail]), python([*WAYS[way], *tail])


SCRIPTS = {
    "what main sees": """
        import sys, os
        print(__name__, __file__, __spec__, __package__, __doc__, __annotations__)
        print(type(__loader__).__name__, type(__builtins__).__name__, sorted(globals()))
        print(sys.argv, sys.path[0], os.getcwd(), sys.modules["__main__"].__dict__ is globals())
    """,
    "an uncaught exception": """
        def f(x):
            return 1 / x
        f(0)
    """,
    "a chain of exceptions": """
        def f():
            try:
                {}["a"]
            except KeyError as error:
                raise RuntimeError("outer") from error
        try:
            f()
        except RuntimeError:
            raise ValueError("another")
    """,
    "a syntax error": "x = (\n",
    "an exit code": "import sys; sys.exit(7)",
    "an exit message": "raise SystemExit('too bad')",
    "an abrupt end": "import os; print('x', flush=True); os._exit(5)",
    "ctrl+c": "raise KeyboardInterrupt",
    "death by a signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "an exception hook of its own": """
        import sys, traceback
        def hook(kind, error, trace):
            print([(f.name, f.lineno) for f in traceback.extract_tb(trace)], kind.__name__)
        sys.excepthook = hook
        def f(): raise ValueError
        f()
    """,
    "functions at exit": """
        import atexit
        atexit.register(print, "bye")
        print("hello")
    """,
    "what NumPy and MuJoCo read when they are imported": """
        import os, sys
        print([name for name in ("numpy", "mujoco") if name in sys.modules])
        os.environ["MUJOCO_GL"] = "disabled"
        import mujoco
    """,
    "pickles of its own classes": """
        import pickle
        class Thing:
            pass
        print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, Thing.__module__)
    """,
    "spawned processes": """
        import multiprocessing
        def f(x):
            return x * x, __name__
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(f, [1, 2]))
    """,
    "forked processes": """
        import multiprocessing
        def f(x):
            return x * x, __name__
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(1) as pool:
                print(pool.map(f, [1, 2]))
    """,
    "source that is inspected": """
        import inspect
        def f():
            return 1  # ünïcode
        print(inspect.getsource(f))
    """,
    "an encoding of its own": "# -*- coding: latin-1 -*-\nprint('x')\n",
    "signal handlers": """
        import signal
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        print(signal.getsignal(signal.SIGTERM))
    """,
    "physics": MODEL
    + """
import numpy as np
for k in range(200):
    data.ctrl[0] = np.sin(0.1 * k)
    if k % 50 == 0:
        mujoco.mj_resetData(model, data)
    mujoco.mj_step(model, data, nstep=3)
    mujoco.mj_step1(model, data)
    mujoco.mj_step2(model, data)
    mujoco.mj_forward(model, data)
print(data.qpos.tobytes().hex(), data.time)
""",
    "wrong arguments": MODEL
    + """
for arguments in ((), (model,), (1, 2), (model, data, "x"), (model, data, 0), (model, data, -1)):
    try:
        mujoco.mj_step(*arguments)
    except TypeError as error:
        print(len(arguments), type(error).__name__)
print(data.time)
""",
    "an error of the engine": """
        import mujoco
        model = mujoco.MjModel.from_xml_string('''
        <mujoco><size memory="60K"/><worldbody><geom type="plane" size="2 2 .1"/>
          <replicate count="30" offset="0 0 0.21"><body pos="0 0 0.3"><freejoint/>
          <geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>''')
        data = mujoco.MjData(model)
        def simulate():
            for _ in range(500):
                mujoco.mj_step(model, data)
        try:
            simulate()
        except mujoco.FatalError as error:
            print("caught", type(error).__name__, error.__cause__, error)
        simulate()
    """,
}

# Of these it could make a difference that somebody may connect.
LISTENING = (
    "an uncaught exception", "an exit code", "an abrupt end", "ctrl+c", "death by a signal",
    "functions at exit", "spawned processes", "forked processes", "signal handlers", "physics",
    "an error of the engine",
)  # fmt: skip


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_nothing_differs_in(name: str, tmp_path: Path) -> None:
    arguments = ("-m", "--mode", "--", "x y")
    bare, detached = both(tmp_path, SCRIPTS[name], *arguments, way="detached")
    assert detached == bare
    if name not in LISTENING:
        return
    listening = python([*WAYS["listening"], str(tmp_path / "the_script.py"), *arguments])
    assert listening == bare


def test_running_without_the_command_is_the_same(tmp_path: Path) -> None:
    for name in ("what main sees", "an uncaught exception", "physics"):
        bare, run = both(tmp_path, SCRIPTS[name], way="module")
        assert run == bare


def test_a_module_with_its_arguments(tmp_path: Path) -> None:
    package = tmp_path / "a_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys\n"
        "print(__name__, __file__, __spec__.name, __package__, sys.argv, sys.path[0])\n"
        "def f(): raise ValueError('x')\n"
        "f()\n"
    )
    tail = ["-m", "a_package", "--mode", "paused", "-m"]
    bare = python([sys.executable, *tail], cwd=tmp_path)
    assert bare[0] == 1
    assert python([*WAYS["detached"], *tail], cwd=tmp_path) == bare


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    code, out, err = python([*WAYS["detached"], "-m", "no_such_module"], cwd=tmp_path)
    assert (code, out) == (1, "")
    assert err.endswith("No module named no_such_module")


@pytest.mark.parametrize("given", ["the_script.py", "./sub/../the_script.py", "app", "./app/"])
def test_a_relative_path_is_where_python_would_have_found_it(given: str, tmp_path: Path) -> None:
    source = """
        import os, sys
        os.chdir("/")
        print(__file__, sys.argv[0], sys.path[0], sys._getframe().f_code.co_filename)
        raise ValueError(open(__file__).readline())
    """
    for name in ("the_script.py", "app/__main__.py", "sub/other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(source), encoding="utf-8")
    bare = python([sys.executable, given], cwd=tmp_path)
    assert python([*WAYS["detached"], given], cwd=tmp_path) == bare
    assert bare[0] == 1


def test_a_folder_with_a_main(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "helper.py").write_text("VALUE = 3\n")
    (tmp_path / "app" / "__main__.py").write_text(
        "import sys, helper\nprint(helper.VALUE, __name__, sys.argv, sys.path[0])\n"
    )
    folder = str(tmp_path / "app")
    assert python([*WAYS["detached"], folder, "x"]) == python([sys.executable, folder, "x"])


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.py")
    code, out, err = python([sys.executable, missing])
    done = subprocess.run([*RUNNER, missing], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, out) == (2, "")
    assert done.stderr.split("can't open file")[1] == err.split("can't open file")[1] + "\n"


def test_a_script_without_mujoco_is_left_alone(tmp_path: Path) -> None:
    bare, run = both(
        tmp_path,
        "import sys; print(sorted(m for m in sys.modules if m.startswith('stroboscope')))",
    )
    assert bare[1] == "[]\n"
    # The runner itself, and nothing of the engine behind it.
    assert "scene" not in run[1]


def test_the_script_runs_on_when_no_window_can_open(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS["physics"])
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment.pop("QT_QPA_PLATFORM", None)
    environment["STROBOSCOPE_DEBUGGER"] = sys.executable  # some executable: it is never started
    done = subprocess.run(
        [*RUNNER, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    bare = python([sys.executable, str(script)])
    assert (done.returncode, done.stdout) == bare[:2]
    assert "there is no display for the window" in done.stderr
    assert done.stderr.endswith("stroboscope: the script runs on without the debugger\n")


def test_ctrl_c_under_the_runner_is_the_script_s(start_script: Callable[..., Any]) -> None:
    script = start_script(
        MODEL
        + """
print("ready", flush=True)
try:
    while True:
        mujoco.mj_step(model, data)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
""",
        command=WAYS["listening"],
    )
    assert script.process.stdout.readline() == "ready\n"
    script.session()
    script.process.send_signal(signal.SIGINT)
    code, out, err = script.end()
    assert (code, out) == (-signal.SIGINT, "interrupted\n")
    assert err.endswith("KeyboardInterrupt\n")


def test_steps_import_no_compiled_module_which_could_eat_a_ctrl_c(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    # What Cython makes, as numpy.random is, catches every exception while it is imported, and a
    # KeyboardInterrupt is raised wherever the main thread is at that moment.
    script = start_script(
        MODEL
        + """
import sys
from importlib.machinery import EXTENSION_SUFFIXES
before = set(sys.modules)
for _ in range(200):
    mujoco.mj_step(model, data)
new = {name: str(getattr(sys.modules[name], "__file__", "")) for name in set(sys.modules) - before}
compiled = [name for name, file in new.items() if file.endswith(tuple(EXTENSION_SUFFIXES))]
print(sorted(name for name in compiled if name.split(".")[0] not in sys.stdlib_module_names))
""",
        command=[*RUNNER, "--wait", "60"],
    )
    with script.connect() as client:
        assert wait_parked(client)
        scene = client.scenes()[0].scene_id
        client.step(scene, 5)
        client.goto(scene, axis=2)
        client.play()
        assert script.end()[:2] == (0, "[]\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "which script?"),
        (["-m"], "which module?"),
        (["--mode", "fast", "x.py"], "--mode is 'fast'; it can be paused, playing"),
        (["--timeout", "soon", "x.py"], "--timeout is 'soon'; it must be a number of seconds"),
        (["--wait"], "--wait needs a value"),
        (["--windows", "x.py"], "unknown option --windows"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], complaint: str) -> None:
    done = subprocess.run([*RUNNER, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1, "nobody should have to scroll back to it"


def test_a_script_is_paused_at_its_first_step_until_somebody_plays(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_script(
        MODEL + "mujoco.mj_step(model, data)\nprint(data.time)\n", command=[*RUNNER, "--wait", "30"]
    )
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert (scene.name, scene.step_count, scene.time) == ("script", 0, 0.0)
        client.play()
        assert script.end()[:2] == (0, "0.002\n")


def test_ctrl_c_in_a_paused_step_shows_the_script_s_line_and_nothing_of_ours(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_script(
        MODEL + "mujoco.mj_step(model, data)\n", command=[*RUNNER, "--wait", "30"]
    )
    with script.connect() as client:
        assert wait_parked(client)
        script.process.send_signal(signal.SIGINT)
        code, _, err = script.end()
    assert code == -signal.SIGINT
    assert err.count("  File ") == 1, err
    assert "    mujoco.mj_step(model, data)\n" in err


def test_a_callback_that_is_there_before_the_first_step_hides_no_scene(tmp_path: Path) -> None:
    # MuJoCo's compiler takes a step, in which a callback raises: nothing of ours may compile.
    source = MODEL + textwrap.dedent("""
        mujoco.set_mjcb_control(lambda model, data: data.ctrl.fill(0.5))
        for _ in range(3):
            mujoco.mj_step(model, data)
        from stroboscope.engine.runtime import current_runtime
        scene, = current_runtime().scenes
        scene.backend.signal_source(("qpos", "contact.count", "solver.iterations"))
        print(scene.physics_step_count, data.ctrl[0])
    """)
    script = tmp_path / "the_script.py"
    script.write_text(source, encoding="utf-8")
    code, out, err = python([*RUNNER, "--no-window", str(script)])
    assert (code, out, err) == (0, "3 0.5\n", "")


def test_what_is_computed_beside_scenes_of_ours_is_no_scene_whoever_imports_mujoco(
    tmp_path: Path,
) -> None:
    source = """
import stroboscope.engine as physics
scene = physics.create_scene("mine")  # imports mujoco
scene.step()
import mujoco
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.runtime import current_runtime
load_mujoco().mj_step(scene.model, mujoco.MjData(scene.model))
print([scene.name for scene in current_runtime().scenes])
"""
    script = tmp_path / "the_script.py"
    script.write_text(source, encoding="utf-8")
    assert python([*RUNNER, "--no-window", str(script)]) == (0, "['mine']\n", "")
