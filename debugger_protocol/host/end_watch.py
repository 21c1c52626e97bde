"""Ends a session whose script is over although scenes of other threads are still held.

Server thread only. Whether the script is over is judged in ``main_thread.py``.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.main_thread import Ending, Likelihood, MainThreadWatch
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = ["EndWatch"]

_log = logging.getLogger("stroboscope.debugger")

# How often the main thread is looked at, and how soon again when that has found it ending: both,
# and the way to the threads, must fit into 100 ms [s].
_WATCH_INTERVAL: Final = 0.07
_CONFIRM_INTERVAL: Final = 0.015


class EndWatch:
    """Looks at the main thread now and then, while another thread is parked in a scene.

    ``end_session`` is called when the session has to end, with the reason; ``tell_end`` when the
    script is over: it logs how that came, and returns it.
    """

    def __init__(
        self,
        host: Host,
        loop: asyncio.AbstractEventLoop,
        *,
        end_session: Callable[[str], None],
        tell_end: Callable[[], str],
    ) -> None:
        self._host = host
        self._loop = loop
        self._end_session = end_session
        self._tell_end = tell_end
        self._main_thread = MainThreadWatch()
        self._timer: asyncio.TimerHandle | None = None
        self._told_reason = ""

    def set_timer(self) -> None:
        """Look again in a while, if a thread is parked that the main thread may leave behind."""
        if self._timer is not None:
            return
        parked = {link.owner.thread for link in self._host.links.values() if link.owner.parked_in}
        # While the main thread itself is parked it does nothing else, and says when it goes on.
        if parked and threading.main_thread() not in parked:
            wait = _CONFIRM_INTERVAL if self._main_thread.suspects else _WATCH_INTERVAL
            self._timer = self._loop.call_later(wait, self._look)

    def close(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        ending = self._main_thread.look()
        if ending is None:
            self.set_timer()
        elif ending.likelihood is Likelihood.POSSIBLE:
            self._ask_to_play(ending)
            self.set_timer()
        elif ending.likelihood is Likelihood.CERTAIN and self._host.playback.holds_end:
            self.set_timer()
        elif ending.likelihood is Likelihood.CERTAIN:
            reason = self._tell_end()
            self._host.publish_last(main_is_over=ending.is_joining)
            self._end_session(reason)
        else:
            self._host.log(LogLevel.INFO, f"every scene was released: {ending.reason}")
            self._end_session(ending.reason)

    def _ask_to_play(self, ending: Ending) -> None:
        """Tell, once, that a script may not be able to end while its scenes are paused."""
        if ending.reason == self._told_reason:
            return
        self._told_reason = ending.reason
        paused = sum(link.owner.parked_in is link for link in self._host.links.values())
        scenes = "a paused scene keeps" if paused == 1 else f"{paused} paused scenes keep"
        text = f"{ending.reason}, and {scenes} them from ending: press Play to let them go on"
        self._host.log(LogLevel.WARNING, text)
        # The terminal too: whoever sees nothing happen there may not look at the window.
        _log.warning(text)
