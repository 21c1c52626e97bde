"""Which servos somebody means who writes a gain, and what is said of them."""

from collections.abc import Callable

import pytest

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import ActuatorInfo
from stroboscope.debugger_protocol.servo_gains import ChosenServos, Servos
from stroboscope.debugger_protocol.trials import gains_text, gains_title

LEGS = tuple(
    f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")
)
Make = Callable[..., ActuatorInfo]


def servo(name: str, kp: float = 40.0, kv: float = 0.0, **others: str) -> ActuatorInfo:
    return ActuatorInfo(
        name=name,
        kp=kp or None,
        kv=kv,
        gain="fixed",
        bias="affine",
        gainprm=(kp, *[0.0] * 9),
        biasprm=(0.0, -kp, -kv, *[0.0] * 7),
        ctrl_unit="rad",
        force_unit=others.get("force_unit", "N·m"),
    )


def motor(name: str) -> ActuatorInfo:
    return ActuatorInfo(name=name, gain="fixed", bias="none", gainprm=(1.0,), biasprm=(0.0,))


DOG = (motor("tail"), *(servo(name, 20.0 if "calf" in name else 40.0) for name in LEGS))


def chosen(what: str, actuators: tuple[ActuatorInfo, ...] = DOG) -> ChosenServos:
    return Servos(actuators).choose(what)


def names(what: str, actuators: tuple[ActuatorInfo, ...] = DOG) -> list[str]:
    return [each.name for each in chosen(what, actuators).servos]


def test_a_gain_without_a_name_is_that_of_all_servos_and_a_pattern_of_those_that_match() -> None:
    assert names("kp") == list(LEGS)
    assert names("kp.*hip*") == [name for name in LEGS if "hip" in name]
    assert names("kp.F[RL]_calf_joint") == ["FR_calf_joint", "FL_calf_joint"]
    assert names("kp.FR_calf_joint") == ["FR_calf_joint"]
    # What is no servo has no such gain; a pattern that matches it too is about the others.
    assert names("kp.*") == list(LEGS)
    # A name comes before what it would match.
    odd = (servo("wrist[2]"), servo("wrist2"))
    assert names("kp.wrist[2]", odd) == ["wrist[2]"]
    assert names("kp.wrist[0-9]", odd) == ["wrist2"]
    # The servos that brake are those whose kv is not 0.
    assert names("kv", (servo("a"), servo("b", kv=2.0), servo("c", 0.0, 3.0))) == ["b", "c"]
    assert names("kv.*", (servo("a"), servo("b", kv=2.0))) == ["a", "b"]
    assert names("kp.actuator 1", (motor("a"), servo(""))) == ["actuator 1"]


@pytest.mark.parametrize(
    ("what", "actuators", "words"),
    [
        ("kp", (motor("a"), motor("b")), "none of the 2 actuators is a position servo"),
        ("kv", (motor("a"),), "none of the 1 actuators is a servo with velocity feedback"),
        ("kp", (), "nothing here has a kp: there are no actuators"),
        ("kv", DOG, "kv of each of the 12 servos is 0: to give one to all of them write kv.*="),
        ("kp.tail", DOG, "actuator 'tail' has no kp: it is no such servo; write actuator_gainprm"),
        ("kp.t*", DOG, "actuator 'tail', all that matches 't*', has no kp"),
        ("kp.t*", (motor("t1"), motor("t2")), "none of the 2 actuators that match 't*' has a kp"),
        ("kp.LEG*", DOG, "no actuator is called 'LEG*'; there is 'tail', 'FR_hip_joint', "),
        ("kp.fr_hip*", DOG, "'fr_hip*'; did you mean 'FR_hip_joint'?"),
        ("kp.hip*", DOG, "did you mean 'FR_hip_joint' or 'FL_hip_joint' or 'RR_hip_joint'?"),
        ("kp.FR_hip_jiont", DOG, "did you mean 'FR_hip_joint'"),
        ("kp.wirst", (servo("wrist"), motor("motor")), "'wirst'; did you mean 'wrist'?"),
        ("kp.x", (servo("x"), servo("x")), "2 actuators are called 'x'"),
    ],
)  # fmt: skip
def test_where_nothing_is_meant_that_is_said_with_what_there_is(
    what: str, actuators: tuple[ActuatorInfo, ...], words: str
) -> None:
    with pytest.raises(CommandError) as refused:
        Servos(actuators).choose(what)
    assert words in str(refused.value)


def test_a_trial_of_many_servos_is_called_by_how_many_there_are_and_lists_them_behind() -> None:
    hips, calves = chosen("kp.*hip*"), chosen("kp.*calf*")
    assert gains_title(chosen("kp"), [80.0] * 12) == "kp of all 12 servos: 20…40 → 80"
    assert gains_title(chosen("kp"), [1.0] * 12, factor=1.5) == "kp of all 12 servos: ×1.5"
    assert gains_title(hips, [80.0] * 4) == "kp of 4 servos (*hip*): 40 → 80"
    assert gains_title(calves, [60.0] * 4, factor=3.0) == "kp of 4 servos (*calf*): ×3"
    one = chosen("kp.FR_hip_joint")
    assert gains_title(one, [60.0], factor=1.5) == "kp of FR_hip_joint: 40 → 60 N·m/rad"
    assert gains_text(one, [60.0]) == "kp of FR_hip_joint: 40 → 60 N·m/rad"
    assert gains_text(hips, [80.0] * 4) == (
        "kp of 4 servos (*hip*): 40 → 80 – FR_hip_joint, FL_hip_joint, RR_hip_joint, RL_hip_joint "
        "[N·m/rad]"
    )
    both = chosen("kp.FR_[ch]*")
    assert gains_text(both, [60.0, 30.0], factor=1.5) == (
        "kp of 2 servos (FR_[ch]*): ×1.5 – FR_hip_joint 40 → 60, FR_calf_joint 20 → 30 [N·m/rad]"
    )
    mixed = chosen("kp", (servo("a"), servo("b", force_unit="N")))
    assert gains_text(mixed, [60.0, 60.0], factor=1.5) == (
        "kp of all 2 servos: ×1.5 – a 40 → 60 N·m/rad, b 40 → 60 N/rad"
    )


def test_what_is_listed_of_a_thousand_servos_is_bounded() -> None:
    many = chosen("kp", tuple(servo(f"muscle_{at}") for at in range(1000)))
    text = gains_text(many, [60.0] * 1000, factor=1.5)
    assert text.startswith("kp of all 1000 servos: ×1.5 – muscle_0 40 → 60, ")
    assert text.endswith("muscle_127 40 → 60 and 872 more [N·m/rad]")
