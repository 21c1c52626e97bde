"""Checkpoints of many environments that a script makes under a name, as clients have them."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient
from stroboscope.debugger_protocol.messages import CheckpointOrigin, OwnerActivity

COUNT = 6
PENDULUM = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="hinge"/></actuator>
</mujoco>
"""


class Made:
    """What the script has made: all of them at step 4, two of them at step 8."""

    def __init__(self, flock: Any) -> None:
        self.all: Any = None
        self.two: Any = None
        flock.before = self

    def __call__(self, scene: physics.BatchScene) -> None:
        if scene.total_steps == 4 and self.all is None:
            self.all = scene.checkpoint("all at four", note="before the push")
        if scene.total_steps == 8 and self.two is None:
            self.two = scene.checkpoint("two of them", envs_idx=[4, 1])


@pytest.fixture
def named(flock: Callable[..., Any]) -> tuple[DebuggerClient, Any, Made]:
    """A client, and a flock whose script has made two checkpoints and stands at step 12."""
    client, birds = flock(PENDULUM, COUNT)
    made = Made(birds)
    client.step(birds.id, 12)
    assert client.wait_until(lambda c: len(c.checkpoints(birds.id)) == 2, 30.0)
    # The script has written the controls of its next step, before which it is parked.
    assert client.wait_until(
        lambda c: 12 in birds.rows and c.scenes()[0].activity is OwnerActivity.PARKED, 30.0
    )
    return client, birds, made


def test_they_are_listed_with_their_environments(named: tuple[DebuggerClient, Any, Made]) -> None:
    client, birds, made = named
    everything, two = client.checkpoints(birds.id)
    assert (everything.name, two.name) == ("all at four", "two of them")
    assert everything.origin is two.origin is CheckpointOrigin.SCRIPT
    assert (everything.step_count, everything.axis, two.axis) == (4, 4, 8)
    assert everything.time == pytest.approx(4 * 0.002)
    assert everything.note == "before the push · all 6 environments"
    assert two.note == "environments 4, 1"
    for told, mine in ((everything, made.all), (two, made.two)):
        assert told.nbytes == pytest.approx(len(mine.to_bytes()), abs=100)


def test_one_of_all_goes_back_to_all_to_the_last_bit(
    named: tuple[DebuggerClient, Any, Made],
) -> None:
    client, birds, made = named
    client.restore(birds.id, client.checkpoints(birds.id)[0].checkpoint_id)
    np.testing.assert_array_equal(birds.state(), made.all.rows)
    np.testing.assert_array_equal(birds.state(), birds.rows[4])


def test_one_of_some_goes_back_to_those_and_leaves_the_others(
    named: tuple[DebuggerClient, Any, Made],
) -> None:
    client, birds, made = named
    before = birds.state()
    client.restore(birds.id, client.checkpoints(birds.id)[1].checkpoint_id)
    after = birds.state()
    np.testing.assert_array_equal(after[[4, 1]], made.two.rows)
    others = [0, 2, 3, 5]
    np.testing.assert_array_equal(after[others], before[others])


def test_the_selected_environment_is_compared_where_a_checkpoint_holds_it(
    named: tuple[DebuggerClient, Any, Made],
) -> None:
    client, birds, _ = named
    everything, two = client.checkpoints(birds.id)
    refs = [
        tm.GhostRef(source=tm.GhostSource.CHECKPOINT, number=number, scene_id=birds.id)
        for number in (everything.checkpoint_id, two.checkpoint_id)
    ]
    with pytest.raises(CommandError, match=r"does not hold environment 0.*select .* 4 or 1"):
        client.compare(birds.id, *refs)
    client.select_environments(birds.id, 4, (4,))
    compared = client.compare(birds.id, *refs)
    assert any(each.name.startswith("qpos") for each in compared.differences)
    client.show_ghosts(birds.id, refs)


def test_a_terminal_lists_them_and_goes_back_to_one(
    named: tuple[DebuggerClient, Any, Made], capsys: pytest.CaptureFixture[str]
) -> None:
    _, birds, made = named
    assert ctl.main(["checkpoints"]) == 0
    listed = capsys.readouterr().out
    assert "all at four  (by the script)  before the push · all 6 environments" in listed
    assert "two of them  (by the script)  environments 4, 1" in listed
    assert ctl.main(["back", "two of them"]) == 0
    np.testing.assert_array_equal(birds.state()[[4, 1]], made.two.rows)


def test_they_leave_the_list_with_the_script_while_nobody_is_attached() -> None:
    scene = physics.create_scene("Pendulums", PENDULUM, n_envs=2)
    checkpoints = scene.link.changes.editor.checkpoints
    kept = scene.checkpoint("kept")
    scene.checkpoint("let go")
    gc.collect()
    checkpoints.hold(wanted=True)
    assert [each.name for each in checkpoints.told] == ["kept"]
    assert checkpoints.find(checkpoints.told[0].checkpoint_id).state == kept.to_bytes()


def test_one_of_environments_is_refused_by_a_scene_of_one_world_in_words() -> None:
    scene = physics.create_scene("Pendulums", PENDULUM, n_envs=2)
    alone = physics.create_scene("Pendulum", PENDULUM)
    with pytest.raises(CommandError, match="a checkpoint of 2 environments, and one world"):
        alone.backend.restore_initial(scene.checkpoint().to_bytes())
