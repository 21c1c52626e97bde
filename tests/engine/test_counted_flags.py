"""What mj_setConst counts of a model belongs to the steps that were taken with it."""

from typing import Any

import mujoco
import numpy as np
import pytest
from noted_run import SENSED, Run

import stroboscope.engine as physics


def set_const(model: Any) -> None:
    mujoco.mj_setConst(model, mujoco.MjData(model))


@pytest.mark.parametrize("looks", [False, True], ids=["not looked at", "looked at in between"])
@pytest.mark.parametrize("resets", [False, True], ids=["goes on", "reset in between"])
def test_gravity_compensation_counts_from_when_mj_set_const_has_seen_it(
    looks: bool, resets: bool
) -> None:
    """Written alone it is without effect: mj_setConst sets the flag that steps ask first."""
    scene = physics.create_scene("compensated", SENSED)
    scene.keep_history(True)
    run, model = Run(scene), scene.model
    run.step(10)
    model.body_gravcomp[1] = 0.5
    run.step(10)
    if looks:
        run.look(5)
    if resets:
        scene.reset()
    run.step(10)
    model.body_mass[1] *= 0.9
    set_const(model)
    run.step(10)
    axes, values = run.read("qacc")
    seen = np.array([run.seen[axis]["qacc"] for axis in axes.tolist()])
    wrong = [
        axis for axis, read, then in zip(axes, values, seen, strict=True) if (read != then).any()
    ]
    assert not wrong
    if not resets:
        assert len(axes) == 40
    run.check(range(40))


def test_a_flag_that_was_put_down_again_is_put_down_in_the_past_too() -> None:
    scene = physics.create_scene("compensated", SENSED)
    scene.model.body_gravcomp[1] = 0.5
    set_const(scene.model)
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    scene.model.flg_gravcomp = False
    run.step(10)
    run.look(5)  # models are looked at now and then
    scene.model.flg_gravcomp = True
    run.step(10)
    run.check(range(30))
