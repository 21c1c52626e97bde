"""A herd of oscillators as the environments of one scene, behind a real debug server.

Run as ``python herd_process.py``; it prints one line of JSON when clients can connect, steps while
somebody is attached, and ends. Environment 3 has failed.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "debugger_protocol" / "host"))

from oscillator import Oscillator
from remembering import GuardedScene, Memory, Remembering

from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect
from stroboscope.debugger_protocol.topics import Topic

COUNT = 100
FAILED = (3, 40)


class Herd(Memory):
    """Remembers the one that is selected; the others stand at other heights."""

    def __init__(self, scene: Remembering) -> None:
        super().__init__(scene)
        self.selected, self.shown = 0, (0,)

    def environment_count(self) -> int:
        return COUNT

    def select_environments(self, selected: int, shown: Sequence[int]) -> None:
        self.selected, self.shown = selected, tuple(shown)

    def failed_environments(self) -> tuple[int, ...]:
        return FAILED


class HerdBackend(Remembering):
    """An oscillator per environment: number n is n centimetres higher."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Herd(self)

    def height(self, number: int) -> float:
        return self.q + 0.01 * number

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        arrays = dict(super().frame_now(topics).arrays)
        herd = self.memory
        if Topic.POSE in topics:
            arrays[Topic.POSE]["xpos"][1, 2] = self.height(herd.selected)
        if Topic.ENVIRONMENTS in topics:
            heights = [[[0.0, 0.0, 0.0], [0.0, 0.0, self.height(n)]] for n in herd.shown]
            arrays[Topic.ENVIRONMENTS] = {
                "xpos": np.array(heights),
                "xquat": np.tile([1.0, 0.0, 0.0, 0.0], (len(herd.shown), 2, 1)),
                "time": np.full(len(herd.shown), self.time),
                "env": np.array(herd.shown, np.int32),
            }
        return TopicFrames(arrays)


class HerdScene(GuardedScene):
    """A scene of environments."""

    def __init__(self, host: Host) -> None:
        self.backend = HerdBackend()
        self.nstep = 1
        self.link = host.open_scene("Herd", self.backend, follow=True)


def main() -> int:
    assert issubclass(HerdBackend, Oscillator)
    host = Host()
    server = DebugServer(
        host, script=__file__, engine="oscillator", on_disconnect=OnDisconnect.CONTINUE
    )
    scene = HerdScene(host)
    server.start()
    sys.stdout.write(json.dumps({"file": str(server.connection_file)}) + "\n")
    sys.stdout.flush()
    if not server.wait_for_client(60.0):
        return 3
    try:
        while server.has_connection():
            scene.step()
    except SceneClosedError:
        pass
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
