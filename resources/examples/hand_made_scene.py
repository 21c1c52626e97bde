"""A scene of another kind: a pendulum in plain Python, shown with the protocol alone.

No MuJoCo and no engine: a backend says what the scene looks like and where it stands, and a loop
calls its link around every step. That is all it takes to be looked at, paused and stepped.

    stroboscope demo hand-made-scene
"""

import math
import subprocess
import sys

import numpy as np

from stroboscope.debugger_protocol import scene_description as scene
from stroboscope.debugger_protocol.backend import Clock, SceneBackend, TopicFrames
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.topics import Topic

TIMESTEP, LENGTH, STEPS = 0.005, 0.5, 4000
ROD, BAR = scene.GeomType.CAPSULE, (0.9, 0.4, 0.1, 1.0)


class Pendulum(SceneBackend):
    """A post, and a rod that swings beside its top."""

    def __init__(self) -> None:
        self.angle, self.velocity, self.steps = 2.5, 0.0, 0

    def describe(self, scene_id: int, name: str) -> scene.SceneDescription:
        """Say what there is: two bodies, a geom on each, a joint."""
        post = scene.GeomInfo(name="post", body=1, type=ROD, size=(0.03, 0.5, 0))
        rod = scene.GeomInfo(
            name="rod", body=2, type=ROD, size=(0.02, LENGTH / 2, 0), pos=(0, -0.1, -0.25), rgba=BAR
        )
        swing = scene.JointInfo(
            name="swing", body=2, type=scene.JointType.HINGE, qpos=0, dof=0, axis=(0, 1, 0)
        )
        bodies = tuple(scene.BodyInfo(name=body, parent=0) for body in ("world", "post", "rod"))
        return scene.SceneDescription(
            scene_id=scene_id, name=name, bodies=bodies, geoms=(post, rod), joints=(swing,)
        )

    def clock(self) -> Clock:
        """Say where the scene stands."""
        n = self.steps
        return Clock(time=n * TIMESTEP, step_count=n, physics_step_count=n, total_steps=n, axis=n)

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Show the state: poses (quaternions are wxyz), position and velocity of the joint."""
        turn = [math.cos(self.angle / 2), 0, math.sin(self.angle / 2), 0]
        xpos = np.array([[0, 0, 0], [0, 0, 0.5], [0, 0, 1]], dtype=float)
        xquat = np.array([[1, 0, 0, 0], [1, 0, 0, 0], turn], dtype=float)
        state = {"qpos": np.array([self.angle]), "qvel": np.array([self.velocity])}
        known = {Topic.POSE: {"xpos": xpos, "xquat": xquat}, Topic.STATE: state}
        return TopicFrames({topic: known[topic] for topic in topics if topic in known})

    def physics(self) -> None:
        """Let TIMESTEP seconds pass."""
        self.velocity -= TIMESTEP * (9.81 / LENGTH * math.sin(self.angle) + 0.1 * self.velocity)
        self.angle += TIMESTEP * self.velocity
        self.steps += 1

    def energy(self) -> float:
        """Return potential and kinetic energy per mass [J/kg]."""
        return (LENGTH * self.velocity) ** 2 / 2 - 9.81 * LENGTH * math.cos(self.angle)


def main(*, launch: bool = True) -> None:
    """Swing for STEPS steps while a debugger is attached."""
    host, pendulum = Host(), Pendulum()
    link = host.open_scene("Hand-made pendulum", pendulum)
    server = DebugServer(host, script="hand_made_scene.py", engine="plain Python")
    server.start()
    if launch:
        window = [sys.executable, "-m", "stroboscope.app.main.cli", "--session", server.session_id]
        subprocess.Popen(window)
    if not server.wait_for_client(60.0):
        raise SystemExit("No debugger came within 60 s.")
    while server.has_connection() and pendulum.steps < STEPS:
        link.begin_step()
        if link.gate():  # waits here while paused
            pendulum.physics()
            link.after_physics()
            link.end_step()
        link.log("energy", pendulum.energy())
    print(f"The pendulum ended at {pendulum.angle:.3f} rad after {pendulum.steps} steps.")
    server.stop()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
