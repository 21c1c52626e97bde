"""A scene of another kind: a pendulum in plain Python, shown with the protocol alone.

No MuJoCo and no engine: a backend says what the scene looks like and where it stands, and a loop
calls its link around every step. That is all it takes to be looked at, paused and stepped.

    stroboscope demo hand-made-scene
"""

import math
import subprocess
import sys
from typing import Final

import numpy as np

import stroboscope.debugger_protocol.scene_description as scene
from stroboscope.debugger_protocol.backend import Clock, SceneBackend, TopicFrames
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["main"]

TIMESTEP: Final = 0.005
LENGTH: Final = 0.5
DURATION: Final = 20.0


class Pendulum(SceneBackend):
    """A post, and a rod that swings about its top."""

    def __init__(self) -> None:
        self.angle, self.velocity, self.steps = 2.5, 0.0, 0

    def describe(self, scene_id: int, name: str) -> scene.SceneDescription:
        bodies = ("world", "post", "rod")
        capsule = scene.GeomType.CAPSULE
        return scene.SceneDescription(
            scene_id=scene_id,
            name=name,
            engine="plain Python",
            timestep=TIMESTEP,
            center=(0.0, 0.0, 0.7),
            bodies=tuple(scene.BodyInfo(name=body, parent=0) for body in bodies),
            geoms=(
                scene.GeomInfo(name="post", body=1, type=capsule, size=(0.03, 0.5, 0.0)),
                scene.GeomInfo(
                    name="rod",
                    body=2,
                    type=capsule,
                    size=(0.02, LENGTH / 2, 0.0),
                    pos=(0.0, -0.1, -LENGTH / 2),
                    rgba=(0.9, 0.4, 0.1, 1.0),
                ),
            ),
            joints=(
                scene.JointInfo(
                    name="swing",
                    body=2,
                    type=scene.JointType.HINGE,
                    qpos=0,
                    dof=0,
                    axis=(0.0, 1.0, 0.0),
                ),
            ),
        )

    def clock(self) -> Clock:
        n = self.steps
        return Clock(time=n * TIMESTEP, step_count=n, physics_step_count=n, total_steps=n, axis=n)

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        half = self.angle / 2
        pose = {
            "xpos": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 1.0]]),
            "xquat": np.array(
                [[1.0, 0, 0, 0], [1, 0, 0, 0], [math.cos(half), 0, math.sin(half), 0]]
            ),
        }
        state = {"qpos": np.array([self.angle]), "qvel": np.array([self.velocity])}
        known = {Topic.POSE: pose, Topic.STATE: state}
        return TopicFrames({topic: known[topic] for topic in topics if topic in known})

    def physics(self) -> None:
        self.velocity -= TIMESTEP * (9.81 / LENGTH * math.sin(self.angle) + 0.1 * self.velocity)
        self.angle += TIMESTEP * self.velocity
        self.steps += 1


def main(*, launch: bool = True) -> None:
    """Swing for DURATION seconds while a debugger is attached."""
    host, pendulum = Host(), Pendulum()
    link = host.open_scene("Hand-made pendulum", pendulum)
    server = DebugServer(host, script="hand_made_scene.py", engine="plain Python")
    server.start()
    if launch:
        command = [sys.executable, "-m", "stroboscope.app.main.cli", "--session"]
        subprocess.Popen([*command, server.session_id])
    if not server.wait_for_client(60.0):
        raise SystemExit("No debugger came within 60 s.")
    while server.has_connection() and pendulum.steps < DURATION / TIMESTEP:
        link.begin_step()
        if link.gate():  # parks here while paused
            pendulum.physics()
            link.after_physics()
            link.end_step()
        energy = (LENGTH * pendulum.velocity) ** 2 / 2 - 9.81 * LENGTH * math.cos(pendulum.angle)
        link.log("energy", energy)
    print(f"The pendulum ended at {pendulum.angle:.3f} rad after {pendulum.steps} steps.")
    server.stop()
    host.close()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
