"""A condition that is true where the scene stands says so, before it stops at the next step."""

from collections.abc import Callable
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient

Make = Callable[..., physics.Scene]
NEXT = "is true already: the scene will stop at its next step"

FREE = """
import stroboscope.engine as physics

scene = physics.create_scene("Box", "<mujoco><worldbody/></mujoco>")
physics.debugger.listen()
while not scene.stops.condition_infos():
    scene.step()
for _ in range(10):
    scene.step()
physics.debugger.detach()
"""


@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("abs(time) >= 0", True),
        ("qpos[2] > 0.5", True),
        ("qpos[2] > 50", False),
        ("contact.count >= 0", True),
        ("energy.potential > -1e12", True),
        ("xpos['torso'][2] < -5", False),
        ("change(qpos[2]) > -1", False),
    ],
)
def test_a_script_is_told(
    make_scene: Make, caplog: pytest.LogCaptureFixture, text: str, is_true: bool
) -> None:
    scene = make_scene("humanoid")
    before = scene.checkpoint().to_bytes()
    scene.break_when(text)
    assert (NEXT in caplog.text) == is_true
    assert scene.checkpoint().to_bytes() == before


def test_it_is_told_what_comes_of_one_that_only_counts_or_marks(
    make_scene: Make, caplog: pytest.LogCaptureFixture
) -> None:
    scene = make_scene("humanoid")
    scene.break_when("time >= 0", hits=2)
    assert "is true already: that will count as its first time" in caplog.text
    caplog.clear()
    scene.break_when("time >= 0", log_only=True)
    assert "is true already: it will be marked at the next step" in caplog.text


def test_one_of_many_environments_says_where(caplog: pytest.LogCaptureFixture) -> None:
    model = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    scene = physics.create_scene("Balls", model, n_envs=3)
    scene.select_environment(1)
    scene.qpos[1, 0] = 5.0
    scene.break_when("qpos[0] > 4")
    assert "is true already in environment 1" in caplog.text
    caplog.clear()
    scene.qpos[1, 0] = 3.0
    scene.break_when("qpos[0] > 3.5")
    assert "already" not in caplog.text


def test_clients_and_terminals_are_told_in_the_answer(
    drive_box: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    driven = drive_box()
    physics.debugger.get_debug_server().start()
    server = physics.debugger.get_debug_server()
    assert server.connection_file is not None
    with DebuggerClient.connect(server.connection_file) as client:
        client.pause()
        id = driven.scene.scene_id
        client.break_when(id, "time < -1")
        assert client.last_note == ""
        condition = client.break_when(id, "abs(time) >= 0")
        assert client.last_note == NEXT
        assert ctl.main(["break-when", "time >= 0"]) == 0
        assert NEXT in capsys.readouterr().out
        client.edit_condition(condition, scene_id=id, expression="time >= -1")
        assert client.last_note == NEXT
        assert client.wait_until(
            lambda c: any(f"condition “time >= 0” {NEXT}" in each.text for each in c._log), 60.0
        )


def test_a_terminal_says_that_nothing_stops_while_nobody_is_attached(
    start_warm: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    script = start_warm(FREE)
    script.session()
    assert ctl.main(["break-when", "time >= 0"]) == 0
    told = capsys.readouterr().out
    assert "nothing stops while nobody is attached" in told
    assert "will stop" not in told
    code, _, errors = script.end()
    assert code == 0, errors
