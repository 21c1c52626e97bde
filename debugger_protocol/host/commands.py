"""Commands that are under way: given to the host, watched, and answered exactly once.

Server thread only. A command that its owner thread doesn't get to is withdrawn after a while, with
a sentence about where that thread is. Time counts from the last physics step of the scene, so that
long runs may be long.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.activity import describe_owner
from stroboscope.debugger_protocol.host.edits import EDIT_WORDS
from stroboscope.debugger_protocol.host.hold_at_end import hold_at_end
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.playback import Reply, Ticket
from stroboscope.debugger_protocol.host.time_desk import TIME_WORDS
from stroboscope.debugger_protocol.messages import (
    Command,
    Done,
    Failed,
    FailureKind,
    FastForward,
    HoldAtEnd,
    Pause,
    PhysicsStep,
    Play,
    RestoreInitial,
    RunUntil,
    SetSpeed,
    Step,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.server_connection import ServerConnection

__all__ = ["CommandDesk"]

_CHECK_INTERVAL = 0.1

Answer = Done | Failed


@dataclasses.dataclass(slots=True, eq=False)
class _UnderWay:
    client: "ServerConnection"
    command: Command
    since: float
    with_dependents: bool
    ticket: Ticket | None = None
    ticks: int = -1


class CommandDesk:
    """Takes playback commands and answers them.

    ``answer`` sends an answer to a client; it is called on the event loop's thread.
    """

    def __init__(
        self,
        host: Host,
        loop: asyncio.AbstractEventLoop,
        *,
        answer: Callable[["ServerConnection", Answer, Command], None],
    ) -> None:
        self._host = host
        self._loop = loop
        self._send = answer
        self._under_way: dict[_UnderWay, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def take(self, client: "ServerConnection", command: Command) -> None:
        """Begin a command; the answer follows when it was done, refused, or took too long."""
        entry = _UnderWay(
            client,
            command,
            self._host.monotonic(),
            with_dependents=isinstance(command, Step) and command.with_dependents,
        )
        self._under_way[entry] = None
        try:
            entry.ticket = self._give(entry)
        except CommandError as error:
            self._finish(entry, self._failed(entry, str(error)))
        self._watch()

    def forget(self, client: "ServerConnection") -> None:
        """Withdraw what a client that has gone had asked for."""
        for entry in [entry for entry in self._under_way if entry.client is client]:
            del self._under_way[entry]
            if entry.ticket is not None:
                entry.ticket.abandoned = True
                self._host.cancel(entry.ticket)

    def close(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()

    def _give(self, entry: _UnderWay) -> Ticket:
        host, command = self._host, entry.command
        reply: Reply = partial(self._answered, entry)
        match command:
            case Play():
                return host.play(command.scene_id, reply=reply)
            case Pause():
                return host.pause(command.scene_id, reply=reply)
            case FastForward():
                return host.fast_forward(command.scene_id, reply=reply)
            case SetSpeed():
                return host.set_speed(command.speed, reply=reply)
            case HoldAtEnd():
                return hold_at_end(host, wanted=command.hold, reply=reply)
            case Step():
                return host.step(
                    command.scene_id,
                    command.count,
                    with_dependents=command.with_dependents,
                    reply=reply,
                )
            case PhysicsStep():
                return host.physics_step(command.scene_id, command.count, reply=reply)
            case RunUntil():
                return host.run_until(
                    command.scene_id,
                    time=command.time,
                    step_count=command.step_count,
                    reply=reply,
                )
            case RestoreInitial():
                return host.restore_initial(command.scene_id, reply=reply)
        if type(command) in EDIT_WORDS:
            return host.edit(command, client=entry.client.client_id, reply=reply)
        if type(command) in TIME_WORDS:
            return host.travel(command, reply=reply, tell=partial(self._told, entry))
        raise CommandError(f"this server can't do {type(command).__name__}")

    # --- answers

    def _answered(self, entry: _UnderWay, error: CommandError | None) -> None:
        """Pass an answer on to the event loop; called on any thread."""
        self._call(self._settled, entry, error)

    def _settled(self, entry: _UnderWay, error: CommandError | None) -> None:
        ticket = entry.ticket
        done = Done(id=entry.command.id)
        if ticket is not None:
            done = Done(id=entry.command.id, value=ticket.value, note=ticket.note)
        self._finish(entry, done if error is None else self._failed(entry, str(error)))

    def _told(self, entry: _UnderWay, make: Callable[[int], Iterable[msgspec.Struct]]) -> None:
        """Pass on what comes before an answer; called on any thread."""
        self._call(self._pass_on, entry, make)

    def _pass_on(self, entry: _UnderWay, make: Callable[[int], Iterable[msgspec.Struct]]) -> None:
        if entry in self._under_way:
            for message in make(entry.command.id):
                entry.client.send(message)

    def _call(self, function: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RecursionError:
            raise  # not given: whoever comes by with more stack left has to
        except RuntimeError:
            return  # the loop has ended, and the client with it

    def _failed(
        self, entry: _UnderWay, reason: str, kind: FailureKind = FailureKind.REFUSED
    ) -> Failed:
        return Failed(id=entry.command.id, kind=kind, reason=reason)

    def _finish(self, entry: _UnderWay, answer: Answer) -> None:
        if entry in self._under_way:
            del self._under_way[entry]
            self._send(entry.client, answer, entry.command)

    # --- the clock

    def _watch(self) -> None:
        if self._timer is None and self._under_way:
            self._timer = self._loop.call_later(_CHECK_INTERVAL, self._check)

    def _check(self) -> None:
        self._timer = None
        now = self._host.monotonic()
        for entry in list(self._under_way):
            self._check_one(entry, now)
        self._watch()

    def _check_one(self, entry: _UnderWay, now: float) -> None:
        ticket = entry.ticket
        if ticket is None or ticket.settled:
            return
        link = self._host.links.get(ticket.scene_id) if ticket.scene_id is not None else None
        if link is not None and link.physics_ticks != entry.ticks and link.grants:
            entry.ticks = link.physics_ticks
            entry.since = now
        quiet = now - entry.since
        if link is not None and link.is_orphaned() and self._host.cancel(ticket):
            self._finish(entry, self._failed(entry, self._timeout_reason(ticket, quiet, now)))
            return
        if entry.with_dependents and quiet >= _CHECK_INTERVAL:
            self._host.step_dependents(ticket)
        if quiet < self._host.limits.command_timeout:
            return
        reason = self._timeout_reason(ticket, quiet, now)
        if self._host.cancel(ticket):
            self._finish(entry, self._failed(entry, reason, FailureKind.TIMEOUT))

    def _timeout_reason(self, ticket: Ticket, quiet: float, now: float) -> str:
        links = self._host.links
        chosen = [link for link in links.values() if ticket.scene_id in (None, link.scene_id)]
        if ticket.scene_id is None:
            chosen = [link for link in chosen if link.in_step and link.follow]
        places = "; ".join(
            f"{link.name!r} is {describe_owner(link, links.values(), now=now)}"
            for link in chosen[:3]
        )
        more = f" (+{len(chosen) - 3} more)" if len(chosen) > 3 else ""
        return f"{ticket.what} was not done within {quiet:.1f} s: {places or 'no scene'}{more}"
