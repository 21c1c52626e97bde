"""What takes long and needs no owner thread: done by one thread of ours, which yields to theirs."""

import contextlib
import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.owners import Job
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.message_base import Command
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import DeriveNumber

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["Derivation", "Deriver", "among_finished", "derive"]

_MOST_WAITING: Final = 64
# Python runs one thread at a time: while somebody steps, most of it is theirs.
_SLICE_S: Final = 0.003
_YIELD_S: Final = 0.012
_TOLD_S: Final = 0.2


@dataclasses.dataclass(slots=True, eq=False)
class Derivation:
    """``steps`` do a little each; ``told`` is called now and then, ``ended`` once.

    ``ended`` gets None, or why it came to nothing.
    """

    steps: Iterator[object]
    ended: Callable[[CommandError | None], None]
    told: Callable[[], None] = lambda: None
    told_at: float = 0.0


class Deriver:
    """Does derivations in turn on a daemon thread, which ends with the last of them.

    Nothing is done for a session that has ended. Methods may be called from any thread.
    """

    def __init__(self, host: "Host") -> None:
        self._host = host
        self._lock = threading.Lock()
        self._waiting: deque[Derivation] = deque()
        self._thread: threading.Thread | None = None

    def add(self, derivation: Derivation) -> None:
        """Do it among those that wait already; CommandError when these are too many."""
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING:
                raise CommandError(
                    f"{len(self._waiting)} things wait to be computed, the most there may be: "
                    "ask again when some are done"
                )
            self._waiting.append(derivation)
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="stroboscope-deriving", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the interpreter ends
                self._waiting.clear()
                raise CommandError(f"nothing can be computed any more: {error}") from error
            self._thread = thread

    def forget_parent(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._lock = threading.Lock()
        self._waiting = deque()
        self._thread = None

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._host.playback.attached:
                    self._waiting.clear()
                if not self._waiting:
                    self._thread = None
                    return
                derivation = self._waiting.popleft()
            if self._is_done(derivation):
                continue
            with self._lock:
                self._waiting.append(derivation)  # each in turn
            if any(link.in_step for link in self._host.links.values()):
                time.sleep(_YIELD_S)

    def _is_done(self, derivation: Derivation) -> bool:
        """Do a slice of one."""
        due = time.monotonic() + _SLICE_S
        error: CommandError | None = None
        try:
            for _ in derivation.steps:
                now = time.monotonic()
                if now - derivation.told_at >= _TOLD_S:
                    derivation.told_at = now
                    derivation.told()
                if now >= due:
                    return False
        except CommandError as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001 - told to whoever asked, the rest goes on
            error = CommandError(f"it failed: {raised!r}")
        derivation.ended(error)
        return True


def among_finished(host: "Host", command: Command, ticket: Ticket) -> Ticket:
    """Do what a client asks of scenes that have ended; CommandError."""

    def settle(error: CommandError | None = None) -> None:
        with host.playback.lock:
            ticket.settle(error)

    steps = host.finished.obey(command, ticket)
    if steps is None:
        settle()
        return ticket
    if isinstance(command, DeriveNumber):
        host.deriver.add(Derivation(steps, _logged(host, None), _told(host)))
        settle()
        return ticket

    def until_abandoned() -> Iterator[object]:
        for each in steps:
            if ticket.abandoned:
                return
            yield each

    host.deriver.add(Derivation(until_abandoned(), settle))
    return ticket


def derive(host: "Host", link: "SceneLink", steps: Iterator[object]) -> None:
    """Compute a number of rollouts of a scene; CommandError."""

    def tell() -> None:
        """Have the owner look at its rollouts, which are others now."""
        ticket = Ticket("looking at the rollouts", link.scene_id, None)

        def look() -> None:
            link.past.refresh()
            link.answer(ticket, None)
            link.tell_news()

        with host.playback.lock:
            if not link.closed and host.playback.attached:
                with contextlib.suppress(CommandError):  # so much waits that it looks anyway
                    link.owner.post(Job(link, ticket, look))

    host.deriver.add(Derivation(steps, _logged(host, link, tell), tell))


def _told(host: "Host") -> Callable[[], None]:
    def tell() -> None:
        host.finished.refresh()
        host.wake()

    return tell


def _logged(
    host: "Host", link: "SceneLink | None", tell: Callable[[], None] | None = None
) -> Callable[[CommandError | None], None]:
    """Return what tells the end, and logs why nothing came of it."""
    told = tell or _told(host)

    def ended(error: CommandError | None) -> None:
        if error is not None:
            host.log(LogLevel.WARNING, f"a number was not computed: {error}", link=link)
        told()

    return ended
