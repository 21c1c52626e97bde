"""A small real engine for the host's tests: damped oscillators, integrated exactly enough.

No mocks: the scene has a state that moves, is captured, restored and edited, in plain Python.
"""

import struct
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays, asset_bytes, asset_digest
from stroboscope.debugger_protocol.backend import Clock, SceneBackend, SignalSource, TopicFrames
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import EditField, OwnerActivity
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    ChannelInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    MeshInfo,
    SceneDescription,
)
from stroboscope.debugger_protocol.topics import Topic

TIMESTEP = 0.002
MESH = {
    "vertices": np.arange(120_000 * 3, dtype=np.float32).reshape(-1, 3),
    "faces": np.zeros((1, 3), dtype=np.int32),
}
_STATE = struct.Struct("<dddqq")


class Oscillator(SceneBackend):
    """A mass on a damped spring; also the engine that steps it."""

    def __init__(self, *, mesh: bool = False) -> None:
        self.q, self.v, self.time = 1.0, 0.0, 0.0
        self.ctrl = 0.0
        self.acceleration = 0.0
        self.step_count = self.physics_step_count = self.total_steps = self.axis = 0
        self.events: list[str] = []
        self.frames_taken = 0
        # How many numbers a STATE frame carries besides its own: large frames fill buffers soon.
        self.ballast = 0
        self.on_event: Callable[[str], None] = lambda event: None
        self.mesh = asset_bytes(MESH) if mesh else b""

    def physics(self) -> None:
        self.acceleration = self.ctrl - 40.0 * self.q - 0.1 * self.v
        self.v += TIMESTEP * self.acceleration
        self.q += TIMESTEP * self.v
        self.time += TIMESTEP
        self.physics_step_count += 1
        self.axis += 1

    def describe(self, scene_id: int, name: str) -> SceneDescription:
        meshes = ()
        if self.mesh:
            meshes = (MeshInfo(name="m", digest=asset_digest(self.mesh), nvert=120_000, nface=1),)
        return SceneDescription(
            scene_id=scene_id,
            name=name,
            engine="oscillator",
            timestep=TIMESTEP,
            meshes=meshes,
            bodies=(BodyInfo(name="world", parent=0), BodyInfo(name="mass", parent=0, mass=1.0)),
            geoms=(GeomInfo(name="ball", body=1, type=GeomType.SPHERE, size=(0.1, 0.0, 0.0)),),
            joints=(JointInfo(name="spring", body=1, type=JointType.SLIDE, qpos=0, dof=0),),
            channels=(ChannelInfo(name="qpos", width=1), ChannelInfo(name="qacc", width=1)),
        )

    def asset(self, digest: str) -> bytes | None:
        return self.mesh if self.mesh and digest == asset_digest(self.mesh) else None

    def clock(self) -> Clock:
        return Clock(
            time=self.time,
            step_count=self.step_count,
            physics_step_count=self.physics_step_count,
            total_steps=self.total_steps,
            axis=self.axis,
        )

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        self.frames_taken += 1
        arrays: dict[Topic, Arrays] = {}
        if Topic.POSE in topics:
            arrays[Topic.POSE] = {
                "xpos": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, self.q]]),
                "xquat": np.array([[1.0, 0, 0, 0]] * 2),
            }
        if Topic.STATE in topics:
            arrays[Topic.STATE] = {"qpos": np.array([self.q]), "qvel": np.array([self.v])}
            if self.ballast:
                arrays[Topic.STATE]["ballast"] = np.zeros(self.ballast)
        return TopicFrames(arrays)

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        self._before = self.frame_now(topics)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        return self._before

    def signal_source(self, channels: Sequence[str]) -> SignalSource:
        unknown = set(channels) - {"qpos", "qacc"}
        if unknown:
            raise CommandError(f"unknown channels: {sorted(unknown)}")
        return _Source(self, channels)

    def capture_initial(self) -> bytes:
        return _STATE.pack(self.q, self.v, self.time, self.step_count, self.physics_step_count)

    def restore_initial(self, state: bytes) -> None:
        self.q, self.v, self.time, self.step_count, self.physics_step_count = _STATE.unpack(state)

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        if field is not EditField.QPOS or index != 0 or len(values) != 1:
            raise CommandError("only qpos[0] can be edited")
        self.q = values[0]

    def state_values(self, field: EditField, index: int, count: int) -> tuple[float, ...]:
        if field is not EditField.QPOS or index != 0 or count != 1:
            raise CommandError("only qpos[0] can be edited")
        return (self.q,)

    def on_mode(self, event: str) -> None:
        self.events.append(event)
        self.on_event(event)


class _Source(SignalSource):
    def __init__(self, scene: Oscillator, channels: Sequence[str]) -> None:
        self.width = len(channels)
        self.columns: Mapping[str, slice] = {
            name: slice(i, i + 1) for i, name in enumerate(channels)
        }
        self._scene = scene
        self._channels = tuple(channels)

    def before(self, row: NDArray[np.float64]) -> None:
        for i, name in enumerate(self._channels):
            if name == "qpos":
                row[i] = self._scene.q

    def after(self, row: NDArray[np.float64]) -> None:
        for i, name in enumerate(self._channels):
            if name == "qacc":
                row[i] = self._scene.acceleration


class Scene:
    """What an engine makes of a link: counts steps and calls around every physics step."""

    def __init__(
        self, host: Host, name: str = "Oscillator", *, nstep: int = 1, follow: bool = True
    ) -> None:
        self.backend = Oscillator()
        self.nstep = nstep
        self.link = host.open_scene(name, self.backend, follow=follow)
        self.abandoned = 0
        self.loose_physics = 0
        """Physics steps of application steps that were not completed (yet)."""

    def step(self) -> None:
        link = self.link
        backend = self.backend
        if not link.active:
            for _ in range(self.nstep):
                backend.physics()
            backend.step_count += 1
            backend.total_steps += 1
            return
        link.begin_step()
        for _ in range(self.nstep):
            if not link.gate():
                self.abandoned += 1
                return
            backend.physics()
            self.loose_physics += 1
            link.after_physics()
        self.loose_physics -= self.nstep
        backend.step_count += 1
        backend.total_steps += 1
        link.end_step()


class Stepper:
    """An owner thread that makes scenes and steps them in turn until they are closed."""

    def __init__(
        self,
        host: Host,
        *names: str,
        nstep: int = 1,
        follow: bool = True,
        between: Callable[[], None] = lambda: None,
        max_steps: int | None = None,
    ) -> None:
        self.scenes: list[Scene] = []
        self.error: BaseException | None = None
        self._host = host
        self._names = names
        self._nstep = nstep
        self._follow = follow
        self._between = between
        self._max_steps = max_steps
        self._ready = threading.Event()
        self.stop_stepping = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"owner of {names}")
        self.thread.start()
        assert self._ready.wait(60)

    @property
    def scene(self) -> Scene:
        return self.scenes[0]

    def _run(self) -> None:
        try:
            for name in self._names:
                scene = Scene(self._host, name, nstep=self._nstep, follow=self._follow)
                self.scenes.append(scene)
            self._ready.set()
            steps = 0
            while not self.stop_stepping.is_set() and steps != self._max_steps:
                for scene in self.scenes:
                    scene.step()
                self._between()
                steps += 1
        except (SceneClosedError, ArithmeticError) as error:
            self.error = error
        finally:
            self._ready.set()

    def join(self) -> None:
        self.stop_stepping.set()
        self.thread.join(60)
        assert not self.thread.is_alive(), "the owner thread hangs"


def parked(client: DebuggerClient, scene_id: int = 1) -> bool:
    """Return whether a scene stands still in a step, as far as ``client`` was told."""
    return any(
        s.scene_id == scene_id and s.activity is OwnerActivity.PARKED for s in client.scenes()
    )
