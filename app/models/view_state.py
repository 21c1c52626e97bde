"""How the user looks at a scene, apart from the camera: which instant of a paused one."""

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.topics import Instant

__all__ = ["ViewState"]


class ViewState:
    """The instant that every panel shows while a scene is paused; the same in all of them."""

    def __init__(self) -> None:
        self.instant_changed: Signal[[Instant]] = Signal()
        self._instant = Instant.NOW

    @property
    def instant(self) -> Instant:
        """NOW or EXECUTED."""
        return self._instant

    def set_instant(self, instant: Instant) -> None:
        """Choose the instant and tell everybody if that is a change."""
        if instant is not self._instant:
            self._instant = instant
            self.instant_changed.emit(instant)

    def toggle_instant(self) -> None:
        """Show the other instant."""
        self.set_instant(Instant.EXECUTED if self._instant is Instant.NOW else Instant.NOW)
