"""A condition that is true where the scene stands says so, before it stops at the next step."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError

Make = Callable[..., physics.Scene]
NEXT = "is true already: the scene will stop at its next step"
UNSEEN = (
    ", but nothing looks at it now: a debugger that is attached does, and a script "
    "that asks for raise_on_stop, on_stop() or keep_history()"
)
MODEL = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"

FREE = """
import stroboscope.engine as physics

scene = physics.create_scene("Box", "<mujoco><worldbody/></mujoco>")
physics.debugger.listen()
while not scene.stops.condition_infos():
    scene.step()
while scene.stops.condition_infos():
    scene.step()
physics.debugger.detach()
"""


WATCHED = """
import stroboscope.engine as physics

scene = physics.create_scene("Box", "<mujoco><worldbody/></mujoco>")
physics.debugger.listen()
while not scene.link.active:
    scene.step()
scene.break_when("time >= 0")
while scene.link.active:
    scene.step()
assert scene.last_stop is not None
"""


def balls(n_envs: int | None = None) -> Any:
    """A ball that falls, or several, in a scene that nobody is attached to."""
    return physics.create_scene("Ball", MODEL, n_envs=n_envs)


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
    assert ("is true already" in caplog.text) == is_true
    assert scene.checkpoint().to_bytes() == before


@pytest.mark.parametrize("words", [{}, {"hits": 2}, {"log_only": True}])
@pytest.mark.parametrize("is_batch", [False, True])
def test_nothing_is_promised_where_nobody_looks(
    caplog: pytest.LogCaptureFixture, words: dict[str, Any], is_batch: bool
) -> None:
    scene = balls(3) if is_batch else balls()
    condition = scene.break_when("time >= 0", **words)
    assert "is true already" in caplog.text
    assert UNSEEN in caplog.text
    assert "next step" not in caplog.text
    scene.step()
    assert condition.hit_count == 0
    assert scene.last_stop is None


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_script_that_wants_stops_raised_is_told_so(
    caplog: pytest.LogCaptureFixture, is_batch: bool
) -> None:
    scene = balls(3) if is_batch else balls()
    scene.raise_on_stop = True
    scene.break_when("time >= 0")
    assert "the next step will raise SimulationStopped" in caplog.text
    with pytest.raises(physics.SimulationStopped):
        scene.step()


def asks_for_stops(scene: Any) -> None:
    scene.on_stop(lambda: None)


def keeps_history(scene: Any) -> None:
    scene.keep_history()


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("ask", [asks_for_stops, keeps_history])
def test_what_nobody_holds_is_said_to_be_marked(
    caplog: pytest.LogCaptureFixture, ask: Callable[[Any], None], is_batch: bool
) -> None:
    scene = balls(3) if is_batch else balls()
    ask(scene)
    scene.break_when("time >= 0")
    told = "it will be marked at the next step; nothing holds the scene: no debugger is attached"
    assert told in caplog.text
    scene.step()
    assert scene.last_stop is not None


def test_it_is_told_what_comes_of_one_that_only_counts_or_tells(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = balls()
    scene.keep_history()
    counting = scene.break_when("time >= 0", hits=2)
    assert "is true already: that will count as its first time at the next step" in caplog.text
    caplog.clear()
    telling = scene.break_when("time >= 0", log_only=True)
    assert "is true already: it will be told at the next step" in caplog.text
    caplog.clear()
    scene.step()
    assert (counting.hit_count, telling.hit_count) == (1, 1)
    assert caplog.text.count("time >= 0") == 1
    assert scene.last_stop is None


def test_one_of_many_environments_says_where(caplog: pytest.LogCaptureFixture) -> None:
    scene = balls(3)
    scene.select_environment(1)
    scene.qpos[1, 0] = 5.0
    scene.break_when("qpos[0] > 4")
    assert "is true already in environment 1" in caplog.text
    caplog.clear()
    scene.qpos[1, 0] = 3.0
    scene.break_when("qpos[0] > 3.5")
    assert "already" not in caplog.text


def test_rules_that_let_a_scene_go_on_are_named(drive_box: Any) -> None:
    driven = drive_box()
    server = physics.debugger.get_debug_server()
    server.start()
    id = driven.scene.scene_id
    with DebuggerClient.connect(server.connection_file) as client:
        client.pause()
        client.set_stop_rules(id, mark_only=True)
        client.break_when(id, "time >= 0")
        only_marked = "it will be marked at the next step; nothing holds the scene: stops only mark"
        assert client.last_note == f"is true already: {only_marked}"
        client.break_when(id, "time >= 0", log_only=True)
        assert client.last_note == "is true already: it will be told at the next step"
        client.step(id)
        stops = client.stop_rules(id).stops
        assert [stop.held for stop in stops] == [False, False]
        client.set_stop_rules(id, off=["condition"])
        client.break_when(id, "time >= -1")
        assert client.last_note == (
            "is true already: that will only be counted, as the rule “condition” is off"
        )
        client.step(id)
        assert client.stop_rules(id).count == 2


def test_what_was_true_before_a_restore_is_true_already_after_it(drive_box: Any) -> None:
    driven = drive_box()
    server = physics.debugger.get_debug_server()
    server.start()
    id = driven.scene.scene_id
    with DebuggerClient.connect(server.connection_file) as client:
        client.pause()
        condition = client.break_when(id, "time >= 0", hits=3)
        assert client.last_note.endswith("that will count as its first time at the next step")
        client.step(id)
        client.edit_condition(condition, scene_id=id, hits=4)
        assert client.last_note == "", "it is true, and does not become so"
        client.restore_initial(id)
        client.edit_condition(condition, scene_id=id, hits=3)
        assert (
            client.last_note == "is true already: that will count as time 2 of 3 at the next step"
        )
        client.edit_condition(condition, scene_id=id, hits=2)
        assert client.last_note == NEXT
        with pytest.raises(CommandError, match="became true for the 2nd time"):
            client.step(id)


def test_a_scene_that_is_only_watched_is_not_said_to_stop(
    start_warm: Callable[..., Any],
) -> None:
    script = start_warm(WATCHED)
    with DebuggerClient.connect(script.session(), observe=True) as client:
        told = "nothing holds the scene: nobody controls the session"
        assert client.wait_until(lambda c: any(told in each.text for each in c._log), 60.0)
        # The script may be told to wait before its next step: who goes sooner has seen no stop.
        scene_id = client.scenes()[0].scene_id
        assert client.wait_until(lambda c: bool(c.stops(scene_id)), 60.0)
        assert [stop.held for stop in client.stops(scene_id)] == [False]
        assert not client.scenes()[0].held
    code, _, errors = script.end()
    assert code == 0, errors


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
    for words in (
        ["break-when", "time >= 0"],
        ["edit-condition", "1", "--expression", "time >= -1"],
    ):
        assert ctl.main(words) == 0
        told = capsys.readouterr().out
        assert "nothing stops while nobody is attached, unless the script asks for it" in told
        assert "will stop" not in told
    assert ctl.main(["remove-condition", "1"]) == 0
    code, _, errors = script.end()
    assert code == 0, errors
