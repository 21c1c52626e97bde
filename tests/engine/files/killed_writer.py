"""Record until killed: says after each block how many are written. Usage: killed_writer.py PATH"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from recordings import block_of, manifest_of

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.writer import TrajectoryWriter

ROWS = 50


def main() -> None:
    """Write blocks of fifty frames, and an event now and then, without end."""
    writer = TrajectoryWriter(sys.argv[1], manifest_of(), attachments={"model.mjb": b"model"})
    number = 0
    while True:
        writer.write_block(block_of(ROWS * number, ROWS))
        number += 1
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        if number % 7 == 0:
            writer.write_events([FileEvent(kind="log", axis=ROWS * number)])


if __name__ == "__main__":
    main()
