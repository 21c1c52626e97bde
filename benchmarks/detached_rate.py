"""Row 1: what a scene costs while nothing is attached, against a bare ``mj_step`` loop."""

import functools
import os
import tempfile
from collections.abc import Callable

import mujoco
from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path, steps_per_second

import stroboscope.engine as physics


def measure(settings: Settings) -> list[Row]:
    """Step three copies of one model in turn: bare, as a scene, as an adopted scene."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    model = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    bare = mujoco.MjData(model)
    own = mujoco.MjData(model)
    scene = physics.create_scene("created", model)
    adopted = physics.debugger.watch(model, own, "adopted")
    steps = settings.scaled(20_000)

    # Without a Python function around it: the loop that somebody would write by hand.
    bare_step = functools.partial(mujoco.mj_step, model, bare)

    # All arms fall from the same pose, so that they meet the same contacts at the same steps.
    def reset() -> None:
        mujoco.mj_resetData(model, bare)
        mujoco.mj_resetData(model, own)
        mujoco.mj_resetData(scene.model, scene.data)

    def arm(step: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            reset()
            return steps_per_second(step, steps)

        return run

    rates = interleave(
        {"bare": arm(bare_step), "scene": arm(scene.step), "adopted": arm(adopted.step)},
        rounds=settings.rounds,
    )
    rows = []
    for name in ("scene", "adopted"):
        measured = ratio(rates[name], rates["bare"])
        per_step = 1e6 / max(rates["bare"])
        rows.append(
            Row(
                number="1",
                what=f"steps/s detached, {name} scene, vs bare mj_step",
                measured=measured,
                target="≥ 0.97",
                reached=measured.median >= 0.97,
                note=f"humanoid, {per_step:.0f} µs per step",
            )
        )
    physics.shutdown()
    return rows


if __name__ == "__main__":
    run_alone(measure)
