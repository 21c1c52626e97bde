"""What owner threads leave for the clients in order, and who is told that it is there."""

import time
from collections import deque

import msgspec

from stroboscope.debugger_protocol.messages import LogEntry, LogLevel

__all__ = ["EventQueue", "HostListener"]

_MAX_EVENTS = 1000


class HostListener:
    """What the server thread wants to hear. Called on any thread: must not block or raise."""

    def wake(self) -> None:
        """Something was published: look at the scenes soon."""

    def released(self, reason: str) -> None:
        """Every thread was released for good: tell the clients and stop."""


class EventQueue:
    """Messages for every client, in order and bounded; any thread puts, the server thread takes."""

    def __init__(self) -> None:
        self._events: deque[msgspec.Struct] = deque()
        self._lost = 0

    def put(self, message: msgspec.Struct) -> None:
        """Queue a message; one too many is counted."""
        if len(self._events) >= _MAX_EVENTS:
            self._lost += 1
        else:
            self._events.append(message)

    def take(self) -> list[msgspec.Struct]:
        """Return what was queued since the last call, and how many were lost."""
        events = []
        while self._events:
            events.append(self._events.popleft())
        lost, self._lost = self._lost, 0
        if lost:
            text = f"{lost} messages were not sent: the scripts say more than can be shown"
            events.append(LogEntry(level=LogLevel.WARNING, text=text, wall_time=time.time()))
        return events

    def clear(self) -> None:
        """Forget what is queued."""
        self._events.clear()
