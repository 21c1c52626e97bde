"""The words of playback: the session's state, holds, grants, tickets and pacing.

One lock per host guards everything that both owner threads and the server thread change. An owner
takes it only when its scene has something to attend to, never on the fast path.
"""

import dataclasses
import enum
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import PlaybackMode

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_playback import ScenePlayback

__all__ = [
    "MAX_SPEED",
    "MIN_SPEED",
    "Grant",
    "GrantKind",
    "HoldKind",
    "Pacer",
    "PauseWait",
    "Playback",
    "Reply",
    "Tell",
    "Ticket",
    "Turns",
    "step_count",
]

MIN_SPEED = 1.0 / 64.0
MAX_SPEED = 64.0
_MOST_STEPS = 1_000_000

Reply = Callable[[CommandError | None], None]
"""Called once, with None when the command was done. Must not block or call into the host."""


Tell = Callable[[Callable[[int], Iterable[msgspec.Struct]]], None]
"""Called with what makes messages of the command's id: on the thread that sends them, not here."""


class HoldKind(enum.Enum):
    """Why one scene stands still although the session plays."""

    SCOPE = enum.auto()
    SCRIPT = enum.auto()
    STOP = enum.auto()


@dataclasses.dataclass(slots=True)
class Playback:
    """What all scenes of a session share; guarded by ``lock``.

    ``controlled``: a client may let a scene go on that has stopped, so that stops may hold it;
    ``plays_views``: that client moves a view by itself where it is asked to.
    ``closed`` is empty, or the reason why no scene may be used any more. ``hold_at_end``: clients
    want to look at what has happened when the script is over; ``awaits_end``: the main thread will
    ask for that before it ends.
    """

    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    mode: PlaybackMode = PlaybackMode.PAUSED
    speed: float = 1.0
    attached: bool = False
    controlled: bool = True
    plays_views: bool = False
    closed: str = ""
    hold_at_end: bool = False
    awaits_end: bool = False

    @property
    def holds_end(self) -> bool:
        """Whether the main thread, which is over, is about to stop in a scene before it ends."""
        return self.hold_at_end and self.awaits_end and self.controlled


class Ticket:
    """One command on its way; settled exactly once, under the lock of the playback.

    ``value`` is the id of what it has made, ``note`` what whoever asked should know; ``tell`` sends
    messages before the answer, and must not block; ``abandoned`` says that nobody waits for it any
    more.
    """

    __slots__ = (
        "_reply", "abandoned", "note", "scene_id", "settled", "started", "tell", "value", "what",
    )  # fmt: skip

    def __init__(self, what: str, scene_id: int | None, reply: Reply | None) -> None:
        self.what = what
        self.scene_id = scene_id
        self.started = False
        self.settled = False
        self.abandoned = False
        self.value: int | None = None
        self.note = ""
        self.tell: Tell = _nobody
        self._reply = reply

    def settle(self, error: CommandError | None = None) -> None:
        """Answer the command unless it has been answered already."""
        if not self.settled:
            self.settled = True
            try:
                if self._reply is not None:
                    self._reply(error)
            except BaseException:
                self.settled = False  # nobody has heard of it
                raise


def _nobody(_: Callable[[int], Iterable[msgspec.Struct]]) -> None:
    """Take what nobody asked for."""


class GrantKind(enum.Enum):
    """What ends a grant."""

    STEPS = enum.auto()
    PHYSICS_STEPS = enum.auto()
    UNTIL = enum.auto()


@dataclasses.dataclass(slots=True)
class Grant:
    """The right of one scene to move although the session is paused.

    ``remaining`` counts application or physics steps. ``started`` says that a physics step has
    begun under this grant: the end of a step that was nearly complete before does not count.
    """

    kind: GrantKind
    ticket: Ticket
    remaining: int = 0
    time: float | None = None
    step_count: int | None = None
    with_dependents: bool = False
    started: bool = False

    def is_reached(self, *, time: float, step_count: int) -> bool:
        """Return whether the target of an UNTIL grant is reached; ``time`` in s."""
        # A time that was summed up from timesteps misses its target by rounding.
        if self.time is not None and time >= self.time - 1e-9 * max(1.0, abs(self.time)):
            return True
        return self.step_count is not None and step_count >= self.step_count


@dataclasses.dataclass(slots=True, eq=False)
class PauseWait:
    """A Pause that waits for ``links`` to come out of their current step."""

    ticket: Ticket
    links: "set[ScenePlayback]"

    def left(self, link: "ScenePlayback") -> None:
        """Note that ``link`` stands still; answers the Pause after the last one."""
        self.links.discard(link)
        if not self.links:
            self.ticket.settle()


class Pacer:
    """Tells how far simulation time is ahead of wall time; knows no clock and never waits.

    Anchored: each answer is computed from one anchor, so that errors don't add up. Only used by
    the owner thread.
    """

    MAX_LAG = 0.05
    """A script that is further behind than this [s] has stalled; it is not hurried on."""
    MAX_JUMP = 1.0
    """Simulation time never moves further [s] in one physics step: it was set by somebody."""
    MAX_TURN = 0.5
    """Scenes that are stepped for longer [s] until the next one's turn don't take turns."""

    __slots__ = (
        "_excused",
        "_last_sim",
        "_sim",
        "_speed",
        "_turn_sim",
        "_turns",
        "_waited_before",
        "_wall",
        "slept",
    )

    def __init__(self) -> None:
        self._sim: float | None = None
        self._wall = 0.0
        self._last_sim = 0.0
        self._speed = 0.0
        self._turns: Turns | None = None
        self._turn_sim = 0.0
        self._waited_before = 0.0
        self._excused = 0.0
        """How far behind [s of wall time] it is because its thread has waited for other scenes."""
        self.slept = 0.0
        """Seconds that pacing has made the script wait, ever."""

    def forget(self) -> None:
        """Anchor anew at the next step: the scene was stopped, restored or released."""
        self._sim = None

    def ahead(
        self, sim_time: float, *, now: float, speed: float, turns: "Turns | None" = None
    ) -> float:
        """Return for how long [s of wall time] the step at ``sim_time`` [s] has to wait.

        ``turns``: of the thread that steps the scene. While that waits for one scene, time goes on
        for the others, too: each would wait for its own part of it otherwise, and four that are
        stepped in turn were a quarter as fast as one.
        """
        if turns is not None and turns.of is not self:
            self._begin_turn(sim_time, turns, speed=speed)
        sim = self._sim
        jump = sim_time - self._last_sim
        self._last_sim = sim_time
        if sim is None or speed != self._speed or not 0.0 <= jump <= self.MAX_JUMP:
            self._anchor(sim_time, now=now, speed=speed)
            return 0.0
        ahead = (sim_time - sim) / speed - (now - self._wall)
        if self._excused > 0.0:
            self._excused = min(self._excused, max(-ahead, 0.0))
        if ahead < -self.MAX_LAG - self._excused:
            self._anchor(sim_time, now=now, speed=speed)
            return 0.0
        return ahead

    def has_waited(self, seconds: float) -> None:
        """Count what the script has waited for this scene [s]."""
        self.slept += seconds
        if self._turns is not None:
            self._turns.waited += seconds
            self._waited_before = self._turns.waited

    def _begin_turn(self, sim_time: float, turns: "Turns", *, speed: float) -> None:
        """Excuse what the thread has waited for others, up to what this scene's last turn was.

        No more than that is made up for, whatever happened in between, and nothing of long turns:
        those are scenes that are used one after the other.
        """
        others = turns.waited - self._waited_before if turns is self._turns else turns.waited
        known = self._sim is not None and turns is self._turns and sim_time > self._turn_sim
        length = (sim_time - self._turn_sim) / speed if known else self.MAX_LAG
        self._excused = min(others, length) if length <= self.MAX_TURN else 0.0
        self._turns, self._turn_sim, self._waited_before = turns, sim_time, turns.waited
        turns.of = self

    def _anchor(self, sim_time: float, *, now: float, speed: float) -> None:
        self._sim = sim_time
        self._wall = now - self._excused
        self._speed = speed


class Turns:
    """Whose turn it is among the scenes of one thread; used by that thread only."""

    __slots__ = ("of", "waited")

    def __init__(self) -> None:
        self.of: Pacer | None = None
        self.waited = 0.0
        """Seconds that pacing has made the thread wait, whichever scene it was for."""


def step_count(count: int) -> int:
    """Return how many steps a command is about; CommandError when that is out of range."""
    if not 1 <= count <= _MOST_STEPS:
        raise CommandError(f"count must be 1…{_MOST_STEPS:,}, got {count}")
    return count
