"""``stroboscope ctl wait`` as scripts use it: the real command, in processes of their own."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from warm_process import WarmProcess

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.messages import PlaybackMode

DEADLINE_S = 60.0
COMMAND = Path(__file__).parent.with_name("warm_command.py")
MODEL = """
import sys
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody>
  <body><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody></mujoco>'''
"""
STEPS = (
    MODEL
    + """
scene = physics.create_scene("arm", MODEL)
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""
)

Wait = Callable[..., "Waiting"]
Start = Callable[..., Any]


class Waiting:
    """A ``stroboscope ctl …`` that runs."""

    def __init__(
        self, warm: WarmProcess, words: tuple[object, ...], folder: Path, until: Callable[..., None]
    ) -> None:
        self._files = [folder / "output", folder / "errors"]
        self._until = until
        descriptors = [os.open(each, os.O_WRONLY | os.O_CREAT, 0o600) for each in self._files]
        descriptors.insert(1, os.open(os.devnull, os.O_RDONLY))
        try:
            words = ("ctl", *words)
            self.process = warm.start(COMMAND, *map(str, words), descriptors=tuple(descriptors))
        finally:
            for each in descriptors:
                os.close(each)

    def noted(self, text: str) -> "Waiting":
        """Wait until it has said that on standard error."""
        self._until(lambda: text in self._files[1].read_text(), DEADLINE_S)
        return self

    def printed(self, text: str) -> None:
        """Wait until it has written that on standard output, and nothing else."""
        self._until(lambda: self._files[0].read_text() == text, DEADLINE_S)

    def end(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and what it has written."""
        code = self.process.wait(DEADLINE_S)
        assert "Traceback" not in self.errors
        return code, self._files[0].read_text()

    @property
    def errors(self) -> str:
        return self._files[1].read_text()


@pytest.fixture
def wait(start_ctl: Wait) -> Wait:
    """``wait("--step", 300)``: run ``ctl wait --step 300`` in the background."""
    return lambda *words: start_ctl("wait", *words)


@pytest.fixture
def start_ctl(
    warm_process: WarmProcess, tmp_path: Path, wait_until: Callable[..., None]
) -> Iterator[Wait]:
    """``start_ctl("step", "-n", 3)``: run that in the background."""
    made: list[Waiting] = []

    def start(*words: object) -> Waiting:
        folder = tmp_path / f"wait {len(made)}"
        folder.mkdir()
        made.append(Waiting(warm_process, words, folder, wait_until))
        return made[-1]

    yield start
    for waiting in made:
        waiting.process.kill()
        waiting.process.wait()


@pytest.fixture
def window(start_warm: Start, wait_parked: Callable[..., bool]) -> Iterator[DebuggerClient]:
    """Whoever controls the session, paused before the first step of "arm"."""
    script = start_warm(STEPS)
    with script.connect() as client:
        assert wait_parked(client)
        yield client
    assert script.end()[0] == 0


def test_a_stop_ends_it_in_the_moment_and_one_that_holds_the_scene_at_once(
    window: DebuggerClient, wait: Wait
) -> None:
    window.break_when(1, "time > 0.1")
    default, named = wait().noted("waiting for a stop"), wait("--stop", "--json", "--scene", "arm")
    ahead, late = wait("--step", 5000).noted("physics step 5000"), wait("--ended").noted("the end")
    enough = wait("--step", 20, "--axis", 9000).noted("step 20, or axis 9000")
    named.noted("a stop of 'arm'")
    before = window.session_status
    window.fast_forward()
    code, told = default.end()
    assert (code, told.count("\n")) == (0, 1)
    assert told.startswith("arm: stopped, episode 0, step 50, 0.1 s: “time > 0.1” became true")
    code, told = named.end()
    document = json.loads(told)
    assert (code, document["exit_code"], document["what"]) == (0, 0, "stop")
    assert document["text"] + "\n" == default.end()[1]
    assert document["stop"]["reason"] == "condition"
    assert document["stop"]["physics_step"] == document["scene"]["physics_step_count"] - 1 == 50
    assert document["scene"]["held"]
    for other in (ahead, late):
        assert other.end() == (3, default.end()[1])
    assert enough.end()[0] == 0

    # It looks at what there is, and leaves it as it was.
    assert wait().end() == default.end()
    assert wait("--time", 0.1).end()[0] == 0
    assert wait("--axis", 51).end()[1] == "arm: axis 51 was reached, it is at step 51, 0.102 s\n"
    assert wait("--axis", 52).end()[0] == 3
    after = window.session_status
    assert (after.controller, after.clients) == (before.controller, before.clients)
    assert after.mode is PlaybackMode.FAST_FORWARD
    assert "nobody controls" not in default.errors


def test_a_pause_is_no_stop_and_time_that_is_over_has_a_code_of_its_own(
    window: DebuggerClient, wait: Wait
) -> None:
    waiting = wait("--timeout", 0.3)
    assert waiting.end() == (
        4,
        "a stop did not come within 0.3 s: arm is at step 0, 0 s (paused)\n",
    )
    window.pause(scene_id=1)
    document = json.loads(wait("--step", 1, "--timeout", 0.2, "--json").end()[1])
    assert (document["exit_code"], document["what"]) == (4, "timeout")
    assert document["scene"]["hold_reason"] == "paused alone"
    step = wait("--step", 3).noted("waiting")
    window.step(1, 3)
    assert step.end() == (0, "arm: physics step 3 was reached, it is at step 3, 0.006 s\n")


def test_ctrl_c_ends_it_without_a_word(window: DebuggerClient, wait: Wait) -> None:
    waiting = wait("--json").noted("waiting for a stop")
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.end() == (130, "")
    assert waiting.errors.count("\n") == 2


@pytest.mark.leaves_runtime_files
def test_a_program_that_is_killed_has_ended(
    start_warm: Start, wait_parked: Callable[..., bool], wait: Wait
) -> None:
    script = start_warm(
        STEPS.replace("if phys", "other = physics.create_scene('other', MODEL)\nif phys")
    )
    with script.connect() as client:
        assert wait_parked(client)
        any_end, first = wait("--ended").noted("of any"), wait("--scene", "arm").noted("of 'arm'")
        missing = wait("armm", "--step", 1).noted("no scene 'armm' yet, only 'arm', 'other'")
        script.process.kill()
    lost = "script.py: the application ended or closed the connection"
    code, told = any_end.end()
    assert (code, told.startswith(lost)) == (0, True)
    code, told = first.end()
    assert (code, told.startswith(f"{lost}; arm was last seen at step 0, 0 s")) == (5, True)
    assert missing.end()[0] == 5


DESTROYS = (
    MODEL
    + """
one, two = (physics.create_scene(name, MODEL) for name in ("one", "two"))
if physics.debugger.attach(60, launch=False):
    two.step(nstep=4)
    two.destroy()
    while physics.debugger.is_attached():
        one.step()
"""
)


def test_of_several_scenes_it_says_which_and_goes_on_where_others_are_left(
    start_warm: Start, wait_parked: Callable[..., bool], wait: Wait
) -> None:
    script = start_warm(DESTROYS)
    with script.connect() as client:
        assert wait_parked(client)
        client.break_when(1, "time > 0.05")
        ended, named = wait("--ended").noted("the end"), wait("--scene", "two").noted("a stop")
        stop, by_id = wait().noted("a stop of any"), wait("1", "--time", "0.01").noted("'1'")
        client.play()
        code, told = ended.end()
        assert (code, told.startswith("two: it was destroyed, last seen at step ")) == (0, True)
        assert named.end() == (5, ended.end()[1])
        code, told = stop.end()
        assert (code, told.startswith("one: stopped")) == (0, True)
        assert by_id.end()[1].startswith("one: 0.01 s was reached")
    assert script.end()[0] == 0


EPISODES = STEPS.replace(
    "        scene.step()", "        scene.step()\n        if scene.step_count == 40: scene.reset()"
)


def test_episodes_that_are_shorter_than_two_messages_are_not_missed(
    start_warm: Start, wait_parked: Callable[..., bool], wait: Wait
) -> None:
    script = start_warm(EPISODES)
    with script.connect() as client:
        assert wait_parked(client)
        step, late = wait("--step", 40).noted("waiting"), wait("--time", 0.0799).noted("waiting")
        never = wait("--step", 41, "--timeout", 0.6).noted("waiting")
        client.set_speed(8.0)
        client.play()
        code, told = step.end()
        assert (code, "physics step 40 was reached, it is at episode " in told) == (0, True)
        assert late.end()[0] == 0
        assert never.end()[0] == 4
    assert script.end()[0] == 0


def test_a_stop_of_an_environment_says_which(
    start_warm: Start, wait_parked: Callable[..., bool], wait: Wait
) -> None:
    script = start_warm(
        STEPS.replace('"arm", MODEL', '"arms", MODEL, n_envs=3').replace(
            "        scene.step()",
            "        scene.step()\n"
            "        if scene.total_steps == 20: scene.qvel[2, 0] = float('nan')",
        )
    )
    with script.connect() as client:
        assert wait_parked(client)
        waiting = wait("--json").noted("waiting")
        client.fast_forward()
        code, told = waiting.end()
        document = json.loads(told)
        assert (code, document["stop"]["env"], document["scene"]["n_envs"]) == (0, 2, 3)
        assert "environment 2" in document["text"]
    assert script.end()[0] == 0


HOLDS = STEPS.replace(
    "        scene.step()",
    "        scene.step()\n"
    "        if scene.step_count == 5: physics.debugger.breakpoint('look')\n"
    "        if scene.step_count == 9: break",
)


def test_a_breakpoint_is_a_stop_and_a_script_that_is_held_at_its_end_has_ended(
    start_warm: Start, wait_parked: Callable[..., bool], wait: Wait
) -> None:
    script = start_warm(HOLDS)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        waiting = wait().noted("waiting")
        client.play()
        line = "arm: held at script.py:13, step 5, 0.01 s: look\n"
        assert waiting.end() == (0, line)
        assert wait("--ended").end() == (3, line)
        client.play()
        assert client.wait_until(lambda c: "come to its end" in c.scenes()[0].hold_reason, 60)
        code, told = wait("--ended").end()
        assert (code, told.startswith("arm: step 9, 0.018 s: the script has come")) == (0, True)
        assert wait("--step", 1000).end()[0] == 5
        client.play()
    assert script.end()[0] == 0


UNKNOWING = """
import mujoco, sys
model = mujoco.MjModel.from_xml_string('''<mujoco model="arm"><worldbody>
  <body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>''')
data = mujoco.MjData(model)
while data.time < float(sys.argv[1]):
    mujoco.mj_step(model, data)
"""


def test_it_waits_for_a_session_that_is_still_to_come_and_starts_nothing_by_that(
    start_warm: Start, wait: Wait
) -> None:
    waiting = wait("--time", 0.1).noted("no such session is running yet")
    assert wait("--begin", 0.0).end()[0] == 1
    assert wait("--timeout", 0.0, "--json").end()[0] == 4
    script = start_warm(UNKNOWING, "1.0", command=["stroboscope", "run", "--wait", "60"])
    waiting.noted("there is no scene yet")
    with script.connect() as client:  # the script has waited for this one
        assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
        assert client.scenes()[0].step_count == 0
        assert client.has_control
        client.step(1, 50)
        code, told = waiting.end()
        assert (code, told) == (0, "arm: 0.1 s was reached, it is at step 50, 0.1 s\n")
        client.play()
    assert script.end()[0] == 0


@pytest.mark.leaves_runtime_files
def test_where_nobody_is_attached_it_sees_how_far_a_scene_is(
    start_warm: Start, start_ctl: Wait, wait: Wait
) -> None:
    script = start_warm(UNKNOWING, "inf", command=["stroboscope", "run", "--no-window"])
    session = script.session().session_id
    assert start_ctl("--session", session, "wait", "--step", 500).end()[0] == 0
    stop = wait("--stop").noted("nobody controls this session: nothing holds it")
    script.process.kill()
    assert stop.end()[0] == 5


@pytest.mark.parametrize("words", ["--step x", "--step -1", "--time nan", "--timeout soon"])
def test_what_can_t_be_waited_for_is_refused(words: str, wait: Wait) -> None:
    waiting = wait(*words.split())
    assert waiting.end()[0] == 2
    assert "number of 0 or more" in waiting.errors


COMES_LATE = STEPS.replace(
    'scene = physics.create_scene("arm", MODEL)\n', "import pathlib, time\n"
).replace(
    "    while physics",
    "    while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
    '    scene = physics.create_scene("arm", MODEL)\n'
    "    while physics",
)


def test_a_command_that_a_script_has_waited_for_waits_for_its_first_scene(
    start_warm: Start, start_ctl: Wait, wait: Wait, tmp_path: Path
) -> None:
    script = start_warm(COMES_LATE, str(tmp_path / "model"))
    script.session()
    step = start_ctl("step", "-n", 50).noted("there is no scene yet: waiting for the first one")
    (tmp_path / "model").touch()
    assert wait("--step", 50).end() == (
        0,
        "arm: physics step 50 was reached, it is at step 50, 0.1 s\n",
    )
    step.printed("arm: step 50, 0.1 s\npaused; Ctrl+C lets the session run on\n")
    step.process.send_signal(signal.SIGINT)
    assert step.end()[0] == 0
    assert script.end()[0] == 0
