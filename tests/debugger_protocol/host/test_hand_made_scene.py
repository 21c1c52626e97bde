"""The example of a scene of another kind, run as a user does, without MuJoCo."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.topics import Instant, Topic

WITHOUT_MUJOCO = """
import sys
sys.modules["mujoco"] = None
from stroboscope.resources.examples.hand_made_scene import main
main(launch=False)
"""


def test_the_hand_made_scene_is_looked_at_paused_stepped_and_plotted(
    runtime_directory: Path,
    wait_until: Callable[..., None],
    frames_until: Callable[..., list[Frame]],
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WITHOUT_MUJOCO],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(lambda: list_sessions(runtime_directory))
        with DebuggerClient.connect() as client:
            assert client.wait_until(lambda c: bool(c.scenes()), 60)
            client.subscribe(1, [Topic.POSE])
            description = client.description(1)
            assert [body.name for body in description.bodies] == ["world", "post", "rod"]
            client.step(1, 3)
            assert client.scenes()[0].step_count == 3
            client.subscribe(1, [Topic.SIGNALS], ["energy"])

            def is_shown(frames: list[Frame]) -> bool:
                poses = [f for f in frames if f.topic is Topic.POSE and f.instant is Instant.NOW]
                return any(f.axis == 3 and f.arrays["xquat"].shape == (3, 4) for f in poses)

            def is_plotted(frames: list[Frame]) -> bool:
                energy = [f.arrays["energy"] for f in frames if f.topic is Topic.SIGNALS]
                return sum(len(rows) for rows in energy) >= 2

            frames_until(client, lambda frames: is_shown(frames) and is_plotted(frames))
            client.fast_forward()
            output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        assert "after 4000 steps" in output
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
