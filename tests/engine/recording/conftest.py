"""Recorded runs beside what an oracle saw: MuJoCo asked for the state before each step."""

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import BlockKind, FileEvent, RowBlock
from stroboscope.engine.files.reader import TrajectoryReader

FULL = mujoco.mjtState.mjSTATE_INTEGRATION


class FailingDisk(Disk):
    """Fails the ``at``-th call that changes something; with ``stays`` all that follow, too."""

    def __init__(self, at: int, *, stays: bool = False) -> None:
        self.calls = 0
        self._at, self._stays = at, stays

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self._at or (self._stays and self.calls > self._at):
            raise OSError(28, "No space left on device")

    def create(self, path: Path) -> int:
        self._count()
        return super().create(path)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self._count()
        return super().write(descriptor, data)

    def truncate(self, descriptor: int, length: int) -> None:
        self._count()
        super().truncate(descriptor, length)

    def fsync(self, descriptor: int) -> None:
        self._count()
        super().fsync(descriptor)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._count()

    def replace(self, source: Path, target: Path) -> None:
        self._count()
        super().replace(source, target)

    def rename_new(self, source: Path, target: Path) -> None:
        self._count()
        super().rename_new(source, target)


class StuckDisk(Disk):
    """Takes nothing more from the ``after``-th write on until it is let go."""

    def __init__(self, after: int) -> None:
        self.free = threading.Event()
        self.is_stuck = threading.Event()
        self._left = after

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self._left -= 1
        if self._left < 0 and not self.free.is_set():
            self.is_stuck.set()
            assert self.free.wait(60)
        return super().write(descriptor, data)


def row_of(scene: physics.Scene) -> NDArray[np.float64]:
    """Return the state and the inputs as they stand, (row,)."""
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row


class Oracle:
    """Steps a scene with random controls and notes the row before each physics step."""

    def __init__(self, scene: physics.Scene, seed: int = 0) -> None:
        self.scene = scene
        self.rows: list[NDArray[np.float64]] = []
        self._random = np.random.default_rng(seed)

    def step(self, count: int = 1, *, nstep: int = 1) -> None:
        """Take steps, each of one physics step unless ``nstep``; notes the first row of each."""
        for _ in range(count):
            self.scene.ctrl[:] = self._random.uniform(-1, 1, self.scene.model.nu)
            self.rows.append(row_of(self.scene))
            self.scene.step(nstep=nstep)

    def array(self, *, final: bool = True) -> NDArray[np.float64]:
        """Return all rows, and the state that the scene stands in now."""
        return np.array([*self.rows, row_of(self.scene)] if final else self.rows)


@dataclasses.dataclass
class Recorded:
    """All of one scene in a file."""

    blocks: list[RowBlock]
    events: tuple[FileEvent, ...]
    complete: bool

    @property
    def rows(self) -> NDArray[np.float64]:
        return np.concatenate([block.rows for block in self.blocks])

    @property
    def axes(self) -> list[int]:
        return [int(axis) for block in self.blocks for axis in block.axes]

    @property
    def steps(self) -> list[int]:
        return [int(step) for block in self.blocks for step in block.steps]

    @property
    def flagged(self) -> list[int]:
        """The axes of rows that do not follow from the one before."""
        return [
            int(axis)
            for block in self.blocks
            for axis, flag in zip(block.axes, block.flags, strict=True)
            if flag
        ]

    @property
    def has_final(self) -> bool:
        return bool(self.blocks) and self.blocks[-1].kind is BlockKind.FINAL

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


def read_recorded(path: Path, scene: int = 0) -> Recorded:
    """Read a file back, every checksum checked."""
    with TrajectoryReader(path) as reader:
        blocks = [reader.block(scene, i) for i in range(len(reader.index(scene).count))]
        assert not reader.damage or not reader.complete, reader.damage
        return Recorded(blocks, reader.events(scene), reader.complete)


@pytest.fixture
def oracle_of() -> Callable[..., Oracle]:
    """``oracle_of(scene, seed=0)``: what steps a scene and knows its rows."""
    return Oracle


@pytest.fixture
def read() -> Callable[..., Recorded]:
    """``read(path, scene=0)``: everything that a file says of a scene."""
    return read_recorded


@pytest.fixture
def failing_disk() -> type[FailingDisk]:
    """``failing_disk(at, stays=False)``: fails the ``at``-th call, or all from there on."""
    return FailingDisk


@pytest.fixture
def stuck_disk() -> type[StuckDisk]:
    """``stuck_disk(after)``: takes nothing from the ``after``-th write on until it is let go."""
    return StuckDisk
