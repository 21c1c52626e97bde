"""Row 4: capture and restore as bytes and as objects; a large scene against MuJoCo's own.

What MuJoCo's own takes for a large state depends on where the memory is, so each way is compared
with ``mj_getState`` or ``mj_setState`` to or from memory of the same kind:

* new: each state is kept, a number of them at a time, in memory of its own;
* there, but in no cache: states that were kept before are written over, or go back, in turn;
* in the cache: one state again and again, as whoever steps back and forth does.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from subjects import SMALL_MODEL, steps_per_second

import stroboscope.engine as physics

# 1,000 free bodies: rows of 250 kB.
LARGE_MODEL = """
<mujoco><worldbody><geom type="plane" size="50 50 .1"/><replicate count="1000" offset=".3 0 0">
  <body pos="0 0 1"><freejoint/><geom size=".1"/></body></replicate></worldbody></mujoco>
"""
# States that are kept at a time: 64 MiB of large ones, more than the caches hold.
_KEPT = 270
# A round of these takes a few ms: many of them, so that a load of the memory meets all alike.
_SHORT_ROUNDS = 10


class Ways:
    """The ways to capture and restore one scene, MuJoCo's own two among them."""

    def __init__(self, name: str, model: str) -> None:
        scene = self._scene = physics.create_scene(name, model)
        for _ in range(10):
            scene.step()
        self._buffer = physics.DynamicArrayUint8()
        scene.capture_state_to_bytes(self._buffer)
        self._bytes = bytes(self._buffer)
        self._there = physics.DynamicArrayUint8(self._bytes)
        # The scene knows the bytes that it has checked last: these are other objects each time.
        self._others = itertools.cycle([bytes(self._buffer), bytes(self._buffer)])
        self._checkpoint = scene.checkpoint()
        self._state = scene.get_state()
        adapter = scene.world.adapter
        self._raw = adapter.mj_getState, adapter.mj_setState
        self._arguments = scene.model, scene.data
        self._mask = adapter.integration
        self._row = self._new_array()

    @property
    def nbytes(self) -> int:
        """How many bytes a checkpoint has."""
        return len(self._bytes)

    def again_and_again(self) -> dict[str, Callable[[], object]]:
        """Return each way by its name: one state, whose memory is in the cache."""
        return {
            "mj_getState": lambda: self._get_state(self._row),
            "mj_setState": lambda: self._set_state(self._row),
            "capture to bytes": self._capture_bytes,
            "capture over bytes that are there": lambda: self._capture_over(self._there),
            "restore from other bytes": lambda: self._restore(next(self._others)),
            "restore from the same bytes again": lambda: self._restore(self._bytes),
            "checkpoint()": self._scene.checkpoint,
            "restore(checkpoint)": lambda: self._scene.restore(self._checkpoint),
            "get_state()": self._scene.get_state,
            "reset(state)": lambda: self._scene.reset(self._state),
        }

    def in_new_memory(self) -> dict[str, Callable[[], object]]:
        """Return each way to make a state that has memory of its own."""
        return {
            "mj_getState": self._new_array,
            "capture to bytes": self._new_bytes,
            "checkpoint()": self._scene.checkpoint,
        }

    def over(self) -> dict[str, tuple[list[object], Callable[[object], object]]]:
        """Return each way by its name: states that were kept, and what is done to each."""
        count = _KEPT
        return {
            "mj_getState": ([self._new_array() for _ in range(count)], self._get_state),
            "mj_setState": ([self._new_array() for _ in range(count)], self._set_state),
            "capture over bytes": ([self._new_bytes() for _ in range(count)], self._capture_over),
            "restore from bytes": ([bytes(self._buffer) for _ in range(count)], self._restore),
            "restore(checkpoint)": (
                [self._scene.checkpoint() for _ in range(count)],
                lambda state: self._scene.restore(cast(physics.Checkpoint, state)),
            ),
        }

    def _get_state(self, row: object) -> None:
        self._raw[0](*self._arguments, row, self._mask)

    def _set_state(self, row: object) -> None:
        self._raw[1](*self._arguments, row, self._mask)

    def _new_array(self) -> object:
        adapter = self._scene.world.adapter
        row = np.empty(adapter.module.mj_stateSize(self._scene.model, self._mask))
        self._get_state(row)
        return row

    def _new_bytes(self) -> physics.DynamicArrayUint8:
        buffer = physics.DynamicArrayUint8()
        self._scene.capture_state_to_bytes(buffer)
        return buffer

    def _capture_bytes(self) -> None:
        self._buffer.clear()
        self._scene.capture_state_to_bytes(self._buffer)

    def _capture_over(self, buffer: Any) -> None:
        self._scene.capture_state_to_bytes(buffer, at=0)

    def _restore(self, state: Any) -> None:
        self._scene.restore_state_from_bytes(state)


def measure(settings: Settings) -> list[Row]:
    """Capture and restore in turn; the buffer is reused."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    rows = [*_small(settings), *_large(settings)]
    physics.shutdown()
    return rows


def _small(settings: Settings) -> list[Row]:
    ways = Ways("small", SMALL_MODEL)
    count = settings.scaled(20_000)
    arms = {
        name: lambda call=call: 1e6 / steps_per_second(call, count)  # type: ignore[misc]
        for name, call in ways.again_and_again().items()
    }
    rows = []
    for name, values in interleave(arms, rounds=settings.rounds).items():
        if name.startswith("mj_"):
            continue
        measured = Measured.of(values)
        is_target = "bytes" in name
        rows.append(
            Row(
                number="4",
                what=f"{name}, {ways.nbytes} bytes, small scene",
                measured=measured,
                unit="µs",
                target="≤ 5 µs" if is_target else "",
                reached=measured.median <= 5.0 if is_target else None,
            )
        )
    return rows


def _large(settings: Settings) -> list[Row]:
    ways = Ways("large", LARGE_MODEL)
    rounds = settings.rounds
    size = f"{ways.nbytes // 1000} kB"
    new = interleave(
        {
            name: lambda call=call: _time_kept(call)  # type: ignore[misc]
            for name, call in ways.in_new_memory().items()
        },
        rounds=_SHORT_ROUNDS * rounds,
    )
    rows = _compared(new, "mj_getState", f"{size}, kept in new memory, against mj_getState")
    there = interleave(
        {
            name: lambda kept=kept, call=call: _time_each(kept, call)  # type: ignore[misc]
            for name, (kept, call) in ways.over().items()
        },
        rounds=_SHORT_ROUNDS * rounds,
    )
    captures = {name: there[name] for name in ("mj_getState", "capture over bytes")}
    restores = {name: times for name, times in there.items() if name not in captures}
    place = f"{size}, in memory that is in no cache"
    rows += _compared(captures, "mj_getState", f"{place}, against mj_getState")
    rows += _compared(restores, "mj_setState", f"{place}, against mj_setState")
    count = settings.scaled(500)
    again = interleave(
        {
            name: lambda call=call: 1e6 / steps_per_second(call, count)  # type: ignore[misc]
            for name, call in ways.again_and_again().items()
            if name not in ("get_state()", "reset(state)")
        },
        rounds=rounds,
    )
    for own in ("mj_getState", "mj_setState"):
        is_capture = own == "mj_getState"
        same = {
            name: times
            for name, times in again.items()
            if name == own or (not name.startswith("mj_") and ("restore" in name) != is_capture)
        }
        what = f"{size}, one state again and again in the cache, against {own}"
        rows += _compared(same, own, what, target="")
    return rows


def _time_kept(call: Callable[[], object]) -> float:
    """Return how many µs of processor time it takes to make one of many states that are kept."""
    kept = []
    begin = time.thread_time()
    for _ in range(_KEPT):
        kept.append(call())
    return 1e6 * (time.thread_time() - begin) / _KEPT


def _time_each(kept: Sequence[object], call: Callable[[object], object]) -> float:
    """Return how many µs of processor time ``call`` takes with one of the states."""
    begin = time.thread_time()
    for state in kept:
        call(state)
    return 1e6 * (time.thread_time() - begin) / len(kept)


def _compared(
    times: Mapping[str, Sequence[float]], own: str, what: str, *, target: str = "< 1.2"
) -> list[Row]:
    """Return a row for each way, against MuJoCo's ``own``."""
    own_time = Measured.of(times[own])
    rows = []
    for name, values in times.items():
        if name == own:
            continue
        measured = ratio(values, times[own])
        rows.append(
            Row(
                number="4",
                what=f"{name}, {what}",
                measured=measured,
                target=target,
                reached=measured.median < 1.2 if target else None,
                note=f"which takes {own_time.median:.1f} µs",
            )
        )
    return rows


if __name__ == "__main__":
    run_alone(measure)
