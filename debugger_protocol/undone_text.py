"""What is said when an edit was undone: what holds again, not only what was changed once."""

import re

__all__ = ["undone_text"]

# "timestep: 0.002 → 0.001 s": the unit stands once, behind a number or numbers in brackets.
_CHANGE = re.compile(r"(?P<what>.+): (?P<old>.+?) → (?P<new>.+)", re.DOTALL)
_UNIT = re.compile(r"(?:\([^)]*\)|[-−+]?[\d.]\S*|nan|[-−]?inf)(?P<unit> [^,]+)", re.DOTALL)


def undone_text(text: str) -> str:
    """Return "timestep: back to 0.002 s (undone: → 0.001 s)" for "timestep: 0.002 → 0.001 s".

    Of an edit that names no old value its own words stand, as what was undone.
    """
    change = _CHANGE.fullmatch(text)
    if change is None:
        return f"undone: “{text}”"
    what, old, new = change["what"], change["old"], change["new"]
    found = _UNIT.match(new)
    unit = found["unit"] if found else ""
    return f"{what}: back to {old}{unit} (undone: → {new})"
