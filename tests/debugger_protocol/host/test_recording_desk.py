"""Names of recordings that clients may ask for: none of them is a path."""

import pytest

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.recording_desk import file_name


@pytest.mark.parametrize("name", ["a fall", "run-2", "Übung (3)", "run.mcap", ""])
def test_a_plain_name_is_taken(name: str) -> None:
    assert file_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up", "a\\b", ".hidden", "..", "dot.", "C:run", "a\nb", "a\0b", "what?"],
)
def test_what_may_name_another_place_is_refused(name: str) -> None:
    with pytest.raises(CommandError, match="a recording's name is no path"):
        file_name(name)


def test_a_name_is_not_longer_than_files_may_be_called() -> None:
    assert file_name("x" * 100)
    with pytest.raises(CommandError, match="at most 100 bytes"):
        file_name("é" * 51)
