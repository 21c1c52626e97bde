"""One checkpoint, two worker threads, two rollouts of the same kick.

A planner often asks: from this very state, what would each of these controls do? Here the main
thread captures one checkpoint of a scene that it never steps, and hands the bytes to two workers.
Each worker makes a scene of its own, restores the bytes into it and plays the same five-second
kick again and again, one at nominal and one at double speed, so that you can look at both.

In the window the source is selected first. Press Play: nothing seems to happen, because the source
stands still. Select "Rollout 1" or "Rollout 2" to see them move; both follow Play, Pause and Fast
forward, while Single step and Restore act on the selected scene only. Close the window to end.

    stroboscope demo cross-thread
"""

import sys
import threading
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Final

import stroboscope.engine as physics
from stroboscope.resources.examples.kicking_cart import KICK_DURATION, create_cart, kick_pose

__all__ = ["main"]

TIME_STEP: Final = 0.005
ROLLOUT_STEPS: Final = round(KICK_DURATION / TIME_STEP)
SPEEDS: Final = (1.0, 2.0)
# How often the main thread lets the debugger look at the source, which it never steps [s].
SERVE_INTERVAL: Final = 1 / 30


def capture_checkpoint(scene: physics.Scene) -> bytes:
    """Return the complete state of ``scene`` as bytes that any thread may hold."""
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    # A capture appends. Whoever reuses the buffer takes the part that the new capture added:
    start = len(buffer)
    scene.capture_state_to_bytes(buffer)
    return bytes(buffer)[start:]


def repeat_rollout(name: str, checkpoint: bytes, speed: float, stop: threading.Event) -> int:
    """Kick from ``checkpoint`` again and again until told to stop; return the rollouts finished.

    Runs on a worker thread, which owns the scene from its creation to its end.
    """
    scene, cart = create_cart(name)
    finished = 0
    try:
        scene.restore_state_from_bytes(checkpoint)
        while True:
            # Every rollout has the same number of steps: the fast one is done early and holds.
            for _ in range(ROLLOUT_STEPS):
                if stop.is_set() or not physics.debugger.is_attached():
                    return finished
                time = scene.get_total_simulation_time()
                cart.set_articulated_target_pose(pose=kick_pose(time, speed=speed))
                scene.step(TIME_STEP)
            finished += 1
            # Time is part of the state, so this starts the same kick over.
            scene.restore_state_from_bytes(checkpoint)
    finally:
        physics.destroy_scene(scene)


def serve_source(source: physics.Scene, workers: list[Future[int]]) -> None:
    """Keep the source inspectable until the window is closed or a worker has failed."""
    while physics.debugger.is_attached():
        source.update_debugger()
        done, _ = wait(workers, timeout=SERVE_INTERVAL, return_when=FIRST_EXCEPTION)
        if any(worker.exception() is not None for worker in done):
            return


def main(*, launch: bool = True) -> None:
    """Run the demo until the debugger goes; raises what a worker raised."""
    source, _ = create_cart("Source")
    checkpoint = capture_checkpoint(source)
    # No worker has started yet, so when nobody comes there is nothing to clean up but this scene.
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        physics.destroy_scene(source)
        raise SystemExit("No debugger came: see the log above for the reason.")

    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=len(SPEEDS)) as executor:
        workers = [
            executor.submit(repeat_rollout, f"Rollout {number}", checkpoint, speed, stop)
            for number, speed in enumerate(SPEEDS, start=1)
        ]
        try:
            serve_source(source, workers)
        finally:
            # Leaving the block joins the workers, and one of them may be parked in a paused
            # step(), which looks at no event. Stopping the server releases it.
            stop.set()
            physics.debugger.get_debug_server().stop()

    physics.destroy_scene(source)
    for number, worker in enumerate(workers, start=1):
        print(f"Rollout {number} was played to its end {worker.result()} times.")


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
