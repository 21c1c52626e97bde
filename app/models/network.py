"""The one thread that holds all client sockets; heartbeats go on whatever the GUI does.

Crossings: the GUI thread hands messages in with :meth:`Network.send` (never waits), and takes what
has arrived with :meth:`Network.poll`. Between them stand latest-value slots for frames and status,
and a queue of everything that must not be lost.
"""

import asyncio
import collections
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path

import msgspec

from stroboscope.debugger_protocol.client_connection import ClientConnection
from stroboscope.debugger_protocol.connection_file import read_connection_file
from stroboscope.debugger_protocol.exceptions import (
    CommandTimeout,
    ConnectionLost,
    ProtocolError,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    AssetChunk,
    ClientMessage,
    Command,
    Done,
    Failed,
    FailureKind,
    Frame,
    LogEntry,
    SceneAdded,
    SceneDescribed,
    SceneHistory,
    SceneRemoved,
    SceneStatus,
    ServerMessage,
    SessionInfo,
    SessionStatus,
    Welcome,
)
from stroboscope.debugger_protocol.sessions import debugger_dialect
from stroboscope.debugger_protocol.time_messages import Rows, StatesCompared
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Batch", "Closed", "Event", "Network", "Opened", "Received"]

# What a GUI that does not poll can leave lying here; signals and log lines beyond it are counted.
_MAX_SIGNAL_BYTES = 64 << 20
_MAX_LOG_ENTRIES = 5000


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """A session answered and both sides proved who they are."""

    key: int
    welcome: Welcome


@dataclasses.dataclass(frozen=True, slots=True)
class Closed:
    """A session can't be reached, or its connection ended.

    ``farewell``: the application ended it and said why; else it broke, or this window ended it.
    """

    key: int
    reason: str
    farewell: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Received:
    """A message of a session that keeps its order."""

    key: int
    message: ServerMessage


Event = Opened | Closed | Received


@dataclasses.dataclass(slots=True)
class Batch:
    """What arrived since the last poll: events in order, then status, frames and signal rows.

    What a session that has ended said last stands among the events, before its end. Of a scene
    that came and went since then, only its end and its log are told.
    """

    events: list[Event] = dataclasses.field(default_factory=list)
    latest: list[Received] = dataclasses.field(default_factory=list)
    lost_log_entries: int = 0


_Slot = tuple[object, ...]
_Connection = ClientConnection[ClientMessage, ServerMessage]


class _Inbox:
    """What the network thread fills and the GUI thread empties; one short lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: collections.deque[Event] = collections.deque()
        self._slots: dict[_Slot, Received] = {}
        self._signals: collections.deque[Received] = collections.deque()
        self._lost_rows: dict[tuple[int, int], int] = {}
        self._log_entries = 0
        self._lost_log_entries = 0
        self._signal_bytes = 0

    def put(self, event: Event) -> bool:
        """Store an event; True when the inbox was empty before."""
        with self._lock:
            was_empty = not (self._events or self._slots or self._signals)
            if isinstance(event, Received):
                self._put_message(event)
            else:
                if isinstance(event, Closed):
                    self._put_rest_of(event.key)
                self._events.append(event)
            return was_empty

    def _put_rest_of(self, key: int) -> None:
        """Let the last state of a session arrive before its end."""
        signals = self._take_signals()
        rest = [event for event in (*self._slots.values(), *signals) if event.key == key]
        self._events.extend(rest)
        self._slots = {slot: each for slot, each in self._slots.items() if each.key != key}
        for event in signals:
            if event.key != key and isinstance(event.message, Frame):
                self._put_signals(event, event.message)

    def take(self) -> Batch:
        """Return everything and forget it."""
        with self._lock:
            latest = [*self._slots.values(), *self._take_signals()]
            events = _without_passing_scenes(self._events)
            batch = Batch(events, latest, self._lost_log_entries)
            self._events.clear()
            self._slots.clear()
            self._log_entries = self._lost_log_entries = 0
            return batch

    def _put_message(self, event: Received) -> None:
        message = event.message
        match message:
            case SceneStatus():
                self._slots[(event.key, "status", message.scene_id)] = event
            case SessionStatus():
                self._slots[(event.key, "session")] = event
            case SceneHistory():
                # Behind what it may be the consequence of: a state that was replaced.
                self._slots[(event.key, "history", message.scene_id)] = event
            case Frame(topic=Topic.SIGNALS):
                self._put_signals(event, message)
            case Frame():
                self._put_latest(
                    (event.key, message.scene_id, message.topic, message.instant), event
                )
            case LogEntry():
                self._log_entries += 1
                if self._log_entries > _MAX_LOG_ENTRIES:
                    self._lost_log_entries += 1
                else:
                    self._events.append(event)
            case _:
                self._events.append(event)

    def _put_latest(self, slot: _Slot, event: Received) -> None:
        message = event.message
        older = self._slots.pop(slot, None)
        if older is not None and isinstance(message, Frame) and isinstance(older.message, Frame):
            dropped = message.dropped + older.message.dropped + 1
            event = Received(event.key, msgspec.structs.replace(message, dropped=dropped))
        self._slots[slot] = event

    def _put_signals(self, event: Received, message: Frame) -> None:
        # A GUI that is stuck for minutes: the oldest rows go, and the next frame says how many.
        self._signal_bytes += len(message.blob)
        self._signals.append(event)
        while self._signal_bytes > _MAX_SIGNAL_BYTES and len(self._signals) > 1:
            oldest = self._signals.popleft()
            frame = oldest.message
            if isinstance(frame, Frame):
                self._signal_bytes -= len(frame.blob)
                scene = (oldest.key, frame.scene_id)
                lost = self._lost_rows.get(scene, 0)
                self._lost_rows[scene] = lost + frame.dropped + _rows(frame)

    def _take_signals(self) -> list[Received]:
        signals = []
        for event in self._signals:
            frame = event.message
            if isinstance(frame, Frame):
                lost = self._lost_rows.pop((event.key, frame.scene_id), 0)
                if lost:
                    frame = msgspec.structs.replace(frame, dropped=frame.dropped + lost)
                signals.append(Received(event.key, frame))
        self._signals.clear()
        self._signal_bytes = 0
        return signals


def _without_passing_scenes(events: Iterable[Event]) -> list[Event]:
    """Leave out what nobody can look at any more.

    A script that replaces its scene ten times a second is faster than panels are filled: without
    this the window would be busy for ever with scenes that are gone.
    """
    events = list(events)
    removed: dict[tuple[int, int | None], int] = {
        (event.key, event.message.scene_id): at
        for at, event in enumerate(events)
        if isinstance(event, Received) and isinstance(event.message, SceneRemoved)
    }
    kept: list[Event] = []
    passing: set[tuple[int, int | None]] = set()
    for at, event in enumerate(events):
        if not isinstance(event, Received) or isinstance(event.message, LogEntry):
            kept.append(event)
            continue
        scene = (event.key, _scene_of(event.message))
        if isinstance(event.message, SceneAdded) and removed.get(scene, -1) > at:
            passing.add(scene)
        elif isinstance(event.message, SceneRemoved):
            passing.discard(scene)
        if scene not in passing:
            kept.append(event)
    return kept


def _scene_of(message: ServerMessage) -> int | None:
    if isinstance(message, SceneDescribed):
        return message.description.scene_id
    return getattr(message, "scene_id", None)


def _rows(frame: Frame) -> int:
    return next((e.shape[0] for e in frame.arrays if e.name == "axis" and e.shape), 0)


class Network:
    """All connections of the window, on one asyncio thread.

    ``wake`` is called on the network thread when something arrives in an empty inbox; it must only
    post a note to the GUI thread.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._inbox = _Inbox()
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._connections: dict[int, _Connection] = {}
        # By session and the connection's number of a command: the model's.
        self._numbers: dict[tuple[int, int], int] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._at_close: list[Callable[[], Coroutine[object, object, None]]] = []
        self._next_key = 1
        self._closed = False
        self._thread = threading.Thread(
            target=self._run, name="stroboscope-window-network", daemon=True
        )
        self._thread.start()

    # --- GUI thread

    def open(self, connection_file: Path, *, observe: bool = False) -> int:
        """Start to connect; :class:`Opened` or :class:`Closed` with the returned key follows."""
        key = self._next_key
        self._next_key += 1
        self._call(self._start, key, connection_file, observe)
        return key

    def send(self, key: int, message: Command) -> None:
        """Send a message in order; a connection that is gone swallows it and says so itself."""
        self._call(self._send, key, message)

    def close_session(self, key: int) -> None:
        """Disconnect from one session; :class:`Closed` follows."""
        self._call(self._cancel, key)

    def poll(self) -> Batch:
        """Return what has arrived since the last call."""
        return self._inbox.take()

    def submit(
        self, work: Callable[[], Coroutine[object, object, None]], *, at_close: bool = False
    ) -> None:
        """Run a coroutine on the network thread, now or when the network closes."""
        if at_close:
            self._at_close.append(work)
        else:
            self._call(lambda: self._keep(work()))

    def close(self, *, timeout: float = 3.0) -> None:
        """Say goodbye to all sessions and end the thread. Twice is harmless."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(timeout)

    def _call(self, function: Callable[..., None], *args: object) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(function, *args)

    # --- network thread

    def _keep(self, work: Coroutine[object, object, None]) -> None:
        task = self._loop.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    def _stop(self) -> None:
        async def finish() -> None:
            tasks = tuple(self._tasks.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=2.0)
            for work in self._at_close:
                with contextlib.suppress(ProtocolError, OSError):
                    await work()
            for extra in tuple(self._work):
                extra.cancel()
            self._loop.stop()

        self._finishing = self._loop.create_task(finish())

    def _put(self, event: Event) -> None:
        if self._inbox.put(event) and not self._closed:
            self._wake()

    def _start(self, key: int, connection_file: Path, observe: bool) -> None:
        self._tasks[key] = self._loop.create_task(
            self._serve(key, connection_file, observe=observe)
        )

    def _cancel(self, key: int) -> None:
        if (task := self._tasks.get(key)) is not None:
            task.cancel()

    def _send(self, key: int, message: Command) -> None:
        connection = self._connections.get(key)
        if connection is None:
            return
        # The connection numbers commands itself; answers come back under the model's number.
        fields = msgspec.structs.asdict(message)
        del fields["id"]
        before = connection.newest_id
        answer = connection.request(type(message), **fields)
        # One that could not be sent has no number.
        number = connection.newest_id if connection.newest_id != before else -1
        self._numbers[key, number] = message.id
        answer.add_done_callback(lambda done: self._answered(key, number, message.id, done))

    def _arrived(self, key: int, message: ServerMessage) -> None:
        """Pass a message on; what belongs to an answer under the number the model knows."""
        if isinstance(message, Rows | StatesCompared):
            number = self._numbers.get((key, message.id))
            if number is None:
                return
            message = msgspec.structs.replace(message, id=number)
        self._put(Received(key, message))

    def _answered(
        self, key: int, number: int, id: int, answer: "asyncio.Future[msgspec.Struct]"
    ) -> None:
        self._numbers.pop((key, number), None)
        if answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            message = answer.result()
            if isinstance(message, AssetChunk | Done):
                self._put(Received(key, msgspec.structs.replace(message, id=id)))
            else:
                self._put(Received(key, Done(id=id)))
        elif not isinstance(error, ConnectionLost):
            kind = FailureKind.TIMEOUT if isinstance(error, CommandTimeout) else FailureKind.REFUSED
            self._put(Received(key, Failed(id=id, kind=kind, reason=str(error))))

    async def _serve(self, key: int, connection_file: Path, *, observe: bool) -> None:
        reason = "disconnected by this window"
        ended: asyncio.Future[str] = self._loop.create_future()
        connection: _Connection | None = None
        try:
            limits = Limits()
            connection = ClientConnection(
                debugger_dialect(limits),
                read_connection_file(connection_file),
                on_message=lambda message: self._arrived(key, message),
                on_closed=lambda why: None if ended.done() else ended.set_result(why),
                limits=limits,
                name="window",
                observe=observe,
                plays=True,
            )
            opened = await connection.open()
            self._connections[key] = connection
            session = opened.session or SessionInfo(session_id="", pid=connection.info.pid)
            welcome = Welcome(session=session, client_id=opened.client_id)
            self._put(Opened(key, welcome))
            reason = await ended
        except asyncio.CancelledError:
            pass
        except (ProtocolError, OSError) as error:
            reason = str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - network data must never end this thread
            reason = f"unexpected {type(error).__name__}: {error}"
        finally:
            self._connections.pop(key, None)
            if connection is not None:
                with contextlib.suppress(ProtocolError, OSError):
                    await connection.close("the window closed the connection")
            self._tasks.pop(key, None)
            farewell = connection is not None and connection.said_goodbye
            self._put(Closed(key, reason, farewell))
