"""Text for terminals: whatever a stranger calls a scene or a file is shown, never obeyed."""

import re
import unicodedata
from typing import Final, TextIO

__all__ = ["PlainTextOut", "plain_line", "plain_text", "short_name", "typed_numbers"]

# Control characters, those that turn the direction of writing, halves of characters.
_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_STAYS: Final = "\n\t\u200c\u200d"

# Of names of thousands of letters.
_LONGEST: Final = 100
_HEAD: Final = 60
_TAIL: Final = 20

# Signs and spaces of numbers, as windows show them. Names may have such characters, too.
_MINUS: Final = re.compile("(?:(?<!\\w)|(?<=\\d[eE]))\u2212(?=[\\d.]|inf)")
_THIN_SPACE: Final = re.compile("(?:(?<=\\d)|(?<=inf)|(?<=nan))[\u2009\u202f\u00a0]")


def plain_text(text: str) -> str:
    """Return ``text`` with everything that a terminal would obey written out, as in ``\\x1b``.

    Ends of lines and tabs stay, as do the joiners that some languages and symbols need.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(map(_plain, text))


def plain_line(text: str) -> str:
    """Return ``text`` as one line, whatever names and texts of others hold."""
    return text.replace("\n", "\\n")


def short_name(name: str) -> str:
    """Return a name as one line, of thousands of letters the first and the last ones."""
    if len(name) > _LONGEST:
        left = len(name) - _HEAD - _TAIL
        name = f"{name[:_HEAD]}…({left:,} letters)…{name[-_TAIL:]}"
    return plain_line(name)


def typed_numbers(text: str) -> str:
    """Return ``text`` with its numbers as they are typed: "-0.5 s", also where a window shows a
    longer minus and a thin space.
    """
    if text.isascii():
        return text
    return _THIN_SPACE.sub(" ", _MINUS.sub("-", text))


def _plain(character: str) -> str:
    if character in _STAYS or unicodedata.category(character) not in _OBEYED:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class PlainTextOut:
    """Writes :func:`plain_text` with :func:`typed_numbers` to ``out``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write it."""
        return self._out.write(typed_numbers(plain_text(text)))

    def flush(self) -> None:
        """Have it written now."""
        self._out.flush()

    def isatty(self) -> bool:
        """Return whether that is a terminal."""
        return self._out.isatty()
