"""Handlers of signals that raise while a script's thread does what a client has asked for.

What they raise is the script's, never the command's alone; and the command is done or it is not.
"""

import contextlib
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from driven_scene import ARM, BOX_AND_ARM, FULL
from interrupting import Late, interrupted_after

import stroboscope.engine as physics
from stroboscope import debugger_protocol
from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import CommandError
from stroboscope.debugger_protocol.host.edits import EDIT_WORDS
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.history import past
from stroboscope.engine.history.script_rows import ScriptRows

# Its state is put back by what waits for a signal, once.
SCRIPT = """
import pathlib, signal, sys
import stroboscope.engine as physics

class Late(Exception):
    pass

def late(number, frame):
    raise Late("the time is up")

signal.signal(signal.SIGUSR1, late)
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(3))
signal.signal(signal.SIGWINCH, signal.default_int_handler)

if not physics.debugger.attach(60.0, launch=False):
    sys.exit("nobody came")
scene = physics.create_scene("arm", sys.argv[1])
marker, value, waits = pathlib.Path(sys.argv[2]), 0, 1

def put(old):
    global value, waits
    value = old
    if waits:
        waits = 0
        marker.touch()
        signal.pause()

scene.register_state("controller", lambda: value, put)
try:
    while True:
        scene.step()
        value += 1
except BaseException as error:
    print(type(error).__name__, scene.step_count, value, flush=True)
scene.step()
"""


@pytest.mark.parametrize(
    ("number", "raised"),
    [
        (signal.SIGUSR1, "Late"),
        (signal.SIGUSR2, "SystemExit"),
        (signal.SIGWINCH, "KeyboardInterrupt"),
    ],
)
@pytest.mark.leaves_runtime_files
def test_what_a_handler_raises_while_a_clients_command_runs_reaches_the_script_and_the_client(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    wait_until: Callable[..., None],
    model_path: Callable[[str], Path],
    tmp_path: Path,
    number: int,
    raised: str,
) -> None:
    marker = tmp_path / "the setter waits"
    script = start_warm(SCRIPT, str(model_path("arm")), str(marker))
    with script.connect() as client:
        assert wait_parked(client)
        scene_id = client.scenes()[0].scene_id
        client.step(scene_id, 5)
        checkpoint = client.save_checkpoint(scene_id, "five")
        client.step(scene_id, 3)
        answer = _answer(lambda: client.restore_checkpoint(scene_id, checkpoint))
        wait_until(marker.exists)
        script.process.send_signal(number)
        assert "interrupted" in answer()
        assert raised in answer()
        # It is parked in its next step, and goes on from where it was.
        client.step(scene_id)
        code, out, err = script.end()
    assert (code, out) == (0, f"{raised} 8 8\n"), err


def _answer(command: Callable[[], None]) -> Callable[[], str]:
    """Give a command on another thread; return what waits for why it was refused."""
    refused: list[str] = []

    def give() -> None:
        try:
            command()
        except CommandError as error:
            refused.append(str(error))
        else:
            refused.append("it was done")

    thread = threading.Thread(target=give)
    thread.start()

    def wait() -> str:
        thread.join(60.0)
        return refused[0]

    return wait


# --- at every line, on the scene's own thread


OURS = tuple(str(Path(part.__file__ or "").parent) for part in (physics, debugger_protocol))
STEPS = 40
MODEL = BOX_AND_ARM.format(option="").replace(
    "</mujoco>",
    "<keyframe><key qpos='0 0 2 1 0 0 0 .1 .2 -2 0 .1 1 0 0 0' time='3'/></keyframe></mujoco>",
)


def _of(command: Any, /, **fields: Any) -> Callable[[int], Any]:
    """Return what makes a command to a scene."""
    return lambda scene_id: command(id=1, scene_id=scene_id, **fields)


GOTO = _of(tm.Goto, axis=7)
EDIT = _of(wire.EditState, field=wire.EditField.QPOS, index=0, values=(0.5,))


def _ghosts(scene_id: int) -> tm.ShowGhosts:
    ghost = tm.GhostRef(source=tm.GhostSource.CHECKPOINT, number=1, scene_id=scene_id)
    return tm.ShowGhosts(id=1, scene_id=scene_id, ghosts=(ghost,))


COMMANDS: dict[str, list[Callable[[int], Any]]] = {
    "restore initial": [_of(wire.RestoreInitial)],
    "restore checkpoint": [_of(wire.RestoreCheckpoint, checkpoint_id=1)],
    "save checkpoint": [_of(wire.SaveCheckpoint, name="another")],
    "label checkpoint": [_of(wire.LabelCheckpoint, checkpoint_id=1, name="renamed")],
    "drop checkpoint": [_of(wire.DropCheckpoint, checkpoint_id=1)],
    "keyframe": [_of(wire.LoadKeyframe, index=0)],
    "edit": [EDIT],
    "option": [_of(wire.EditOption, option="gravity", values=(0.0, 0.0, -1.0))],
    "override": [_of(wire.OverrideControl, index=0, value=0.5)],
    "noise": [_of(wire.SetControlNoise, std=0.1, rate=0.1)],
    "perturb": [_of(wire.Perturb, body=ARM, kind=wire.PerturbKind.FORCE, pos=(1.0, 1.0, 1.0))],
    "undo": [EDIT, _of(wire.RevertEdit, edit_id=1)],
    "goto": [GOTO],
    "step back": [GOTO, _of(tm.StepBack)],
    "go live": [GOTO, _of(tm.GoLive)],
    "continue": [GOTO, _of(tm.ContinueFromHere)],
    "continue with inputs": [GOTO, _of(tm.ContinueFromHere, with_script=False)],
    "resimulate": [GOTO, _of(tm.Resimulate)],
    "condition": [_of(tm.BreakWhen, expression="time > 100")],
    "history": [_of(tm.SetHistory, keep=False)],
    "ghosts": [_ghosts],
}


class Stood:
    """A scene on this thread, and a client's commands to it."""

    def __init__(self, host: Host, *, steps: int = STEPS, max_bytes: int | None = None) -> None:
        self.host = host
        self.scene: Any = physics.create_scene("box", MODEL)
        self.integral = 0.0
        self.scene.register_state("controller", lambda: self.integral, self.put)
        self.scene.history.script_rows = ScriptRows(clock=lambda: 0.0)  # none comes too late
        if max_bytes is not None:
            self.scene.history.max_bytes = max_bytes
        host.attach(PlaybackMode.FAST_FORWARD)
        for step in range(steps):
            if step == STEPS // 2:
                self.scene.checkpoint("halfway")
            self.scene.ctrl[0] = self.integral = 0.01 * step
            self.scene.step()
        host.pause()
        self.scene.link.serve()

    def put(self, value: float) -> None:
        self.integral = value

    def give(self, make: Callable[[int], Any]) -> list[str]:
        """Give a command; return where its answer will be: why it was refused, or nothing."""
        answers: list[str] = []

        def reply(error: CommandError | None) -> None:
            answers.append("" if error is None else str(error))

        command = make(self.scene.scene_id)
        if isinstance(command, wire.RestoreInitial):
            self.host.restore_initial(command.scene_id, reply=reply)
        elif type(command) in EDIT_WORDS:
            self.host.edit(command, reply=reply)
        else:
            self.host.travel(command, reply=reply)
        return answers

    def serve(self, answers: list[str]) -> None:
        """Do what was asked for."""
        for _ in range(200):
            self.scene.link.serve()
            if answers:
                break

    def stands(self) -> dict[str, Any]:
        """Return all that commands may change."""
        scene, past = self.scene, self.scene.link.past
        editor, counters = scene.link.changes.editor, scene.counters
        past.refresh()
        return {
            "state": state_of(scene),
            "script": self.integral,
            "counters": (scene.step_count, scene.physics_step_count),
            "axis": (counters.axis, counters.total_steps),
            "gravity": scene.model.opt.gravity.tolist(),
            "timestep": scene.model.opt.timestep,
            "rows": (scene.history.ring.reachable, scene.history.ring.stored),
            "segments": past.segments,
            "edits": [(edit.text, edit.reverted) for edit in editor.edits],
            "checkpoints": [(each.name, each.axis) for each in editor.checkpoints.told],
            "interventions": msgspec.structs.replace(editor.interventions.told, scene_id=0),
            "view": past.view,
            "conditions": [each.expression for each in past.stops.conditions.conditions],
            "rollouts": len(past.rollouts.told.rollouts) if past.rollouts.told else 0,
            "ghosts": [ghost.number for ghost in past.ghosts.told.ghosts],
            "replaced": scene.link.replacements,
        }


def state_of(scene: Any) -> bytes:
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row.tobytes()


# Where the signal comes: so many places, evenly apart, among all there are.
PLACES = [
    *((name, 7) for name in ("restore initial", "goto", "continue with inputs")),
    *(pytest.param(name, 40, marks=pytest.mark.slow) for name in COMMANDS),
]


@pytest.mark.parametrize(("name", "places"), PLACES)
def test_a_command_that_a_signal_comes_into_is_done_or_it_is_not(
    host: Host, name: str, places: int
) -> None:
    *first, last = COMMANDS[name]

    def run(calls: int) -> tuple[dict[str, Any], dict[str, Any], str, int]:
        stood = Stood(host)
        for command in first:
            stood.serve(stood.give(command))
        before = stood.stands()
        answers, came = stood.give(last), False
        with interrupted_after(calls, within=OURS) as interruption:
            try:
                stood.serve(answers)
            except Late:
                came = True
        stood.serve(answers)
        after = stood.stands()
        (answer,) = answers
        stood.scene.destroy()
        host.detach("the next one")
        assert came == interruption.came, f"call {calls}: the script has not heard of it"
        return before, after, answer, interruption.left

    most = 1_000_000
    before, after, answer, left = run(most)
    assert answer == ""
    count = most - left
    for calls in range(0, count, max(1, count // places)):
        _, stands, answer, _ = run(calls)
        expected = before if answer else after
        assert "interrupted" in answer or not answer
        if answer and name == "continue with inputs":
            # The state is as it was, further down the axis; the history tells of it.
            stands |= {key: expected[key] for key in ("axis", "rows", "segments", "replaced")}
        assert stands == expected, f"call {calls} of {count}: {answer or 'done'}"


def test_a_look_at_a_row_that_is_stepped_to_again_is_given_up_at_the_next_step(host: Host) -> None:
    stood = Stood(host, steps=1500, max_bytes=60_000)
    rows, within = stood.scene.history.ring, (str(past.__file__),)
    axis = max(range(rows.first, 1500), key=lambda each: each - rows.stored_before(each))

    def look(calls: int) -> tuple[str, int]:
        answers = stood.give(_of(tm.Goto, axis=axis))
        with interrupted_after(calls, within=within) as interruption, contextlib.suppress(Late):
            stood.serve(answers)
        assert stood.scene.link.past.view == (axis if answers == [""] else None)
        return answers[0], interruption.left

    answer, left = look(15)
    assert "goto was interrupted by Late()" in answer
    assert left > -60  # a step is some ten calls, and hundreds were to come
    answer, left = look(100_000)
    assert answer == ""
    assert 100_000 - left > 50
