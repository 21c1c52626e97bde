"""Frames and rows of signals of one scene, as its owner makes them step by step."""

import math
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.backend import SceneBackend, SignalSource
from stroboscope.debugger_protocol.host.publishing import FramePublisher
from stroboscope.debugger_protocol.host.scene_playback import ScenePlayback
from stroboscope.debugger_protocol.host.signals import NoSignals, SignalRing, UserChannel
from stroboscope.debugger_protocol.signal_handlers import is_of_handler

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.owners import Owner

__all__ = ["TIMED_ROWS", "SceneSignals"]

# The server thread is woken for signal rows at most, and at least, this often [s].
_SIGNAL_INTERVALS = 1.0 / 30.0, 0.25
TIMED_ROWS = 16
"""Of so many signal rows the time of one is taken: that takes time itself."""


class SceneSignals(ScenePlayback):
    """The part of a scene's link that writes what clients read; owner thread only."""

    def __init__(
        self, host: "Host", owner: "Owner", backend: SceneBackend, *, scene_id: int, name: str
    ) -> None:
        super().__init__(
            host.playback,
            owner,
            backend,
            scene_id=scene_id,
            name=name,
            monotonic=host.monotonic,
            report=self.report_failure,
        )
        self._host = host
        self.publisher = FramePublisher(
            backend, report=self.report_failure, share=self._frames_share
        )
        self.ring: SignalRing | None = None
        """What is written at every physics step; None: nothing."""
        self.newest_ring = SignalRing(NoSignals())
        """The end of the chain of rings: who subscribes now reads what comes behind it."""
        self.user_channels: dict[str, UserChannel] = {}
        self._signal_due = math.inf
        self._rows_told = 0
        self._rows_told_at = 0.0

    def _frames_share(self) -> float:
        """Return the part of the owner's time that frames may take."""
        limits = self._host.limits
        return limits.batch_frames_share if self._takes_all_cores else limits.frames_share

    @property
    def _takes_all_cores(self) -> bool:
        """Whether its steps follow one another and leave no core to others."""
        return self.backend.steps_on_all_cores and not self._paced

    @property
    def revision(self) -> int:
        """How often the model was replaced."""
        return self.publisher.revision

    def report_failure(self, text: str) -> None:
        """Say that something failed; once for all that is said up to the first colon."""
        self._host.log_once(self, text)

    def _begin_row(self) -> None:
        try:
            clock = self.backend.clock()
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self.signals_failed(error)
        else:
            self.row_before(axis=clock.axis, time=clock.time)

    def signals_failed(self, error: Exception) -> None:
        """Write no more rows, and tell why: the user's simulation goes on."""
        self.ring = None
        self.report_failure(f"reading signals failed, so they are switched off: {error!r}")

    def row_before(self, *, axis: int, time: float) -> None:
        """Write the inputs of a physics step, which begins at ``axis`` and ``time`` [s]."""
        ring = self.ring
        if ring is None:
            return
        spent = self.publisher.time
        try:
            if spent is None or ring.count % TIMED_ROWS:
                ring.before(axis=axis, time=time)
            else:
                since = spent.now()
                ring.before(axis=axis, time=time)
                spent.add(since, times=TIMED_ROWS)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self.signals_failed(error)

    def row_after(self) -> None:
        """Write what the same physics step has computed, and publish the row."""
        ring = self.ring
        if ring is None:
            return
        spent = self.publisher.time
        try:
            if spent is None or ring.count % TIMED_ROWS:
                ring.after()
            else:
                since = spent.now()
                ring.after()
                spent.add(since, times=TIMED_ROWS)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self.signals_failed(error)

    def rebuild_ring(self) -> None:
        """Fill a new ring with the channels that are wanted now."""
        interest = self.applied_interest
        self._signal_due = 0.0 if interest.channels or interest.user_channels else math.inf
        self.ring = None
        source = self._signal_source(interest.channels)
        # Also where nothing is written any more: readers are led there, and let go of the old one.
        newest = SignalRing(source or NoSignals(), revision=self.revision)
        self.newest_ring.replace_by(newest)
        self.newest_ring = newest
        if source is not None:
            self.ring = newest
        self._rows_told = 0

    def _signal_source(self, channels: tuple[str, ...]) -> SignalSource | None:
        """Return what fills rows of ``channels``; of those that can be read when some can't."""
        if not channels:
            return None
        try:
            return self.backend.signal_source(channels)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            readable = channels[:0]
            if len(channels) > 1:
                # A model that was replaced may have had the others.
                readable = tuple(n for n in channels if self._signal_source((n,)) is not None)
            if len(channels) == 1 or len(readable) == len(channels):
                self.report_failure(f"the channel {', '.join(channels)} can't be read: {error}")
                return None
        return self._signal_source(readable)

    def _signal_interval(self, now: float) -> float:
        """Return when rows are due again [s]: as asked for, but before the ring fills up."""
        shortest, longest = _SIGNAL_INTERVALS
        interval = min(max(self.applied_interest.signal_interval, shortest), longest)
        ring = self.ring
        if ring is not None:
            rows = ring.count - self._rows_told
            if not self._rows_told:
                interval = shortest  # how fast a new ring fills up is not known yet
            elif rows > 0:
                fill = (now - self._rows_told_at) * ring.capacity / rows
                interval = min(interval, max(0.25 * fill, shortest))
            self._rows_told, self._rows_told_at = ring.count, now
        return interval
