"""Random commands to a batched scene, against plain MuJoCo data as the oracle: no bit differs."""

from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
# Contacts, and a servo that is late: its samples are part of the state.
MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body name="arm" pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2" stiffness="1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><position joint="elbow" kp="30" kv="1" delay=".01" nsample="6"/></actuator>
</mujoco>
"""
COUNT = 5
WORDS = ("step", "step", "step", "reset", "fork", "keep", "restore", "state")


class Oracle:
    """One MjData per environment."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.datas = [mujoco.MjData(model) for _ in range(COUNT)]

    def row(self, env: int) -> NDArray[np.float64]:
        row = np.empty(mujoco.mj_stateSize(self.model, FULL))
        mujoco.mj_getState(self.model, self.datas[env], row, FULL)
        return row

    def put(self, env: int, row: NDArray[np.float64]) -> None:
        mujoco.mj_setState(self.model, self.datas[env], row, FULL)


def run_commands(count: int, seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    scene, oracle = physics.create_scene("many", model, n_envs=COUNT), Oracle(model)
    chance = np.random.default_rng(seed)
    kept: list[tuple[physics.BatchCheckpoint, dict[int, Any]]] = []
    for number in range(count):
        word = str(chance.choice(WORDS))
        some = np.flatnonzero(chance.random(COUNT) < 0.4)
        match word:
            case "step":
                control, nstep = chance.uniform(-1, 1, COUNT), int(chance.integers(1, 4))
                scene.ctrl[:, 0] = control
                scene.step(nstep=nstep)
                for data, value in zip(oracle.datas, control, strict=True):
                    data.ctrl[0] = value
                    mujoco.mj_step(model, data, nstep)
            case "reset":
                scene.reset(envs_idx=some)
                for env in some:
                    mujoco.mj_resetData(model, oracle.datas[env])
            case "fork":
                source = int(chance.integers(COUNT))
                scene.fork(source, some)
                row = oracle.row(source)
                for env in some:
                    oracle.put(env, row)
            case "keep" if len(some):
                kept.append((scene.checkpoint(envs_idx=some), {e: oracle.row(e) for e in some}))
                del kept[:-5]
            case "restore" if kept:
                checkpoint, rows = kept[int(chance.integers(len(kept)))]
                scene.restore(checkpoint if chance.random() < 0.5 else checkpoint.to_bytes())
                for env, row in rows.items():
                    oracle.put(env, row)
            case "state":
                scene.reset(scene.get_state(), envs_idx=some)
        for env in range(COUNT):
            mine = scene.environments.state[env].tobytes()
            assert mine == oracle.row(env).tobytes(), (number, word, env)


def test_random_commands_leave_every_environment_as_mujoco_has_it() -> None:
    run_commands(600, seed=1)


@pytest.mark.slow
def test_ten_thousand_random_commands_leave_every_environment_as_mujoco_has_it() -> None:
    run_commands(10_000, seed=2)
