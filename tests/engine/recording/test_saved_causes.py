"""Which stops are worth a file, counted by their cause."""

from typing import Any

import pytest

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.saved_causes import MOST_FILES, SavedCauses, cause_of

EXPLODES = "qacc[0] of joint {!r} (dof 0) is 1e+{}: more than 1e+10"


def stop(text: str = "", reason: str = "exploding", **data: Any) -> FileEvent:
    return FileEvent(kind="stop", axis=3, text=text, data={"reason": reason, **data})


def saved(causes: SavedCauses, events: list[FileEvent], *, scene: str = "arm") -> list[bool]:
    return [causes.judge([event], scene=scene).saves for event in events]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            stop(EXPLODES.format("a1", 12), culprit="likely the actuator 'm1': 90% of 1e12 N"),
            stop(EXPLODES.format("a2", 15), culprit="likely the actuator 'm1': 71% of 3e15 N"),
        ),
        (
            stop("environment 3: qpos[2] is NaN", env=3),
            stop("environment 7: qpos[2] is NaN", env=7),
        ),
        (
            stop("“z < 0.3” became true in physics step 12 (t = 0.1 s)", "condition"),
            stop("“z < 0.3” became true for the second time in physics step 90", "condition"),
        ),
        (
            stop("the timestep 0.05 s is too long", "warning"),
            stop("the timestep 0.06 s is too long", "warning"),
        ),
    ],
)
def test_a_cause_is_the_same_whatever_its_numbers_are(one: FileEvent, other: FileEvent) -> None:
    assert cause_of(one) == cause_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stop("x", "exploding"), stop("x", "non_finite")),
        (
            stop(culprit="likely the actuator 'm1': 90%"),
            stop(culprit="likely the actuator 'm2': 90%"),
        ),
        (
            stop(culprit="no single cause stands out", joint="a"),
            stop(culprit="no single cause stands out", joint="b"),
        ),
        (stop("“z < 0.3” became true", "condition"), stop("“z < 0.5” became true", "condition")),
        (stop("qpos of joint 'hip 1' is NaN"), stop("qpos of joint 'hip_2' is NaN")),
    ],
)
def test_causes_differ_by_their_reason_and_by_whom_they_name(
    one: FileEvent, other: FileEvent
) -> None:
    assert cause_of(one) != cause_of(other)


def test_of_one_cause_three_are_saved_and_of_many_the_first_of_each() -> None:
    causes = SavedCauses()
    events = [stop(f"cause {name}") for name in "aaaaabbbbbccccdddeeeffgh"]
    taken = "".join(
        event.text[-1]
        for event, is_saved in zip(events, saved(causes, events), strict=True)
        if is_saved
    )
    assert taken == "aaabbcdefgh"[:MOST_FILES]
    assert causes.left_out == len(events) - MOST_FILES


def test_what_ends_the_script_is_saved_of_each_scene_and_without_room() -> None:
    causes = SavedCauses()
    saved(causes, [stop(f"cause {name}") for name in "abcdefghijk"])
    end = stop("the script ended with ValueError: it diverged", "script_error")
    assert saved(causes, [end], scene="one") == [True]
    assert saved(causes, [end, end], scene="two") == [True, False]


def test_a_step_with_several_stops_is_saved_for_the_one_that_is_new() -> None:
    causes = SavedCauses()
    assert saved(causes, [stop("a")] * 5) == [True, True, True, False, False]
    verdict = causes.judge([stop("a"), stop("b")], scene="arm")
    assert verdict.saves


def test_each_cause_says_once_that_it_is_saved_no_more_and_the_end_of_room_is_told_once() -> None:
    causes = SavedCauses()

    def told(words: str) -> list[str]:
        texts = (causes.judge([stop(word)], scene="arm").text for word in words)
        return [text for text in texts if text]

    (first,) = told("aaaaaaaa")
    assert "3 files of this cause" in first
    (second,) = told("bbbbbb")
    assert "2 files of this cause" in second
    last, full = told("cdefg" + "hijklmno")
    assert "the last file" in last
    assert "10 files are written" in full


def test_a_script_that_finds_ever_new_words_takes_no_more_memory_for_that() -> None:
    causes = SavedCauses()
    for number in range(3_000):
        causes.judge([stop(f"x{number}y is wrong")], scene="arm")
    assert len(causes._causes) <= 1_001
