"""What a terminal shows can be typed again, whatever a window shows instead."""

import io
from typing import TextIO, cast

import pytest

from stroboscope.debugger_protocol.plain_text import PlainTextOut, typed_numbers

MINUS, THIN, NARROW = "\u2212", "\u2009", "\u202f"


@pytest.mark.parametrize(
    ("shown", "typed"),
    [
        (f"(0, 0, {MINUS}9.81)", "(0, 0, -9.81)"),
        (f"{MINUS}.5 → {MINUS}inf", "-.5 → -inf"),
        (f"1e{MINUS}05{THIN}s", "1e-05 s"),
        (f"dt 0.002{THIN}s, {MINUS}3{NARROW}mm", "dt 0.002 s, -3 mm"),
        (f"kv·dt/I = 3.2, inf{THIN}N", "kv·dt/I = 3.2, inf N"),
    ],
)
def test_numbers_are_written_as_they_are_typed(shown: str, typed: str) -> None:
    assert typed_numbers(shown) == typed
    out = io.StringIO()
    PlainTextOut(cast("TextIO", out)).write(shown)
    assert out.getvalue() == typed


@pytest.mark.parametrize("name", [f"leg{MINUS}1", f"left{THIN}arm", f"a{MINUS}b", "Bein", "腕"])
def test_names_stay_as_somebody_has_to_write_them(name: str) -> None:
    assert typed_numbers(name) == name
