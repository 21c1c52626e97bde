"""Row 4: capture and restore as bytes and as objects; a large scene against MuJoCo's own.

MuJoCo's own writes into an array that is there. A checkpoint has memory of its own, so it is also
compared with ``mj_getState`` into a new array: let go at once, so that its memory is used again,
and kept, a number of them at a time, so that memory is new to whoever writes to it.
"""

import itertools
import os
import tempfile
from collections.abc import Callable

import numpy as np
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from subjects import SMALL_MODEL, steps_per_second

import stroboscope.engine as physics

# 1,000 free bodies: rows of 250 kB.
LARGE_MODEL = """
<mujoco><worldbody><geom type="plane" size="50 50 .1"/><replicate count="1000" offset=".3 0 0">
  <body pos="0 0 1"><freejoint/><geom size=".1"/></body></replicate></worldbody></mujoco>
"""
# States that are kept before all of them are let go.
_KEPT = 100


class Ways:
    """The ways to capture and restore one scene, MuJoCo's own two among them."""

    def __init__(self, name: str, model: str) -> None:
        scene = self._scene = physics.create_scene(name, model)
        for _ in range(10):
            scene.step()
        self._buffer = physics.DynamicArrayUint8()
        scene.capture_state_to_bytes(self._buffer)
        self._bytes = bytes(self._buffer)
        # The scene knows the bytes that it has checked last: these are other objects each time.
        self._others = itertools.cycle([bytes(self._buffer), bytes(self._buffer)])
        self._checkpoint = scene.checkpoint()
        self._state = scene.get_state()
        adapter = scene.world.adapter
        self._raw = adapter.mj_getState, adapter.mj_setState
        self._arguments = scene.model, scene.data
        self._mask = adapter.integration
        self._row = np.empty(adapter.module.mj_stateSize(scene.model, self._mask))
        self._get_state()
        self._kept: list[object] = []

    @property
    def nbytes(self) -> int:
        """How many bytes a checkpoint has."""
        return len(self._bytes)

    def all(self) -> dict[str, Callable[[], object]]:
        """Return each way by its name."""
        return {
            "mj_getState": self._get_state,
            "mj_setState": self._set_state,
            "mj_getState into a new array": self._new_array,
            "mj_getState into arrays that are kept": lambda: self._keep(self._new_array()),
            "capture to bytes": self._capture_bytes,
            "restore from other bytes": self._restore_others,
            "restore from the same bytes again": self._restore_bytes,
            "checkpoint()": self._scene.checkpoint,
            "checkpoint(), kept": lambda: self._keep(self._scene.checkpoint()),
            "restore(checkpoint)": lambda: self._scene.restore(self._checkpoint),
            "get_state()": self._scene.get_state,
            "reset(state)": lambda: self._scene.reset(self._state),
        }

    def _get_state(self) -> None:
        self._raw[0](*self._arguments, self._row, self._mask)

    def _new_array(self) -> object:
        row = np.empty(len(self._row))
        self._raw[0](*self._arguments, row, self._mask)
        return row

    def _keep(self, state: object) -> None:
        self._kept.append(state)
        if len(self._kept) == _KEPT:
            self._kept.clear()

    def _set_state(self) -> None:
        self._raw[1](*self._arguments, self._row, self._mask)

    def _capture_bytes(self) -> None:
        self._buffer.clear()
        self._scene.capture_state_to_bytes(self._buffer)

    def _restore_bytes(self) -> None:
        self._scene.restore_state_from_bytes(self._bytes)

    def _restore_others(self) -> None:
        self._scene.restore_state_from_bytes(next(self._others))


def measure(settings: Settings) -> list[Row]:
    """Capture and restore in turn; the buffer is reused."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    rows = [*_small(settings), *_large(settings)]
    physics.shutdown()
    return rows


def _rates(ways: Ways, settings: Settings, count: int) -> dict[str, list[float]]:
    scaled = settings.scaled(count)
    return interleave(
        {
            name: lambda call=call: steps_per_second(call, scaled)  # type: ignore[misc]
            for name, call in ways.all().items()
        },
        rounds=settings.rounds,
    )


def _small(settings: Settings) -> list[Row]:
    ways = Ways("small", SMALL_MODEL)
    rows = []
    for name, values in _rates(ways, settings, 20_000).items():
        if name.startswith("mj_"):
            continue
        measured = Measured.of([1e6 / rate for rate in values])
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
    rates = _rates(ways, settings, 500)
    rows = []
    compared = [
        ("capture to bytes", "mj_getState"),
        ("restore from other bytes", "mj_setState"),
        ("restore from the same bytes again", "mj_setState"),
        ("checkpoint()", "mj_getState"),
        ("checkpoint()", "mj_getState into a new array"),
        ("checkpoint(), kept", "mj_getState into arrays that are kept"),
        ("restore(checkpoint)", "mj_setState"),
    ]
    for name, own in compared:
        measured = ratio(rates[own], rates[name])
        own_time = Measured.of([1e6 / rate for rate in rates[own]])
        rows.append(
            Row(
                number="4",
                what=f"{name}, {ways.nbytes // 1000} kB, time over that of {own}",
                measured=measured,
                unit="×",
                target="< 1.2",
                reached=measured.median < 1.2,
                note=f"which takes {own_time.median:.1f} µs",
            )
        )
    return rows


if __name__ == "__main__":
    run_alone(measure)
