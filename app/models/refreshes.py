"""Decides when panels refresh: together they use no more than a share of the thread that draws.

Pictures, clicks and what the network brings have precedence; what is left is divided among the
panels by what each refresh really costs, painting included. Nothing here waits or has a timer:
whoever refreshes asks how long to wait.
"""

import dataclasses
import math
import time
from collections.abc import Callable

from stroboscope.app.models.signal import Signal

__all__ = ["LEAST_RATE", "MOST_RATE", "PAUSED", "Pace", "RefreshTurn", "Refreshes"]

MOST_RATE = 15.0
"""No panel changes more often [Hz]: nobody reads faster."""

LEAST_RATE = 2.0
"""However little there is to share, a panel with news gets so many refreshes [Hz], usually."""

# How much of what was learnt about a panel's cost stays when it is measured once more.
_KEPT = 0.7
# A panel that has not refreshed for so long takes no part in the rate [s].
_RECENT_S = 2.0
# While a picture is being made ready a refresh looks again after so long [s], but not for ever.
_HOLD_S = 0.006
_LONGEST_HOLD_S = 0.1
# The rate is told anew only when it is another one by this factor, and not sooner than this [s]
# after the last time: whoever hears of it asks for frames anew.
_STEP = 1.3
_CALM_S = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """How much panels may use: ``share`` of the thread, and ``saved`` [s] what they may save up.

    What is saved up may be spent at once, so ``saved`` is how long they may hold up a picture.
    ``least`` [Hz] is what a panel with news gets however little there is.
    """

    share: float
    saved: float
    least: float = LEAST_RATE


PAUSED = Pace(share=0.5, saved=0.5)
"""While a scene stands there is time: a step is shown by every panel at once."""


class RefreshTurn:
    """One panel's place among the others. ``rate`` [Hz] is as often as it can be read.

    ``favoured`` says whether somebody looks at this panel more than at others.
    """

    def __init__(
        self, owner: "Refreshes", *, rate: float, favoured: Callable[[], bool] = lambda: False
    ) -> None:
        self.rate = rate
        self.cost = 0.0
        """Thread time that a refresh takes [s], painting included."""
        self.ran_at = -math.inf
        self.wanted = False
        self.held_since: float | None = None
        """Since when a picture that is made ready has kept it waiting [s]."""
        self.favoured = favoured
        self._owner = owner

    def wait(self) -> float:
        """Say that there is news, and return how long to wait with it [s]; 0: refresh now."""
        self.wanted = True
        return self._owner.wait(self)

    def run(self, refresh: Callable[[], None], *, paint: bool = True) -> None:
        """Refresh, and remember what it cost; ``paint`` what has changed, too."""
        self._owner.run(self, refresh, paint=paint)

    def forget(self) -> None:
        """Nobody sees the panel, or it has no news any more."""
        self.wanted = False
        self.held_since = None

    def leave(self) -> None:
        """The panel is gone."""
        self._owner.remove(self)


class Refreshes:
    """Shares the drawing thread's time among the panels. GUI thread only.

    ``paint`` is called after a refresh, to paint what it has changed while its cost is measured.
    ``clock`` and ``thread_clock`` [s] are those of the wall and of the thread.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        thread_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.rate_changed: Signal[[float]] = Signal()
        self.paint: Callable[[], None] = lambda: None
        self.prepares_picture: Callable[[], bool] = lambda: False
        """Whether this thread makes a picture ready; soon others draw it, and this one has time."""
        self._clock = clock
        self._thread_clock = thread_clock
        self._turns: list[RefreshTurn] = []
        self._pace = PAUSED
        self._credit = PAUSED.saved
        self._counted = clock()
        self._rate = MOST_RATE
        self._told_at = -math.inf
        self._running = False

    # --- who takes part, and how much there is

    def join(
        self, *, rate: float = MOST_RATE, favoured: Callable[[], bool] = lambda: False
    ) -> RefreshTurn:
        """Return a place for one more panel."""
        turn = RefreshTurn(self, rate=min(rate, MOST_RATE), favoured=favoured)
        self._turns.append(turn)
        return turn

    def remove(self, turn: RefreshTurn) -> None:
        """Forget a panel."""
        if turn in self._turns:
            self._turns.remove(turn)

    @property
    def pace(self) -> Pace:
        """What panels may use at present."""
        return self._pace

    def set_pace(self, pace: Pace) -> None:
        """Let panels use more or less from now on; at a larger share they begin with it all."""
        if pace == self._pace:
            return
        more = pace.share > self._pace.share
        self._count()
        self._pace = pace
        self._credit = pace.saved if more else min(self._credit, pace.saved)
        self._told_at = -math.inf
        self._tell_rate()

    @property
    def rate(self) -> float:
        """How often each panel refreshes at this pace [Hz]: values that come faster are lost."""
        return self._rate

    # --- turns

    def wait(self, turn: RefreshTurn) -> float:
        """Return how long a panel waits with what is new [s]."""
        now = self._clock()
        own = turn.ran_at + 1.0 / turn.rate - now
        if own > 0.0:
            return own
        self._count()
        ahead = sum(other.cost for other in self._turns if self._precedes(other, turn, now))
        missing = ahead - self._credit
        if missing >= 0.0:
            latest = turn.ran_at + 1.0 / self._pace.least - now
            # A little over what is missing: exactly nothing is not enough.
            wait = min(missing / self._pace.share + 1e-3, latest)
            if wait > 0.0:
                return wait
        return self._hold(turn, now)

    def _hold(self, turn: RefreshTurn, now: float) -> float:
        """Return how long to wait so that a picture under way is drawn beside the refresh [s]."""
        if self._pace is PAUSED or not self.prepares_picture():
            return 0.0
        if turn.held_since is None:
            turn.held_since = now
        return _HOLD_S if now - turn.held_since < _LONGEST_HOLD_S else 0.0

    def run(self, turn: RefreshTurn, refresh: Callable[[], None], *, paint: bool) -> None:
        """Refresh a panel and let it be painted; what that takes is no longer there for others."""
        turn.wanted = False
        turn.held_since = None
        turn.ran_at = self._clock()
        if self._running:  # one that another one brings about is a part of it
            refresh()
            return
        self._running = True
        start = self._thread_clock()
        try:
            refresh()
            if paint:
                self.paint()
        finally:
            self._running = False
            spent = self._thread_clock() - start
            if paint:
                known = turn.cost > 0.0
                turn.cost = _KEPT * turn.cost + (1.0 - _KEPT) * spent if known else spent
            self._count()
            # Who overdraws by force of the least rate does not owe for ever.
            self._credit = max(self._credit - spent, -self._pace.share)
            self._tell_rate()

    @staticmethod
    def _precedes(one: RefreshTurn, other: RefreshTurn, now: float) -> bool:
        """Return whether ``one`` is to refresh before ``other``: looked at, then longest not."""
        if one is other or not one.wanted or one.ran_at + 1.0 / one.rate > now:
            return False
        favoured = one.favoured(), other.favoured()
        if favoured[0] is not favoured[1]:
            return favoured[0]
        return one.ran_at < other.ran_at

    def _count(self) -> None:
        """Add what has become free since the last time."""
        now = self._clock()
        self._credit += self._pace.share * (now - self._counted)
        self._credit = min(self._credit, self._pace.saved)
        self._counted = now

    def _tell_rate(self) -> None:
        now = self._clock()
        if now - self._told_at < _CALM_S:
            return
        since = now - _RECENT_S
        all_of_them = sum(turn.cost for turn in self._turns if turn.ran_at > since)
        rate = self._pace.share / all_of_them if all_of_them > 0.0 else MOST_RATE
        rate = float(round(min(max(rate, self._pace.least), MOST_RATE)))
        if max(rate, self._rate) >= _STEP * min(rate, self._rate):
            self._rate, self._told_at = rate, now
            self.rate_changed.emit(rate)
