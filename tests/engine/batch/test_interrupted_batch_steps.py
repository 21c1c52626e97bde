"""Handlers of signals that raise within a step of many environments: the step counts if it is done.

Python runs them as soon as MuJoCo has returned, so that is where nearly all of them run.
"""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <replicate count="4" offset="0 0 .25">
      <body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    </replicate>
  </worldbody>
</mujoco>
"""
INTERRUPTS = 10


class Late(ValueError):
    """What the script raises when it has waited too long."""


@pytest.fixture(params=[Late, KeyboardInterrupt])
def raised(request: Any) -> Iterator[type[BaseException]]:
    """What the handler raises again and again, after some processor time of this process."""
    kind: type[BaseException] = request.param

    def handler(number: int, frame: Any) -> None:
        raise kind

    before = signal.signal(signal.SIGVTALRM, handler)
    yield kind
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, before)


def steps_through_interrupts(
    scene: physics.BatchScene, raised: type[BaseException], *, nstep: int = 1
) -> int:
    """Step until enough handlers have raised; return how many steps the states have taken."""
    count = 0
    while count < INTERRUPTS:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.004)
            while True:
                scene.step(nstep=nstep)
        except raised:
            count += 1
        finally:
            with contextlib.suppress(raised):
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    times = scene.environments.time / 0.002
    assert np.ptp(times) < 1e-6
    return round(float(times[0]))


@pytest.mark.parametrize("nstep", [1, 3])
@pytest.mark.parametrize("kept", ["nothing", "guarded", "recorded"])
def test_a_step_of_all_environments_that_is_done_counts_and_is_kept(
    raised: type[BaseException], nstep: int, kept: str, tmp_path: Path
) -> None:
    scene = physics.create_scene("Towers", MODEL, n_envs=3)
    scene.qvel[:, 0] = np.arange(3)
    scene.guards_detached = kept == "guarded"
    if kept == "recorded":
        scene.start_recording(tmp_path / "run")
    steps = steps_through_interrupts(scene, raised, nstep=nstep)
    assert scene.physics_step_count.tolist() == [steps] * 3
    if nstep == 1 or kept == "nothing":
        assert scene.step_count.tolist() == [steps // nstep] * 3
    twin = physics.create_scene("Twin", MODEL, n_envs=3)
    twin.qvel[:, 0] = np.arange(3)
    twin.step(nstep=steps)
    assert scene.environments.state.tobytes() == twin.environments.state.tobytes()
    if kept == "recorded":
        path = scene.stop_recording()
        for env in range(3):
            with physics.load_trajectory(path, scene=f"Towers[{env}]") as run:
                assert run.verify().exit_code == 0
                assert run.seek(-1).axis == steps
                assert [event.kind for event in run.events] == ["begin"]
