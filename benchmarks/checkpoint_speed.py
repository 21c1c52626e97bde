"""Row 4: capture to bytes and restore from bytes, on a small scene."""

import os
import tempfile

from harness import Measured, Row, Settings, interleave, run_alone
from subjects import SMALL_MODEL, steps_per_second

import stroboscope.engine as physics


def measure(settings: Settings) -> list[Row]:
    """Capture into a reused buffer, and restore the same bytes, in turn."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    scene = physics.create_scene("small", SMALL_MODEL)
    for _ in range(10):
        scene.step()
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    checkpoint = bytes(buffer)

    def capture() -> None:
        buffer.clear()
        scene.capture_state_to_bytes(buffer)

    count = settings.scaled(20_000)
    rates = interleave(
        {
            "capture": lambda: steps_per_second(capture, count),
            "restore": lambda: steps_per_second(
                lambda: scene.restore_state_from_bytes(checkpoint), count
            ),
        },
        rounds=settings.rounds,
    )
    rows = []
    for name, values in rates.items():
        measured = Measured.of([1e6 / rate for rate in values])
        rows.append(
            Row(
                number="4",
                what=f"{name}, {len(checkpoint)} bytes, small scene",
                measured=measured,
                unit="µs",
                target="≤ 5 µs",
                reached=measured.median <= 5.0,
            )
        )
    physics.shutdown()
    return rows


if __name__ == "__main__":
    run_alone(measure)
