"""``stroboscope ctl`` travels in time, relayed through the window that controls the session."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from remembering import GuardedStepper, Memory

from stroboscope.debugger_protocol import ctl, ctl_rollouts
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.time_messages import RolloutInfo, SegmentKind

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]
Say = Callable[..., str]


@pytest.fixture
def window(connect: Connect) -> DebuggerClient:
    """Whoever controls the session."""
    return connect()


@pytest.fixture
def scene(window: DebuggerClient, remember: Remember) -> GuardedStepper:
    """A scene that has taken twenty steps."""
    stepper = remember("arm")
    window.step(stepper.id, 20)
    return stepper


@pytest.fixture
def say(server: DebugServer, capsys: pytest.CaptureFixture[str]) -> Say:
    """``say("goto", "--step", "3")``: what ctl writes."""

    def run(*words: str, code: int = 0) -> str:
        assert ctl.main(["--session", str(server.connection_file), *words]) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return run


def test_looking_back_is_told_with_the_step_and_how_far_it_is_from_live(
    scene: GuardedStepper, say: Say
) -> None:
    assert say("step-back") == "arm: looking at step 19, 0.038 s, 1 before live; row 19\n"
    assert say("step-back", "-n", "4").startswith("arm: looking at step 15,")
    assert say("step-forward", "--physics").startswith("arm: looking at step 16,")
    assert say("goto", "--step", "3").startswith("arm: looking at step 3, 0.006 s, 17 before")
    assert say("goto", "--time", "0.01").startswith("arm: looking at step 5,")
    assert say("goto", "--episode", "1").startswith("arm: looking at step 0,")
    assert say("live") == "arm: live, step 20, 0.04 s\n"
    assert "goto needs one of" in say("goto", code=1)


def test_a_place_that_was_not_simulated_yet_is_refused_and_the_view_stays(
    window: DebuggerClient, scene: GuardedStepper, say: Say
) -> None:
    say("goto", "--step", "3")
    for words, ahead, stands in (
        (("--time", "0.3"), "0.3 s", "0.04 s"),
        (("--time", "0.3", "--episode", "1"), "0.3 s", "0.04 s"),
        (("--step", "21"), "physics step 21", "physics step 20"),
        (("--axis", "999"), "axis 999", "axis 20"),
        (("100",), "physics step 100", "physics step 20"),
    ):
        told = say("goto", *words, code=1)
        assert f"{ahead} lies ahead: 'arm' has been simulated to {stands};" in told
    assert "physics step 100 lies ahead" in say("goto", "100", "--episode", "1", code=1)
    history = window.history(scene.id)
    assert history is not None
    assert history.view == 3
    # A time as it is told is no other than that of the scene.
    assert "looking at step 19" in say("goto", "--time", "0.04")
    assert say("goto", "20") == "arm: live, step 20, 0.04 s\n"


@pytest.fixture
def second_episode(window: DebuggerClient, scene: GuardedStepper) -> GuardedStepper:
    """The scene, reset after its twenty steps; it has taken five more."""
    backend = scene.scene.backend
    backend.step_count = backend.physics_step_count = 0
    backend.time = 0.0
    backend.memory.begin_segment(SegmentKind.EPISODE, episode=1)
    window.step(scene.id, 5)
    return scene


def test_a_step_is_one_of_the_episode_that_is_looked_at_and_the_answer_names_it(
    second_episode: GuardedStepper, say: Say
) -> None:
    assert say("goto", "3").startswith("arm: looking at episode 2, step 3, 0.006 s, 2 before live")
    assert say("goto", "--step", "4").startswith("arm: looking at episode 2, step 4,")
    assert say("goto", "--axis", "7").startswith("arm: looking at episode 1, step 7,")
    assert say("goto", "3") == say("goto", "3", "--episode", "1")
    assert "looking at episode 1, step 12," in say("goto", "12")
    assert "looking at episode 2, step 2," in say("goto", "2", "--episode", "2")
    told = say("goto", "999999", code=1)
    assert "physics step 999999 lies ahead: 'arm' has been simulated to physics step 5 of" in told
    assert "of episode 2;" in told
    assert say("live") == "arm: live, episode 2, step 5, 0.01 s\n"
    assert say("goto", "5").startswith("arm: live, episode 2, step 5")
    assert "there is no such row in episode 1" in say("goto", "99", "--episode", "1", code=1)
    say("goto", "3")
    assert "again from step 3 of episode 2:" in say("resimulate", "--steps", "1")


def test_episodes_are_named_also_behind_very_many(
    second_episode: GuardedStepper, window: DebuggerClient, say: Say
) -> None:
    memory = second_episode.memory
    for _ in range(200):
        memory.begin_segment(SegmentKind.EPISODE, episode=1)
    window.step(second_episode.id)
    assert "looking at episode 1, step 12," in say("goto", "--axis", "12")
    assert "looking at episode 1, step 11," in say("goto", "11")

    def count(client: DebuggerClient) -> int:
        history = client.history(second_episode.id)
        return len(history.segments) if history is not None else 0

    assert window.wait_until(lambda c: count(c) == 202, 60)


def test_programs_read_one_document(
    scene: GuardedStepper, window: DebuggerClient, say: Say
) -> None:
    def told(*words: str) -> Any:
        return json.loads(say(*words, "--json"))

    for word in ("branches", "rollouts", "checkpoints", "edits", "conditions", "ghosts"):
        assert told(word) == []
    assert told("stops")["stops"] == []
    view = told("goto", "7")
    assert (view["episode"], view["physics_step_count"], view["axis"]) == (1, 7, 7)
    assert not view["is_live"]
    assert told("continue")["parent_axis"] == 7
    assert [each["kind"] for each in told("branches")] == ["branch"]
    assert told("resimulate", "--axis", "5")["from_axis"] == 5
    assert [each["outcome"] for each in told("rollouts")] == ["ended"]
    assert [each["name"] for each in told("checkpoint", "\x1b[2J here")] == ["\x1b[2J here"]
    assert "\x1b" not in say("checkpoints", "--json")
    (session,) = told("list")
    assert session["status"]["mode"] == "paused"
    assert [each["name"] for each in session["scenes"]] == ["arm"]
    assert "secret" not in session
    assert told("history")["rows"] == 20
    assert told("environments") is None


def test_physics_steps_are_told_where_steps_are_several_of_them(
    window: DebuggerClient, remember: Remember, say: Say
) -> None:
    stepper = remember("arm", nstep=4)
    window.step(stepper.id, 5)
    assert "looking at step 2 (physics step 10), 0.02 s, " in say("goto", "10")
    assert say("live").startswith("arm: live, step 5 (physics step 20), ")


def test_a_bare_step_is_where_to_go(scene: GuardedStepper, say: Say) -> None:
    assert say("goto", "3") == say("goto", "--step", "3")
    assert say("goto", "4", "--episode", "1").startswith("arm: looking at step 4,")


@pytest.mark.parametrize(
    ("words", "told"),
    [(["0.3"], "write a whole number, or --time 0.3"), (["3", "--step", "4"], "not allowed with")],
)
def test_a_place_that_is_no_step_is_refused_with_what_to_write(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        ctl.main(["goto", *words])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_branches_and_the_history_are_listed(scene: GuardedStepper, say: Say) -> None:
    assert say("branches") == "no branches yet\n"
    say("goto", "--axis", "7")
    assert "episode 1, branch, from axis 7" in say("continue")
    assert say("branches").count("branch, from axis 7") == 1
    say("goto", "--axis", "9")
    assert "branch, from axis 9" in say("continue", "--recorded-inputs")
    history = say("history")
    assert history.startswith("20 rows from 0 on")
    assert "episode 1, begin" in history
    assert "not kept" in say("history", "off")
    assert "the view is live" in say("continue", code=1)


def test_rollouts_are_made_listed_compared_shown_and_dropped(
    scene: GuardedStepper, say: Say
) -> None:
    assert say("rollouts") == "no rollouts yet\n"
    made = say("resimulate", "--axis", "5", "--set", "ctrl[0]=3", "--name", "pushed")
    told = "   1  pushed: 15 steps to 0.04 s, from axis 5, ended\n"
    assert made == f"{told}      with the recorded controls: your controller does not react\n"
    assert say("rollouts") == told
    told = say("ghosts", "rollout:1", "row:3")
    assert told.startswith("2 ghosts are shown\n")
    assert "in the windows of this session" in told
    assert say("ghosts") == "rollout:1\nrow:3\n", "looking at them must not change them"
    assert say("ghosts") == "rollout:1\nrow:3\n"
    assert say("ghosts", "none") == say("ghosts") == "no ghosts are shown\n"
    compared = say("compare", "row:3", "rollout:1")
    assert compared.startswith("2 differ\n")
    assert "qvel" in compared
    assert say("drop-rollout", "1") == "rollout 1 dropped\n"
    assert "there is no rollout 1" in say("drop-rollout", "1", code=1)
    assert "is nothing to compare with" in say("ghosts", "banana", code=1)
    assert "is no edit" in say("resimulate", "--axis", "5", "--set", "banana", code=1)
    assert say("rollouts", "--ended") == "no rollouts yet\n"


def test_an_edit_that_a_rollout_is_called_after_is_written_once() -> None:
    edit, note = "timestep: 0.002 → 0.001 s", "the last inputs are held for 9 steps"
    info = RolloutInfo(
        rollout_id=1, name=edit, steps=20, timestep=0.001, time=0.02, edits=(edit, note)
    )
    assert ctl_rollouts._rollout(info) == f"   1  {edit}: 20 steps to 0.02 s, ended; {note}\n"
    edits = (edit, "kp of wrist", note)
    several = msgspec.structs.replace(info, name=f"{edit}, kp of wrist", edits=edits)
    assert ctl_rollouts._rollout(several).endswith(f"s, ended; {note}\n")
    named = msgspec.structs.replace(info, name="finer")
    assert f"ended; {edit}, {note}" in ctl_rollouts._rollout(named)


def test_rows_are_printed_as_csv(scene: GuardedStepper, say: Say) -> None:
    lines = say("rows", "qpos", "qvel", "--first", "4", "--last", "6").splitlines()
    assert lines[0] == "axis,time,qpos,qvel"
    assert [line.split(",")[0] for line in lines[1:]] == ["4", "5", "6"]
    assert float(lines[1].split(",")[2]) == scene.memory.rows[4].q
    assert "does not follow from rows" in say("rows", "qacc", code=1)


def test_stops_rules_and_conditions_are_set_and_listed(
    window: DebuggerClient, scene: GuardedStepper, say: Say
) -> None:
    assert say("stops") == "nothing has stopped it\n"
    assert say("conditions") == "no conditions yet\n"
    assert say("break-when", "qpos < 0.5", "--name", "half") == "condition 1: qpos < 0.5\n"
    window.fast_forward()
    assert window.wait_until(lambda c: c.scenes()[0].held, 60)
    assert "condition: qpos < 0.5" in say("stops")
    assert say("conditions") == "   1  half: qpos < 0.5  (true 1x)\n"
    assert say("edit-condition", "1", "--enabled", "off", "--hits", "2") == (
        "   1  half: qpos < 0.5  (true 1x, off, from the 2. time on)\n"
    )
    assert say("remove-condition", "1") == "condition 1 removed\n"
    told = "rules that are off: warning, arena; stops only mark\n"
    assert say("stop-rules", "--off", "warning", "arena", "--mark-only") == told
    assert "rules: warning is off; arena is off; stops only mark" in say("stops")
    assert say("stop-rules") == told, "asking for the rules must not change them"
    assert say("stop-rules") == told
    assert say("stop-rules", "--off") == "rules that are off: none\n"
    assert "rules:" not in say("stops")


class Pair(Memory):
    """A memory of two environments."""

    def environment_count(self) -> int:
        return 2


def test_a_condition_names_environments(scene: GuardedStepper, say: Say) -> None:
    refused = say("break-when", "qpos < 0.5", "--envs-idx", "0", code=1)
    assert "this scene has no environments to choose from, got envs_idx [0]" in refused
    scene.scene.backend.memory = Pair(scene.scene.backend)
    assert "there is no environment 2" in say("break-when", "qpos < 0", "--envs-idx", "2", code=1)
    say("break-when", "qpos < 0", "--envs-idx", "1", "0")
    assert scene.scene.backend.memory.conditions()[0].envs_idx == (1, 0)


def test_checkpoints_are_listed_and_restored_into_another_scene(
    window: DebuggerClient, scene: GuardedStepper, remember: Remember, say: Say
) -> None:
    other = remember("leg")
    say("checkpoint", "here", "--scene", "arm")
    assert "48 bytes  here" in say("checkpoints", "--scene", "arm")
    told = say("back", "here", "--scene", "leg", "--from", "arm")
    assert told == "checkpoint 'here' of 'arm' was restored\n"
    assert other.scene.backend.q == scene.scene.backend.q
    assert "there is no scene 'tail'" in say(
        "back", "here", "--scene", "leg", "--from", "tail", code=1
    )


def test_checkpoints_are_listed_alike_by_both_words(scene: GuardedStepper, say: Say) -> None:
    assert say("checkpoint") == say("checkpoints") == "no checkpoints yet\n"
    say("checkpoint", "here")
    say("label-checkpoint", "here", "--note", "before it falls")
    listed = say("checkpoints")
    assert listed.endswith("48 bytes  here  before it falls\n")
    assert say("checkpoint") == listed
    assert say("checkpoint", "there", "--note", "later").endswith("48 bytes  there  later\n")
    assert "write its name, too" in say("checkpoint", "--note", "later", code=1)


def test_a_scene_without_environments_says_so(scene: GuardedStepper, say: Say) -> None:
    assert say("environments") == "this scene has no environments: it is one world\n"
    assert "has no environments" in say("fork", "0", "1", code=1)


def test_a_checkpoint_is_meant_by_its_name_and_those_that_exist_are_told(
    window: DebuggerClient, scene: GuardedStepper, say: Say
) -> None:
    assert "there is no checkpoint 'grasp'; there are none" in say("back", "grasp", code=1)
    with pytest.raises(CommandError, match="there is no checkpoint 'grasp'; there are none"):
        window.restore(scene.id, "grasp")
    first = window.checkpoint(scene.id, "grasp")
    at = scene.scene.backend.q
    window.step(scene.id, 5)
    second = window.checkpoint(scene.id, "grasp")
    window.step(scene.id, 5)
    for restore in (window.restore, window.restore_checkpoint):
        restore(scene.id, "grasp")  # the newest of that name
        assert window.scenes()[0].step_count == 25
        restore(scene.id, first)
        assert scene.scene.backend.q == at
    known = rf"the newest are 'grasp' \({first}\), 'grasp' \({second}\)"
    for refused in (window.restore, window.drop_checkpoint):
        with pytest.raises(CommandError, match=f"there is no checkpoint 'gras'; {known}"):
            refused(scene.id, "gras")
    window.label_checkpoint(scene.id, "grasp", name="hold")
    window.drop_checkpoint(scene.id, "hold")
    assert [each.checkpoint_id for each in window.checkpoints(scene.id)] == [first]
    # The word of that name is about scenes.
    told = say("restore", "grasp", code=1)
    assert told.startswith(
        "stroboscope ctl: there is no scene 'grasp'; to a checkpoint: back grasp"
    )
    told = say("restore", "gras", code=1)
    assert "there is no scene 'gras'; to a checkpoint: back 'grasp':\n  1  arm\n" in told
