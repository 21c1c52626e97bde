"""What sleeps, from a file of anybody: only what MuJoCo could have written is believed."""

import mujoco
import numpy as np
import pytest
from random_models import disturb, random_model

from stroboscope.engine.errors import StateCorruptError
from stroboscope.engine.hidden_state import HiddenState
from stroboscope.engine.live_data import HeldData

BALLS = "".join(
    f'<body pos="{i % 5} {i // 5} {0.1 + 0.02 * i}"><freejoint/><geom size=".1"/></body>'
    for i in range(12)
)
MODEL = f"""
<mujoco>
  <option><flag sleep="enable"/></option>
  <worldbody><geom type="plane" size="5 5 .1"/>{BALLS}</worldbody>
</mujoco>
"""


def _state(steps: int) -> tuple[HiddenState, bytearray, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    hidden = HiddenState(HeldData(data))
    for _ in range(steps):
        mujoco.mj_step(model, data)
    content = bytearray(hidden.nbytes)
    hidden.copy_to(memoryview(content))
    return hidden, content, data


@pytest.mark.parametrize("steps", [0, 1, 200, 3000])
def test_what_mujoco_has_written_is_believed(steps: int) -> None:
    hidden, content, _ = _state(steps)
    hidden.check(bytes(content))


@pytest.mark.parametrize("seed", range(40))
def test_what_mujoco_has_written_for_models_of_all_kinds_is_believed(seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(random_model(seed).xml)
    data = mujoco.MjData(model)
    hidden = HiddenState(HeldData(data))
    content, rng = bytearray(hidden.nbytes), np.random.default_rng(seed)
    for _ in range(30):
        disturb(model, data, rng, gently=False)
        mujoco.mj_step(model, data)
        hidden.copy_to(memoryview(content))
        hidden.check(bytes(content))


def test_rows_of_sparse_matrices_beyond_their_end_are_refused() -> None:
    model = mujoco.MjModel.from_xml_string(random_model(1).xml)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    hidden = HiddenState(HeldData(data))
    content = bytearray(hidden.nbytes)
    data.ten_wrapadr[-1], data.ten_wrapnum[-1] = data.wrap_obj.size - 1, 2
    hidden.copy_to(memoryview(content))
    with pytest.raises(StateCorruptError, match="ten_wrapadr and ten_wrapnum reach to"):
        hidden.check(bytes(content))


@pytest.mark.parametrize("name", ["body_awake_ind", "dof_awake_ind", "tree_asleep"])
@pytest.mark.parametrize("value", [2_000_000_000, -2_000_000_000, 1_000])
def test_indices_of_nothing_are_refused_by_name(name: str, value: int) -> None:
    hidden, content, data = _state(500)
    array = getattr(data, name).tobytes()
    at = bytes(content).find(array)
    assert at >= 0
    content[at : at + 4] = np.int32(value).tobytes()
    with pytest.raises(StateCorruptError, match=f"{name} holds {value}"):
        hidden.check(bytes(content))


def test_counts_beyond_their_arrays_and_other_lengths_are_refused() -> None:
    hidden, content, _ = _state(500)
    with pytest.raises(StateCorruptError, match="bytes in this model"):
        hidden.check(bytes(content[:-1]))
    content[0:8] = (10_000).to_bytes(8, "little")
    with pytest.raises(StateCorruptError, match="nbody_awake is 10000"):
        hidden.check(bytes(content))
