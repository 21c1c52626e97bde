"""An application with a past for the window's tests: an oscillator that remembers every step.

Run as ``python remembering_process.py [--nstep N] [--episode N] [--mode MODE]``. It prints one line
of JSON when clients can connect, steps while somebody is attached, and ends. ``--episode`` resets
the scene after so many steps; ``--registered``: its script has registered state of its own.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "debugger_protocol" / "host"))

from remembering import GuardedScene, Memory

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_machine import HistoryState
from stroboscope.debugger_protocol.time_messages import SegmentKind


class RegisteredMemory(Memory):
    """What is remembered of a scene whose script goes back with it."""

    def history(self) -> HistoryState:
        return dataclasses.replace(super().history(), script_state=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nstep", type=int, default=1)
    parser.add_argument("--episode", type=int, default=0)
    parser.add_argument("--mode", default="paused")
    parser.add_argument("--script", default=sys.argv[0])
    parser.add_argument("--registered", action="store_true")
    options = parser.parse_args()
    host = Host()
    server = DebugServer(
        host, script=options.script, engine="oscillator", on_disconnect=OnDisconnect.CONTINUE
    )
    scene = GuardedScene(host, nstep=options.nstep)
    if options.registered:
        scene.backend.memory = RegisteredMemory(scene.backend)
    server.start(mode=PlaybackMode(options.mode))
    sys.stdout.write(json.dumps({"file": str(server.connection_file)}) + "\n")
    sys.stdout.flush()
    if not server.wait_for_client(60.0):
        return 3
    backend = scene.backend
    while server.has_connection():
        scene.step()
        if options.episode and backend.step_count >= options.episode:
            backend.q, backend.v, backend.time = 1.0, 0.0, 0.0
            backend.step_count = backend.physics_step_count = 0
            backend.memory.begin_segment(SegmentKind.EPISODE, episode=1)
            scene.link.state_replaced("the script reset the scene")
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
