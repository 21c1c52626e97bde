"""What takes an owner thread long, done in slices between everything else it is asked for."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.owners import interrupted
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.signal_handlers import is_of_handler

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["Work", "Works"]

# For so long [s] a slice goes on: a click is answered, and a thread let go, soon.
_SLICE_S: Final = 0.01


def _nothing_more() -> bool:
    return True


@dataclasses.dataclass(slots=True, eq=False)
class Work:
    """One long work: ``steps`` yields how far it is, 0 to 1; closed early, nothing has changed.

    ``finish`` is run after the last and returns whether the ticket is still to be answered. With a
    ``title`` its progress is told, and it ends when the scene goes on; ``moves``: it moves the
    scene, so that nobody may look elsewhere meanwhile.
    """

    ticket: Ticket
    steps: Iterator[float]
    finish: Callable[[], bool] = _nothing_more
    title: str = ""
    moves: bool = False
    progress: float = 0.0


class Works:
    """The works of one scene, a slice of each in turn; owner thread only."""

    def __init__(self, link: "SceneLink") -> None:
        self._link = link
        self._works: list[Work] = []

    def __bool__(self) -> bool:
        return bool(self._works)

    @property
    def hold_the_scene(self) -> bool:
        """Whether something is under way that ends when the scene goes on."""
        return any(work.title for work in tuple(self._works))

    @property
    def progress(self) -> tuple[str, float]:
        """What is being re-simulated, and how far that is; nothing: ("", 0)."""
        for work in self._works:
            if work.title:
                return work.title, work.progress
        return "", 0.0

    def add(self, work: Work) -> None:
        """Begin a work; its ticket is answered at its end."""
        self._works.append(work)
        self._link.has_works = True

    def check_may_look(self) -> None:
        """Raise CommandError while the scene itself is being moved."""
        for work in self._works:
            if work.moves:
                raise CommandError(f"{work.title}: wait for its end, or go live to end it")

    def run_slice(self) -> None:
        """Go on with the first of them for a few milliseconds; then it is the next one's turn."""
        link = self._link
        if not self._works:
            self._told()
            return
        work = self._works[0]
        # It stays in the list meanwhile: who lets the scene go on looks there.
        self._works = [*self._works[1:], work]
        if work.ticket.abandoned or work.ticket.settled:
            self._close(work, CommandError("given up: nobody waits for it any more"))
            return
        until = link.monotonic() + _SLICE_S
        try:
            for progress in work.steps:
                work.progress = min(max(progress, 0.0), 1.0)
                if link.monotonic() >= until:
                    self._told()
                    return
        except CommandError as error:
            self._close(work, error)
            return
        except Exception as error:  # told to whoever asked
            if is_of_handler(error):
                raise
            self._close(work, CommandError(f"{work.ticket.what} failed: {error!r}"))
            return
        self._finish(work)

    def _finish(self, work: Work) -> None:
        link = self._link
        self._works = [each for each in self._works if each is not work]
        self._told()
        if work.finish():
            link.answer(work.ticket, None)

    def end(self, reason: str) -> None:
        """End what must not go on when the scene does."""
        for work in [work for work in self._works if work.title]:
            self._close(work, CommandError(f"{work.ticket.what} was ended: {reason}"))

    def give_up(self, error: BaseException) -> None:
        """End all of them: the script goes on, or ends, with an exception."""
        for work in tuple(self._works):
            self._close(work, interrupted(work.ticket, error))

    def forget(self, error: CommandError) -> None:
        """Answer whoever waits; the owner closes the rest. Any thread, lock held."""
        for work in tuple(self._works):
            work.ticket.settle(error)

    def _close(self, work: Work, error: CommandError) -> None:
        self._works = [each for each in self._works if each is not work]
        close = getattr(work.steps, "close", None)
        try:
            if close is not None:
                close()
        except Exception as raised:  # noqa: BLE001 - the user's simulation goes on
            self._link.report_failure(f"ending {work.ticket.what} failed: {raised!r}")
        self._told()
        self._link.answer(work.ticket, error)

    def _told(self) -> None:
        """Let the flags and the news follow."""
        self._link.has_works = bool(self._works)
        self._link.past.refresh()
        self._link.refresh_flags()
