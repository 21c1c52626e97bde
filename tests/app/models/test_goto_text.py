"""Where somebody wants to go, as people type it."""

import pytest

from stroboscope.app.models.goto_text import GotoPlace, GotoTextError, parse_goto


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1200", GotoPlace(step=1200)),
        ("1 200", GotoPlace(step=1200)),
        ("12\u2009345", GotoPlace(step=12345)),
        ("3.2 s", GotoPlace(time=3.2)),
        ("3,2s", GotoPlace(time=3.2)),
        ("t 3.2", GotoPlace(time=3.2)),
        ("t=3", GotoPlace(time=3.0)),
        ("320 ms", GotoPlace(time=0.32)),
        ("2 min", GotoPlace(time=120.0)),
        ("1e-3 s", GotoPlace(time=0.001)),
        ("-0.5 s", GotoPlace(time=-0.5)),
        ("e3", GotoPlace(episode=3)),
        ("E3 120", GotoPlace(episode=3, step=120)),
        ("e 3 120", GotoPlace(episode=3, step=120)),
        ("episode 3 0.5 s", GotoPlace(episode=3, time=0.5)),
        ("e12 1 200", GotoPlace(episode=12, step=1200)),
        ("step 1 200", GotoPlace(step=1200)),
        ("e3 step 120", GotoPlace(episode=3, step=120)),
        # As places are written above the timeline.
        ("episode 3 · step 120", GotoPlace(episode=3, step=120)),
        ("Episode 3, t 0.500 s", GotoPlace(episode=3, time=0.5)),
        ("live", GotoPlace(live=True)),
        (" End ", GotoPlace(live=True)),
    ],
)
def test_what_people_type_is_understood(text, place):
    assert parse_goto(text) == place


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Type a step"),
        ("3.2", "Write 3.2 s"),
        ("yesterday", "“yesterday” is no place"),
        ("e", "no place"),
        ("e3 soon", "no place"),
        ("step", "no place"),
        ("step 3.2 s", "no place"),
        ("-5", "counted from 0"),
        ("1e999 s", "can be reached"),
        ("1.2.3 s", "is no time"),
        ("12 kg", "no place"),
        ("9" * 60 + " parsecs", "no place"),
    ],
)
def test_what_is_no_place_is_explained(text, says):
    with pytest.raises(GotoTextError, match=says):
        parse_goto(text)
