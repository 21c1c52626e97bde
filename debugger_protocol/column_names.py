"""Names of columns that people type: letters, digits and underscores, each name once."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["column_name", "column_names", "typed_unit"]

_UNIT_SIGNS: Final = str.maketrans({"·": "*", "²": "^2", "³": "^3", "°": "deg", "µ": "u", "μ": "u"})


def column_names(labels: Iterable[str]) -> list[str]:
    """Return a name for each label, in their order: of the same ones the second ends in ``_2``."""
    names: dict[str, None] = {}
    for label in labels:
        name = wanted = column_name(label)
        number = 1
        while name in names:
            number += 1
            name = f"{wanted}_{number}"
        names[name] = None
    return list(names)


def column_name(label: str) -> str:
    """Return what a person can type for a label: ``qpos[left hip]`` is ``qpos_left_hip``.

    Letters that ASCII lacks go by their names (``θ`` is ``theta``) or without their accents.
    """
    words = "".join(map(_typed, label))
    name = re.sub("_+", "_", words).strip("_") or "column"
    return f"_{name}" if name[0].isdigit() else name


def typed_unit(unit: str) -> str:
    """Return a unit in ASCII: ``N·m`` is ``N*m``, ``rad/s²`` is ``rad/s^2``."""
    return unit.translate(_UNIT_SIGNS).encode("ascii", "replace").decode()


def _typed(letter: str) -> str:
    if letter.isascii():
        return letter if letter.isalnum() else "_"
    plain = unicodedata.normalize("NFKD", letter)
    if base := "".join(each for each in plain if each.isascii() and each.isalnum()):
        return base
    _, is_letter, name = unicodedata.name(plain[0], "").partition(" LETTER ")
    if is_letter:
        called = name.split()[0].lower()
        return called if called.isalnum() else f"u{ord(letter):x}"
    return f"u{ord(letter):x}" if letter.isalnum() else "_"
