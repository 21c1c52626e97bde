"""An edit that was undone says what holds again."""

import pytest

from stroboscope.debugger_protocol.undone_text import undone_text


@pytest.mark.parametrize(
    ("text", "undone"),
    [
        ("timestep: 0.002 → 0.001 s", "timestep: back to 0.002 s (undone: → 0.001 s)"),
        ("disable.contact: off → on", "disable.contact: back to off (undone: → on)"),
        ("integrator: euler → rk4", "integrator: back to euler (undone: → rk4)"),
        ("density: 0 → 1.2 kg/m³", "density: back to 0 kg/m³ (undone: → 1.2 kg/m³)"),
        ("qpos of qpos[0]: 1 → 2", "qpos of qpos[0]: back to 1 (undone: → 2)"),
        ("qpos of a: −1 → −2.5e-05 rad", "qpos of a: back to −1 rad (undone: → −2.5e-05 rad)"),
        ("qpos of arm: hip: 0 → 1 rad", "qpos of arm: hip: back to 0 rad (undone: → 1 rad)"),
        (
            "gravity: (0, 0, −9.81) → (0, 0, −1) m/s²",
            "gravity: back to (0, 0, −9.81) m/s² (undone: → (0, 0, −1) m/s²)",
        ),
        (
            "ctrl of elbow: override 0.5 → 0.7 N·m",
            "ctrl of elbow: back to override 0.5 N·m (undone: → 0.7 N·m)",
        ),
        ("keyframe home was loaded", "undone: “keyframe home was loaded”"),
        (
            "ctrl of elbow: overridden with 0.5 N·m",
            "undone: “ctrl of elbow: overridden with 0.5 N·m”",
        ),
    ],
)
def test_what_holds_again_is_said_with_its_unit(text, undone):
    assert undone_text(text) == undone
