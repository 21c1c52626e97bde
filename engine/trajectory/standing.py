"""A scene put into a frame of a recorded run, with its counters."""

from typing import TYPE_CHECKING, Final

import numpy as np

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.trajectory.recorded_rows import Row

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["compute_derived", "stand_at"]

# Where a row is not all that the next step reads: what is kept of bodies that are awake, and by
# which field of the model one finds the body. What sleeps goes on with its results of long ago.
_RESULTS: Final = {
    "": ("xpos", "xquat", "xmat", "xipos", "ximat", "cvel"),
    "geom_bodyid": ("geom_xpos", "geom_xmat"),
    "site_bodyid": ("site_xpos", "site_xmat"),
    "cam_bodyid": ("cam_xpos", "cam_xmat"),
    "light_bodyid": ("light_xpos", "light_xdir"),
}


def stand_at(
    scene: "Scene", row: Row, hidden: bytes, counters: Counters, *, axis: int, episode: int
) -> None:
    """Put a row into the live data, as a restore does: the next step begins there, bit for bit."""
    scene.world.codec.put_row(row, hidden)
    scene.stepper.mend()
    compute_derived(scene)
    scene.counters.set_state(counters)
    scene.stepper.forget_time()
    scene.forget_drawing()
    scene.history.begin(
        SegmentKind.BRANCH, "from a recorded run", parent_axis=axis, episode=episode
    )
    if scene.link.active:
        scene.link.state_replaced("a frame of the recorded run was sought")


def compute_derived(scene: "Scene") -> None:
    """Compute in the live data what follows from the state there: poses, contacts, sensor values.

    The next step is the same bit for bit as without. In a model that may sleep, forces are left
    as they were, and so is all of what sleeps. Where that would call callbacks of the
    script, poses alone are computed; where MuJoCo fails on the state, what it has reached.
    """
    world = scene.world
    model, data, adapter, codec = world.model, world.live(), world.adapter, world.codec
    row, hidden = codec.read_row()
    if not np.isfinite(row).all():
        return  # it would be warned of, though no step was taken
    try:
        if adapter.callbacks_in_the_way(model):
            adapter.prepare_energy(model, data)
            adapter.module.mj_camlight(model, data)
        else:
            evaluate(model, data, adapter=adapter)
    except adapter.module.FatalError:
        adapter.free_stack(data)  # the next step says it, if it comes to that
    if not codec.keeps_sleep:
        codec.put_row(row, hidden)
        return
    # What no row holds goes back as well, and with it all results of the step before.
    results = {name: getattr(data, name).copy() for name in _names_of_results()}
    sensordata = data.sensordata.copy()
    codec.put_row(row, hidden)
    awake = data.body_awake == adapter.module.mjtSleepState.mjS_AWAKE
    for owner, names in _RESULTS.items():
        rows_awake = awake[getattr(model, owner)] if owner else awake
        for name in names:
            getattr(data, name)[rows_awake] = results[name][rows_awake]
    data.sensordata[:] = sensordata


def _names_of_results() -> tuple[str, ...]:
    return tuple(name for names in _RESULTS.values() for name in names)
