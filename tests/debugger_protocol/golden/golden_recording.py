"""Golden bytes of recordings."""

from typing import Any

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import recording_messages as r

CLIENT: list[tuple[Any, str]] = [
    (
        m.StartRecording(id=70, scene_id=1, name="a fall", mode="minimal"),
        "85a474797065af73746172745f7265636f7264696e67a2696446a87363656e655f696401a46e616d"
        "65a6612066616c6ca46d6f6465a76d696e696d616c",
    ),
    (
        m.StopRecording(id=71, scene_id=1),
        "84a474797065ae73746f705f7265636f7264696e67a2696447a87363656e655f696401a46e616d65a0",
    ),
    (
        m.SaveHistory(id=72, scene_id=1),
        "84a474797065ac736176655f686973746f7279a2696448a87363656e655f696401a46e616d65a0",
    ),
]

SERVER: list[tuple[Any, str]] = [
    (
        m.SceneRecording(
            scene_id=1,
            recordings=(
                r.RecordingInfo(path="runs/a fall.mcap", frames=500, nbytes=70_000),
                r.RecordingInfo(path="crash.mcap", keep_last=60.0, failure="the disk is full"),
            ),
        ),
        "83a474797065af7363656e655f7265636f7264696e67a87363656e655f696401aa7265636f726469"
        "6e67739285a470617468b072756e732f612066616c6c2e6d636170a66672616d6573cd01f4a66e62"
        "79746573ce00011170a96b6565705f6c617374cb0000000000000000a76661696c757265a085a470"
        "617468aa63726173682e6d636170a66672616d657300a66e627974657300a96b6565705f6c617374"
        "cb404e000000000000a76661696c757265b0746865206469736b2069732066756c6c",
    ),
]
