"""The debug server as scripts see it: ``physics.debugger.get_debug_server()``."""

from pathlib import Path

from stroboscope.engine.arguments import checked_port
from stroboscope.engine.debug_session import DebugSession

__all__ = ["DebugServerHandle"]


class DebugServerHandle:
    """Starts, stops and asks the one debug server of this process; any thread.

    It stays usable through ``shutdown()``, stops and new starts.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session

    def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1 without waiting; the first client controls, and begins paused.

        ``port`` 0 takes a free one. Harmless while it runs. Raises OSError when the port is taken.
        """
        self._session.start(checked_port(port))

    def stop(self) -> None:
        """Release every parked thread, part from the clients and stop; harmless when stopped."""
        self._session.detach("the script stopped its debug server")

    def has_connection(self) -> bool:
        """Return whether any client is connected."""
        return self._session.is_attached()

    def is_running(self) -> bool:
        """Return whether clients can connect."""
        return self._session.server.is_running()

    def get_port(self) -> int:
        """Return the port, 0 while it is stopped."""
        return self._session.server.get_port()

    @property
    def connection_file(self) -> Path | None:
        """Where clients read how to connect; None while it is stopped."""
        return self._session.server.connection_file
