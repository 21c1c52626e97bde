"""The window's own endpoint: ``attach()`` and ``stroboscope screenshot`` reach it here.

Requests arrive on the network thread; each is done on the GUI thread and awaited.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from stroboscope.app.models.network import Network
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.window_link import WindowLock, WindowServer
from stroboscope.debugger_protocol.window_messages import WindowSession

__all__ = ["WindowEndpoint"]

T = TypeVar("T")


class WindowEndpoint(QObject):
    """Implements ``WindowRequests`` with functions of the GUI thread."""

    _posted = Signal(object)

    def __init__(
        self,
        *,
        open_session: Callable[[str], None],
        focus: Callable[[], None],
        screenshot: Callable[[], bytes],
        sessions: Callable[[], tuple[WindowSession, ...]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._open_session = open_session
        self._focus = focus
        self._screenshot = screenshot
        self._sessions = sessions
        self._posted.connect(self._run, Qt.ConnectionType.QueuedConnection)

    def start(self, network: Network, lock: WindowLock) -> None:
        """Listen in the network thread until the network closes."""
        server = WindowServer(self, lock)

        async def start() -> None:
            await server.start()

        async def stop() -> None:
            await server.stop()

        network.submit(start)
        network.submit(stop, at_close=True)

    # --- WindowRequests, on the network thread

    async def open_session(self, session_id: str) -> None:
        """Connect to a session and bring the window to the front."""
        await self._on_gui_thread(lambda: self._open_session(session_id))

    async def focus(self) -> None:
        """Bring the window to the front."""
        await self._on_gui_thread(self._focus)

    async def screenshot(self) -> bytes:
        """Return a PNG picture of the whole window."""
        return await self._on_gui_thread(self._screenshot)

    async def sessions(self) -> tuple[WindowSession, ...]:
        """Return which sessions are attached."""
        return await self._on_gui_thread(self._sessions)

    async def _on_gui_thread(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def finish(set_result: Callable[[], None]) -> None:
            loop.call_soon_threadsafe(lambda: None if done.done() else set_result())

        def run() -> None:
            try:
                result = work()
            except CommandError as error:
                refused = error
                finish(lambda: done.set_exception(refused))
            except Exception as error:  # noqa: BLE001 - it travels to whoever asked
                failed = CommandError(f"the window failed: {type(error).__name__}: {error}")
                finish(lambda: done.set_exception(failed))
            else:
                finish(lambda: done.set_result(result))

        self._posted.emit(run)
        return await done

    def _run(self, work: Callable[[], None]) -> None:
        work()
