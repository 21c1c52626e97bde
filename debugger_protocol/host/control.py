"""Who controls the session, and what becomes of the scenes when clients come and go.

Server thread only. The controlling client holds scenes by a lease that ends with its connection;
whoever watches changes nothing.
"""

import enum
from collections.abc import Callable

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import ControlChanged, PlaybackMode

__all__ = ["Control", "OnDisconnect"]


class OnDisconnect(enum.StrEnum):
    """What happens to scenes that stand still when the controlling client is gone."""

    CONTINUE = "continue"
    """They go on; without another client nothing is attached any more."""
    HOLD = "hold"
    """They keep standing until a client comes back."""


class Control:
    """The lease on one session.

    ``mode`` is what the session begins with when its first controlling client comes. Without
    ``grants_control`` (``listen()``) clients only watch, until one asks for control.
    """

    def __init__(
        self,
        host: Host,
        *,
        mode: PlaybackMode,
        grants_control: bool,
        on_disconnect: OnDisconnect,
        announce: Callable[[ControlChanged], None],
    ) -> None:
        self.controller: int | None = None
        self._controller_name = ""
        self._host = host
        self._mode = mode
        self._grants_control = grants_control
        self._on_disconnect = on_disconnect
        self._announce = announce
        # Clients that are attached; whoever only passes by is not among them.
        self._clients: set[int] = set()
        # Whether a controlling client has set the mode since the session was last detached.
        self._begun = False
        self._holding = False
        self._tell_host()

    @property
    def is_held_for_reconnect(self) -> bool:
        """Whether scenes stand still although no client is there."""
        return self._holding and not self._clients

    @property
    def attached(self) -> int:
        """How many clients are attached."""
        return len(self._clients)

    def attached_without(self, client_id: int) -> int:
        """How many will be attached when this client has left."""
        return len(self._clients - {client_id})

    def joined(self, client_id: int, name: str, *, observe: bool, passing: bool = False) -> None:
        """Take in a client; the first one that doesn't observe gets control.

        Who is ``passing`` observes, and attaches only when it asks for control.
        """
        if passing:
            return
        self._clients.add(client_id)
        if self._grants_control and not observe and self.controller is None:
            self._give(client_id, name, "the first client that doesn't only observe")
        elif not self._host.playback.attached:
            # Watching changes nothing, not even the speed.
            self._host.attach(PlaybackMode.FAST_FORWARD)

    def left(self, client_id: int, reason: str) -> None:
        """Let a client go, however it went."""
        if client_id not in self._clients:
            return
        self._clients.discard(client_id)
        controlled = self.controller == client_id
        if controlled:
            self.controller = None
            self._holding = self._on_disconnect is OnDisconnect.HOLD
            self._tell_host()
            self._announce(ControlChanged(controller=None, reason=f"{self._name()}: {reason}"))
        if self._holding:
            self._host.end_perturbations(f"the controlling client has gone: {reason}")
            return
        if not self._clients:
            self._begun = False
            self._host.detach(f"the last client has gone: {reason}")
        elif controlled:
            self._host.let_go(self._free_mode(), f"the controlling client has gone: {reason}")

    def request(self, client_id: int, name: str) -> None:
        """Give control to a client that asks for it, whoever had it."""
        if self.controller == client_id:
            return
        self._clients.add(client_id)
        previous = f", taken from {self._name()}" if self.controller is not None else ""
        if previous:
            self._host.end_perturbations("another client has taken control")
        self._give(client_id, name, f"it asked for control{previous}")

    def release(self, client_id: int) -> None:
        """Take control back from a client that gives it up; its scenes go on."""
        if self.controller != client_id:
            return
        reason = f"{self._name()} gave control up"
        self.controller = None
        self._tell_host()
        self._announce(ControlChanged(controller=None, reason=reason))
        self._host.let_go(self._free_mode(), reason)

    def refusal(self, client_id: int, *, relays: bool = False) -> str:
        """Return why a client may not command, with what to do about it; empty when it may.

        With ``relays`` it may whenever somebody controls: it commands in that client's name.
        """
        if self.controller == client_id or (relays and self.controller is not None):
            return ""
        how = "take control first (“Take control” in the window, request_control() in a client)"
        if self.controller is None:
            return f"nobody controls this session and you observe it: {how}"
        return f"{self._name()} controls this session and you observe it: {how}"

    def _give(self, client_id: int, name: str, why: str) -> None:
        self.controller, self._controller_name = client_id, name
        held, self._holding = self._holding, False
        self._tell_host()
        if not self._host.playback.attached or not (held or self._begun):
            # Control that was asked for while listening changes nothing by itself either.
            attached = self._host.playback.attached
            if self._grants_control or not attached:
                mode = self._mode if self._grants_control else PlaybackMode.FAST_FORWARD
                self._host.attach(mode)
        self._begun = True
        self._announce(ControlChanged(controller=client_id, reason=f"{self._name()}: {why}"))

    def _tell_host(self) -> None:
        """Let stops hold scenes only as long as there is somebody to let them go on."""
        self._host.playback.controlled = self.controller is not None or self._holding

    def _free_mode(self) -> PlaybackMode:
        return PlaybackMode.PLAYING if self._grants_control else PlaybackMode.FAST_FORWARD

    def _name(self) -> str:
        number = f"client {self.controller}" if self.controller is not None else "the client"
        return f"{self._controller_name} ({number})" if self._controller_name else number
