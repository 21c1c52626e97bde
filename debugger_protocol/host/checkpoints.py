"""States of a scene that have a name, kept by clients or made by its script: bounded.

What a client has kept stays until somebody drops it, and no more is kept when there is no room.
What the script makes is its own: the list holds on to the newest of it while somebody is attached,
and lets go of the oldest to make room.
"""

import dataclasses
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import CheckpointInfo, CheckpointOrigin

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.backend import Clock, SceneBackend
    from stroboscope.debugger_protocol.limits import Limits

__all__ = ["Checkpoints", "KeptState", "Listing", "MadeByScript"]


class Listing(NamedTuple):
    """What a list says of a script's checkpoint besides its name."""

    time: float
    """The simulation time [s], of many environments that of the first."""
    step_count: int
    """Application steps within that state."""
    note: str


class MadeByScript(Protocol):
    """A checkpoint object of a script; it never changes, but the script may release it."""

    @property
    def name(self) -> str:
        """What the script has called it."""

    @property
    def listing(self) -> Listing:
        """How it stands in a list."""

    @property
    def nbytes(self) -> int:
        """How many bytes :meth:`to_bytes` returns."""

    @property
    def is_released(self) -> bool:
        """Whether its content is gone."""

    def to_bytes(self) -> bytes:
        """Return the state as the engine's ``restore_initial`` takes it."""


@dataclasses.dataclass(slots=True)
class _Object:
    """A script's checkpoint object; it goes when the script lets go of it, unless it is held."""

    found: "weakref.ref[MadeByScript]"
    held: MadeByScript | None = None

    def hold(self, *, wanted: bool) -> None:
        """Keep the object alive, or leave that to the script."""
        self.held = self.found() if wanted else None

    @property
    def is_there(self) -> bool:
        """Whether it still has its content."""
        made = self.found()
        return made is not None and not made.is_released


@dataclasses.dataclass(frozen=True, slots=True)
class KeptState:
    """A state with a name, and the options that clients had edited when it was taken."""

    info: CheckpointInfo
    content: bytes | _Object
    options: dict[str, tuple[float, ...]]

    @property
    def state(self) -> bytes:
        """The state as bytes; CommandError when the script has released it. Any thread."""
        if isinstance(self.content, bytes):
            return self.content
        made = self.content.found()
        if made is None or made.is_released:
            raise CommandError(
                f"checkpoint {self.info.name!r} is the script's, which has released it"
            )
        return made.to_bytes()

    @property
    def is_of_script(self) -> bool:
        """Whether the script has made it."""
        return self.info.origin is CheckpointOrigin.SCRIPT


class Checkpoints:
    """The checkpoints of one scene; owner thread only.

    ``told`` is what clients are told, replaced by reference: any thread may read it.
    """

    def __init__(self, backend: "SceneBackend", limits: "Limits") -> None:
        self.told: tuple[CheckpointInfo, ...] = ()
        self._backend = backend
        self._limits = limits
        self._kept: dict[int, KeptState] = {}
        self._next_id = 1
        self._holds = False
        self.made_room = 0
        """How many of the script's were let go of to make room, in this session."""

    def save(
        self,
        name: str,
        *,
        clock: "Clock",
        options: Mapping[str, tuple[float, ...]],
        note: str = "",
        state: bytes | None = None,
    ) -> CheckpointInfo:
        """Keep ``state`` (None: as it stands), which is at ``clock``; return what is told of it.

        CommandError when there is no room or it can't be had.
        """
        name = " ".join(name.split())
        if not name:
            raise CommandError("a checkpoint needs a name that is not empty")
        limits = self._limits
        own = sum(not kept.is_of_script for kept in self._kept.values())
        if own >= limits.checkpoints:
            raise CommandError(
                f"{own} checkpoints are kept of this scene, at most {limits.checkpoints} may be: "
                "drop one first"
            )
        stands_there = state is None
        if state is None:
            state = self._backend.capture_checkpoint(name)
        if not state:
            raise CommandError("the state can't be kept: this scene's engine offers no capture")
        used = sum(k.info.nbytes for k in self._kept.values() if not k.is_of_script)
        if used + len(state) > limits.checkpoint_bytes:
            raise CommandError(
                f"the checkpoints of this scene have {used:,} bytes and this one {len(state):,}, "
                f"at most {limits.checkpoint_bytes:,} are kept: drop some first"
            )
        info = CheckpointInfo(
            checkpoint_id=self._next_id,
            name=trim_text(name, limits.name_bytes),
            axis=clock.axis,
            step_count=clock.step_count,
            time=clock.time,
            wall_time=time.time(),
            approximate=self._backend.exactness(),
            nbytes=len(state),
            note=trim_text(note.strip(), limits.name_bytes),
        )
        self._next_id += 1
        self._kept[info.checkpoint_id] = KeptState(info, state, dict(options))
        self._make_room()
        self._tell()
        if stands_there:
            self._backend.checkpoint_kept(info.name, info.note)
        return info

    # --- the script's

    def add_made(
        self,
        made: MadeByScript,
        *,
        axis: int,
        approximate: str,
        options: Mapping[str, tuple[float, ...]],
    ) -> None:
        """List what the script has made, at ``axis``; its oldest ones make room. Lock held."""
        longest, listing = self._limits.name_bytes, made.listing
        info = CheckpointInfo(
            checkpoint_id=self._next_id,
            name=trim_text(" ".join(made.name.split()), longest),
            axis=axis,
            step_count=listing.step_count,
            time=listing.time,
            wall_time=time.time(),
            approximate=approximate,
            nbytes=made.nbytes,
            note=trim_text(listing.note.strip(), longest),
            origin=CheckpointOrigin.SCRIPT,
        )
        self._next_id += 1
        content = _Object(weakref.ref(made), made if self._holds else None)
        self._kept[info.checkpoint_id] = KeptState(info, content, dict(options))
        self._make_room()
        if self._holds:
            self._tell()

    def hold(self, *, wanted: bool) -> None:
        """Keep the script's alive from now on, or leave that to the script. Lock held."""
        self._holds = wanted
        for kept in self._kept.values():
            if isinstance(kept.content, _Object):
                kept.content.hold(wanted=wanted)
        self._forget_gone()
        self._tell()

    def refresh(self) -> None:
        """Take what the script has released out of the list; costs little."""
        if self._forget_gone():
            self._tell()

    def _forget_gone(self) -> bool:
        gone = [
            number
            for number, kept in self._kept.items()
            if isinstance(kept.content, _Object) and not kept.content.is_there
        ]
        for number in gone:
            del self._kept[number]
        return bool(gone)

    def _make_room(self) -> None:
        """Let go of the script's oldest ones until those that are left fit."""
        limits, kept = self._limits, self._kept
        total = sum(each.info.nbytes for each in kept.values())
        scripts = [number for number, each in kept.items() if each.is_of_script]
        while scripts and (len(scripts) > limits.checkpoints or total > limits.checkpoint_bytes):
            gone = kept.pop(scripts.pop(0))
            total -= gone.info.nbytes
            self.made_room += self._holds

    # --- all of them

    def find(self, checkpoint_id: int) -> KeptState:
        """Return a checkpoint; CommandError when there is none of that number. Any thread."""
        kept = self._kept.get(checkpoint_id)
        if kept is None:
            known = ", ".join(f"{i.checkpoint_id} ({i.name})" for i in self.told[-5:])
            raise CommandError(
                f"there is no checkpoint {checkpoint_id}: it was dropped, or never taken; "
                f"the newest are {known or 'none'}"
            )
        return kept

    def kept(self) -> Iterable[KeptState]:
        """Return all of them, oldest first."""
        return self._kept.values()

    def label(self, checkpoint_id: int, name: str | None, note: str | None) -> None:
        """Give a checkpoint another name or note (None: as it is); CommandError."""
        kept, longest = self.find(checkpoint_id), self._limits.name_bytes
        info = kept.info
        if name is not None:
            name = " ".join(name.split())
            if not name:
                raise CommandError(f"checkpoint {info.name!r} needs a name that is not empty")
            info = msgspec.structs.replace(info, name=trim_text(name, longest))
        if note is not None:
            info = msgspec.structs.replace(info, note=trim_text(note.strip(), longest))
        self._kept[checkpoint_id] = dataclasses.replace(kept, info=info)
        self._tell()

    def drop(self, checkpoint_id: int) -> KeptState:
        """Forget a checkpoint and return it."""
        kept = self.find(checkpoint_id)
        del self._kept[checkpoint_id]
        self._tell()
        return kept

    def clear(self) -> int:
        """Forget all of them; return how many there were."""
        count = len(self._kept)
        self._kept = {}
        self._tell()
        return count

    def begin_session(self) -> None:
        """Forget what clients have kept; what the script has made is still its own. Lock held."""
        self._kept = {number: kept for number, kept in self._kept.items() if kept.is_of_script}
        self.made_room = 0
        self._forget_gone()
        self._tell()

    def _tell(self) -> None:
        self.told = tuple(kept.info for kept in self._kept.values())
