"""What the scenes of one process have to tell their clients, whatever thread it comes from."""

import time
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.host.events import EventQueue, HostListener
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import Finding, LogEntry, LogLevel

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_playback import ScenePlayback

__all__ = ["HostNews"]


class HostNews:
    """Wakes the listener, and queues messages and log entries for it. Any thread; takes no lock."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.listener: HostListener | None = None
        self._events = EventQueue()
        self._reported: set[tuple[int, str]] = set()

    def wake(self) -> None:
        """Tell the server thread that there is something new."""
        listener = self.listener
        if listener is not None:
            listener.wake()

    def emit(self, message: msgspec.Struct) -> None:
        """Queue a message for every client."""
        if self.listener is not None:
            self._events.put(message)
            self.listener.wake()

    def log(
        self,
        level: LogLevel,
        text: str,
        *,
        link: "ScenePlayback | None" = None,
        source: str = "",
        at: tuple[int, float] | None = None,
        channel: str = "",
    ) -> None:
        """Queue a log entry for every client; ``at``: axis and time [s], else where it is known.

        ``channel``: the name under which the script has logged it.
        """
        clock = link.clock if link is not None else None
        if at is None and clock is not None:
            at = (clock.axis, clock.time)
        self.emit(
            LogEntry(
                level=level,
                text=trim_text(text, self.limits.log_text_bytes),
                wall_time=time.time(),
                scene_id=link.scene_id if link is not None else None,
                axis=at[0] if at is not None else None,
                time=at[1] if at is not None else None,
                source=source,
                channel=channel,
            )
        )

    def log_once(self, link: "ScenePlayback", text: str) -> None:
        """Queue an error about a scene's backend, unless it was reported before."""
        # What stands behind the first colon may differ every time.
        key = (link.scene_id, text.partition(":")[0])
        if key not in self._reported:
            self._reported.add(key)
            self.log(LogLevel.ERROR, f"{link.name}: {text}", link=link)

    def log_finding(self, link: "ScenePlayback", finding: Finding) -> None:
        """Queue what usually is a mistake, unless it was told of the same elements before."""
        about = ", ".join(f"{element.kind} {element.index}" for element in finding.elements)
        key = (link.scene_id, f"{finding.rule} {about}")
        if key not in self._reported:
            self._reported.add(key)
            text = finding.text
            if finding.advice:
                text = f"{text if text.endswith('.') else text + '.'} {finding.advice}"
            self.log(finding.level, text, link=link, source="lint")

    def model_changed(self, link: "ScenePlayback") -> None:
        """Note that a scene has to be described anew."""
        self.wake()

    def take_events(self) -> list[msgspec.Struct]:
        """Return what was queued for the clients since the last call; server thread."""
        return self._events.take()

    def forget_listener(self) -> None:
        """In a forked child: nobody listens, and what was queued is the parent's."""
        self.listener = None
        self._events.clear()
