"""The other side of genesis_files.py: Genesis, in the Python that has it, doing what it is told.

    genesis_process.py ARM.XML FOLDER

Prints its version, then answers each line that it reads with a line of JSON: ``step NAME COUNT``
takes steps of the scene that is recorded so (``plain``: not at all), ``stop`` ends the recordings,
``open NAME`` opens a file into the scene that is there, ``seek NAME COUNT`` goes to frames at
random.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import genesis as gs
import numpy as np
from genesis.recorders.trajectory import Trajectory

_HELD = 250
_MODES = ("exact", "minimal")


class Arms:
    """The same arm thrice: not recorded, and recorded in both of Genesis' modes."""

    def __init__(self, model: str, folder: Path) -> None:
        self._folder = folder
        self._random = np.random.default_rng(0)
        self._scenes: dict[str, Any] = {}
        self._robots: dict[str, Any] = {}
        self._steps: dict[str, int] = {}
        for name in ("plain", *_MODES):
            scene = gs.Scene(show_viewer=False, sim_options=gs.options.SimOptions(dt=0.002))
            self._robots[name] = scene.add_entity(gs.morphs.MJCF(file=model))
            if name != "plain":
                scene.start_recording(
                    gs.recorders.TrajectoryFile(filename=str(self._file(name)), mode=name)
                )
            scene.build()
            self._scenes[name] = scene
            self._steps[name] = 0

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.gstraj"

    def step(self, name: str, count: str) -> dict[str, float]:
        """Take steps; return the seconds, by this thread's processor time and by the clock."""
        scene, robot = self._scenes[name], self._robots[name]
        used, begin = time.thread_time(), time.perf_counter()
        for _ in range(int(count)):
            if not self._steps[name] % _HELD:
                robot.control_dofs_position(self._random.uniform(-1, 1, robot.n_dofs))
            scene.step()
            self._steps[name] += 1
        return {"used": time.thread_time() - used, "took": time.perf_counter() - begin}

    def stop(self) -> dict[str, float]:
        """End the recordings; return the bytes of each file, and how many frames are in it."""
        found: dict[str, float] = {}
        for name in _MODES:
            self._scenes[name].stop_recording()
            found[name] = self._file(name).stat().st_size
            found[f"{name} frames"] = self._steps[name] + 1
        return found

    def open(self, name: str) -> dict[str, float]:
        """Open a file into the scene that it is of, which is built; return the seconds."""
        begin = time.perf_counter()
        Trajectory(str(self._file(name)), self._scenes[name])
        return {"took": time.perf_counter() - begin}

    def seek(self, name: str, count: str) -> dict[str, float]:
        """Go to frames at random; return the median of the seconds."""
        trajectory = Trajectory(str(self._file(name)), self._scenes[name])
        times = []
        for frame in self._random.integers(0, len(trajectory), int(count)).tolist():
            begin = time.perf_counter()
            trajectory.seek(frame)
            times.append(time.perf_counter() - begin)
        return {"took": float(np.median(times))}


def main() -> None:
    """Answer lines until there are no more."""
    # What Genesis prints is no answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    model, folder = sys.argv[1:]
    gs.init(backend=gs.cpu, logging_level="error", precision="64")
    arms = Arms(model, Path(folder))
    answers.write(json.dumps({"version": gs.__version__}) + "\n")
    for line in sys.stdin:
        what, *rest = line.split()
        answers.write(json.dumps(getattr(arms, what)(*rest)) + "\n")


if __name__ == "__main__":
    main()
