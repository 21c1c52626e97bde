"""Candidates from an environment's checkpoint: with the model that this environment has."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco><option timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping=".1"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    <body pos=".3 0 0"><joint axis="0 1 0" damping=".05"/><geom size=".06"/></body></body>
  <body name="ball" pos="1 0 .11"><freejoint/><geom size=".1"/></body>
</worldbody><actuator><motor joint="shoulder" gear="2"/></actuator></mujoco>
"""
CTRL = np.full((2, 20, 1), 0.5)


def mass(scene: physics.BatchScene) -> None:
    scene.expand("body_mass")[1] *= 3
    scene.set_const()


def size(scene: physics.BatchScene) -> None:
    """What follows from it is the volume around each body, of which only a checksum is kept."""
    scene.expand("geom_size")[1, 3] *= 2
    scene.set_const()


def gravity(scene: physics.BatchScene) -> None:
    scene.expand("opt.gravity")[1] = (0, 0, -1.6)


def edited(scene: physics.BatchScene) -> None:
    scene.select_environment(1)
    scene.backend.edit_option("gravity", (0.0, 0.0, -1.6))


def timestep(scene: physics.BatchScene) -> None:
    scene.expand("opt.timestep")[1] = 0.002


def gain(scene: physics.BatchScene) -> None:
    scene.expand("actuator_gainprm")[1] *= 2


def switched_off(scene: physics.BatchScene) -> None:
    scene.expand("opt.disableflags")[1] = 1 << 7


WRITES = [mass, size, gravity, edited, timestep, gain, switched_off]


def three(write: Callable[[physics.BatchScene], None], *, selected: int = 0) -> Any:
    scene = physics.create_scene("three", MODEL, n_envs=3)
    write(scene)
    for _ in range(5):
        scene.step()
    scene.select_environment(selected)
    return scene


def went_on(scene: physics.BatchScene, env: int = 1) -> bytes:
    """Step the scene with the controls of a candidate; return where an environment got to."""
    for step in range(CTRL.shape[1]):
        scene.ctrl[:] = CTRL[0, step]
        scene.step()
    return bytes(scene.environments.state[env, : 1 + scene.qpos.shape[1]].tobytes())


def end_of(rollouts: physics.Rollouts, scene: physics.BatchScene) -> bytes:
    return bytes(rollouts.states[0, -1, : 1 + scene.qpos.shape[1]].tobytes())


@pytest.mark.parametrize("selected", [0, 1])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_candidates_go_where_the_environment_goes(
    write: Callable[[physics.BatchScene], None], selected: int
) -> None:
    scene = three(write, selected=selected)
    begin = scene.checkpoint().env(1)
    rollouts = physics.rollout(begin, CTRL)
    assert rollouts.inexact_reason == ""
    assert rollouts.timestep == begin.timestep
    assert end_of(rollouts, scene) == went_on(scene)


def test_candidates_have_the_model_of_when_their_checkpoint_was_taken() -> None:
    scene = three(gain)
    checkpoint = scene.checkpoint()
    scene.expand("opt.gravity")[1] = (0, 0, -1.6)
    rollouts = physics.rollout(checkpoint.env(1), CTRL)
    assert scene.restore(checkpoint, with_model=True).is_exact
    assert end_of(rollouts, scene) == went_on(scene)
    assert (rollouts.inexact_reason, scene.model.opt.gravity[2]) == ("", -9.81)


def test_a_candidate_of_an_environment_goes_back_into_it_exactly() -> None:
    scene = three(mass)
    rollouts = physics.rollout(scene.checkpoint().env(1), CTRL)
    state = rollouts.checkpoint(0, 10)
    assert scene.restore(state, envs_idx=1).is_exact
    assert "body_mass" in scene.restore(state, envs_idx=2).reason
    onward = physics.rollout(state, CTRL[:, 10:])
    assert onward.states[0, -1].tobytes() == rollouts.states[0, -1].tobytes()


def test_the_environments_scene_is_taken_where_another_one_has_the_model_too() -> None:
    alone = physics.create_scene("alone", MODEL)
    scene = three(gravity)
    rollouts = physics.rollout(scene.checkpoint().env(1), CTRL)
    assert rollouts.inexact_reason == ""
    given = physics.rollout(scene.checkpoint().env(1), CTRL, scene=alone)
    assert "opt.gravity" in given.inexact_reason
    alone.model.opt.gravity[:] = (0, 0, -1.6)
    given = physics.rollout(scene.checkpoint().env(1), CTRL, scene=alone)
    assert given.inexact_reason == ""
    assert end_of(rollouts, scene) == end_of(given, scene) == went_on(scene)


def test_a_timestep_that_nothing_explains_is_refused_with_what_to_do() -> None:
    alone = physics.create_scene("alone", MODEL)
    alone.model.opt.timestep = 0.001
    unnamed, named = alone.checkpoint(), alone.checkpoint("named")
    alone.destroy()
    three(gravity)
    with pytest.raises(physics.StateMismatchError, match="take it with a name"):
        physics.rollout(unnamed, CTRL)
    assert physics.rollout(named, CTRL).timestep == 0.001


def test_a_named_checkpoint_says_that_the_model_was_written_into_since() -> None:
    scene = physics.create_scene("alone", MODEL)
    checkpoint = scene.checkpoint("before")
    assert physics.rollout(checkpoint, CTRL).inexact_reason == ""
    scene.model.opt.gravity[2] = -1.6
    assert "opt.gravity[2]" in physics.rollout(checkpoint, CTRL).inexact_reason
    since = physics.rollout(scene.checkpoint("since"), CTRL)
    assert since.inexact_reason == ""
    assert scene.restore(since.checkpoint(0)).is_exact


def test_the_debuggers_table_computes_with_the_environments_model(host: Host) -> None:
    scene = three(gravity)
    host.attach(PlaybackMode.FAST_FORWARD)
    physics.rollout(scene.checkpoint().env(1), CTRL)
    stored = scene.rollouts.get(scene.rollouts.infos()[0].rollout_id)
    assert stored.make_model().opt.gravity[2] == -1.6
    assert scene.get_model(0).opt.gravity[2] == -9.81
