"""Make the golden files of the present format version: once, when that version is made.

    python tests/engine/files/golden/make.py

They are never made again: whoever changes the format makes those of the next version, and the
reader goes on reading these.
"""

import dataclasses
import json
import sys
from pathlib import Path

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recordings import CLOCK, WIDTH, manifest_of

from stroboscope.engine.files.frames import BlockKind, FileEvent, Manifest, RecordMode, RowBlock
from stroboscope.engine.files.low_rate import MessageSchema
from stroboscope.engine.files.manifest import FORMAT
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

FOLDER = Path(__file__).resolve().parent
# Signalling and quiet NaN with payloads, both infinities, -0, the smallest and largest numbers.
PATTERNS = (
    0x7FF0000000000001,
    0xFFF8000000000123,
    0x7FF0000000000000,
    0xFFF0000000000000,
    0x8000000000000000,
    0x0000000000000001,
    0x7FEFFFFFFFFFFFFF,
    0xFFFFFFFFFFFFFFFF,
)


def manifest() -> Manifest:
    """Return the manifest: an exact scene and a minimal one, every field said."""
    made = manifest_of(scenes=2)
    exact, minimal = made.scenes
    return msgspec.structs.replace(
        made,
        segment=3,
        previous="6f1c8f6e-0000-4000-8000-000000000000",
        seed=42,
        note="golden",
        scenes=(
            msgspec.structs.replace(
                exact, options={"gravity": [0.0, 0.0, -9.81], "cone": "pyramidal"}
            ),
            msgspec.structs.replace(
                minimal,
                mode=RecordMode.MINIMAL,
                every=2,
                exactness="sleep is on",
                n_envs=4,
                env=2,
            ),
        ),
    )


def block(first: int, count: int, **changes: object) -> RowBlock:
    """Return frames made with whole-number arithmetic, the same on every machine."""
    axes = np.arange(first, first + count, dtype=np.int64)
    rows = np.empty((count, WIDTH))
    rows[:, 0] = np.add.accumulate(np.full(count, 1 / 64)) + first / 64 - 1 / 64
    for column in range(1, WIDTH):
        rows[:, column] = (axes * axes * column % 1021) / 1024
    made = RowBlock(
        scene=0,
        kind=BlockKind.EXACT,
        rows=rows,
        axes=axes,
        steps=axes // 3,
        timesteps=np.full(count, 1 / 64),
        wall=CLOCK + 20_000 * axes + (axes * 7919) % 3000,
        flags=(axes == first).astype(np.uint8),
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def blocks() -> list[RowBlock]:
    """Return blocks of every kind."""
    strange = block(20, 8)
    strange.rows[:, 3] = np.array(PATTERNS, dtype=np.uint64).view(np.float64)
    strange.rows[5:, 0] = [0.0, 0.1, 0.2]
    strange.timesteps[2] = 1 / 60
    strange.axes[4:] += 100
    numbers = np.arange(12, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return [
        block(0, 20),
        strange,
        block(0, 12, scene=1, kind=BlockKind.MINIMAL, digests=numbers, hidden=b"asleep"),
        block(200, 3, hidden=bytes(range(256))),
        block(203, 1, kind=BlockKind.FINAL),
    ]


def write(path: Path) -> TrajectoryWriter:
    """Write all that a file can hold, but for its end."""
    schema = MessageSchema("Pose", "jsonschema", b'{"type":"object"}')
    writer = TrajectoryWriter(path, manifest(), attachments={"model.mjb": b"\x00\x01golden"})
    writer.write_events([FileEvent(kind="begin", axis=0, wall=CLOCK, data={"options": {"a": 1}})])
    for each in blocks():
        writer.write_block(each)
    late = FileEvent(
        kind="stop", axis=203, scene=1, time=3.17, wall=CLOCK + 10**9, text="größer als erlaubt",
        episode=2, parent_axis=17, physics_step=9, step_count=8, total_steps=7,
    )  # fmt: skip
    writer.write_events([late, FileEvent(kind="unknown to all", axis=204)])
    axes = np.arange(4)
    reward = np.array([0.1, np.nan, np.inf, -np.inf])
    writer.write_signals(0, "reward", axes, axes / 64, reward, wall=CLOCK + axes)
    knee = np.arange(8.0).reshape(4, 2)
    writer.write_signals(1, "knee/left", axes, axes / 64, knee, names=("q", "v"))
    writer.write_message("/pose", "json", schema, b'{"x":1}', 1_700_000_000_000_000_000)
    writer.flush()
    return writer


def contents(reader: TrajectoryReader) -> dict[str, object]:
    """Return all that a reader says about a file, as JSON can hold it."""
    scenes = {}
    for scene in reader.scenes:
        read = [reader.block(scene, number) for number in range(len(reader.index(scene)))]
        signals = {name: reader.signal(scene, name) for name in reader.signals(scene)}
        scenes[str(scene)] = {
            "blocks": [
                {
                    "kind": int(each.kind),
                    "rows": each.rows.tobytes().hex(),
                    "axes": each.axes.tolist(),
                    "steps": each.steps.tolist(),
                    "timesteps": each.timesteps.tolist(),
                    "wall": each.wall.tolist(),
                    "flags": each.flags.tolist(),
                    "digests": None if each.digests is None else each.digests.tolist(),
                    "hidden": each.hidden.hex(),
                }
                for each in read
            ],
            "events": json.loads(msgspec.json.encode(reader.events(scene))),
            "signals": {
                name: [a.tolist() if a.dtype.kind == "i" else a.tobytes().hex() for a in signal]
                for name, signal in signals.items()
            },
            "names": {name: list(reader.signal_names(scene, name)) for name in signals},
        }
    messages = [
        [message.channel.topic, message.log_time, message.data.decode()]
        for message in reader.messages()
        if message.channel.topic == "/pose"
    ]
    return {
        "manifest": json.loads(msgspec.json.encode(reader.manifest)),
        "attachments": {name: reader.attachment(name).hex() for name in reader.attachments},
        "scenes": scenes,
        "messages": messages,
    }


def main() -> int:
    """Make them, unless they are there."""
    path = FOLDER / f"version_{FORMAT}.mcap"
    if path.exists():
        print(f"{path} is there; golden files are made once")
        return 1
    write(path).close()
    write(FOLDER / f"version_{FORMAT}_not_closed.mcap").abandon()
    with TrajectoryReader(path) as reader:
        text = json.dumps(contents(reader), indent=1, ensure_ascii=False)
    (FOLDER / f"version_{FORMAT}.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
