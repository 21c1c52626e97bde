"""States of a scene that clients have kept under a name: bounded in number and bytes."""

import dataclasses
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import CheckpointInfo

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.backend import Clock, SceneBackend
    from stroboscope.debugger_protocol.limits import Limits

__all__ = ["Checkpoints", "KeptState"]


@dataclasses.dataclass(frozen=True, slots=True)
class KeptState:
    """A state as bytes, and the options that clients had edited when it was taken."""

    info: CheckpointInfo
    state: bytes
    options: dict[str, tuple[float, ...]]


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
        if len(self._kept) >= limits.checkpoints:
            raise CommandError(
                f"{len(self._kept)} checkpoints are kept of this scene, at most "
                f"{limits.checkpoints} may be: drop one first"
            )
        if state is None:
            state = self._backend.capture_initial()
        if not state:
            raise CommandError("the state can't be kept: this scene's engine offers no capture")
        used = sum(len(kept.state) for kept in self._kept.values())
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
        self._tell()
        return info

    def find(self, checkpoint_id: int) -> KeptState:
        """Return a checkpoint; CommandError when there is none of that number."""
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

    def _tell(self) -> None:
        self.told = tuple(kept.info for kept in self._kept.values())
