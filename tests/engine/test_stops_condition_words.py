"""Conditions that can't become true are refused, and a stop's numbers are those that decided."""

import msgspec
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import READY_MADE, ParameterKind, ready_made

WORLD = """
<mujoco>
  <option timestep="0.002" gravity="0 0 0"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="ball" pos="0 0 .3"><joint name="slide" type="slide" axis="1 0 0" range="-1 1"/>
      <joint name="turn" axis="0 1 0"/>
      <geom name="ball" type="sphere" size=".05" mass=".2"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="slide" ctrlrange="-2 2"/></actuator>
</mujoco>
"""


@pytest.fixture
def scene() -> physics.Scene:
    made = physics.create_scene("World", WORLD)
    made.raise_on_stop = True
    return made


def stop_of_a_step(scene: physics.Scene) -> "physics.StopEvent | None":
    try:
        scene.step()
    except physics.SimulationStopped as stopped:
        return stopped.event
    return None


@pytest.mark.parametrize(
    ("text", "sentence", "place"),
    [
        ("nan", "this is no number", "nan"),
        ("1/0 > 0", "this is no number", "1/0"),
        ("time > nan", "this is no number", "nan"),
        ("time > 5 and qvel['turn'] < 0 * nan", "this is no number", "nan"),
        ("sqrt(-1) < time", "this is no number", "sqrt(-1)"),
        ("time > 1e300 * 1e300", "this is infinite", "1e300 * 1e300"),
        ("1", "this is always 1", "1"),
        ("2 * pi", "this is always 6.28319", "2 * pi"),
        ("inf", "this is always inf", "inf"),
        ("1 < 2", "this is always true", "1 < 2"),
        ("time > 5 or 3 > 1", "this is always true", "3 > 1"),
        ("time > 5 and not 1", "this is always false", "not 1"),
        ("first(3) > 2", "this is always true", "first(3) > 2"),
        ("time > time", "both sides are the same, so this is always false", "time > time"),
        ("qpos[0] == qpos[0]", "so this is always true", "qpos[0] == qpos[0]"),
        ("time > inf", "nothing is larger than inf", "time > inf"),
        ("-inf > qpos['turn']", "nothing is smaller than -inf", "-inf > qpos['turn']"),
        ("qpos > 1", "a condition is one number, this has 2", "qpos > 1"),
    ],
)
def test_what_never_changes_or_is_no_number_is_refused_with_the_place(
    scene: physics.Scene, text: str, sentence: str, place: str
) -> None:
    with pytest.raises(physics.ConditionError) as refused:
        scene.break_when(text)
    told = str(refused.value).splitlines()
    assert sentence in told[0]
    start = text.rindex(place)
    assert told[1:] == [f"    {text}", f"    {' ' * start}{'^' * len(place)}"]
    assert scene.conditions == ()


@pytest.mark.parametrize(
    "text",
    [
        "time > 0.5",
        "abs(qvel['turn']) > 2 * pi",
        "qpos['turn']",
        "qpos['turn'] < inf",
        "abs(qvel['turn']) == inf",
        "change(qvel['turn']) > 1",
        "first(time) < time",
        "contact.count > 3",
        "energy.total > 10",
        "where(time > 1, qpos['turn'], 0) > 1",
        "not (time < 1)",
    ],
)
def test_what_may_become_true_is_taken(scene: physics.Scene, text: str) -> None:
    assert scene.break_when(text).expression == text


def test_ready_made_ones_are_taken(scene: physics.Scene) -> None:
    for key, each in READY_MADE.items():
        blanks = {
            parameter.name: {ParameterKind.COLLIDER: "ball", ParameterKind.JOINT: "slide"}.get(
                parameter.kind, parameter.default
            )
            for parameter in each.parameters
        }
        if "second" in blanks:
            blanks["second"] = "floor"
        text = ready_made(key, **blanks)
        if "equality" in text:
            with pytest.raises(physics.ConditionError, match="equality"):
                scene.break_when(text)  # this world has none
        else:
            assert scene.break_when(text).expression == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("time > 0.5", "time = 0.5000000000000003 s"),
        ("0.5 < time", "time = 0.5000000000000003 s"),
        ("time > 0.25 + 0.25", "time = 0.5000000000000003 s"),
        ("time > 0.501", "time = 0.502 s"),
        ("qpos['slide'] > 0.01", "qpos['slide'] = 0.0100000"),
        ("abs(qpos['slide']) > 0.01", "qpos['slide'] = 0.0100000"),
    ],
)
def test_a_value_is_written_with_the_digits_that_tell_it_from_the_threshold(
    scene: physics.Scene, text: str, told: str
) -> None:
    scene.break_when(text)
    scene.data.qvel[0] = 0.0200000004
    stopped = None
    while stopped is None and scene.get_total_simulation_time() < 1.0:
        stopped = stop_of_a_step(scene)
    assert stopped is not None
    assert told in stopped.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("xpos['ball'][0] > 0.001", ": xpos['ball'][0] = 0.00"),
        ('xpos["ball"][0] > 0.001', ': xpos["ball"][0] = 0.00'),
        ("max(xpos['ball']) > 0.3", ": xpos['ball'] (x) = 0.30"),
        ("qpos[0] > 0.001", ": qpos[0] of slide = 0.00"),
    ],
)
def test_what_an_expression_names_is_not_named_twice(
    scene: physics.Scene, text: str, told: str
) -> None:
    scene.break_when(text)
    scene.data.qvel[0] = 1.0
    stopped = None
    while stopped is None and scene.get_total_simulation_time() < 1.0:
        stopped = stop_of_a_step(scene)
    assert stopped is not None
    assert told in stopped.message


def test_two_signals_that_are_compared_are_told_apart(scene: physics.Scene) -> None:
    scene.break_when("qvel['slide'] > qvel['turn']")
    scene.data.qvel[:] = 1.0000000002, 1.0000000001
    stopped = stop_of_a_step(scene)
    assert stopped is not None
    assert "qvel['slide'] = 1.0000000002 m/s" in stopped.message
    assert "qvel['turn'] = 1.0000000001 rad/s" in stopped.message


def test_an_edit_to_something_that_never_changes_leaves_the_condition_as_it_was(
    scene: physics.Scene,
) -> None:
    condition = scene.break_when("time > 0.5")
    machine = scene.backend.time_machine()
    (info,) = machine.conditions()
    with pytest.raises(CommandError, match="always true"):
        machine.put_condition(msgspec.structs.replace(info, expression="1 < 2"))
    assert condition.expression == "time > 0.5"
