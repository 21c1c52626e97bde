"""The time axis of a scene: simulated time that accumulates over restores and episodes."""

import bisect
import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moment", "RestoreMark", "SessionTime"]

# Restores and segments kept; a training run resets some thousand times per minute.
_KEPT = 1 << 17
# Below this, axis x timestep and the scene's own time are the same number.
_SAME_RELATIVE = 1e-6


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """One instant of a scene: physics steps, simulated times [s] in the session and episode."""

    axis: int
    session_time: float
    episode_time: float


@dataclasses.dataclass(frozen=True, slots=True)
class RestoreMark:
    """Where the state was replaced; ``session_time`` [s] is where it stands on the time axis."""

    axis: int
    session_time: float
    reason: str


class SessionTime:
    """Maps physics steps of one scene onto a time axis that never goes back.

    A scene's own time falls at every restore and reset, its physics step count ("axis") never
    does. Session time is simulated time added up: within a segment (between two replacements of
    the state) it runs like the scene's time, and a new segment goes on where the last one ended.
    Signal rows and restore messages may come in either order: what counts is their axis.
    """

    def __init__(self, *, timestep: float = 0.0) -> None:
        self.timestep = timestep
        # One entry per segment: first axis, the scene's time and session time there.
        self._axis: list[int] = []
        self._time: list[float] = []
        self._session: list[float] = []
        self._dropped_segments = 0
        self._marks: list[RestoreMark] = []
        self._now: Moment | None = None
        self._measured_dt = 0.0

    @property
    def now(self) -> Moment | None:
        """The newest instant that is known, or None."""
        return self._now

    @property
    def marks(self) -> tuple[RestoreMark, ...]:
        """Every replacement of the state that is known, oldest first."""
        return tuple(self._marks)

    def marks_between(self, start: float, end: float) -> list[RestoreMark]:
        """Return the replacements with session time in [start, end]."""
        first = bisect.bisect_left(self._marks, start, key=lambda mark: mark.session_time)
        last = bisect.bisect_right(self._marks, end, key=lambda mark: mark.session_time)
        return self._marks[first:last]

    def mark_restore(self, *, axis: int, time: float, reason: str) -> None:
        """Say that the state before physics step ``axis`` was replaced by one at ``time``."""
        if not self._axis:
            self._open_segment(axis, time, axis * self.timestep)
            self._advance(axis, time)
            self._add_mark(RestoreMark(axis, self._session[0], reason))
            return
        late = self._now is not None and axis < self._now.axis
        position = bisect.bisect_left(self._axis, axis)
        known = position < len(self._axis) and self._axis[position] == axis
        if known:
            session = self._session[position]
            if position == len(self._axis) - 1 and not late:
                self._time[position] = time
        elif late:
            # Rows beyond it are placed already: only mark where it happened.
            session = self._session_at(axis)
        else:
            session = self._session_at(axis)
            self._open_segment(axis, time, session)
        self._add_mark(RestoreMark(axis, session, reason))
        if not late:
            self._now = Moment(axis, session, time)

    def observe(self, axis: int, time: float) -> None:
        """Note where the scene stands (from its status).

        Ignored when older than what is known, or when the state must have been replaced since:
        only rows and restore messages say where.
        """
        now = self._now
        if now is not None:
            expected = now.episode_time + (axis - now.axis) * self._dt()
            off = abs(time - expected) > 0.5 * abs(expected - now.episode_time)
            if axis <= now.axis or time < now.episode_time or (self._dt() > 0.0 and off):
                return
        self.locate(np.array([axis], np.int64), np.array([time]))

    def locate(
        self, axis: NDArray[np.int64], time: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return session time [s] and segment number of each row; both (n,).

        ``axis`` and ``time`` [s] are (n,), rising axis. A time that falls without a restore
        message starts a segment too.
        """
        if not len(axis):
            return np.empty(0), np.empty(0, np.int64)
        if not self._axis:
            self._open_first(int(axis[0]), float(time[0]))
        self._measure(axis, time)
        if axis[0] < self._axis[0] and self._dropped_segments <= 0:
            self._open_before(int(axis[0]), float(time[0]))
        for index in self._falls(axis, time):
            self._open_after(axis, time, int(index))
        starts = np.array(self._axis, np.int64)
        segment = np.maximum(np.searchsorted(starts, axis, "right") - 1, 0)
        session_starts = np.array(self._session)
        session = session_starts[segment] + (time - np.array(self._time)[segment])
        # Times of lost rows were estimated: never run into the next segment or before this one.
        ends = np.append(session_starts[1:], np.inf)
        session = np.clip(session, session_starts[segment], ends[segment])
        # A diverged simulation may have no time at all (NaN): its rows stay where they are.
        floor = self._now.session_time if self._now is not None else self._session[0]
        if self._now is not None and axis[0] < self._now.axis:
            floor = self._session[int(segment[0])]
        session = np.maximum.accumulate(np.where(np.isfinite(session), session, floor))
        self._advance(int(axis[-1]), float(time[-1]), float(session[-1]))
        return session, segment + self._dropped_segments

    def moment_at(self, session_time: float) -> Moment | None:
        """Return the instant at ``session_time``; its axis is estimated from the timestep."""
        if not self._axis:
            return None
        index = max(bisect.bisect_right(self._session, session_time) - 1, 0)
        since = session_time - self._session[index]
        dt = self._dt()
        steps = round(since / dt) if dt > 0.0 else 0
        return Moment(self._axis[index] + steps, session_time, self._time[index] + since)

    def _dt(self) -> float:
        return self._measured_dt or self.timestep

    def _measure(self, axis: NDArray[np.int64], time: NDArray[np.float64]) -> None:
        steps = int(axis[-1] - axis[-2]) if len(axis) > 1 else 0
        passed = float(time[-1] - time[-2]) if len(axis) > 1 else 0.0
        if steps > 0 and 0.0 < passed < np.inf:
            self._measured_dt = passed / steps

    def _falls(self, axis: NDArray[np.int64], time: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the rows before which time fell and no segment starts yet."""
        falls = np.flatnonzero(np.diff(time) < 0.0) + 1
        now = self._now
        if now is not None and axis[0] >= now.axis and time[0] < now.episode_time:
            falls = np.concatenate(([0], falls))
        if not len(falls):
            return falls
        starts = np.array(self._axis, np.int64)
        before = np.array([now.axis if i == 0 and now else axis[i - 1] for i in falls])
        known = np.searchsorted(starts, axis[falls], "right") > np.searchsorted(
            starts, before, "right"
        )
        return falls[~known]

    def _open_first(self, axis: int, time: float) -> None:
        session = axis * self.timestep
        if abs(session - time) <= _SAME_RELATIVE * max(1.0, abs(time)) or not self.timestep:
            session = time
        self._open_segment(axis, time, session)

    def _open_before(self, axis: int, time: float) -> None:
        """Put a segment in front: rows older than the first restore message come after it."""
        session = self._session[0] - (self._axis[0] - axis) * self._dt()
        self._axis.insert(0, axis)
        self._time.insert(0, time)
        self._session.insert(0, session)
        self._dropped_segments -= 1  # the others keep their numbers

    def _open_after(self, axis: NDArray[np.int64], time: NDArray[np.float64], index: int) -> None:
        """Start a segment at row ``index``, one step after the row before it."""
        start = int(axis[index])
        if start <= self._axis[-1]:
            return
        if index:
            self._advance(int(axis[index - 1]), float(time[index - 1]))
        session = self._session_at(start)
        self._open_segment(start, float(time[index]), session)
        self._add_mark(RestoreMark(start, session, "time went back"))

    def _session_at(self, axis: int) -> float:
        """Return (or estimate) the session time at ``axis``, seen from the newest known row."""
        now = self._now
        if now is not None and axis >= now.axis:
            return now.session_time + (axis - now.axis) * self._dt()
        index = max(bisect.bisect_right(self._axis, axis) - 1, 0)
        return self._session[index] + max(axis - self._axis[index], 0) * self._dt()

    def _advance(self, axis: int, time: float, session: float | None = None) -> None:
        if self._now is not None and (axis < self._now.axis or not math.isfinite(time)):
            return
        if session is None:
            index = max(bisect.bisect_right(self._axis, axis) - 1, 0)
            session = self._session[index] + (time - self._time[index])
        self._now = Moment(axis, session, time)

    def _open_segment(self, axis: int, time: float, session: float) -> None:
        self._axis.append(axis)
        self._time.append(time)
        self._session.append(session)
        if len(self._axis) > _KEPT:
            drop = _KEPT // 4
            del self._axis[:drop], self._time[:drop], self._session[:drop]
            self._dropped_segments += drop

    def _add_mark(self, mark: RestoreMark) -> None:
        self._marks.append(mark)
        if len(self._marks) > 1 and self._marks[-2].session_time > mark.session_time:
            self._marks.sort(key=lambda each: each.session_time)
        if len(self._marks) > _KEPT:
            del self._marks[: _KEPT // 4]
