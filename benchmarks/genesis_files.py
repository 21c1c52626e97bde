"""Rows 3, 5 and 6 beside Genesis, where it is installed: recording, bytes, opening, seeking.

The same arm of seven hinges in both, whose targets change twice a second. Each records every state
of it, exactly and minimally, and takes the same number of steps in turn with the other; then both
open their files into a scene that is there, and go to frames at random. Genesis runs in a process
of its own, as it brings a MuJoCo along, in this Python or in the one that ``GENESIS_PYTHON`` names.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from recording_cost import arm_xml

import stroboscope.engine as physics

_STEPS = 500
_SEEKS = 200
_HELD = 250
_MODES = ("exact", "minimal")
_MISSING = (
    "genesis_files: Genesis is not installed, nothing is measured beside it: pip install "
    "genesis-world, here or in another environment whose python GENESIS_PYTHON names"
)


class Genesis:
    """The process that runs it; a context manager."""

    def __init__(self, python: str, model: Path, folder: Path) -> None:
        command = [python, str(Path(__file__).with_name("genesis_process.py"))]
        self._process = subprocess.Popen(
            [*command, str(model), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.version = str(self._answer()["version"])

    def ask(self, line: str) -> Any:
        """Have it do something, and return what it says of that."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Genesis has ended with {self._process.wait()}: see what it said")
        return json.loads(line)

    def __enter__(self) -> "Genesis":
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait()


class Ours:
    """The same arm thrice: not recorded, and recorded in both modes."""

    def __init__(self, folder: Path) -> None:
        self._random = np.random.default_rng(0)
        self.files = {mode: folder / f"{mode}.mcap" for mode in _MODES}
        self._scenes, self._steps = {}, {}
        for name in ("plain", *_MODES):
            scene = self._scenes[name] = physics.create_scene(name, arm_xml())
            self._steps[name] = 0
            if name in self.files:
                scene.start_recording(physics.TrajectoryFile(self.files[name], mode=name))

    def step(self, name: str, count: int) -> dict[str, float]:
        """Take steps; return the seconds, by this thread's processor time and by the clock."""
        scene = self._scenes[name]
        used, begin = time.thread_time(), time.perf_counter()
        for _ in range(count):
            if not self._steps[name] % _HELD:
                scene.ctrl[:] = self._random.uniform(-1, 1, scene.model.nu)
            scene.step()
            self._steps[name] += 1
        return {"used": time.thread_time() - used, "took": time.perf_counter() - begin}

    def stop(self) -> dict[str, float]:
        """End the recordings; return the bytes of each file, and how many frames are in it."""
        found: dict[str, float] = {}
        for name in _MODES:
            self._scenes[name].stop_recording()
            found[name] = self.files[name].stat().st_size
            found[f"{name} frames"] = self._steps[name] + 1
        return found

    def open(self, name: str) -> dict[str, float]:
        """Open a file; return the seconds. The scene that it is of is not built."""
        begin = time.perf_counter()
        with physics.load_trajectory(self.files[name]):
            return {"took": time.perf_counter() - begin}

    def seek(self, name: str, count: int) -> dict[str, float]:
        """Go to frames at random with the scene in place; return the median of the seconds."""
        with physics.load_trajectory(self.files[name]) as trajectory:
            scene, times = trajectory.scene, []
            for frame in self._random.integers(0, len(trajectory), count).tolist():
                begin = time.perf_counter()
                trajectory.seek(frame)
                times.append(time.perf_counter() - begin)
        scene.destroy()
        return {"took": float(np.median(times))}


def measure(settings: Settings) -> list[Row]:
    """Record, open and seek with both in turn; nothing where Genesis is not installed."""
    python = os.environ.get("GENESIS_PYTHON", "")
    if not python and importlib.util.find_spec("genesis"):
        python = sys.executable
    if not python:
        print(_MISSING, file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)  # the engine may write MUJOCO_LOG.TXT
        folder = Path(made)
        model = folder / "arm.xml"
        model.write_text(arm_xml(), encoding="utf-8")
        with Genesis(python, model, folder) as genesis:
            rows = _rows(settings, genesis, Ours(folder))
        physics.shutdown()
        os.chdir("/")
    return rows


def _rows(settings: Settings, genesis: Genesis, ours: Ours) -> list[Row]:
    version = f"Genesis {genesis.version}"
    rows = _costs(settings, genesis, ours, version)
    sizes, theirs = ours.stop(), genesis.ask("stop")
    for mode in _MODES:
        frames = int(sizes[f"{mode} frames"])
        their_size = theirs[mode] / theirs[f"{mode} frames"]
        rows.append(
            Row(
                number="5",
                what=f"bytes per {mode} frame of {frames:,}, arm, all in",
                measured=Measured.of([sizes[mode] / frames]),
                unit="B",
                note=f"{version}: {their_size:,.0f} B",
            )
        )
    asked = {"open": "", "seek": f" {settings.scaled(_SEEKS)}"}
    for what, more in asked.items():
        for mode in _MODES:
            arms: dict[str, Callable[[], float]] = {
                "ours": lambda what=what, mode=mode: getattr(ours, what)(  # type: ignore[misc]
                    mode, *([settings.scaled(_SEEKS)] if what == "seek" else [])
                )["took"],
                "Genesis": lambda what=what, mode=mode, more=more: genesis.ask(  # type: ignore[misc]
                    f"{what} {mode}{more}"
                )["took"],
            }
            times = interleave(arms, rounds=settings.rounds)
            their_time = Measured.of(times["Genesis"]).median
            rows.append(
                Row(
                    number="6",
                    what=f"{_NAMES[what]}, {mode}, {int(sizes[f'{mode} frames']):,} frames, arm",
                    measured=Measured.of([1e3 * each for each in times["ours"]]),
                    unit="ms",
                    note=f"{version}: {1e3 * their_time:.1f} ms, "
                    f"{ratio(times['Genesis'], times['ours']).median:.0f} times that",
                )
            )
    return rows


_NAMES = {"open": "open, the scene aside", "seek": "random seek, p50"}


def _costs(settings: Settings, genesis: Genesis, ours: Ours, version: str) -> list[Row]:
    """Measure steps that are recorded and such that are not, each after the other."""
    steps = settings.scaled(_STEPS)
    taken: dict[tuple[str, str], list[dict[str, float]]] = {}

    def arm(whose: str, name: str) -> Callable[[], float]:
        def run() -> float:
            seconds = (
                ours.step(name, steps) if whose == "ours" else genesis.ask(f"step {name} {steps}")
            )
            taken.setdefault((whose, name), []).append(seconds)
            return float(seconds["took"])

        return run

    names = [(whose, name) for whose in ("ours", "Genesis") for name in ("plain", *_MODES)]
    interleave({" ".join(each): arm(*each) for each in names}, rounds=settings.rounds)

    def kept(whose: str, mode: str, clock: str) -> Measured:
        plain, recorded = (
            [each[clock] for each in taken[whose, name][-settings.rounds :]]
            for name in ("plain", mode)
        )
        return ratio(plain, recorded)

    rows = []
    for mode in _MODES:
        for clock, how in (
            ("used", "processor time of the stepping thread"),
            ("took", "the clock"),
        ):
            rows.append(
                Row(
                    number="3",
                    what=f"recording every state of an arm, {mode}, vs not: steps/s by {how}",
                    measured=kept("ours", mode, clock),
                    note=f"{version}: {kept('Genesis', mode, clock).median:.2f}; its step takes "
                    f"{1e6 * taken['Genesis', 'plain'][-1]['took'] / steps:,.0f} µs, ours "
                    f"{1e6 * taken['ours', 'plain'][-1]['took'] / steps:.1f}",
                )
            )
    return rows


if __name__ == "__main__":
    run_alone(measure)
