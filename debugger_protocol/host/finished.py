"""What the host keeps for all scenes: scenes that have ended, and how engines reach checkpoints."""

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.host.row_pieces import rows_of
from stroboscope.debugger_protocol.message_base import Command
from stroboscope.debugger_protocol.signal_handlers import goes_to_script
from stroboscope.debugger_protocol.time_machine import FinishedRun, Keeper
from stroboscope.debugger_protocol.time_messages import (
    DeriveNumber,
    DropRollout,
    GhostRef,
    ReadRows,
    SceneRollouts,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["FinishedRuns", "HostKeeper"]

_KEPT_RUNS: Final = 64
_KEPT_BYTES: Final = 128 << 20


class FinishedRuns:
    """The last scenes that have ended, as rollouts of ``scene_id`` 0; any thread.

    ``told`` is what clients are told, replaced by reference.
    """

    def __init__(self) -> None:
        self.told = SceneRollouts(scene_id=0, rollouts=())
        self._lock = threading.Lock()
        self._runs: dict[int, FinishedRun] = {}
        self._next_id = 1
        self._dropped = 0

    def add(self, run: FinishedRun) -> None:
        """Keep one; the oldest make room."""
        with self._lock:
            self._runs[self._next_id] = run
            self._next_id += 1
            nbytes = sum(each.nbytes for each in self._runs.values())
            while len(self._runs) > 1 and (len(self._runs) > _KEPT_RUNS or nbytes > _KEPT_BYTES):
                oldest = self._runs.pop(next(iter(self._runs)))
                nbytes -= oldest.nbytes
                self._dropped += 1
            self._tell()

    def keep(self, link: "SceneLink") -> None:
        """Keep what is left of a scene, once; while nobody steps it."""
        if link.closed or link.is_finished:
            return
        link.is_finished = True
        try:
            machine = link.backend.time_machine()
            runs = machine.finish() if machine is not None else ()
        except BaseException as error:  # the user's simulation goes on
            if goes_to_script(error):
                link.is_finished = False
                raise
            link.report_failure(f"what it has done could not be kept: {error!r}")
            return
        for run in runs:
            self.add(run)

    def find(self, rollout_id: int) -> FinishedRun:
        """Return one of them."""
        with self._lock:
            found = self._runs.get(rollout_id)
        if found is None:
            raise CommandError(
                f"of scenes that have ended there is no rollout {rollout_id}: it was dropped, or "
                "there never was one"
            )
        return found

    def drop(self, rollout_id: int) -> None:
        """Forget one of them."""
        self.find(rollout_id)
        with self._lock:
            self._runs.pop(rollout_id, None)
            self._tell()

    def refresh(self) -> None:
        """Tell what is known of them by now."""
        with self._lock:
            self._tell()

    def obey(self, command: Command, ticket: Ticket) -> Iterator[object] | None:
        """Do what a client asks of scenes that have ended; CommandError.

        What takes long is returned, for another thread to go through.
        """
        match command:
            case DropRollout():
                self.drop(command.rollout_id)
            case ReadRows():
                run = self.find(command.rollout_id)
                return rows_of(run.read_rows, ticket, command, last=run.info.steps)
            case DeriveNumber():
                return self._derive(command)
            case _:
                raise CommandError(
                    "there is no scene 0: of scenes that have ended, rollouts can be read, shown "
                    "as ghosts and compared in other scenes, and dropped"
                )
        return None

    def _derive(self, command: DeriveNumber) -> Iterator[object]:
        """Compute a number of some runs, one after the other; the first refusal is of all."""
        runs = [self.find(number) for number in command.rollout_ids or tuple(self._runs)]
        if not runs:
            raise CommandError("no scene has ended yet, so there is nothing to compute numbers of")
        each = [
            run.derive(command.expression, reduction=command.reduction, name=command.name)
            for run in runs
        ]
        return itertools.chain.from_iterable(each)

    def forget_parent(self) -> None:
        """In a forked child: nothing has ended here yet, and nobody holds the lock."""
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all of them: another session begins."""
        with self._lock:
            self._runs, self._dropped = {}, 0
            self._tell()

    def _tell(self) -> None:
        self.told = SceneRollouts(
            scene_id=0,
            rollouts=tuple(
                msgspec.structs.replace(run.info, rollout_id=number)
                for number, run in self._runs.items()
            ),
            dropped=self._dropped,
        )


class HostKeeper(Keeper):
    """Answers the time machine of one scene, on its owner thread."""

    def __init__(self, find_scene: Callable[[int], "SceneLink"], runs: FinishedRuns) -> None:
        self._find_scene = find_scene
        self._runs = runs

    def checkpoint(self, ghost: GhostRef) -> bytes:
        """Return the state of a checkpoint, whoever owns its scene: it never changes."""
        return self._find_scene(ghost.scene_id).changes.editor.checkpoints.find(ghost.number).state

    def row(self, ghost: GhostRef) -> bytes:
        """Return a row of a scene of this thread."""
        link = self._find_scene(ghost.scene_id)
        if link.owner.thread is not threading.current_thread():
            raise CommandError(
                f"rows of {link.name!r} can't be read here: it belongs to the thread "
                f"{link.owner.thread.name}; make a checkpoint of that row instead"
            )
        return link.past.machine().state_at(ghost.number)

    def finished(self, rollout_id: int) -> FinishedRun:
        """Return what is left of a scene that has ended."""
        return self._runs.find(rollout_id)
