"""What a client changes in a script's scene: told, logged, kept, and undone, over real sockets."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.messages import LogLevel, SceneRestored
from stroboscope.debugger_protocol.topics import Instant, Topic

WAIT = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "60"]
DEADLINE_S = 60.0
# Scripts that go on for ever are killed.
pytestmark = pytest.mark.leaves_runtime_files

# Says at its end whether it has ever seen a control or force that it has not written itself.
LOOP = """
import sys
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_resetDataKeyframe(model, data, 0)
own = data.ctrl.copy()
strange = 0
for k in range(int(sys.argv[2])):
    {before}
    {step}
    strange += not np.array_equal(own, data.ctrl) or bool(data.xfrc_applied.any())
print(strange, data.time, *data.qpos)
"""
WHOLE = "mujoco.mj_step(model, data)"
HALVES = "mujoco.mj_step1(model, data); mujoco.mj_step2(model, data)"
TWO_PHYSICS_STEPS = "mujoco.mj_step(model, data, 2)"


class Arm:
    """The arm's script, parked, and a client that controls it."""

    def __init__(self, script: Any, client: DebuggerClient) -> None:
        self.script = script
        self.client = client
        (scene,) = client.scenes()
        self.id = scene.scene_id
        self.description = client.description(self.id)

    def state(self, name: str = "qpos") -> list[float]:
        """Return an array of NOW, asked for anew."""
        client = self.client
        client.subscribe(self.id, [Topic.STATE], max_rate_hz=1000.0)
        client.unsubscribe(self.id, [Topic.STATE])
        while client.next_frame(0.0) is not None:
            pass
        client.subscribe(self.id, [Topic.STATE], max_rate_hz=1000.0)
        (axis,) = [scene.axis for scene in client.scenes() if scene.scene_id == self.id]
        while (frame := client.next_frame(DEADLINE_S)) is not None:
            # What was published before the last steps comes first, if the owner has had no time.
            if frame.instant is Instant.NOW and frame.axis >= axis:
                client.unsubscribe(self.id, [Topic.STATE])
                return [float(v) for v in frame.arrays[name]]
        raise AssertionError("no frame came")

    def shows_option(self, name: str, *values: float) -> bool:
        """Wait for a frame that shows these values of a physics option."""
        client = self.client
        client.subscribe(self.id, [Topic.OPTIONS])
        at = 0
        for info in self.description.options:
            if info.name == name:
                break
            at += info.width
        where = slice(at, at + len(values))
        while (frame := client.next_frame(DEADLINE_S)) is not None:
            if frame.topic is Topic.OPTIONS and tuple(frame.arrays["values"][where]) == values:
                client.unsubscribe(self.id, [Topic.OPTIONS])
                return True
        return False

    def last_edit(self) -> tuple[int, str]:
        edit = self.client.edits(self.id)[-1]
        return edit.edit_id, edit.text

    def revert_last(self) -> None:
        self.client.revert_edit(self.id, self.last_edit()[0])

    def log(self) -> list[str]:
        return [entry.text for entry in self.client.log_entries()]

    def wait_log(self, text: str) -> None:
        assert self.client.wait_until(lambda _: any(text in line for line in self.log()), 60), (
            self.log()
        )


@pytest.fixture
def arm(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Path],
) -> Iterator[Callable[..., Arm]]:
    """``arm(step=WHOLE, steps=400, before="pass")``: the arm's script under a client."""
    clients = []

    def start(*, step: str = WHOLE, steps: int = 400, before: str = "pass") -> Arm:
        source = LOOP.format(step=step, before=before)
        script = start_warm(source, str(model_path("arm")), str(steps), command=WAIT)
        client = script.connect()
        clients.append(client)
        assert wait_parked(client)
        return Arm(script, client)

    yield start
    for client in clients:
        client.close()


def test_a_state_edit_is_told_with_names_and_values_and_undone(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.step(a.id, 3)
    before = a.state()
    a.client.edit_state(a.id, "qpos", 1, [0.5])
    assert a.state()[1] == 0.5
    edit_id, text = a.last_edit()
    assert text == f"qpos of joint2: {before[1]:.6g} → 0.5 rad"
    restored = [e for e in a.client.events() if isinstance(e, SceneRestored)]
    assert restored[-1].reason == "qpos was edited"
    a.revert_last()
    assert a.state() == before
    assert a.client.edits(a.id)[-1].reverted
    a.wait_log(f"qpos of joint2: back to {before[1]:.6g} rad (undone: → 0.5 rad)")
    with pytest.raises(CommandError, match="was undone already"):
        a.client.revert_edit(a.id, edit_id)
    with pytest.raises(CommandError, match="too old"):
        a.client.revert_edit(a.id, edit_id + 1)


def test_a_state_is_edited_by_the_names_of_its_values(arm: Callable[..., Arm]) -> None:
    a = arm()
    joint, actuator = a.description.joints[1].name, a.description.actuators[0].name
    a.client.edit_state(a.id, "qpos", joint, [0.5])
    assert a.state()[1] == 0.5
    assert a.last_edit()[1].startswith(f"qpos of {joint}: ")
    a.client.edit_state(a.id, "ctrl", actuator, [0.25])
    assert a.last_edit()[1].startswith(f"ctrl of {actuator}: ")
    for field, name, count, told in (
        ("qpos", "nothing", 1, "qpos has no 'nothing'"),
        ("qpos", joint, 2, f"qpos.{joint} has 1 value; 2 from index 0 on do not fit"),
        ("userdata", joint, 1, "values of userdata have no names: give an index"),
    ):
        with pytest.raises(CommandError) as refused:
            a.client.edit_state(a.id, field, name, [1.0] * count)
        assert told in str(refused.value)


def test_a_drag_is_one_edit_one_restore_and_one_line_in_the_log(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.step(a.id)
    before = a.state()
    for value in np.linspace(0.0, 1.0, 60):
        a.client.edit_state(a.id, "qpos", 1, [value])
    assert a.state()[1] == 1.0
    expected = f"qpos of joint2: {before[1]:.6g} → 1 rad"
    assert a.client.wait_until(lambda c: c.edits(a.id)[-1].text == expected, 60)
    assert len(a.client.edits(a.id)) == 1
    restored = [e for e in a.client.events() if isinstance(e, SceneRestored)]
    assert len(restored) == 1
    a.wait_log("qpos of joint2")
    assert [line for line in a.log() if "qpos of joint2" in line] == [expected]
    a.revert_last()
    assert a.state() == before


def test_edits_of_different_things_are_undone_in_any_order(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.step(a.id)
    before = a.state()
    for index, value in ((1, 0.5), (2, 0.6), (1, 0.7)):
        a.client.edit_state(a.id, "qpos", index, [value])
    assert a.client.wait_until(lambda c: len(c.edits(a.id)) == 3, 60)
    first, second, third = (edit.edit_id for edit in a.client.edits(a.id))
    a.client.revert_edit(a.id, second)
    assert a.state()[1:3] == [0.7, before[2]]
    a.client.revert_edit(a.id, third)
    assert a.state()[1] == 0.5
    a.client.revert_edit(a.id, first)
    assert a.state() == before


def test_inputs_may_be_edited_while_the_scene_runs_and_positions_not(
    arm: Callable[..., Arm], wait_until: Callable[..., None]
) -> None:
    a = arm(steps=10**9)
    a.client.fast_forward()
    a.client.edit_state(a.id, "ctrl", 0, [0.25])
    a.client.edit_state(a.id, "qfrc_applied", 0, [1.5])
    with pytest.raises(CommandError, match="pause it before its state can be edited"):
        a.client.edit_state(a.id, "qpos", 0, [0.1])
    assert not [e for e in a.client.events() if isinstance(e, SceneRestored)]
    a.client.pause()
    assert a.state("ctrl")[0] == 0.25
    assert a.state("qfrc_applied")[0] == 1.5
    texts = [edit.text for edit in a.client.edits(a.id)]
    assert texts == ["ctrl of joint1: 0 → 0.25 rad", "qfrc_applied of joint1: 0 → 1.5 N·m"]


MISFITS: list[tuple[str, int, list[float], str]] = [
    ("qpos", 15, [0.0, 0.0], "qpos has 16 values; 2 from index 15 on do not fit"),
    ("ctrl", 0, [], "0 from index 0 on do not fit"),
    ("mocap_pos", 0, [0.0], "mocap_pos has 0 values"),
    ("userdata", 0, [0.0], "userdata has 0 values"),
]


def test_edits_that_do_not_fit_are_refused(arm: Callable[..., Arm]) -> None:
    a = arm()
    before = a.state()
    for field, index, values, why in MISFITS:
        with pytest.raises(CommandError, match=why):
            a.client.edit_state(a.id, field, index, values)
        assert a.client.edits(a.id) == []
    assert a.state() == before


@pytest.mark.parametrize("step", [WHOLE, HALVES, TWO_PHYSICS_STEPS])
def test_the_script_never_sees_what_is_done_beside_it(arm: Callable[..., Arm], step: str) -> None:
    a = arm(step=step)
    (free,) = [i for i, joint in enumerate(a.description.joints) if joint.type.value == "free"]
    body = a.description.joints[free].body
    a.client.step(a.id, 5)
    before = a.state()
    a.client.perturb(a.id, body, pos=(0.4, 0.3, 0.9))
    a.client.override_control(a.id, 0, 0.8)
    a.client.set_control_noise(a.id, 0.1, 0.05)
    assert a.client.interventions(a.id).perturbed_body == body
    assert a.client.interventions(a.id).overrides == ((0, 0.8),)
    a.client.step(a.id, 100)
    after = a.state()
    assert after[0] > before[0] + 0.05
    address = a.description.joints[free].qpos
    assert after[address + 2] > before[address + 2] + 0.02
    a.client.fast_forward()
    code, out, err = a.script.end()
    assert code == 0, err
    assert out.split()[0] == "0"


def test_overrides_and_noise_are_edits_and_undone(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.override_control(a.id, 0, 0.5)
    assert a.last_edit()[1] == "ctrl of joint1: overridden with 0.5 rad"
    for value in (0.6, 0.7):
        a.client.override_control(a.id, 0, value)
    a.client.set_control_noise(a.id, 0.1, 0.2)
    a.client.override_control(a.id, 0, None)
    assert a.last_edit()[1] == (
        "ctrl of joint1: given back to the script, was overridden with 0.7 rad"
    )
    assert len(a.client.edits(a.id)) == 3
    assert a.client.interventions(a.id).overrides == ()
    a.revert_last()
    assert a.client.interventions(a.id).overrides == ((0, 0.7),)
    for edit in reversed(a.client.edits(a.id)[:2]):
        a.client.revert_edit(a.id, edit.edit_id)
    assert a.client.interventions(a.id).overrides == ()
    assert a.client.interventions(a.id).noise_std == 0.0


def test_options_are_edited_live_shown_and_undone(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.edit_option(a.id, "gravity", 0, 0, -1)
    a.client.edit_option(a.id, "timestep", 0.001)
    a.client.edit_option(a.id, "integrator", 1)
    a.client.edit_option(a.id, "disable.contact", 1)
    texts = [edit.text for edit in a.client.edits(a.id)]
    assert texts[0] == "gravity: (0, 0, -9.81) → (0, 0, -1) m/s²"
    assert texts[1] == "timestep: 0.002 → 0.001 s"
    assert texts[2].endswith("→ rk4")
    assert texts[3] == "disable.contact: off → on"
    assert a.shows_option("gravity", 0, 0, -1)
    assert a.shows_option("timestep", 0.001)
    time = a.client.scenes()[0].time
    a.client.step(a.id, 10)
    assert a.client.scenes()[0].time == pytest.approx(time + 0.01)
    for edit in a.client.edits(a.id):
        a.client.revert_edit(a.id, edit.edit_id)
    assert a.shows_option("gravity", 0, 0, -9.81)
    assert a.shows_option("timestep", 0.002)
    assert a.shows_option("disable.contact", 0)
    for edit in a.client.edits(a.id):
        assert edit.reverted


IMPOSSIBLE: list[tuple[str, list[float], str]] = [
    ("timestep", [0.0], "timestep must be above 0 and at most 1 s, not 0"),
    ("timestep", [2.0], "timestep must be above 0"),
    ("iterations", [1.5], "iterations takes whole numbers only"),
    ("iterations", [0.0], "iterations must be 1…10000, not 0"),
    ("gravity", [1.0], "gravity has 3 values, not 1"),
    ("solver", [17.0], r"solver must be 0 \(pgs\), 1 \(cg\), 2 \(newton\), not 17"),
    ("disable.contact", [2.0], r"must be 0 \(off\) or 1 \(on\)"),
    ("warp", [1.0], "there is no physics option 'warp'"),
]


def test_options_that_no_model_can_have_are_refused(arm: Callable[..., Arm]) -> None:
    a = arm()
    for name, values, why in IMPOSSIBLE:
        with pytest.raises(CommandError, match=why):
            a.client.edit_option(a.id, name, *values)
        assert a.client.edits(a.id) == []


def test_checkpoints_are_kept_restored_and_dropped(arm: Callable[..., Arm]) -> None:
    a = arm(before="data.ctrl[:] = own")
    a.client.step(a.id, 10)
    state = a.state()
    number = a.client.save_checkpoint(a.id, "  before the\n grasp ")
    (info,) = a.client.checkpoints(a.id)
    assert (info.name, info.step_count, info.approximate) == ("before the grasp", 10, "")
    a.client.step(a.id, 10)
    later = a.state()
    a.client.restore_checkpoint(a.id, number)
    assert a.state() == state
    assert a.client.scenes()[0].step_count == 10
    assert a.last_edit()[1] == "checkpoint 'before the grasp' was restored"
    # The same steps again lead to the same place, to the last bit.
    a.client.step(a.id, 10)
    assert a.state() == later
    a.client.restore_checkpoint(a.id, number)
    a.revert_last()
    assert a.state() == later
    a.client.drop_checkpoint(a.id, number)
    assert a.client.checkpoints(a.id) == ()
    with pytest.raises(CommandError, match=f"there is no checkpoint {number}"):
        a.client.restore_checkpoint(a.id, number)
    with pytest.raises(CommandError, match="a name that is not empty"):
        a.client.save_checkpoint(a.id, " ")


def test_a_checkpoint_outlives_an_edited_timestep_and_says_what_is_different(
    arm: Callable[..., Arm],
) -> None:
    a = arm()
    a.client.step(a.id, 5)
    state = a.state()
    number = a.client.save_checkpoint(a.id, "a")
    a.client.edit_option(a.id, "timestep", 0.001)
    a.client.step(a.id, 5)
    a.client.restore_checkpoint(a.id, number)
    assert a.state() == state
    edit = a.client.edits(a.id)[0].edit_id
    stays = f"timestep stays 0.001 s: it was 0.002 s then (undo edit {edit} to have that again)"
    assert a.last_edit()[1] == f"checkpoint 'a' was restored; {stays}"
    a.wait_log(f"checkpoint 'a' was restored; {stays}")
    a.client.restore_initial(a.id)
    assert a.client.scenes()[0].step_count == 0
    assert a.last_edit()[1] == f"the initial state was restored; {stays}"
    a.client.revert_edit(a.id, edit)
    a.client.restore_initial(a.id)
    assert a.last_edit()[1] == "the initial state was restored"
    a.client.edit_option(a.id, "integrator", "rk4")
    a.client.edit_option(a.id, "disable.contact", "on")
    a.client.edit_option(a.id, "gravity", 0, 0, -1)
    a.client.edit_option(a.id, "gravity", 0, 0, -2)
    a.client.restore(a.id, number)
    told = a.last_edit()[1]
    assert "; integrator stays rk4: it was implicitfast then (undo edit" in told
    assert "; disable.contact stays on: it was off then (undo edit" in told
    assert "; gravity stays (0, 0, -2) m/s²: it was (0, 0, -9.81) m/s² then (undo edit" in told


def test_what_the_script_has_written_into_its_model_stays_and_is_told_too(
    arm: Callable[..., Arm],
) -> None:
    a = arm(before="if k == 1: model.actuator_gainprm[0, 0] = 5.0; model.opt.gravity[0] = 1.0")
    gain = a.description.actuators[0].gainprm[0]
    a.client.step(a.id, 2)
    a.client.restore_initial(a.id)
    told = a.last_edit()[1]
    assert "; gravity stays (1, 0, -9.81) m/s²: it was (0, 0, -9.81) m/s² then" in told
    name = a.description.actuators[0].name
    assert f"actuator_gainprm[0] of actuator {name!r}: 5.0 now, {gain} then" in told
    assert "undo" not in told


def test_a_checkpoint_that_no_longer_fits_is_refused_and_says_why(arm: Callable[..., Arm]) -> None:
    a = arm()
    number = a.client.save_checkpoint(a.id, "awake")
    a.client.edit_option(a.id, "enable.sleep", 1)
    with pytest.raises(
        CommandError, match=r"enable.sleep .* was off when it was captured and is on"
    ):
        a.client.restore_checkpoint(a.id, number)
    a.revert_last()
    a.client.restore_checkpoint(a.id, number)


def test_a_keyframe_is_loaded_and_undone(arm: Callable[..., Arm]) -> None:
    a = arm()
    home = a.state()
    a.client.step(a.id, 50)
    moved = a.state()
    with pytest.raises(CommandError, match="keyframes has no 'hom'; did you mean 'home'"):
        a.client.load_keyframe(a.id, "hom")
    a.client.load_keyframe(a.id, "home")
    assert a.state() == home
    assert a.last_edit()[1] == "keyframe home was loaded"
    assert a.client.scenes()[0].step_count == 0
    a.revert_last()
    assert a.state() == moved
    assert a.client.scenes()[0].step_count == 50
    with pytest.raises(CommandError, match="there is no keyframe 3: this model has 1"):
        a.client.load_keyframe(a.id, 3)


def test_going_back_to_the_initial_state_can_be_undone_too(arm: Callable[..., Arm]) -> None:
    a = arm()
    initial = a.state()
    a.client.step(a.id, 20)
    moved = a.state()
    a.client.restore_initial(a.id)
    assert a.state() == initial
    assert a.last_edit()[1] == "the initial state was restored"
    a.revert_last()
    assert a.state() == moved
    assert a.client.scenes()[0].step_count == 20


def test_who_comes_later_is_told_what_there_is(arm: Callable[..., Arm]) -> None:
    a = arm()
    a.client.override_control(a.id, 2, 0.25)
    a.client.save_checkpoint(a.id, "mine")
    a.client.edit_option(a.id, "density", 1.2)
    with a.script.connect(observe=True) as other:
        assert other.edits(a.id) == a.client.edits(a.id)
        assert other.interventions(a.id) == a.client.interventions(a.id)
        assert other.checkpoints(a.id) == a.client.checkpoints(a.id)
        assert other.findings(a.id) == a.client.findings(a.id)
        with pytest.raises(CommandError, match="take control first"):
            other.perturb(a.id, 1, pos=(0, 0, 1))
        a.client.revert_edit(a.id, a.client.edits(a.id)[0].edit_id)
        assert other.wait_until(lambda c: c.interventions(a.id).overrides == (), 60)


def test_whoever_takes_control_finds_the_body_let_go_and_the_overrides_kept(
    arm: Callable[..., Arm],
) -> None:
    a = arm()
    a.client.perturb(a.id, 2, pos=(0, 0, 1))
    a.client.override_control(a.id, 0, 0.5)
    with a.script.connect(observe=True) as other:
        other.request_control()
        assert other.wait_until(lambda c: c.interventions(a.id).perturbed_body == -1, 60)
        assert other.interventions(a.id).overrides == ((0, 0.5),)
        a.wait_log("the perturbation ended: another client has taken control")


def test_a_client_that_is_killed_in_mid_pull_lets_go(
    arm: Callable[..., Arm], wait_until: Callable[..., None]
) -> None:
    a = arm(steps=10**9)
    a.client.close()
    puller = """
        import sys
        from stroboscope.debugger_protocol.client import DebuggerClient
        client = DebuggerClient.connect(sys.argv[1])
        scene = client.scenes()[0].scene_id
        client.fast_forward()
        client.override_control(scene, 0, 0.5)
        client.perturb(scene, 2, pos=(0, 0, 1))
        print("pulling", flush=True)
        sys.stdin.read()
    """
    with a.script.connect(observe=True) as watcher:
        (path,) = [path for path, info in list_sessions() if info.pid == a.script.process.pid]
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(puller), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "pulling\n"
            assert watcher.wait_until(lambda c: c.interventions(a.id).perturbed_body == 2, 60)
            os.kill(process.pid, signal.SIGKILL)
            assert watcher.wait_until(lambda c: c.interventions(a.id).perturbed_body == -1, 60)
            assert watcher.interventions(a.id).overrides == ()
            said = "the perturbation and 1 control override ended: the controlling client has gone"
            assert watcher.wait_until(
                lambda c: any(said in entry.text for entry in c.log_entries()), 60
            )
        finally:
            process.kill()
            process.communicate()


def test_common_mistakes_are_told_after_attaching_and_looked_for_again(
    arm: Callable[..., Arm],
) -> None:
    a = arm()
    assert a.client.wait_until(lambda c: a.id in c._findings, 60)
    a.client.edit_option(a.id, "disable.autoreset", 0)
    found = a.client.lint(a.id)
    assert found == a.client.findings(a.id)
    warned = [f for f in found if f.level is not LogLevel.INFO]
    for finding in warned:
        assert sum(finding.text in line for line in a.log()) == 1


def test_the_terminal_edits_lists_and_undoes(
    arm: Callable[..., Arm], capsys: pytest.CaptureFixture[str]
) -> None:
    a = arm()

    def run(*words: str) -> str:
        assert ctl.main(["--session", str(a.script.process.pid), *words]) == 0
        return capsys.readouterr().out

    assert run("edits") == "no edits yet\n"
    options = run("option").splitlines()
    assert len(options) == len(a.description.options)
    assert "timestep                 0.002 s" in options
    assert "gravity                  0 0 -9.81 m/s²" in options
    assert "disable.contact          off" in options
    assert run("option", "integrator") == "integrator               implicitfast\n"
    assert run("option", "integrator", "rk4") == "integrator: implicitfast → rk4\n"
    assert run("option", "disable.contact", "on") == "disable.contact: off → on\n"
    assert run("option", "gravity", "0", "0", "-1") == (
        "gravity: (0, 0, -9.81) → (0, 0, -1) m/s²\n"
    )
    assert " → (0, 0, -2) m/s²" in run("option", "gravity", "0,0,-2")
    assert run("override", "gripper", "0.01") == "ctrl of gripper: overridden with 0.01 m\n"
    assert a.client.wait_until(lambda c: c.interventions(a.id).overrides == ((7, 0.01),), 60)
    controls = run("override").splitlines()
    assert [int(line.split()[0]) for line in controls] == list(range(len(controls)))
    assert [line for line in controls if "overridden" in line] == [controls[7]]
    assert controls[7].split()[1:] == ["gripper", "0.01", "m", "(overridden)"]
    assert run("override", "gripper") == f"{controls[7]}\n"
    assert run("override", "gripper", "off").startswith("ctrl of gripper: given back")
    assert "given back" in run("undo")
    assert "mine" in run("checkpoint", "mine")
    assert run("keyframe", "home") == "keyframe home was loaded\n"
    told = run("back", "mine").splitlines()
    assert len(told) == 1
    assert told[0].startswith("checkpoint 'mine' was restored")
    assert run("restore").startswith("the initial state was restored; ")
    assert run("undo", "2") == "disable.contact: back to off (undone: → on)\n"
    assert "(undone)" in run("edits")
    assert run("lint")
    assert run("option", "integrator") == "integrator               rk4\n"
    assert ctl.main(["--session", str(a.script.process.pid), "option", "solver", "magic"]) == 1
    assert "solver can't be 'magic'; allowed: pgs, cg, newton" in capsys.readouterr().err
    assert a.client.has_control
