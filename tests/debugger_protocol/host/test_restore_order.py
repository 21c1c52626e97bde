"""What clients hear of a restore, and of the rows around it."""

from collections.abc import Callable

import numpy as np
from oscillator import Stepper

from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import SceneRestored
from stroboscope.debugger_protocol.topics import Topic


def test_a_restore_is_told_before_the_rows_that_follow_it_and_no_row_is_lost(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    frames_until: Callable[..., list[Frame]],
) -> None:
    client = connect()
    own(host, "A")
    client.subscribe(1, [Topic.SIGNALS], channels=["qpos"])
    client.set_speed(4.0)
    client.play()
    boundaries = []
    for _ in range(20):
        client.restore_initial(1)
        boundaries += [e for e in client.events() if isinstance(e, SceneRestored)]
    client.pause()
    last = client.scenes()[0].axis - 1
    frames = frames_until(client, lambda frames: frames and frames[-1].arrays["axis"][-1] == last)
    axis = np.concatenate([frame.arrays["axis"] for frame in frames])
    time = np.concatenate([frame.arrays["time"] for frame in frames])
    assert sum(frame.dropped for frame in frames) == 0
    assert np.all(np.diff(axis) == 1)
    falls = axis[1:][np.diff(time) <= 0.0]
    assert set(falls) <= {restored.axis for restored in boundaries}
