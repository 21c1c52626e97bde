"""Holding a scene when its script is over, for clients who want to see what has happened."""

from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.owners import Owner
from stroboscope.debugger_protocol.host.playback import Reply, Ticket

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.host import Host

__all__ = ["hold_at_end", "keep_newest"]


def hold_at_end(host: "Host", *, wanted: bool, reply: Reply | None = None) -> Ticket:
    """Hold the scene that the main thread has stepped last when the script is over, or not."""
    ticket = Ticket("hold at end", None, reply)
    with host.playback.lock:
        if not host.playback.attached:
            raise CommandError("no client holds this session: attach first")
        host.playback.hold_at_end = wanted
        for owner in {link.owner for link in host.links.values()}:
            keep_newest(owner, wanted=wanted)
            for link in owner.links:
                if link.is_at_end and not wanted:
                    link.release_holds("it is not held at the end of its script any more")
            owner.refresh()
        ticket.settle()
    host.wake()
    return ticket


def keep_newest(owner: Owner, *, wanted: bool) -> None:
    """Let the newest scene of a thread outlive the function that has made its data. Lock held."""
    for link in owner.links:
        link.backend.keep_alive(wanted=wanted and link is owner.links[-1])
