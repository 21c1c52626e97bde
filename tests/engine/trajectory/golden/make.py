"""Writes real files of today's format, and what they hold: run once per format version.

    python tests/engine/trajectory/golden/make.py FOLDER

A run with a reset, a gain that the script writes, values and texts that it logs, state that it has
registered, a checkpoint, and a stop.
"""

import json
import sys
from pathlib import Path
from typing import Any

import stroboscope.engine as physics

__all__ = ["STEPS", "Counter", "contents", "write"]

MODEL = """
<mujoco model="golden">
  <option timestep=".005"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="arm" pos="0 0 .5"><joint name="shoulder" axis="0 1 0" damping=".1"/>
      <geom name="upper" type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <body name="hand" pos=".3 0 0"><joint name="elbow" axis="0 1 0" damping=".05"/>
        <geom name="lower" type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
        <site name="tip" pos=".3 0 0"/></body></body>
    <body name="ball" pos=".5 .3 .3"><freejoint name="free"/><geom size=".05"/></body>
  </worldbody>
  <actuator><position name="hold" joint="shoulder" kp="20"/><motor name="push" joint="elbow"/>
  </actuator>
  <sensor><framepos objtype="site" objname="tip"/><jointvel joint="elbow"/></sensor>
</mujoco>
"""
MODES = ("exact", "minimal")
STEPS = 30


class Counter:
    """State of a script's own: what it has counted."""

    def __init__(self) -> None:
        self.count = 0


def write(folder: Path) -> None:
    """Write the recordings, a saved history, a checkpoint and a scene, and what they hold."""
    for mode in MODES:
        record(folder, mode)
    written = {path.name: contents(path) for path in sorted(folder.glob("*.mcap"))}
    text = json.dumps(written, sort_keys=True, separators=(",", ":"))
    (folder / "contents.json").write_text(text + "\n", encoding="utf-8")


def record(folder: Path, mode: str) -> None:
    """Write a recording of that mode; beside the exact one the other kinds of files."""
    scene, counter = physics.create_scene("golden", MODEL), Counter()
    scene.register_state(
        "count", lambda: counter.count, lambda count: setattr(counter, "count", count)
    )
    scene.keep_history(True)
    scene.start_recording(physics.TrajectoryFile(folder / f"run_{mode}.mcap", mode=mode))
    for step in range(STEPS):
        if step == STEPS // 3:
            scene.model.actuator_gainprm[0, 0] = 30.0
        if step == 2 * STEPS // 3:
            scene.reset()
        counter.count += 1
        scene.ctrl[:] = (0.3 - 0.01 * step, 0.02 * (step % 7))
        scene.log("reward", -abs(float(scene.qpos[0])))
        scene.step()
    scene.stop_recording()
    if mode == "exact":
        scene.save_history(folder / "history.mcap")
        scene.save_checkpoint(folder / "checkpoint.mcap")
        scene.save_checkpoint(folder / "state.mcap", with_scene=False)
        scene.export(folder / "scene.strobe")
    scene.destroy()


def contents(path: Path) -> dict[str, Any]:
    """Return what a file says, numbers to the last bit."""
    with physics.load_trajectory(path) as trajectory:
        frames = [trajectory.frame(index) for index in range(len(trajectory))]
        return {
            "complete": trajectory.complete,
            "events": [[each.kind, each.axis, each.episode] for each in trajectory.events],
            "episodes": [frame.episode for frame in frames],
            "axes": [frame.axis for frame in frames],
            "times": [frame.time.hex() for frame in frames],
            "notes": [frame.note for frame in frames],
            "qpos": [[value.hex() for value in frame["qpos"].tolist()] for frame in frames],
            "ctrl": [[value.hex() for value in frame["ctrl"].tolist()] for frame in frames],
            "signals": {
                name: [value.hex() for value in signal.values.reshape(-1).tolist()]
                for name, signal in trajectory.signals.items()
            },
        }


if __name__ == "__main__":
    write(Path(sys.argv[1]))
