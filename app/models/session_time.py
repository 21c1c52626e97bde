"""The time axis of a scene: simulated time that accumulates over restores and episodes."""

import bisect
import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moment", "RestoreMark", "SessionTime"]

# Restores and segments kept; a training run resets some thousand times per minute.
_KEPT = 1 << 17
# Below this, axis x timestep and the scene's own time are the same number.
_SAME_RELATIVE = 1e-6
# Timesteps that differ by less are the same.
_SAME_PACE = 0.01
_WENT_BACK = "time went back"


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

    Rows of different channels and restore messages may come in any order: what counts is their
    axis. At the axis of a restore two states have stood, the one that was left (of which the
    script may have logged something) and the new one: there the row's time says which it was.
    """

    def __init__(self, *, timestep: float = 0.0) -> None:
        self.timestep = timestep
        # One entry per segment: first axis, the scene's time and session time there; when
        # it was only found by its rows: then the axis of the row before (it began in between).
        self._axis: list[int] = []
        self._time: list[float] = []
        self._session: list[float] = []
        self._found_after: list[int | None] = []
        self._dropped_segments = 0
        # The newest segment that holds a row. Where those behind it begin may still be corrected.
        self._filled = -1
        self._last_row: tuple[int, float] | None = None
        self._marks: list[RestoreMark] = []
        self._now: Moment | None = None
        self._measured_dt = 0.0
        # Where the scene was seen last when that did not fit what was expected.
        self._odd: tuple[int, float] | None = None

    @property
    def now(self) -> Moment | None:
        """The newest instant that is known, or None."""
        return self._now

    @property
    def marks(self) -> tuple[RestoreMark, ...]:
        """Every replacement of the state that is known, oldest first."""
        return tuple(self._marks)

    @property
    def restored(self) -> Moment | None:
        """The newest known instant if a state was put there and no step has followed it yet."""
        if self._now is None or not self._marks or self._marks[-1].axis != self._now.axis:
            return None
        return self._now

    def marks_between(self, start: float, end: float) -> list[RestoreMark]:
        """Return the replacements with session time in [start, end]."""
        first = bisect.bisect_left(self._marks, start, key=lambda mark: mark.session_time)
        last = bisect.bisect_right(self._marks, end, key=lambda mark: mark.session_time)
        return self._marks[first:last]

    def learn_timestep(self, timestep: float) -> None:
        """Take how long a physics step is [s], which may come after the first instant.

        That was put where the scene's own time said, as if nothing had been before it: until there
        are rows, it still can stand behind all its steps.
        """
        self.timestep = timestep
        now = self._now
        if now is None or len(self._axis) != 1 or self._filled >= 0 or self._marks:
            return
        axis, time, before = self._axis.pop(), self._time.pop(), self._session.pop()
        self._found_after.pop()
        self._open_first(axis, time)
        since = now.session_time - before
        self._now = dataclasses.replace(now, session_time=self._session[0] + since)

    def mark_restore(self, *, axis: int, time: float, reason: str) -> None:
        """Say that the state before physics step ``axis`` was replaced by one at ``time``."""
        at = bisect.bisect_left(self._axis, axis)
        rows_beyond = self._last_row is not None and self._last_row[0] > axis
        if at < len(self._axis) and self._axis[at] == axis:
            if at == len(self._axis) - 1 and not rows_beyond:
                self._time[at] = time  # replaced twice: the last one counts
            self._confirm(at)
        elif at < len(self._axis) and self._found_after[at] is not None:
            self._move_start(at, axis, time)
            self._confirm(at)
        elif at > self._filled and not (at == len(self._axis) and rows_beyond):
            session = self._session_at(axis) if self._axis else axis * self.timestep
            self._insert(at, axis, time, session)
        # Else rows beyond it are placed already: only mark where it happened.
        session = self._session[at] if self._starts_at(at, axis) else self._session_at(axis)
        self._add_mark(RestoreMark(axis, session, reason))
        if self._now is None or axis >= self._now.axis:
            self._now = Moment(axis, session, time)

    def observe(self, axis: int, time: float) -> None:
        """Note where the scene stands (from its status).

        Ignored when older than what is known, or when the state must have been replaced since:
        only rows and restore messages say where.
        """
        now = self._now
        if now is None:
            self._open_first(axis, time)
            self._advance(axis, time, self._session[0])
            return
        expected = now.episode_time + (axis - now.axis) * self._dt()
        off = abs(time - expected) > 0.5 * abs(expected - now.episode_time)
        if axis <= now.axis or time < now.episode_time:
            return
        if self._dt() > 0.0 and off and not self._has_new_pace(axis, time):
            return
        self._advance(axis, time, now.session_time + (time - now.episode_time))

    def _has_new_pace(self, axis: int, time: float) -> bool:
        """Return whether two observations in a row agree on another timestep: it was edited."""
        seen, self._odd = self._odd, (axis, time)
        if seen is None or axis <= seen[0] or time <= seen[1]:
            return False
        pace = (time - seen[1]) / (axis - seen[0])
        if abs(pace - self._dt()) <= _SAME_PACE * self._dt():
            return False  # as fast as ever: the state was replaced
        self._measured_dt = pace
        return True

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
        if axis[0] < self._axis[0] and self._dropped_segments <= 0:
            self._open_before(int(axis[0]), float(time[0]))
        self._widen_found(axis, time)
        segment = self._segments_of(axis, time)
        self._measure(axis, time, segment)
        if self._open_at_falls(axis, time, segment):
            segment = self._segments_of(axis, time)
        self._correct_starts(axis, time, segment)
        session_starts = np.array(self._session)
        session = session_starts[segment] + (time - np.array(self._time)[segment])
        # Times of lost rows were estimated: never run into the next segment or before this one.
        ends = np.append(session_starts[1:], np.inf)
        session = np.clip(session, session_starts[segment], ends[segment])
        # A diverged simulation may have no time at all (NaN): its rows stay where they are.
        newest = self._last_row is None or axis[0] >= self._last_row[0]
        floor = self._session[int(segment[0])]
        if newest and self._now is not None and self._now.axis <= axis[0]:
            floor = max(floor, self._now.session_time)
        session = np.maximum.accumulate(np.where(np.isfinite(session), session, floor))
        self._filled = max(self._filled, int(segment[-1]))
        if (newest or axis[-1] > self._last_axis()) and math.isfinite(time[-1]):
            self._last_row = int(axis[-1]), float(time[-1])
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

    def axis_at(self, session_time: float) -> float:
        """Return the axis at ``session_time`` [s], between steps too; the other way round."""
        return self._between(self._session, self._axis, session_time, self._dt())

    def session_at(self, axis: float) -> float:
        """Return the session time [s] at an axis, between steps too."""
        dt = self._dt()
        return self._between(self._axis, self._session, axis, 1.0 / dt if dt > 0.0 else 0.0)

    @staticmethod
    def _between(known: Sequence[float], wanted: Sequence[float], at: float, rate: float) -> float:
        """Interpolate between the starts of segments; ``rate``: of known per wanted, outside."""
        if not known:
            return at / rate if rate > 0.0 else at
        index = max(bisect.bisect_right(known, at) - 1, 0)
        if at >= known[0] and index + 1 < len(known) and known[index + 1] > known[index]:
            part = (at - known[index]) / (known[index + 1] - known[index])
            return wanted[index] + part * (wanted[index + 1] - wanted[index])
        return wanted[index] + ((at - known[index]) / rate if rate > 0.0 else 0.0)

    # --- which segment a row belongs to

    def _segments_of(self, axis: NDArray[np.int64], time: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of each row's segment in the lists, (n,)."""
        starts = np.array(self._axis, np.int64)
        segment = np.maximum(np.searchsorted(starts, axis, "right") - 1, 0).astype(np.int64)
        for row in np.flatnonzero((starts[segment] == axis) & (segment > 0)):
            at = int(segment[row])
            left = self._time[at - 1] + (self._session[at] - self._session[at - 1])
            if abs(time[row] - self._time[at]) > abs(time[row] - left):
                segment[row] = at - 1
        return np.maximum.accumulate(segment)

    def _open_at_falls(
        self, axis: NDArray[np.int64], time: NDArray[np.float64], segment: NDArray[np.int64]
    ) -> bool:
        """Start a segment at every row before which time falls within one; say if there are."""
        # A physics step takes time: where none has passed, the state was replaced too.
        stood = (np.diff(time) == 0.0) & (np.diff(axis) > 0) & (self._dt() > 0.0)
        fell = (np.diff(time) < 0.0) | stood
        falls = [int(i) + 1 for i in np.flatnonzero(fell & (np.diff(segment) == 0))]
        last = self._last_row
        if (
            last is not None
            and axis[0] >= last[0]
            and (
                time[0] < last[1] or (axis[0] > last[0] and time[0] == last[1] and self._dt() > 0.0)
            )
        ):
            before = self._segments_of(np.array([last[0]], np.int64), np.array([last[1]]))
            if before[0] == segment[0]:
                falls.insert(0, 0)
        opened = 0
        for index in falls:
            at = int(segment[index]) + opened + 1
            if at <= self._filled:
                continue  # rows of other channels were placed there without it
            if index or last is None:
                previous = int(axis[index - 1]), float(time[index - 1])
            else:
                previous = last
            session = self._session[at - 1] + (previous[1] - self._time[at - 1])
            session += (int(axis[index]) - previous[0]) * self._dt()
            session = max(session, self._session[at - 1])
            self._insert(at, int(axis[index]), float(time[index]), session, found_after=previous[0])
            self._add_mark(RestoreMark(int(axis[index]), session, _WENT_BACK))
            opened += 1
        return opened > 0

    def _widen_found(self, axis: NDArray[np.int64], time: NDArray[np.float64]) -> None:
        """Let segments that were found by rows of one channel begin with an earlier of another."""
        first = bisect.bisect_right(self._axis, int(axis[0]))
        last = bisect.bisect_right(self._axis, int(axis[-1]))
        for at in range(max(first, 1), min(last + 1, len(self._axis))):
            after, start = self._found_after[at], self._axis[at]
            if after is None:
                continue
            low, high = np.searchsorted(axis, (after, start), "left")
            since = (start - axis[low:high]) * self._dt()
            new = self._time[at] - since
            old = self._time[at - 1] + (self._session[at] - self._session[at - 1]) - since
            fits = np.flatnonzero(np.abs(time[low:high] - new) < np.abs(time[low:high] - old))
            if len(fits):
                row = int(low + fits[0])
                self._move_start(at, int(axis[row]), float(time[row]))

    # --- where segments start

    def _open_first(self, axis: int, time: float) -> None:
        session = axis * self.timestep
        if abs(session - time) <= _SAME_RELATIVE * max(1.0, abs(time)) or not self.timestep:
            session = time
        self._insert(0, axis, time, session)

    def _open_before(self, axis: int, time: float) -> None:
        """Put a segment in front: rows older than the first restore message come after it."""
        session = self._session[0] - (self._axis[0] - axis) * self._dt()
        self._insert(0, axis, time, session)
        if self._filled >= 0:
            self._filled += 1
            self._dropped_segments -= 1  # the others keep their numbers

    def _correct_starts(
        self, axis: NDArray[np.int64], time: NDArray[np.float64], segment: NDArray[np.int64]
    ) -> None:
        """Let segments without rows begin where the rows before them end.

        A restore message comes before the last rows of the segment that it ends, so the session
        time between was only estimated.
        """
        first = max(self._filled, int(segment[0])) + 1
        shift = 0.0
        for at in range(first, len(self._axis)):
            end = int(np.searchsorted(segment, at, "left")) - 1
            old = self._session[at]
            if end >= 0 and segment[end] == at - 1 and axis[end] >= self._last_axis():
                left = self._session[at - 1] + (float(time[end]) - self._time[at - 1])
                left += (self._axis[at] - int(axis[end])) * self._dt()
                new = max(left, self._session[at - 1]) if math.isfinite(left) else old
            else:
                new = max(old + shift, self._session[at - 1])
            shift = new - old
            if shift:
                self._session[at] = new
                self._place_marks(self._axis[at], new)
        now = self._now
        if shift and now is not None and now.axis >= self._axis[-1]:
            since = now.episode_time - self._time[-1]
            self._now = dataclasses.replace(now, session_time=self._session[-1] + max(since, 0.0))

    def _move_start(self, at: int, axis: int, time: float) -> None:
        """Let a segment that was found by its rows begin where its message says.

        Its rows stay where they are.
        """
        session = self._session[at] - max(self._time[at] - time, 0.0)
        floor = self._session[at - 1] if at else -math.inf
        if session >= floor:
            self._place_marks(self._axis[at], session)
            self._axis[at], self._time[at], self._session[at] = axis, time, session

    def _insert(
        self, at: int, axis: int, time: float, session: float, *, found_after: int | None = None
    ) -> None:
        self._axis.insert(at, axis)
        self._time.insert(at, time)
        self._session.insert(at, session)
        self._found_after.insert(at, found_after)
        if len(self._axis) > _KEPT:
            drop = _KEPT // 4
            for column in (self._axis, self._time, self._session, self._found_after):
                del column[:drop]
            self._dropped_segments += drop
            self._filled = max(self._filled - drop, -1)

    def _starts_at(self, at: int, axis: int) -> bool:
        return at < len(self._axis) and self._axis[at] == axis

    def _session_at(self, axis: int) -> float:
        """Return (or estimate) the session time at ``axis``, seen from the newest known row."""
        now = self._now
        if now is not None and axis >= now.axis:
            return now.session_time + (axis - now.axis) * self._dt()
        index = max(bisect.bisect_right(self._axis, axis) - 1, 0)
        return self._session[index] + max(axis - self._axis[index], 0) * self._dt()

    # --- the clock

    def _dt(self) -> float:
        return self._measured_dt or self.timestep

    def _measure(
        self, axis: NDArray[np.int64], time: NDArray[np.float64], segment: NDArray[np.int64]
    ) -> None:
        """Note how long a physics step takes, from the newest two rows of one segment."""
        if len(axis) < 2 or segment[-1] != segment[-2]:
            return
        steps, passed = int(axis[-1] - axis[-2]), float(time[-1] - time[-2])
        if steps > 0 and 0.0 < passed < np.inf:
            self._measured_dt = passed / steps

    def _last_axis(self) -> int:
        return self._last_row[0] if self._last_row is not None else -1

    def _advance(self, axis: int, time: float, session: float) -> None:
        if self._now is not None and (axis < self._now.axis or not math.isfinite(time)):
            return
        if self._now is not None and axis == self._now.axis and session < self._now.session_time:
            return
        self._now = Moment(axis, session, time)

    # --- marks

    def _confirm(self, at: int) -> None:
        """A message tells of a replacement that was only guessed: its mark takes the place."""
        if self._found_after[at] is not None:
            self._found_after[at] = None
            session = self._session[at]
            index = bisect.bisect_left(self._marks, session, key=lambda mark: mark.session_time)
            while index < len(self._marks) and self._marks[index].session_time == session:
                if self._marks[index].reason == _WENT_BACK:
                    del self._marks[index]
                    return
                index += 1

    def _place_marks(self, axis: int, session: float) -> None:
        """Move the newest marks of a segment's start with it."""
        for index in range(len(self._marks) - 1, -1, -1):
            mark = self._marks[index]
            if mark.axis < axis:
                break
            if mark.axis == axis:
                self._marks[index] = dataclasses.replace(mark, session_time=session)

    def _add_mark(self, mark: RestoreMark) -> None:
        self._marks.append(mark)
        if len(self._marks) > 1 and self._marks[-2].session_time > mark.session_time:
            self._marks.sort(key=lambda each: (each.session_time, each.axis))
        if len(self._marks) > _KEPT:
            del self._marks[: _KEPT // 4]
