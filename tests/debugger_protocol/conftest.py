"""A real server made of the protocol package's own parts, with no engine behind it."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.arrays import asset_bytes, asset_digest, pack_arrays
from stroboscope.debugger_protocol.connection_file import ConnectionFile
from stroboscope.debugger_protocol.handshake import make_secret
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.server_connection import Listener, ServerConnection
from stroboscope.debugger_protocol.sessions import debugger_dialect
from stroboscope.debugger_protocol.topics import Instant, Topic


class SmallServer:
    """One paused scene, answered by the rules; everything that arrives is kept in ``received``."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.secret = make_secret()
        self.received: list[Any] = []
        self.left: list[tuple[int, str]] = []
        self.joined: list[int] = []
        self.unanswered: set[type] = set()
        self.asset = asset_bytes({"vertices": np.arange(900_000, dtype=np.float32)})
        self.steps = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="stroboscope-small-server")
        self.session = m.SessionInfo(session_id="small", pid=1, script="small.py")
        self.thread.start()
        self.call(self._start)
        self.file = ConnectionFile.write(
            port=self.listener.port, secret=self.secret, session_id="small", script="small.py"
        )

    async def _start(self) -> None:
        self.listener = Listener(
            debugger_dialect(self.limits),
            self,
            secret=self.secret,
            session=self.session,
            limits=self.limits,
        )
        await self.listener.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        async def run() -> Any:
            result = function(*args)
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(60)

    def stop(self, reason: str = "the small server stops") -> None:
        if self.thread.is_alive():
            self.call(self.listener.stop, reason)
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
        self.file.remove()

    # --- ClientHandler

    def client_joined(self, client: ServerConnection) -> None:
        self.joined.append(client.client_id)
        client.send_snapshot(
            [m.SceneAdded(scene_id=1, name="Arm"), self.scene_status(), self.session_status()]
        )

    def client_left(self, client: ServerConnection, reason: str) -> None:
        self.left.append((client.client_id, reason))

    def client_message(self, client: ServerConnection, message: Any) -> None:
        self.received.append(message)
        if type(message) in self.unanswered:
            return
        answer = getattr(self, f"_on_{type(message).__name__.lower()}", None)
        if answer is not None:
            answer(client, message)
        else:
            client.send(m.Done(id=message.id))

    def _on_step(self, client: ServerConnection, message: m.Step) -> None:
        if message.scene_id != 1:
            reason = f"there is no scene {message.scene_id}; scenes are 1"
            client.send(m.Failed(id=message.id, kind=m.FailureKind.REFUSED, reason=reason))
            return
        self.steps += message.count
        client.send(self.scene_status())
        client.send(self.frame(self.steps))
        client.send(m.Done(id=message.id))

    def _on_physicsstep(self, client: ServerConnection, message: m.PhysicsStep) -> None:
        where = "the owner is busy in your code: train.py:118"
        client.send(m.Failed(id=message.id, kind=m.FailureKind.TIMEOUT, reason=where))

    def _on_subscribe(self, client: ServerConnection, message: m.Subscribe) -> None:
        description = SceneDescription(scene_id=message.scene_id, name="Arm", revision=1)
        client.send(m.SceneDescribed(description=description))
        client.send(m.Done(id=message.id))

    def _on_assetrequest(self, client: ServerConnection, message: m.AssetRequest) -> None:
        if message.digest != asset_digest(self.asset):
            failed = m.Failed(id=message.id, kind=m.FailureKind.REFUSED, reason="no such asset")
            client.send(failed)
            return
        end = message.offset + self.limits.asset_chunk_bytes
        chunk = m.AssetChunk(
            id=message.id,
            digest=message.digest,
            offset=message.offset,
            total=len(self.asset),
            data=self.asset[message.offset : end],
        )
        client.send(chunk)

    # --- what it has to say

    def scene_status(self) -> m.SceneStatus:
        return m.SceneStatus(
            scene_id=1,
            mode=m.PlaybackMode.PAUSED,
            held=False,
            hold_reason="",
            step_count=self.steps,
            physics_step_count=self.steps,
            total_steps=self.steps,
            axis=self.steps,
            time=0.002 * self.steps,
            rtf=None,
            throttled=False,
            activity=m.OwnerActivity.PARKED,
            activity_s=0.5,
            location="train.py:7",
        )

    def session_status(self) -> m.SessionStatus:
        return m.SessionStatus(mode=m.PlaybackMode.PAUSED, speed=1.0, controller=1, clients=1)

    def frame(self, step: int, *, topic: Topic = Topic.POSE, rows: int = 1, size: int = 3) -> Any:
        if topic is Topic.SIGNALS:
            arrays = {
                "axis": np.arange(step, step + rows),
                "time": np.arange(step, step + rows) * 0.002,
                "qpos": np.zeros((rows, size)),
            }
        else:
            arrays = {"xpos": np.full((size, 3), float(step))}
        entries, blob = pack_arrays(arrays)
        return m.Frame(
            scene_id=1,
            topic=topic,
            instant=Instant.EXECUTED,
            revision=1,
            axis=step,
            step=step,
            time=0.002 * step,
            dropped=0,
            arrays=entries,
            blob=blob,
        )

    def broadcast(self, messages: list[msgspec.Struct]) -> None:
        def send() -> None:
            for message in messages:
                self.listener.broadcast(message)

        self.call(send)


def _frames_until(client: Any, enough: Callable[[list[Any]], object]) -> list[Any]:
    frames: list[Any] = []
    while not enough(frames):
        frame = client.next_frame(60)
        assert frame is not None, f"no more frames came after {frames[-3:]}"
        frames.append(frame)
    return frames


@pytest.fixture
def frames_until() -> Callable[..., list[Any]]:
    """``frames_until(client, lambda frames: …)``: read frames until there are those one wants."""
    return _frames_until


@pytest.fixture
def limits() -> Limits:
    """Override in a module to test other limits."""
    return Limits()


@pytest.fixture
def small_server(limits: Limits) -> Iterator[SmallServer]:
    """A server with one scene, listening on the loopback, its connection file written."""
    server = SmallServer(limits)
    yield server
    server.stop()
