"""Row 12: 64 owner threads of one application, all of which a client looks at and moves.

The application is a process of its own; what is measured is what its client sees: how many scenes
send frames while all of them run, how long it takes until all stand, and one step, one look at the
state and one look into the past of each, which all must answer.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import Measured, Row, Settings, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import NoSessionError
from stroboscope.debugger_protocol.messages import OwnerActivity
from stroboscope.debugger_protocol.topics import Topic

_SCENES = 64
_DEADLINE_S = 60.0


def _application() -> None:
    """Step 64 humanoids, each on a thread of its own, until nobody is attached."""
    begun = threading.Barrier(_SCENES + 1)

    def own(number: int) -> None:
        scene = physics.create_scene(f"humanoid {number}", humanoid_path())
        begun.wait()
        begun.wait()
        while physics.debugger.is_attached():
            scene.step()

    threads = [threading.Thread(target=own, args=(k,)) for k in range(_SCENES)]
    physics.initialize()
    for thread in threads:
        thread.start()
    begun.wait()
    physics.debugger.attach(timeout_seconds=_DEADLINE_S, launch=False)
    begun.wait()
    for thread in threads:
        thread.join()


def _connected() -> DebuggerClient:
    end = time.monotonic() + _DEADLINE_S
    while True:
        try:
            return DebuggerClient.connect()
        except NoSessionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)  # the application imports what it needs


def _rates(client: DebuggerClient, ids: list[int], seconds: float) -> list[float]:
    """Return how many frames a second came of each scene."""
    counts = dict.fromkeys(ids, 0)
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        frame = client.next_frame(_DEADLINE_S)
        if frame is None:
            raise SystemExit("no frame came: see what the application said above")
        counts[frame.scene_id] += 1
    taken = time.perf_counter() - begin
    return [count / taken for count in counts.values()]


def _all_stand(client: DebuggerClient) -> bool:
    return all(scene.activity is OwnerActivity.PARKED for scene in client.scenes())


def measure(settings: Settings) -> list[Row]:
    """Let a client look at all scenes while they run, stop them, and move each."""
    folder = tempfile.mkdtemp()
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
    command = [sys.executable, str(Path(__file__).resolve()), "application"]
    application = subprocess.Popen(command, cwd=folder)
    with contextlib.ExitStack() as ends:
        ends.callback(application.wait)
        ends.callback(application.kill)
        client = ends.enter_context(_connected())
        if not client.wait_until(lambda c: len(c.scenes()) == _SCENES, _DEADLINE_S):
            raise SystemExit(f"{len(client.scenes())} of {_SCENES} scenes came")
        ids = [scene.scene_id for scene in client.scenes()]
        for scene_id in ids:
            client.subscribe(scene_id, [Topic.POSE])
        stops: list[float] = []
        rates: list[float] = []
        for _ in range(settings.rounds):
            client.fast_forward()
            rates += _rates(client, ids, 0.3 if settings.quick else 2.0)
            begin = time.perf_counter()
            client.pause()
            if not client.wait_until(_all_stand, _DEADLINE_S):
                raise SystemExit("not all scenes stand after a pause")
            stops.append(1e3 * (time.perf_counter() - begin))
        steps, looks = [], []
        for scene_id in ids:
            begin = time.perf_counter()
            client.step(scene_id)
            steps.append(1e3 * (time.perf_counter() - begin))
            begin = time.perf_counter()
            client.step_back(scene_id, 10)
            looks.append(1e3 * (time.perf_counter() - begin))
    silent = sum(rate == 0.0 for rate in rates)
    note = f"{_SCENES} owner threads, humanoids, fast forward"
    return [
        Row(
            number="12",
            what="scenes at once that send frames while all of them run",
            measured=Measured.of([_SCENES - silent / settings.rounds]),
            unit="",
            target="64",
            reached=silent == 0,
            note=note,
        ),
        Row(number="12", what="frames of each", measured=Measured.of(rates), unit="/s"),
        Row(number="12", what="pause → all stand", measured=Measured.of(stops), unit="ms"),
        Row(number="12", what="a step of one of them", measured=Measured.of(steps), unit="ms"),
        Row(
            number="12",
            what="ten steps back in the past of one of them",
            measured=Measured.of(looks),
            unit="ms",
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["application"]:
        _application()
    else:
        run_alone(measure)
