"""Mutated checkpoints whose checksum is right: refused or restored, never anything else."""

import os
import random
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.checkpoint_bytes import CRC, CRC_AT, CRC_FROM, Layout

StateOf = Callable[[physics.Scene], NDArray[np.float64]]

COUNT = int(3000 * float(os.environ.get("STROBOSCOPE_FUZZ_FACTOR", "0.2")))
MODEL = """
<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/></body></worldbody>
  <actuator><motor joint="j"/></actuator></mujoco>
"""


def mutated(state: bytes, rng: random.Random, layout: Layout) -> bytes:
    """Return ``state`` with something changed and a checksum that fits."""
    made = bytearray(state)
    for _ in range(rng.choice([1, 1, 2, 8])):
        # Mostly where sizes, tables and records stand, seldom in the numbers.
        low, high = rng.choice(
            [
                (CRC_FROM, layout.row.start),
                (layout.head.size, layout.row.start),
                (layout.script.start, len(made)),
                (CRC_FROM, len(made)),
            ]
        )
        at = rng.randrange(low, high)
        kind = rng.random()
        if kind < 0.5:
            made[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind < 0.8:
            made[at] ^= 1 << rng.randrange(8)
        elif kind < 0.9:
            del made[at : at + rng.randrange(1, 9)]
        else:
            made[at:at] = rng.randbytes(rng.randrange(1, 9))
        if len(made) <= layout.row.start:
            break
        layout = Layout.of(state)
    made = made[: max(len(made), CRC_FROM)]
    CRC.pack_into(made, CRC_AT, zlib.crc32(memoryview(made)[CRC_FROM:]))
    return bytes(made)


def test_mutated_checkpoints_raise_state_errors_only_and_change_nothing_then(
    state_of: StateOf,
) -> None:
    rng = random.Random(4)
    scene = physics.create_scene("Small", MODEL)
    kept = {"x": [1, 2.5, "text"], "y": np.arange(4)}
    scene.register_state("kept", lambda: kept, lambda value: None)
    scene.model.opt.gravity[2] = -5.0
    scene.step(nstep=5)
    state = scene.checkpoint("named", note="a note").to_bytes()
    layout = Layout.of(state)
    refused = 0
    for _ in range(COUNT):
        wrong = mutated(state, rng, layout)
        before, model = state_of(scene).tobytes(), scene.model.opt.gravity.tobytes()
        for restore in (
            scene.restore,
            lambda given: scene.restore(given, with_model=True),
            scene.restore_state_from_bytes,
        ):
            try:
                restore(wrong)
            except physics.StateError as error:
                refused += 1
                assert len(str(error)) < 2000  # noqa: PT017 - others pass on
                assert before == state_of(scene).tobytes()
                assert model == scene.model.opt.gravity.tobytes()
            else:
                scene.restore(state, with_model=True)
                before, model = state_of(scene).tobytes(), scene.model.opt.gravity.tobytes()
    assert refused > COUNT


@pytest.mark.parametrize("with_model", [False, True])
def test_values_of_the_model_in_another_form_are_refused_before_the_state_is_written(
    state_of: StateOf, with_model: bool
) -> None:
    scene = physics.create_scene("Small", MODEL)
    scene.model.opt.gravity[2] = -5.0
    damaged = bytearray(scene.checkpoint("named").to_bytes())
    assert damaged.count(b"<f8") == 1
    damaged[damaged.index(b"<f8")] = ord("+")
    CRC.pack_into(damaged, CRC_AT, zlib.crc32(memoryview(damaged)[CRC_FROM:]))
    scene.step(nstep=5)
    before = state_of(scene)
    with pytest.raises(physics.StateError, match=r"holds opt\.gravity as"):
        scene.restore(damaged, with_model=with_model)
    assert np.array_equal(before, state_of(scene))
