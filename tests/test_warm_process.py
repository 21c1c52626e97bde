"""Scripts that are forked behave as those that Python was started for."""

import json
import signal

import pytest

SAYS = """
import atexit, json, os, sys, threading

atexit.register(lambda: print("goodbye", flush=True))
print(json.dumps([__name__, __file__, sys.argv, os.getcwd(), os.environ["MINE"], os.getpid()]))
threading.Thread(target=lambda: print("a thread", flush=True)).start()
sys.exit(7)
"""


@pytest.fixture
def run(warm_process, own_folders):
    """``run(text, *arguments)``: run it as script.py; it has ended after the test."""
    started = []

    def start(text, *arguments):
        path = own_folders / "script.py"
        path.write_text(text, encoding="utf-8")
        started.append(warm_process.run(path, *arguments, output=True))
        return started[-1]

    yield start
    for script in started:
        script.kill()
        script.wait()
        script.stdout.close()


def test_a_script_has_a_name_arguments_a_folder_an_environment_and_an_end_of_its_own(
    run, own_folders, monkeypatch
):
    monkeypatch.setenv("MINE", "yes")
    script = run(SAYS, "--seed", "3")
    said = script.stdout.read().splitlines()
    path = str(own_folders / "script.py")
    folder = str(own_folders / "work")
    assert json.loads(said[0]) == [
        "__main__", path, [path, "--seed", "3"], folder, "yes", script.pid,
    ]  # fmt: skip
    assert sorted(said[1:]) == ["a thread", "goodbye"]
    assert script.wait() == 7


def test_scripts_fail_and_are_killed_one_by_one(run):
    failing, waiting = run("raise SystemExit('no')"), run("import time\ntime.sleep(1000)")
    assert failing.wait() == 1
    assert waiting.poll() is None
    waiting.kill()
    assert waiting.wait() == -signal.SIGKILL
    waiting.kill()  # of one that has ended nothing comes
    assert run("import stroboscope.engine as physics\nphysics.shutdown()").wait() == 0
