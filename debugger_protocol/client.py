"""A blocking client without a window: for tests, scripts, and ``stroboscope ctl``.

    with DebuggerClient.connect() as client:
        scene = client.scenes()[0]
        client.subscribe(scene.scene_id, [Topic.POSE])
        client.step(scene.scene_id)
        frame = client.next_frame(timeout=1.0)

A network thread of its own keeps the connection alive while the caller computes.
"""

import asyncio
import collections
import concurrent.futures
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol.arrays import parse_asset, unpack_arrays
from stroboscope.debugger_protocol.client_connection import ClientConnection, fetch_asset
from stroboscope.debugger_protocol.client_recording import RecordingClient
from stroboscope.debugger_protocol.connection_file import (
    ConnectionInfo,
    find_session,
    read_connection_file,
)
from stroboscope.debugger_protocol.exceptions import (
    CommandError,
    CommandTimeout,
    ConnectionLost,
    InvalidMessage,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode
from stroboscope.debugger_protocol.outgoing import FrameQueue
from stroboscope.debugger_protocol.plain_text import typed_numbers
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.sessions import debugger_dialect
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.debugger_protocol.typed_texts import with_typed_texts

__all__ = ["CommandError", "CommandTimeout", "DebuggerClient", "Frame", "SceneInfo"]

_KEPT_ENTRIES: Final = 1000
# The server answers heartbeats every 2 s; when nothing at all came for this long it is stuck [s].
_SERVER_SILENCE: Final = 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class SceneInfo:
    """Where a scene stands, as last told. ``time`` in s; ``mode`` is PAUSED while it is held."""

    scene_id: int
    name: str
    step_count: int
    time: float
    mode: PlaybackMode
    n_envs: int
    held: bool
    physics_step_count: int = 0
    total_steps: int = 0
    axis: int = 0
    hold_reason: str = ""
    rtf: float | None = None
    throttled: bool = False
    activity: OwnerActivity = OwnerActivity.STARTING
    activity_s: float = 0.0
    location: str = ""
    waiting_for: str = ""
    owner: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """Values of one topic of a scene at one instant; ``arrays`` are read-only, by name.

    ``step`` and ``time`` [s] are those of the instant, ``axis`` counts physics steps and never
    falls. ``dropped``: frames (for signals: rows) lost before this one.
    """

    scene_id: int
    topic: Topic
    step: int
    time: float
    arrays: dict[str, NDArray[np.generic]]
    dropped: int
    instant: Instant
    axis: int
    revision: int = 0
    notes: tuple[str, ...] = ()


class DebuggerClient(RecordingClient):
    """A connected client. Methods may be called from any thread and block until they are done.

    Commands raise CommandError (the server's reason), CommandTimeout (where the owner thread is)
    or ConnectionLost.
    """

    def __init__(
        self,
        info: ConnectionInfo,
        *,
        observe: bool = False,
        relay: bool = False,
        passing: bool = False,
        name: str = "",
        timeout: float = 5.0,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(limits or Limits())
        self._frames = FrameQueue(self._limits)
        self._added: dict[int, wire.SceneAdded] = {}
        self._status: dict[int, wire.SceneStatus] = {}
        self._descriptions: dict[int, SceneDescription] = {}
        self._session_status: wire.SessionStatus | None = None
        self._log: collections.deque[wire.LogEntry] = collections.deque(maxlen=_KEPT_ENTRIES)
        self._events: collections.deque[msgspec.Struct] = collections.deque(maxlen=_KEPT_ENTRIES)
        self._closed_reason = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run_loop, name="stroboscope-client", daemon=True
        )
        self._connection = ClientConnection(
            debugger_dialect(self._limits),
            info,
            on_message=self._take,
            on_closed=self._lost,
            limits=self._limits,
            name=name or f"pid {os.getpid()}",
            observe=observe or relay or passing,
            relay=relay,
            passing=passing,
        )
        self._thread.start()
        try:
            end = time.monotonic() + timeout
            self._call(self._connection.open(within=timeout))
            # The snapshot of all scenes ends with the session's status.
            remaining = end - time.monotonic()
            if not self.wait_until(lambda c: c._session_status is not None, remaining):
                raise ConnectionLost(f"the session sent no overview within {timeout:g} s")
        except BaseException:
            self.close()
            raise

    @classmethod
    def connect(
        cls,
        connection_file: str | os.PathLike[str] | ConnectionInfo | None = None,
        *,
        observe: bool = False,
        relay: bool = False,
        passing: bool = False,
        name: str = "",
        timeout: float = 5.0,
    ) -> Self:
        """Connect to a session: the one of a connection file, or the only one that is running.

        An observer never gets control unless it asks for it. With ``relay`` its commands are
        done in the name of whoever controls the session, who keeps control. ``passing`` is for
        an observer that only looks in: until it takes control, the script is not attached by it,
        and its ``attach()`` goes on waiting. Raises
        NoSessionError (which lists what is running), ConnectionFileError, RuntimeDirectoryError,
        HandshakeError or ConnectionLost.
        """
        if connection_file is None:
            info = find_session()
        elif isinstance(connection_file, ConnectionInfo):
            info = connection_file
        else:
            info = read_connection_file(connection_file)
        return cls(info, observe=observe, relay=relay, passing=passing, name=name, timeout=timeout)

    # --- what there is

    @property
    def session(self) -> wire.SessionInfo | None:
        """Who the application is."""
        return self._connection.session_info

    @property
    def client_id(self) -> int:
        """This client's number in the session."""
        return self._connection.client_id

    @property
    def closed_reason(self) -> str:
        """Why the connection has ended; empty while it lasts."""
        return self._closed_reason

    @property
    def session_status(self) -> wire.SessionStatus:
        """Mode, speed and controller of the session, as last told."""
        with self._changed:
            if self._session_status is None:
                raise ConnectionLost(self._closed_reason or "the session has sent no status yet")
            return self._session_status

    @property
    def has_control(self) -> bool:
        """Whether this client controls the session."""
        return self.session_status.controller == self.client_id

    def scenes(self) -> list[SceneInfo]:
        """Return all scenes, oldest first, as last told; after a command at least as new as it."""
        with self._changed:
            self._raise_if_closed()
            return [self._scene_info(added) for added in self._added.values()]

    def description(self, scene_id: int, timeout: float = 5.0) -> SceneDescription:
        """Return a scene's description; asks for it the first time."""
        if scene_id not in self._descriptions:
            self._command(wire.Subscribe, scene_id=scene_id, topics=())
            if not self.wait_until(lambda c: scene_id in c._descriptions, timeout):
                raise CommandTimeout(f"scene {scene_id} was not described within {timeout:g} s")
        with self._changed:
            return self._descriptions[scene_id]

    def asset(self, digest: str) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a mesh, texture or height field, checked against its digest."""
        return parse_asset(self._call(fetch_asset(self._connection, digest, self._limits)), digest)

    def log_entries(self) -> list[wire.LogEntry]:
        """Return the newest log entries (at most 1,000), oldest first."""
        with self._changed:
            return list(self._log)

    def events(self) -> list[msgspec.Struct]:
        """Return the newest other messages (scenes added, restored, control changed, …)."""
        with self._changed:
            return list(self._events)

    # --- playback

    def play(self, *, scene_id: int | None = None) -> None:
        """Play all scenes, or only this one."""
        self._command(wire.Play, scene_id=scene_id)

    def pause(self, *, scene_id: int | None = None) -> None:
        """Pause all scenes, or hold only this one."""
        self._command(wire.Pause, scene_id=scene_id)

    def fast_forward(self, *, scene_id: int | None = None) -> None:
        """Run all scenes, or only this one, without a throttle."""
        self._command(wire.FastForward, scene_id=scene_id)

    def set_speed(self, speed: float) -> None:
        """Set simulated per wall time while playing, 1/64 to 64."""
        self._command(wire.SetSpeed, speed=float(speed))

    def step(self, scene_id: int, count: int = 1, *, with_dependents: bool = False) -> None:
        """Pause all and complete exactly ``count`` application steps of one scene."""
        self._command(wire.Step, scene_id=scene_id, count=count, with_dependents=with_dependents)

    def physics_step(self, scene_id: int, count: int = 1) -> None:
        """Pause all and complete exactly ``count`` physics steps of one scene."""
        self._command(wire.PhysicsStep, scene_id=scene_id, count=count)

    def run_until(
        self, scene_id: int, *, time: float | None = None, step_count: int | None = None
    ) -> None:
        """Run one scene until simulation time [s] or a step count is reached; pause the others."""
        self._command(wire.RunUntil, scene_id=scene_id, time=time, step_count=step_count)

    def restore_initial(self, scene_id: int) -> None:
        """Put a scene back to the state just before its first step after attaching."""
        self._command(wire.RestoreInitial, scene_id=scene_id)

    def request_control(self) -> None:
        """Take control of the session; everybody is told."""
        self._command(wire.RequestControl)

    def release_control(self) -> None:
        """Give control up."""
        self._command(wire.ReleaseControl)

    # --- frames

    def subscribe(
        self,
        scene_id: int,
        topics: Iterable[Topic | str],
        channels: Sequence[str] = (),
        *,
        max_rate_hz: float = 60.0,
    ) -> None:
        """Ask for topics of a scene; ``channels`` name what :attr:`Topic.SIGNALS` shall hold."""
        self._command(
            wire.Subscribe,
            scene_id=scene_id,
            topics=tuple(Topic(topic) for topic in topics),
            channels=tuple(channels),
            max_rate_hz=float(max_rate_hz),
        )

    def unsubscribe(
        self, scene_id: int, topics: Iterable[Topic | str], channels: Sequence[str] = ()
    ) -> None:
        """Stop topics, or single channels of SIGNALS."""
        chosen = tuple(Topic(topic) for topic in topics)
        self._command(wire.Unsubscribe, scene_id=scene_id, topics=chosen, channels=tuple(channels))

    def next_frame(self, timeout: float | None = None) -> Frame | None:
        """Return the next frame, or None when none came within ``timeout`` seconds.

        Frames that nobody fetches are replaced by newer ones (signals: dropped oldest first) and
        counted in ``dropped``. Raises ConnectionLost when the connection has ended and nothing
        is left.
        """
        with self._changed:
            self._changed.wait_for(lambda: len(self._frames) or self._closed_reason, timeout)
            message = self._frames.next()
            if message is None:
                self._raise_if_closed()
                return None
        return Frame(
            scene_id=message.scene_id,
            topic=message.topic,
            step=message.step,
            time=message.time,
            arrays=unpack_arrays(message.arrays, message.blob),
            dropped=message.dropped,
            instant=message.instant,
            axis=message.axis,
            revision=message.revision,
            notes=message.notes,
        )

    def wait_until(self, predicate: Callable[[Self], bool], timeout: float | None = None) -> bool:
        """Wait until ``predicate(client)`` holds; looked at whenever a message has arrived.

        The predicate looks at what has arrived and must not send commands: nothing arrives
        while it runs.
        Returns False when it didn't within ``timeout`` seconds; raises ConnectionLost when the
        connection ends first.
        """
        with self._changed:
            self._changed.wait_for(lambda: predicate(self) or self._closed_reason, timeout)
            if predicate(self):
                return True
            self._raise_if_closed()
            return False

    # --- the end

    def close(self) -> None:
        """Leave the session; safe to call twice, and after the connection was lost."""
        if not self._thread.is_alive():
            return
        closing = asyncio.run_coroutine_threadsafe(self._connection.close(), self._loop)
        try:
            closing.result(timeout=5.0)
        except (concurrent.futures.TimeoutError, OSError):
            pass
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=5.0)
            self._lost("this client was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the network thread

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            leftover = asyncio.all_tasks(self._loop)
            for task in leftover:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*leftover, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    def _take(self, message: Any) -> None:
        message = with_typed_texts(message)
        with self._changed:
            match message:
                case wire.Frame():
                    self._frames.put(message)
                case wire.SceneStatus():
                    self._status[message.scene_id] = message
                case wire.SessionStatus():
                    self._session_status = message
                case wire.LogEntry():
                    self._log.append(message)
                case _:
                    self._take_event(message)
            self._changed.notify_all()

    def _take_event(self, message: Any) -> None:
        if self._take_time_news(message):
            return
        self._events.append(message)
        match message:
            case wire.SceneAdded():
                self._added[message.scene_id] = message
            case wire.SceneDescribed(description=description):
                self._descriptions[description.scene_id] = description
            case wire.SceneRemoved(scene_id=scene_id):
                for table in (self._added, self._status, self._descriptions):
                    table.pop(scene_id, None)
                self._forget_edits(scene_id)
                self._forget_time(scene_id)
                self._frames.discard_scene(scene_id)
            case wire.ControlChanged(controller=controller) if self._session_status:
                self._session_status = msgspec.structs.replace(
                    self._session_status, controller=controller
                )
            case _:
                self._take_edit_news(message)

    def _lost(self, reason: str) -> None:
        with self._changed:
            self._closed_reason = self._closed_reason or reason
            self._changed.notify_all()

    # --- inside

    def _scene_info(self, added: wire.SceneAdded) -> SceneInfo:
        status = self._status.get(added.scene_id)
        if status is None:
            return SceneInfo(
                scene_id=added.scene_id,
                name=added.name,
                step_count=0,
                time=0.0,
                mode=PlaybackMode.PAUSED,
                n_envs=added.n_envs,
                held=False,
                owner=added.owner,
            )
        return SceneInfo(
            name=added.name,
            n_envs=added.n_envs,
            owner=added.owner,
            **msgspec.structs.asdict(status),
        )

    def _axis(self, scene_id: int) -> int:
        with self._changed:
            status = self._status.get(scene_id)
            return status.axis if status is not None else 0

    def _raise_if_closed(self) -> None:
        if self._closed_reason:
            raise ConnectionLost(f"the connection has ended: {self._closed_reason}")

    last_note = ""
    """What the answer to the newest command has said besides: that a condition is true already."""

    def _done(self, kind: type[wire.Command], /, **fields: Any) -> wire.Done:
        self._raise_if_closed()
        try:
            answer = with_typed_texts(self._call(self._request(kind, fields)))
        except CommandError as error:
            raise type(error)(typed_numbers(str(error))) from error
        except InvalidMessage as error:
            raise CommandError(str(error)) from error
        if not isinstance(answer, wire.Done):
            raise CommandError(f"{kind.__name__} was answered by {type(answer).__name__}")
        self.last_note = answer.note
        return answer

    async def _request(self, kind: type[wire.Command], fields: dict[str, Any]) -> msgspec.Struct:
        return await self._connection.request(kind, **fields)

    def _call(self, coroutine: Any) -> Any:
        """Run a coroutine on the network thread and wait for it, for as long as the server lives.

        The server bounds every command's time itself and says where the owner is; only when it is
        silent altogether is there nobody left to wait for.
        """
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            coroutine.close()
            raise ConnectionLost(self._closed_reason or "this client is closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            while True:
                concurrent.futures.wait([future], timeout=1.0)
                if future.done():
                    return future.result()
                silence = self._connection.silence()
                if silence > _SERVER_SILENCE:
                    raise CommandTimeout(
                        f"the application has not answered anything for {silence:.0f} s: its "
                        f"process is stopped, or one call holds its interpreter"
                    )
        finally:
            future.cancel()  # no effect on one that is done
