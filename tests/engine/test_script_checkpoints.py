"""Checkpoints that a script makes under a name, as clients see and use them."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient
from stroboscope.debugger_protocol.messages import CheckpointOrigin
from stroboscope.debugger_protocol.topics import Instant, Topic

# Scripts that go on for ever are killed.
pytestmark = pytest.mark.leaves_runtime_files

BEGIN = """
import sys
import stroboscope.engine as physics
scene = physics.create_scene("arm", model=sys.argv[1])
"""
MAKES = (
    BEGIN
    + """
early = scene.checkpoint("before anybody came", note="at rest")
scene.checkpoint("nobody has this one")
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
for _ in range(10):
    scene.ctrl[:] = 0.3
    scene.step()
made = scene.checkpoint("after ten")
for _ in range(10):
    scene.step()
scene.pause("look")
scene.restore(made)
print(scene.step_count, flush=True)
made.release()
early.release()
while physics.debugger.is_attached():
    scene.step()
"""
)


@pytest.fixture
def arm(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool], model_path: Any
) -> Callable[[str], Any]:
    """``arm(source)``: that script with the arm's model."""
    return lambda source: start_script(source, str(model_path("arm")))


def paused_at(client: DebuggerClient, reason: str) -> int:
    assert client.wait_until(lambda c: any(s.hold_reason == reason for s in c.scenes()), 30.0)
    return client.scenes()[0].scene_id


def test_they_are_listed_restored_compared_and_deleted_like_those_of_clients(
    arm: Callable[[str], Any], wait_parked: Callable[..., bool], capsys: pytest.CaptureFixture[str]
) -> None:
    script = arm(MAKES)
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        (early,) = client.checkpoints(id)
        assert (early.name, early.note) == ("before anybody came", "at rest")
        assert early.origin is CheckpointOrigin.SCRIPT
        client.fast_forward()
        assert paused_at(client, "look") == id
        mine = client.checkpoint(id, "mine")
        listed = {each.name: each for each in client.checkpoints(id)}
        assert list(listed) == ["before anybody came", "after ten", "mine"]
        made = listed["after ten"]
        assert (made.step_count, made.axis, made.origin) == (10, 10, CheckpointOrigin.SCRIPT)
        assert 0 < listed["mine"].nbytes < made.nbytes < listed["mine"].nbytes + 100
        assert listed["mine"].origin is CheckpointOrigin.CLIENT
        assert ctl.main(["checkpoints"]) == 0
        assert "after ten  (by the script)" in capsys.readouterr().out

        refs = [
            tm.GhostRef(source=tm.GhostSource.CHECKPOINT, number=number, scene_id=id)
            for number in (made.checkpoint_id, mine)
        ]
        compared = client.compare(id, *refs)
        assert any(each.name.startswith("qpos") for each in compared.differences)
        client.show_ghosts(id, refs[:1])

        client.subscribe(id, [Topic.STATE])
        client.restore(id, made.checkpoint_id)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.time) == (10, made.time)
        client.label_checkpoint(id, made.checkpoint_id, name="ten")
        client.drop_checkpoint(id, made.checkpoint_id)
        assert [each.name for each in client.checkpoints(id)] == ["before anybody came", "mine"]
        with pytest.raises(CommandError, match=f"there is no checkpoint {made.checkpoint_id}"):
            client.restore(id, made.checkpoint_id)
        # The script's own object goes on working; what it releases leaves the list.
        client.play()
        assert script.process.stdout.readline() == "10\n"
        assert client.wait_until(
            lambda c: [each.name for each in c.checkpoints(id)] == ["mine"], 60.0
        )


def test_they_lead_the_scene_back_to_the_last_bit(
    arm: Callable[[str], Any], wait_parked: Callable[..., bool]
) -> None:
    script = arm(MAKES)
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        client.fast_forward()
        paused_at(client, "look")
        made = client.checkpoints(id)[-1]
        rows = client.read_rows(id, ["qpos", "qvel"], first=10, last=10)
        client.restore(id, made.checkpoint_id)
        client.subscribe(id, [Topic.STATE])
        while True:
            frame = client.next_frame(30.0)
            assert frame is not None
            if frame.instant is Instant.NOW and frame.time == made.time:
                break
        np.testing.assert_array_equal(frame.arrays["qpos"], rows["qpos"][0])
        np.testing.assert_array_equal(frame.arrays["qvel"], rows["qvel"][0])


CHANGES_THE_MODEL = (
    BEGIN
    + """
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
scene.step()
scene.model.opt.gravity[2] = -5.0
scene.checkpoint("on the moon, nearly")
scene.model.opt.gravity[2] = -9.81
while physics.debugger.is_attached():
    scene.step()
"""
)


def test_restoring_one_says_when_the_model_is_another_one_since(
    arm: Callable[[str], Any], wait_parked: Callable[..., bool]
) -> None:
    script = arm(CHANGES_THE_MODEL)
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        client.step(id, 2)
        (made,) = client.checkpoints(id)
        client.restore(id, made.checkpoint_id)
        assert client.wait_until(
            lambda c: any(
                "gravity stays (0, 0, -9.81) m/s²: it was (0, 0, -5) m/s² then" in entry.text
                for entry in c._log
            ),
            30.0,
        )


MANY = (
    BEGIN
    + """
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
scene.pause("keep one")
for k in range(130):
    scene.checkpoint(f"episode {k}")
scene.pause("many")
while physics.debugger.is_attached():
    scene.step()
"""
)


def test_the_oldest_of_many_make_room_and_those_of_clients_stay(
    arm: Callable[[str], Any],
) -> None:
    script = arm(MANY)
    with script.connect() as client:
        id = paused_at(client, "keep one")
        client.checkpoint(id, "mine")
        client.play()
        paused_at(client, "many")
        assert client.wait_until(lambda c: c.checkpoints(id)[-1].name == "episode 129", 30.0)
        names = [each.name for each in client.checkpoints(id)]
        assert names == ["mine", *(f"episode {k}" for k in range(30, 130))]
        told = [entry.text for entry in client._log if "oldest of them" in entry.text]
        assert len(told) == 1
        client.checkpoint(id, "and another one")


def test_detached_programs_keep_none_alive(model_path: Callable[[str], Path]) -> None:
    scene = physics.create_scene("arm", model_path("arm"))
    checkpoints = scene.link.changes.editor.checkpoints
    kept = scene.checkpoint("kept")
    scene.checkpoint("let go")
    gc.collect()
    checkpoints.hold(wanted=True)
    assert [each.name for each in checkpoints.told] == ["kept"]
    del kept
    gc.collect()
    assert checkpoints.find(checkpoints.told[0].checkpoint_id).state
    checkpoints.hold(wanted=False)
    checkpoints.hold(wanted=True)
    assert checkpoints.told == ()


def test_a_terminal_labels_and_drops_them_and_answers_garbage_in_words(
    arm: Callable[[str], Any], wait_parked: Callable[..., bool], capsys: pytest.CaptureFixture[str]
) -> None:
    script = arm(MAKES)
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        name = "before anybody came"
        assert ctl.main(["label-checkpoint", name, "--name", "early", "--note", "cold"]) == 0
        assert [(each.name, each.note) for each in client.checkpoints(id)] == [("early", "cold")]
        for words, told in (
            (["drop-checkpoint", "nope"], "there is no checkpoint 'nope'; the newest are 'early'"),
            (["compare", "checkpoint:nope", "row:1"], "there is no checkpoint 'nope'"),
            (["history", "on", "--max-mib", "nan"], "--max-mib is a size above 0"),
            (["history", "on", "--max-mib", "inf"], "--max-mib is a size above 0"),
            (["resimulate", "--axis", "5"], "nothing of 'arm' is remembered yet"),
            (["derive", "time", "--ended"], "no scene has ended yet"),
            (["rows", "qpos", "--ended", "--rollout", "7"], "there is no rollout 7"),
            (["drop-rollout", "7", "--ended"], "there is no rollout 7"),
        ):
            assert ctl.main(words) == 1
            assert told in capsys.readouterr().err
        assert ctl.main(["drop-checkpoint", "early"]) == 0
        assert client.checkpoints(id) == ()
