"""Every demo runs to its end, in a process of its own, with a real client pressing Play."""

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from stroboscope.resources.examples import DEMOS, Demo, find_demo

# What a demo says at its end shows that it did what it is for.
LAST_WORDS = {
    "pose-controller": "Target (0.0, 0.0, 0.0): largest error 0.0",
    "debug-draw": "Drew 400 points of the way",
    "state-capture": "Two runs of 300 steps from one state are equal.",
    "adopt-mujoco-loop": "The loop ended at 3.000 s of simulation.",
    "gymnasium-env": "200 steps, ",
}


@pytest.mark.parametrize("name", LAST_WORDS)
def test_a_demo_runs_to_its_end_when_play_is_pressed(
    name: str, start_script: Callable[..., Any]
) -> None:
    demo = find_demo(name)
    if missing := demo.missing():
        pytest.skip(f"{name} needs {', '.join(missing)}")
    script = start_script("-m", demo.module, "--no-window")
    script.client.fast_forward()  # Play without the throttle: a test should not take real time
    output = script.finish()
    assert script.process.returncode == 0, output
    assert LAST_WORDS[name] in output


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.name)
def test_a_listed_demo_is_there_and_describes_itself(demo: Demo) -> None:
    assert importlib.util.find_spec(demo.module) is not None
    assert demo.path.is_file()
    text = demo.path.read_text(encoding="utf-8")
    assert "def main(" in text
    assert demo.title
    assert demo.description.endswith(".")


def test_an_unknown_demo_is_refused_with_a_list_of_those_there_are() -> None:
    with pytest.raises(KeyError, match="there are: explode, cross-thread"):
        find_demo("cross thread")
