"""A small application for the window's tests: hand-made pendulums behind a real debug server.

Run as ``python pendulum_process.py [--scenes N] [--name NAME] [--mode MODE] [--busy SECONDS]``.
It prints one line of JSON when clients can connect, steps while somebody is attached, and ends.
``--busy`` is in its own code that long between two steps, as slow scripts are.
"""

import argparse
import json
import math
import struct
import sys
import time
from collections.abc import Sequence

import numpy as np

from stroboscope.debugger_protocol.backend import Clock, SceneBackend, SignalSource, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect
from stroboscope.debugger_protocol.messages import EditField, PlaybackMode
from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    BodyInfo,
    CameraInfo,
    ChannelInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    SceneDescription,
    SensorInfo,
)
from stroboscope.debugger_protocol.topics import Topic

TIMESTEP = 0.002
LENGTH = 0.6


def _quat(angle: float) -> tuple[float, float, float, float]:
    return (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)


class PendulumSignals(SignalSource):
    """qpos and qvel of every step."""

    width = 2
    columns = {"qpos": slice(0, 1), "qvel": slice(1, 2)}  # noqa: RUF012 - the contract's name

    def __init__(self, pendulum: "Pendulum") -> None:
        self._pendulum = pendulum

    def before(self, row):
        row[0] = self._pendulum.angle
        row[1] = self._pendulum.speed

    def after(self, row):
        """Nothing is known only after the step."""


class Pendulum(SceneBackend):
    """One hinge, one rod, one bob; Euler steps of 2 ms."""

    def __init__(self, *, long_names: bool = False) -> None:
        self.angle, self.speed, self.torque = 0.9, 0.0, 0.0
        self.time, self.steps, self.total, self.axis = 0.0, 0, 0, 0
        self._before = TopicFrames({})
        prefix = "a_rather_long_robot_name/left_arm/" if long_names else ""
        self._name = lambda name: prefix + name

    def step(self) -> None:
        acceleration = -9.81 / LENGTH * math.sin(self.angle) + self.torque
        self.speed += TIMESTEP * acceleration
        self.angle += TIMESTEP * self.speed
        self.time += TIMESTEP
        self.steps += 1
        self.total += 1
        self.axis += 1

    def describe(self, scene_id: int, name: str) -> SceneDescription:
        n = self._name
        return SceneDescription(
            scene_id=scene_id,
            name=name,
            engine="hand made",
            source="pendulum_process.py",
            timestep=TIMESTEP,
            extent=1.0,
            center=(0.0, 0.0, 0.6),
            bodies=(
                BodyInfo(name="world", parent=0),
                BodyInfo(name=n("pendulum"), parent=0, mass=1.2, inertia=(0.01, 0.01, 0.002)),
            ),
            joints=(
                JointInfo(
                    name=n("pivot"),
                    body=1,
                    type=JointType.HINGE,
                    qpos=0,
                    dof=0,
                    axis=(0.0, 1.0, 0.0),
                    range=(-1.5, 1.5),
                    actfrcrange=(-40.0, 40.0),
                ),
            ),
            geoms=(
                GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(0.0, 0.0, 0.05)),
                GeomInfo(
                    name=n("rod"),
                    body=1,
                    type=GeomType.CAPSULE,
                    size=(0.03, LENGTH / 2, 0.0),
                    pos=(0.0, 0.0, -LENGTH / 2),
                    rgba=(0.8, 0.8, 0.85, 1.0),
                ),
                GeomInfo(
                    name=n("bob"),
                    body=1,
                    type=GeomType.SPHERE,
                    size=(0.1, 0.0, 0.0),
                    pos=(0.0, 0.0, -LENGTH),
                    rgba=(0.95, 0.55, 0.2, 1.0),
                ),
            ),
            actuators=(
                ActuatorInfo(
                    name=n("motor"),
                    kind="motor",
                    joint=0,
                    target=n("pivot"),
                    ctrlrange=(-5.0, 5.0),
                    forcerange=(-40.0, 40.0),
                    ctrl_unit="N·m",
                    force_unit="N·m",
                ),
            ),
            sensors=(
                SensorInfo(name=n("height"), kind="framepos", adr=0, dim=1, object="bob", unit="m"),
            ),
            cameras=(CameraInfo(name="side", body=0, pos=(0, -3, 1), quat=(0.707, 0.707, 0, 0)),),
            channels=(
                ChannelInfo(name="qpos", names=(n("pivot"),), unit="rad"),
                ChannelInfo(name="qvel", names=(n("pivot"),), unit="rad/s"),
            ),
        )

    def clock(self) -> Clock:
        return Clock(self.time, self.steps, self.steps, self.total, self.axis)

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        torque = np.array([self.torque])
        zero = np.zeros(1)
        values = {
            Topic.POSE: {
                "xpos": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
                "xquat": np.array([[1.0, 0.0, 0.0, 0.0], _quat(self.angle)]),
            },
            Topic.STATE: {
                "qpos": np.array([self.angle]),
                "qvel": np.array([self.speed]),
                "act": np.zeros(0),
                "ctrl": torque,
                "qacc": np.array([-9.81 / LENGTH * math.sin(self.angle) + self.torque]),
                "qfrc_actuator": torque,
                "qfrc_passive": zero,
                "qfrc_constraint": zero,
                "qfrc_applied": zero,
                "actuator_force": torque,
                "actuator_length": np.array([self.angle]),
                "actuator_velocity": np.array([self.speed]),
                "body_velocity": np.array([[0.0] * 6, [0.0] * 4 + [self.speed, 0.0]]),
            },
            Topic.SENSORS: {"sensordata": np.array([1.0 - LENGTH * math.cos(self.angle)])},
            Topic.CONTACTS: {
                "pos": np.array([[0.0, 0.0, 0.0]]),
                "frame": np.eye(3)[[2, 0, 1]][None],
                "dist": np.array([-0.001]),
                "force": np.zeros((1, 6)),
                "geom": np.array([[0, 2]], np.int32),
            },
        }
        return TopicFrames({topic: values[topic] for topic in topics if topic in values})

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        self._before = self.frame_now(topics)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        return self._before

    def signal_source(self, channels: Sequence[str]) -> SignalSource:
        return PendulumSignals(self)

    def capture_initial(self) -> bytes:
        return struct.pack("<4dq", self.angle, self.speed, self.torque, self.time, self.steps)

    def restore_initial(self, state: bytes) -> None:
        self.angle, self.speed, self.torque, self.time, self.steps = struct.unpack("<4dq", state)

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        if index != 0 or len(values) != 1 or not math.isfinite(values[0]):
            raise CommandError(f"{field} has one finite element; not changed")
        if field is EditField.QPOS:
            self.angle = values[0]
        elif field is EditField.QVEL:
            self.speed = values[0]
        elif field is EditField.CTRL:
            self.torque = values[0]
        else:
            raise CommandError(f"a pendulum has no {field}")

    def state_values(self, field: EditField, index: int, count: int) -> tuple[float, ...]:
        held = {
            EditField.QPOS: self.angle,
            EditField.QVEL: self.speed,
            EditField.CTRL: self.torque,
        }
        if field not in held:
            raise CommandError(f"a pendulum has no {field}")
        return (held[field],)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenes", type=int, default=1)
    parser.add_argument("--name", default="Pendulum")
    parser.add_argument("--mode", default="paused")
    parser.add_argument("--busy", type=float, default=0.0)
    parser.add_argument("--script", default=sys.argv[0])
    parser.add_argument("--long-names", action="store_true")
    parser.add_argument("--steps", type=int, default=0, help="end by itself after so many")
    parser.add_argument("--hold-at", type=int, default=0, help="stop itself at this step")
    options = parser.parse_args()
    host = Host()
    server = DebugServer(
        host, script=options.script, engine="hand made", on_disconnect=OnDisconnect.CONTINUE
    )
    pendulums = [Pendulum(long_names=options.long_names) for _ in range(options.scenes)]
    links = [host.open_scene(options.name, pendulum) for pendulum in pendulums]
    server.start(mode=PlaybackMode(options.mode))
    sys.stdout.write(json.dumps({"file": str(server.connection_file)}) + "\n")
    sys.stdout.flush()
    if not server.wait_for_client(60.0):
        return 3
    while server.has_connection() and not (options.steps and pendulums[0].steps >= options.steps):
        for link, pendulum in zip(links, pendulums, strict=True):
            link.begin_step()
            if link.gate():
                pendulum.step()
                link.after_physics()
            link.end_step()
            if pendulum.steps == options.hold_at > 0:
                link.park("reward fell", "train.py:118")
            if pendulum.steps % 10 == 0:
                link.log("reward", -abs(pendulum.angle))
        if options.busy:
            time.sleep(options.busy)
    sys.stdout.write("detached\n")
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
