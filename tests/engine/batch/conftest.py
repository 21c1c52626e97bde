"""Batched scenes that a thread of their own steps, with a client that has paused them."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode

DEADLINE_S = 30.0
MakeFlock = Callable[..., "Flock"]


class Flock:
    """A scene of ``count`` environments; ``before`` runs in the script before every step.

    ``rows``: by axis, all rows before each physics step, as the script has seen them.
    """

    def __init__(self, host: Host, model: str, count: int, max_bytes: int | None) -> None:
        self.before: Callable[[physics.BatchScene], None] = lambda scene: None
        self.error: BaseException | None = None
        self.rows: dict[int, NDArray[np.float64]] = {}
        self.over = False
        self.scene: Any = None
        self._host = host
        self._made = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(model, count, max_bytes))
        self._thread.start()
        assert self._made.wait(60)
        assert self.error is None, self.error

    def _run(self, model: str, count: int, max_bytes: int | None) -> None:
        try:
            self.scene = scene = physics.create_scene("flock", model, n_envs=count)
            if max_bytes is not None:
                scene.keep_history(False, max_bytes=max_bytes)
            scene.qvel[:] = np.random.default_rng(count).normal(size=scene.qvel.shape)
            self._made.set()
            while not self.over:
                scene.ctrl[:, 0] = np.sin(10 * scene.time + np.arange(count))
                self.before(scene)
                self.rows[scene.counters.axis] = scene.environments.state.copy()
                scene.step()
        except physics.SceneDestroyedError:
            return
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error
        finally:
            self._made.set()

    @property
    def id(self) -> int:
        return int(self.scene.link.scene_id)

    def state(self) -> NDArray[np.float64]:
        """All rows as they stand, while the scene is parked."""
        state: NDArray[np.float64] = self.scene.environments.state.copy()
        return state

    def end(self) -> None:
        self.over = True
        self._host.detach("the test is over")
        self._thread.join(30)
        assert self.error is None, self.error


@pytest.fixture
def flock(host: Host) -> Iterator[Callable[..., tuple[DebuggerClient, Flock]]]:
    """``flock(model, count, max_bytes=None)``: a paused scene and the client that controls it."""
    with contextlib.ExitStack() as stack:

        def make(
            model: str, count: int, *, max_bytes: int | None = None
        ) -> tuple[DebuggerClient, Flock]:
            host.attach(PlaybackMode.PAUSED)
            made = Flock(host, model, count, max_bytes)
            server = DebugServer(host)
            server.start()
            stack.callback(made.end)
            stack.callback(server.stop)
            client = stack.enter_context(DebuggerClient.connect(server.connection_file))
            stack.callback(lambda: setattr(made, "over", True))
            client.pause()
            assert client.wait_until(
                lambda c: [s.activity for s in c.scenes()] == [OwnerActivity.PARKED], DEADLINE_S
            )
            return client, made

        yield make
