"""What a trajectory file holds: blocks of rows, events, and the manifest that describes them."""

import dataclasses
import enum
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BlockKind",
    "FileEvent",
    "Manifest",
    "RecordMode",
    "RowBlock",
    "RowFlag",
    "SceneRecord",
    "Segment",
    "not_in_file",
]


class RecordMode(enum.StrEnum):
    """How much of each frame a file holds."""

    EXACT = "exact"
    """Every bit of every row."""
    MINIMAL = "minimal"
    """The first row of each block, then inputs and a digest: re-simulated when looked at."""


class BlockKind(enum.IntEnum):
    """What the rows of a block are."""

    EXACT = 0
    MINIMAL = 1
    FINAL = 2
    """One row: the state after the last step and the inputs as they stood; no step began there."""


class RowFlag(enum.IntFlag):
    """What is said of a row; 0: it is where the step before it has led."""

    BROKEN = 1
    """It does not follow from the row before."""
    SEEN = 2
    """It was seen after steps that the script took by itself: of none of them is anything known,
    and its inputs are those that stood there, not those of the step that followed."""


@dataclasses.dataclass(frozen=True, slots=True)
class RowBlock:
    """Some frames of one scene in the order of the axis; (n,) each but the rows.

    ``rows``: float64 (n, width), ``mjSTATE_INTEGRATION`` just before a physics step each; column 0
    is the simulation time [s]. In a minimal block only the first row is whole, the others hold the
    time and the inputs, and ``digests`` says what their state has to be: xxh3-64 of each whole
    row's bytes (``width`` little-endian float64).
    ``axes``: physics steps ever taken before each row, rising; apart from each other by the same
    number throughout a block (``every``): where steps were not followed another block begins.
    ``steps``: application steps ever taken. ``timesteps`` [s]: of the step that begins there.
    ``wall``: monotonic time [ns] at which each row was taken. ``flags``: see
    :class:`RowFlag`.
    ``hidden``: what no row holds of the first one (sleep, ipc), empty where a row is everything.
    """

    scene: int
    kind: BlockKind
    rows: NDArray[np.float64]
    axes: NDArray[np.int64]
    steps: NDArray[np.int64]
    timesteps: NDArray[np.float64]
    wall: NDArray[np.int64]
    flags: NDArray[np.uint8]
    digests: NDArray[np.uint64] | None = None
    hidden: bytes = b""

    @property
    def count(self) -> int:
        """How many frames."""
        return len(self.axes)


class FileEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that happened, at one instant of one scene.

    ``kind``: begin, episode, restore, branch, edit (these five begin a stretch in which every state
    follows from the one before, and say its counters), stop, warning, log, option, model, bookmark,
    gap, checkpoint. Readers pass over kinds that they do not know.
    ``axis``: physics steps ever taken. ``wall``: monotonic [ns]. ``data``: more, by kind. The five
    that begin a stretch say under "options" what the physics options were that anybody has edited
    in the debugger so far, {name: [numbers]}; under "fields" which fields of the model have other
    values than in the file's, flat; under "model_since" after which physics step the script has
    written those at the earliest, and under "model" what, in words. stop: "reason", what its
    StopEvent says, "elements" and "what_if": see engine/recording/recorded_stops.py.
    """

    kind: str
    axis: int
    scene: int = 0
    time: float = 0.0
    wall: int = 0
    text: str = ""
    episode: int = 0
    parent_axis: int = -1
    physics_step: int = 0
    step_count: int = 0
    total_steps: int = 0
    data: dict[str, object] = {}


class Segment(msgspec.Struct, frozen=True):
    """Where an array stands in a row: ``begin`` and ``count`` columns."""

    name: str
    begin: int
    count: int


class SceneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One scene of a file: what its rows are, and which model they fit.

    ``width``: columns of a row. ``columns``: which array stands where. ``inputs``: begin and end of
    the columns that a script writes between steps. ``options``: what the scene was made with.
    ``model``: the name of the attachment with the scene's bundle. ``exactness``: empty, or why a
    resumed scene goes on approximately only. ``callbacks``: which of MuJoCo's the script had set,
    as steps called them and no file holds them; None: an older file, where exactness says it.
    ``n_envs``: 0 for one world without environments;
    ``envs``: those whose rows are here, each a scene of its own record.
    """

    index: int
    name: str
    width: int
    columns: tuple[Segment, ...]
    inputs: tuple[int, int]
    model_digest: str
    model: str
    timestep: float
    mode: RecordMode
    every: int = 1
    exactness: str = ""
    n_envs: int = 0
    env: int = -1
    options: dict[str, object] = {}
    callbacks: tuple[str, ...] | None = None

    @property
    def without(self) -> str:
        """What steps called and no file holds, in words; empty for nothing."""
        if self.callbacks is None:
            return self.exactness if "mjcb_" in self.exactness else ""
        return not_in_file(self.callbacks)


def not_in_file(callbacks: Sequence[str]) -> str:
    """Return in words which callbacks no file holds; empty for none."""
    return f"the script's {' and '.join(callbacks)} can't be in a file" if callbacks else ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says about itself; the attachment ``stroboscope/manifest.json``.

    ``attachments``: sha256 of each, by name. ``created``: unix time [s], and ``clock``: monotonic
    time [ns] at the same instant; a message of monotonic time t has ``log_time`` [ns]
    1e9·created + (t − clock): it never goes back, and other tools show the right date.
    """

    format: int
    uuid: str
    stroboscope: str
    engine: str
    engine_version: str
    platform: str
    created: float
    clock: int = 0
    scenes: tuple[SceneRecord, ...]
    attachments: dict[str, str] = {}
    segment: int = 0
    previous: str = ""
    seed: int | None = None
    note: str = ""
