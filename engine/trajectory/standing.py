"""A scene put into a frame of a recorded run, with its counters."""

from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.trajectory.recorded_rows import Row

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["stand_at"]


def stand_at(
    scene: "Scene", row: Row, hidden: bytes, counters: Counters, *, axis: int, episode: int
) -> None:
    """Put a row into the live data, as a restore does: the next step begins there, bit for bit."""
    scene.world.codec.put_row(row, hidden)
    scene.stepper.mend()
    scene.counters.set_state(counters)
    scene.stepper.forget_time()
    scene.forget_drawing()
    scene.history.begin(
        SegmentKind.BRANCH, "from a recorded run", parent_axis=axis, episode=episode
    )
    if scene.link.active:
        scene.link.state_replaced("a frame of the recorded run was sought")
