"""Other gains for all servos of a robot at once: what a copy of its model is written with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.debugger_protocol.edit_words import what_ifs
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts.what_if import AppliedEdits, apply_what_if

MODEL = """
<mujoco>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0"/><geom size=".1" mass="1"/>
      <body name="lower" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/><joint name="slide"
        type="slide" axis="0 0 1"/><geom size=".05" mass=".5"/></body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder_servo" joint="shoulder" kp="40" kv="1"/>
    <position name="elbow_servo" joint="elbow" kp="20"/>
    <motor name="motor" joint="elbow"/>
    <velocity name="brake" joint="shoulder" kv="3"/>
    <position name="lift_servo" joint="slide" kp="100"/>
  </actuator>
</mujoco>
"""
EMPTY = SceneDescription(scene_id=1, name="arm")


@pytest.fixture
def model() -> Any:
    return mujoco.MjModel.from_xml_string(MODEL)


def tried(model: Any, *words: str) -> AppliedEdits:
    edits = what_ifs(words, description=lambda: EMPTY)
    return apply_what_if(model, edits, adapter=load_mujoco())


def kp(model: Any) -> list[float]:
    gains: list[float] = (-model.actuator_biasprm[:, 1]).tolist()
    return gains


def kv(model: Any) -> list[float]:
    gains: list[float] = (-model.actuator_biasprm[:, 2]).tolist()
    return gains


def test_one_kp_for_all_servos_keeps_the_target_of_each_and_leaves_what_is_none(model: Any) -> None:
    done = tried(model, "kp=80")
    assert kp(model) == [80, 80, 0, 0, 80]
    assert model.actuator_gainprm[:, 0].tolist() == [80, 80, 1, 3, 80]
    assert kv(model) == [1, 0, 0, 3, 0]
    assert done.titles == ("kp of all 3 servos: 20…100 → 80",)
    assert done.texts == (
        "kp of all 3 servos: 20…100 → 80 – shoulder_servo 40 → 80 N·m/rad, elbow_servo 20 → 80 "
        "N·m/rad, lift_servo 100 → 80 N/m",
    )
    assert done.edits_model


def test_a_factor_is_of_what_each_has_also_where_an_edit_before_has_changed_it(model: Any) -> None:
    assert tried(model, "kp=x1.5").titles == ("kp of all 3 servos: ×1.5",)
    assert kp(model) == [60, 30, 0, 0, 150]
    assert model.actuator_gainprm[:, 0].tolist() == [60, 30, 1, 3, 150]
    done = tried(model, "kp=10", "kp.*_servo=x2", "kp.elbow_servo=x2")
    assert done.titles == (
        "kp of all 3 servos: 30…150 → 10",
        "kp of all 3 servos: ×2",
        "kp of elbow_servo: 20 → 40 N·m/rad",
    )
    assert kp(model) == [20, 40, 0, 0, 20]


def test_kv_is_of_those_that_brake_and_with_a_pattern_of_all_that_can(model: Any) -> None:
    assert tried(model, "kv=5").titles == ("kv of all 2 servos: 1…3 → 5",)
    assert kv(model) == [5, 0, 0, 5, 0]
    # A velocity servo's target is its own, too.
    assert model.actuator_gainprm[:, 0].tolist() == [40, 20, 1, 5, 100]
    assert tried(model, "kv.*_servo=2").titles == ("kv of 3 servos (*_servo): 0…5 → 2",)
    assert kv(model) == [2, 2, 0, 5, 2]


def test_servos_that_are_named_one_by_one_and_get_the_same_are_told_together(model: Any) -> None:
    done = tried(model, "kp.elbow_servo=50", "kp.shoulder_servo=50", "kp.elbow_servo=50")
    assert done.titles == ("kp of 2 servos (elbow_servo, shoulder_servo): 20…40 → 50",)
    same = [f"kp.{each}_servo=60" for each in ("shoulder", "elbow", "lift")]
    done = tried(model, "kp.elbow_servo=9", "option.gravity=0,0,-3", *same)
    assert done.titles == (
        "kp of elbow_servo: 50 → 9 N·m/rad",
        "gravity: (0, 0, −9.81) → (0, 0, −3) m/s²",
        "kp of all 3 servos: 9…100 → 60",
    )
    assert kp(model) == [60, 60, 0, 0, 60]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (WhatIf(kind=EditKind.GAIN, name="kd", values=(1.0,)), "'kd' is no gain: there is kp and"),
        (WhatIf(kind=EditKind.GAIN, name="kp"), "an edit of kp needs at least one value"),
        (WhatIf(kind=EditKind.GAIN, name="kp", values=(1.0, 2.0)), "one number of each servo"),
        (WhatIf(kind=EditKind.GAIN, name="kp", index=3, values=(1.0,)), "from index 3 on"),
        (WhatIf(kind=EditKind.GAIN, name="kp", values=(float("nan"),)), "takes finite numbers"),
        (WhatIf(kind=EditKind.GAIN_FACTOR, name="kp", values=(1e10,)), "kp is at most 1e+10, not"),
        (WhatIf(kind=EditKind.GAIN_FACTOR, name="kv.elbow_servo", values=(2.0,)), "is 0: 2 times"),
        (WhatIf(kind=EditKind.GAIN, name="kp.motor", values=(1.0,)), "'motor' has no kp"),
        (WhatIf(kind=EditKind.GAIN, name="kp.wirst*", values=(1.0,)), "no actuator is called"),
    ],
)
def test_what_is_no_gain_is_refused_with_what_there_is(
    model: Any, edit: WhatIf, words: str
) -> None:
    with pytest.raises(CommandError) as refused:
        apply_what_if(model, (edit,), adapter=load_mujoco())
    assert words in str(refused.value)
    assert kp(model) == [40, 20, 0, 0, 100], "nothing may be half applied"


def test_a_real_hand_of_twenty_servos_is_scaled_by_one_edit(
    robot_model: Callable[[str], Path],
) -> None:
    model = mujoco.MjModel.from_xml_path(str(robot_model("shadow_hand")))
    before = model.actuator_biasprm.copy()
    gain = model.actuator_gainprm.copy()
    done = tried(model, "kp=x1.5")
    assert done.titles == ("kp of all 20 servos: ×1.5",)
    assert np.array_equal(model.actuator_biasprm[:, 1], before[:, 1] * 1.5)
    assert np.array_equal(model.actuator_gainprm[:, 0], gain[:, 0] * 1.5)
    assert all(model.actuator(at).name in done.texts[0] for at in range(20))
    wrist = tried(model, "kp.*WRJ*=20")
    assert wrist.titles == ("kp of 2 servos (*WRJ*): 12…15 → 20",)
    with pytest.raises(CommandError, match=r"did you mean 'rh_A_WRJ2' or 'rh_A_WRJ1'\?"):
        tried(model, "kp.WRJ*=20")


def test_what_is_kept_of_many_edits_of_many_servos_is_bounded() -> None:
    joints = "".join(
        f'<body><joint name="joint_{at}"/><geom size=".1"/></body>' for at in range(100)
    )
    servos = "".join(f'<position name="s{at}" joint="joint_{at}" kp="1"/>' for at in range(100))
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{joints}</worldbody><actuator>{servos}</actuator></mujoco>"
    )
    done = tried(model, *["kp=x1.01"] * 50)
    assert len(done.texts) == 50
    assert done.texts[0].endswith("s99 1 → 1.01 [N·m/rad]")
    assert sum(map(len, done.texts)) < 25_000
    assert done.texts[-1] == done.titles[-1] == "kp of all 100 servos: ×1.01"
    assert kp(model) == pytest.approx([1.01**50] * 100)
    # As many as every servo needs, one by one.
    named = [f"{word}.s{at}={at + 1}" for at in range(100) for word in ("kp", "kv")]
    assert len(tried(model, *named).texts) == 200
    with pytest.raises(CommandError, match=r"at most 5,000 gains can be set in a trial, .* 5,100"):
        tried(model, *["kp=x1.01"] * 60)
