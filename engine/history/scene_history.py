"""The history of one scene: which rows follow from which, and since when it is kept."""

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.history.budget import HistoryBudget
from stroboscope.engine.history.ring import RowRing
from stroboscope.engine.row_layout import RowLayout

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["SceneHistory"]


class SceneHistory:
    """Rows, and the segments that they belong to; owner thread only.

    ``single``, ``time_after``, ``after`` say where the last step has left the scene: when the next
    one begins elsewhere, :meth:`arrive` finds out what came between.
    """

    def __init__(self, scene: "Scene", budget: HistoryBudget) -> None:
        self._scene = scene
        self._budget = budget
        self.wanted = False
        """Whether the script wants it kept, attached or not."""
        self.switched_off = False
        """Whether a client wants none."""
        self.max_bytes = budget.limits.scene_bytes
        self.episode = 0
        """How often the scene was reset; counted whether rows are kept or not."""
        self.segments: list[Segment] = []
        self._next_segment = 1
        self._pending: tuple[SegmentKind, str, int] | None = None
        self.ring: RowRing
        self.single = -1
        self.time_after = math.nan
        self.after: bytes | None = None

    def enter_world(self, world: "World") -> None:
        """Begin anew with another model: rows of the old one say nothing about it."""
        layout = RowLayout(world.model, adapter=world.adapter)
        self.ring = RowRing(
            layout.size, layout.inputs, limit=self._limit, on_drop=self._forget_segments
        )
        self.forget()

    # --- whether it is kept

    @property
    def keeps(self) -> bool:
        """Whether the next step's row will stay."""
        return (self._scene.link.active or self.wanted) and not self.switched_off

    def forget(self) -> None:
        """Forget everything that was kept."""
        self.ring.stop_keeping()
        self.segments = []
        self._budget.forget(id(self))
        self.lose_track()

    def lose_track(self) -> None:
        """Say that the scene may stand anywhere now."""
        self.single = -1
        self.time_after = math.nan
        self.after = None

    def _limit(self) -> int:
        self._budget.uses(id(self), self.ring.nbytes)
        return self._budget.share(id(self), self.max_bytes)

    # --- where the scene stands

    @property
    def is_replaced(self) -> bool:
        """Whether the state was replaced since the last step."""
        return self._pending is not None

    def last_row(self) -> "NDArray[np.float64] | None":
        """Return the row that the last followed physics step began with; None without any."""
        ring = self.ring
        if not ring.advance or ring.at:
            return ring.rows[max(ring.at - 1, 0)]
        return ring.row(self._scene.counters.axis - 1)

    # --- segments

    def begin(self, kind: SegmentKind, text: str = "", *, parent_axis: int = -1) -> None:
        """Say that the state was replaced: what comes begins another segment."""
        if kind is SegmentKind.EPISODE:
            self.episode += 1
        elif kind is SegmentKind.EDIT and self._pending is not None:
            return  # part of something larger
        self._pending = (kind, text, parent_axis)
        self.lose_track()

    def arrive(self, *, time: float, motion: Any) -> None:
        """Prepare the row of the coming step, which may begin where the last one did not end."""
        ring = self.ring
        pending, self._pending = self._pending, None
        if not self.keeps:
            if ring.advance:
                self.forget()
            return
        axis = self._scene.counters.axis
        if ring.next_axis != axis:
            if pending is None:
                gap = ring.next_axis >= 0
                text = "steps in between were not followed" if gap else ""
                pending = (SegmentKind.BEGIN, text, -1)
            ring.turn(axis)
        elif pending is None and (time != self.time_after or motion.tobytes() != self.after):
            pending = (SegmentKind.EDIT, "the script has changed the state", axis - 1)
        if ring.at == ring.size:
            ring.turn(axis)
        if pending is not None:
            ring.flag()
            if not self._is_edited_again(pending[0], axis):
                self._open_segment(*pending, axis=axis, time=time)

    def _is_edited_again(self, kind: SegmentKind, axis: int) -> bool:
        """Return whether this is one of many edits in a row: a script that sets every state."""
        if kind is not SegmentKind.EDIT or not self.segments:
            return False
        last = self.segments[-1]
        begins = last.begin == axis - 1 or (
            self.ring.holds(axis - 1) and not self.ring.follows(axis - 1)
        )
        return last.kind is SegmentKind.EDIT and begins

    def _open_segment(
        self, kind: SegmentKind, text: str, parent_axis: int, *, axis: int, time: float
    ) -> None:
        counters = self._scene.counters
        segment = Segment(
            segment_id=self._next_segment,
            kind=kind,
            begin=axis,
            episode=self.episode,
            parent_axis=parent_axis,
            physics_step=counters.physics_step_count,
            step_count=counters.step_count,
            time=time,
            text=text,
        )
        self._next_segment += 1
        self.segments.append(segment)

    def _forget_segments(self, end: int) -> None:
        """Forget the segments whose rows are all before ``end``."""
        segments = self.segments
        gone = 0
        while gone + 1 < len(segments) and segments[gone + 1].begin <= end:
            gone += 1
        if gone:
            del segments[:gone]
