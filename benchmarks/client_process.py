"""A client in a process of its own: it connects, does one thing, says so, and stays.

    python client_process.py pause|pause_until_asked|fast_forward|watch|fast_forward_and_watch

``watch`` subscribes to four topics of the first scene and controls nothing;
``fast_forward_and_watch`` is both in one, as a window is.
``pause_until_asked`` closes its connection when it is sent a line, and says when that was.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import ConnectionLost, NoSessionError
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["ClientProcess"]

DEADLINE = 30.0


class ClientProcess:
    """The client, seen from the benchmark."""

    def __init__(self, what: str) -> None:
        """Start it; it connects to the session that is there within DEADLINE seconds."""
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_until_done(self) -> None:
        """Wait until it has done what it was started for."""
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "done\n":
            raise SystemExit("the client of this benchmark failed; what it said stands above")

    def close_session(self) -> float:
        """Let ``pause_until_asked`` close; return when it began to, on the monotonic clock [s]."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """Kill it, also when it is stopped or ended already."""
        self._process.kill()
        self._process.communicate()


def connect() -> DebuggerClient:
    """Connect to the one session of the runtime directory as soon as it is there."""
    end = time.monotonic() + DEADLINE
    while True:
        try:
            return DebuggerClient.connect()
        except (NoSessionError, ConnectionLost):
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def main(what: str) -> None:
    """Be that process."""
    client = connect()
    if what == "fast_forward_and_watch":
        client.fast_forward()
    if what.endswith("watch"):
        scene = client.scenes()[0].scene_id
        topics = (Topic.POSE, Topic.STATE, Topic.CONTACTS, Topic.SENSORS)
        client.subscribe(scene, topics)
    elif what.startswith("pause"):
        client.pause()
    else:
        client.fast_forward()
    print("done", flush=True)
    if what == "pause_until_asked":
        sys.stdin.readline()
        print(time.monotonic(), flush=True)
        client.close()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
