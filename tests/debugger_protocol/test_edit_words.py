"""Edits as people write them become what an engine is told."""

from typing import Any

import pytest

from stroboscope.debugger_protocol.edit_words import control_index, option_values, what_ifs
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    ChannelInfo,
    OptionInfo,
    OptionKind,
    SceneDescription,
)
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf

INTEGRATOR = OptionInfo(
    name="integrator",
    kind=OptionKind.CHOICE,
    choices=("euler", "rk4", "implicit", "implicitfast"),
)
CONTACT = OptionInfo(name="disable.contact", kind=OptionKind.FLAG)
TIMESTEP = OptionInfo(name="timestep", kind=OptionKind.NUMBER, unit="s")
GRAVITY = OptionInfo(name="gravity", kind=OptionKind.NUMBER, width=3)
SERVO = ActuatorInfo(
    name="wrist",
    kp=20.0,
    kv=0.5,
    gain="fixed",
    bias="affine",
    gainprm=(20.0, *[0.0] * 9),
    biasprm=(0.0, -20.0, -0.5, *[0.0] * 7),
)
MOTOR = ActuatorInfo(name="motor", gain="fixed", bias="none", gainprm=(1.0,), biasprm=(0.0,))
SCENE = SceneDescription(
    scene_id=1,
    name="arm",
    options=(TIMESTEP, GRAVITY, INTEGRATOR, CONTACT),
    actuators=(MOTOR, SERVO),
    channels=(
        ChannelInfo(name="ctrl", width=4, names=("motor", "wrist", "turn[0]", "turn[1]")),
        ChannelInfo(name="qfrc_applied", width=4, names=("elbow", "left.x", "hip.rx", "hip.ry")),
    ),
)


def edits_of(edits: Any) -> tuple[WhatIf, ...]:
    return what_ifs(edits, description=lambda: SCENE)


def option(name: str, *values: float, index: int = 0) -> WhatIf:
    return WhatIf(kind=EditKind.OPTION, name=name, index=index, values=values)


def field(name: str, *values: float, index: int = 0) -> WhatIf:
    return WhatIf(kind=EditKind.MODEL, name=name, index=index, values=values)


def gain(name: str, value: float, *, times: bool = False) -> WhatIf:
    kind = EditKind.GAIN_FACTOR if times else EditKind.GAIN
    return WhatIf(kind=kind, name=name, values=(value,))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("option.timestep=0.001", option("timestep", 0.001)),
        ("opt.timestep = 0.001", option("timestep", 0.001)),
        ("timestep=0.001", option("timestep", 0.001)),
        ("integrator=ImplicitFast", option("integrator", 3.0)),
        ('integrator="implicitfast"', option("integrator", 3.0)),
        ("option.integrator=1", option("integrator", 1.0)),
        ("disable.contact=on", option("disable.contact", 1.0)),
        ("option.disable.contact=off", option("disable.contact", 0.0)),
        ("option.gravity[2]=-1", option("gravity", -1.0, index=2)),
        ("option.gravity=0 0,-1", option("gravity", 0.0, 0.0, -1.0)),
        ("option.memory=1048576", option("memory", 1048576.0)),
        ("ctrl[2]=0.5", WhatIf(kind=EditKind.CONTROL, index=2, values=(0.5,))),
        ("ctrl.wrist=0.5", WhatIf(kind=EditKind.CONTROL, index=1, values=(0.5,))),
        ("ctrl.turn[1]=5", WhatIf(kind=EditKind.CONTROL, index=3, values=(5.0,))),
        ("ctrl.turn=5,6", WhatIf(kind=EditKind.CONTROL, index=2, values=(5.0, 6.0))),
        ("qfrc_applied.elbow=3", WhatIf(kind=EditKind.FORCE, values=(3.0,))),
        ("qfrc_applied.hip.ry=3", WhatIf(kind=EditKind.FORCE, index=3, values=(3.0,))),
        ("qfrc_applied.hip[1]=3", WhatIf(kind=EditKind.FORCE, index=3, values=(3.0,))),
        ("geom_solref[4]=0.01", field("geom_solref", 0.01, index=4)),
        ("dof_damping.a=b=1", field("dof_damping.a=b", 1.0)),
        ("actuator_gainprm.wrist=100,0,0", field("actuator_gainprm.wrist", 100.0, 0.0, 0.0)),
        ("actuator_biasprm.wrist[2]=-5e-1", field("actuator_biasprm.wrist", -0.5, index=2)),
        ("kv.wrist=2", gain("kv.wrist", 2.0)),
        ("kp=80", gain("kp", 80.0)),
        ("kp.*hip*=80", gain("kp.*hip*", 80.0)),
        ("kp.wrist[2]=5", gain("kp.wrist[2]", 5.0)),
        ("kp=x1.5", gain("kp", 1.5, times=True)),
        ("kp.*hip* = ×1.5", gain("kp.*hip*", 1.5, times=True)),
        ('kv="X0.5"', gain("kv", 0.5, times=True)),
    ],
)
def test_what_is_written_in_a_terminal_is_told_the_engine(text: str, meant: WhatIf) -> None:
    assert edits_of([text]) == edits_of(text) == (meant,)


def test_programs_write_gains_of_many_servos_as_one_edit() -> None:
    assert edits_of({"kp": 80, "kv.*hip*": "x1.5", "kp.wrist": 5}) == (
        gain("kp", 80.0),
        gain("kv.*hip*", 1.5, times=True),
        gain("kp.wrist", 5.0),
    )


def test_programs_write_numbers_and_names_and_messages_go_through_as_they_are() -> None:
    message = option("timestep", 0.001)
    assert edits_of([message, "ctrl.wrist=1"]) == (
        message,
        WhatIf(kind=EditKind.CONTROL, index=1, values=(1.0,)),
    )
    assert edits_of({"option.gravity": (0, 0, -1), "disable.contact": True}) == (
        option("gravity", 0.0, 0.0, -1.0),
        option("disable.contact", 1.0),
    )
    assert edits_of({"integrator": "rk4", "dof_damping.elbow": 1}) == (
        option("integrator", 1.0),
        field("dof_damping.elbow", 1.0),
    )
    assert edits_of(()) == ()
    # Edits that are messages need no description, which may take a while.
    assert what_ifs([message], description=lambda: pytest.fail("asked")) == (message,)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ("banana", "'banana' is no edit: write option.timestep=0.001"),
        ("ctrl.wrist=", "is no edit"),
        ("=5", "is no edit"),
        ([5], "5 is no edit"),
        ("integrator=magic", "can't be 'magic'; allowed: euler, rk4, implicit, implicitfast"),
        ("disable.contact=yes", "disable.contact can't be 'yes'; allowed: off, on"),
        ("timestep=fast", "timestep takes numbers, not 'fast'"),
        ("ctrl.wirst=1", "ctrl has no 'wirst'; did you mean 'wrist'?"),
        ("ctrl.turn[1]=1,2", "ctrl.turn has 2 values; 2 from index 1 on do not fit"),
        ("ctrl.wrist=1,2", "ctrl.wrist has 1 value; 2 from index 0 on do not fit"),
        ("qfrc_applied.left=1,2", "do not fit"),
        ("ctrl.wrist=much", "ctrl.wrist takes numbers, not 'much'"),
        ("kp.wrist=5,6", "kp.wrist is one number, not 2"),
        ({"ctrl.wrist": None}, "ctrl.wrist takes numbers, not None"),
        ({"ctrl.wrist": []}, "is no edit"),
        ({5: 1}, "is no edit"),
        ({"ctrl.wrist": 10**400}, "takes numbers"),
        ("kp=", "is no edit"),
        ("kp.=5", "'kp.' is no gain: write kp=50 for all servos, kp.NAME=50 for one"),
        ("kp*=1.5", "kp=x1.5 for 1.5 times its own"),
        ("kp=x", "kp takes numbers, not 'x'"),
        ("kp=xx2", "kp takes numbers, not 'x2'"),
        ("kp=1,2", "kp is one number, not 2"),
        ("dof_damping.elbow=x2", "not 'x2'; factors are for the gains of servos, kp and kv"),
    ],
)
def test_what_is_no_edit_is_refused_with_what_is_allowed(edits: Any, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        edits_of(edits)
    assert words in str(refused.value)


def test_options_are_set_by_the_names_of_their_choices() -> None:
    assert option_values(INTEGRATOR, ["RK4"]) == (1.0,)
    assert option_values(CONTACT, ["On"]) == (1.0,)
    assert option_values(GRAVITY, ["0", 0, -1.5]) == (0.0, 0.0, -1.5)


def test_controls_have_numbers_and_names() -> None:
    assert control_index(SCENE, "wrist") == control_index(SCENE, "1") == control_index(SCENE, 1)
    bare = SceneDescription(scene_id=1, name="arm", actuators=(MOTOR, SERVO))
    assert control_index(bare, "wrist") == 1
    with pytest.raises(CommandError, match="ctrl has no 'nothing'; there is 'motor', 'wrist'"):
        control_index(bare, "nothing")
