"""Another gain for all servos of a real robot hand, from a terminal and by a program."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.exceptions import CommandError

SCRIPT = """
    import stroboscope.engine as physics

    scene = physics.create_scene("Hand", {path!r})
    if physics.debugger.attach(30.0, launch=False, mode="paused"):
        while physics.debugger.is_attached():
            scene.ctrl[:] = 0.2
            scene.step()
"""
SERVOS = 20
KV = "kv.rh_A_*=0.5"


def test_all_servos_of_a_robot_hand_get_another_gain_by_one_word_and_a_name_that_can_be_read(
    robot_model: Callable[[str], Path],
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = start_warm(SCRIPT.format(path=str(robot_model("shadow_hand"))))
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.step(scene.scene_id, 20)
        assert client.wait_until(lambda c: c.scenes()[0].axis == 20, 60)

        def say(*words: str, code: int = 0) -> str:
            assert ctl.main(["--session", script.session().session_id, *words]) == code
            told = capsys.readouterr()
            return told.err if code else told.out

        def tried(*edits: str, code: int = 0) -> str:
            words = [word for edit in edits for word in ("--set", edit)]
            return say("resimulate", "--axis", "5", *words, code=code)

        assert tried("kp=8").startswith("   1  kp of all 20 servos: 0.4…10 → 8: 15 steps to ")
        assert tried("kp=x1.5").startswith("   2  kp of all 20 servos: ×1.5: 15 steps to ")
        assert tried("kp.*WRJ*=×2", KV).startswith(
            "   3  kp of 2 servos (*WRJ*): ×2, kv of all 20 servos: 0 → 0.5: 15 steps to "
        )
        assert "did you mean 'rh_A_WRJ2' or 'rh_A_WRJ1'?" in tried("kp.WRJ*=8", code=1)
        assert "write kv.*=VALUE" in tried("kv=2", code=1)

        # In the list each is a line that can be read; programs get every servo.
        listed = say("rollouts").splitlines()
        assert [line.partition(": 15 steps")[0] for line in listed] == [
            "   1  kp of all 20 servos: 0.4…10 → 8",
            "   2  kp of all 20 servos: ×1.5",
            "   3  kp of 2 servos (*WRJ*): ×2, kv of all 20 servos: 0 → 0.5",
        ]
        assert not any("rh_A_" in line for line in listed)
        told = json.loads(say("rollouts", "--json"))
        names = [each.name for each in client.description(scene.scene_id).actuators]
        assert len(names) == SERVOS
        assert all(name in told[1]["edits"][0] for name in names)

        # The same by a program; more gains than a hand of a hundred servos has are refused.
        made = client.resimulate(
            scene.scene_id, axis=5, name="mine", edits={f"kp.{name}": 8 for name in names}
        )
        many = [f"kp.{names[0]}={at}" for at in range(257)]
        with pytest.raises(CommandError, match="at most 256 edits can be tried, got 257"):
            client.resimulate(scene.scene_id, axis=5, edits=many)
        rows = [
            client.read_rows(scene.scene_id, ["qpos"], rollout_id=rollout)["qpos"]
            for rollout in (1, 2, made)
        ]
        assert np.array_equal(rows[0], rows[2])
        assert not np.array_equal(rows[0], rows[1])
        assert "mine: 15 steps" in say("rollouts")
        assert client.rollouts(scene.scene_id)[-1].edits == client.rollouts(scene.scene_id)[0].edits
    assert script.end()[0] == 0
