"""Where a trial of what a stop offers begins, how far it goes, and what is said of it."""

import msgspec
import pytest

from stroboscope.debugger_protocol.time_messages import (
    RolloutInfo,
    Segment,
    SegmentKind,
    StopInfo,
    StopReason,
)
from stroboscope.debugger_protocol.trials import (
    trial_name,
    trial_span,
    trial_text,
    unnamed_edits,
)


def stop_at(axis: int, reason: StopReason = StopReason.EXPLODING) -> StopInfo:
    return StopInfo(
        stop_id=1, reason=reason, axis=axis, episode=1, step=axis, physics_step=axis, time=0.0,
        message="",
    )  # fmt: skip


def segments(*begins: int) -> list[Segment]:
    return [
        Segment(segment_id=at, kind=SegmentKind.BEGIN, begin=begin, episode=at)
        for at, begin in enumerate(begins, 1)
    ]


@pytest.mark.parametrize(
    ("axis", "first", "view", "begins", "live", "span"),
    [
        (1000, 0, None, (0,), 1000, (750, 500)),  # half a second before, and after with held inputs
        (1000, 900, None, (0,), 1000, (900, 350)),  # as far as it is kept
        (1000, 0, None, (0, 990), 1000, (990, 260)),  # since the episode's beginning
        (1000, 0, 400, (0,), 1000, (400, 850)),  # from the row in view
        (1000, 0, 1000, (0,), 1000, (750, 500)),
        (1000, 0, 100, (0, 500), 1000, (750, 500)),  # not from another episode
        (1000, 0, None, (0,), 1400, (750, 0)),  # as far as it was recorded
        (1000, 0, None, (0,), 1100, (750, 500)),
        (1000, 0, None, (0, 1010), 1400, (750, 500)),
        (1, 0, None, (0,), 1, (0, 251)),
        (5, 0, None, (5,), 5, (0, 255)),
        (1000, 1000, None, (0,), 1000, (1000, 250)),  # from where it stands
        (1000, 1000, None, (0,), 1400, (1000, 0)),
        (1000, 1001, None, (0,), 1400, None),
        (0, 0, None, (0,), 0, (0, 250)),
    ],
)
def test_a_trial_goes_on_behind_the_stop(
    axis: int,
    first: int,
    view: int | None,
    begins: tuple[int, ...],
    live: int,
    span: tuple[int, int] | None,
) -> None:
    found = trial_span(
        stop_at(axis), first=first, view=view, segments=segments(*begins), live=live, timestep=0.002
    )
    assert found == span


def test_a_trial_of_a_stop_at_the_first_step_of_an_episode_is_of_that_episode() -> None:
    stop = StopInfo(
        stop_id=1, reason=StopReason.EXPLODING, axis=500, episode=2, step=0, physics_step=0,
        time=0.0, message="",
    )  # fmt: skip
    whole = segments(0, 500)
    assert trial_span(stop, first=0, view=None, segments=whole, live=500, timestep=0.002) == (
        500,
        250,
    )
    # One that somebody begins there after the stop, from a place of the first episode, is not its.
    back = msgspec.structs.replace(whole[1], episode=1, physics_step=100)
    stop = msgspec.structs.replace(stop, episode=1, physics_step=500)
    found = trial_span(
        stop, first=0, view=None, segments=[whole[0], back], live=900, timestep=0.002
    )
    assert found == (250, 500)


def test_of_a_condition_only_that_it_was_simulated_is_said() -> None:
    ended = RolloutInfo(rollout_id=1, name="half", steps=500, timestep=0.001, time=1.0)
    assert trial_text(ended, stop_at(5)) == "no stop in 500 steps"
    assert trial_text(ended, stop_at(5, StopReason.CONDITION)) == (
        "simulated in 500 steps; whether the condition becomes true is not looked at"
    )
    wrong = RolloutInfo(
        rollout_id=1, name="half", steps=7, timestep=0.001, time=1.0, outcome="NaN", event_step=7
    )
    assert trial_text(wrong, stop_at(5)) == "NaN in 7 steps, first event at its step 7"


def test_a_trial_of_many_edits_is_called_after_the_first_and_how_many_more() -> None:
    assert trial_name(["one: 1 → 2"]) == "one: 1 → 2"
    assert trial_name(["one: 1 → 2", "two: 3 → 4"]) == "one: 1 → 2, two: 3 → 4"
    name = trial_name([f"damping of joint_{at}: 1 → 2" for at in range(40)])
    assert name.startswith("damping of joint_0: 1 → 2, damping of joint_1: 1 → 2, ")
    assert name.endswith(", +34 more")
    assert len(name) < 180
    long = "x" * 500
    assert trial_name([long, "other"]) == f"{long}, +1 more"
    assert trial_name([]) == ""


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("kp of all 2 servos: 40 → 80", ("timestep: 2 → 1 s", "held for 9 steps")),
        ("kp of all 2 servos: 40 → 80, timestep: 2 → 1 s", ("held for 9 steps",)),
        (
            "stiff",
            ("kp of all 2 servos: 40 → 80", "timestep: 2 → 1 s", "held for 9 steps"),
        ),
    ],
)
def test_what_the_name_of_a_trial_tells_is_not_told_again(name: str, rest: tuple[str, ...]) -> None:
    made = RolloutInfo(
        rollout_id=1, name=name, steps=9, timestep=0.001, time=1.0,
        edits=(
            "kp of all 2 servos: 40 → 80 – hip, knee [N·m/rad]",
            "timestep: 2 → 1 s",
            "held for 9 steps",
        ),
    )  # fmt: skip
    assert unnamed_edits(made) == rest
