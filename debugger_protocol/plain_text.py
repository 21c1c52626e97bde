"""Text for terminals: whatever a stranger calls a scene or a file is shown, never obeyed."""

import unicodedata
from typing import Final, TextIO

__all__ = ["PlainTextOut", "plain_text"]

# Control characters, those that turn the direction of writing, halves of characters.
_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_STAYS: Final = "\n\t\u200c\u200d"


def plain_text(text: str) -> str:
    """Return ``text`` with everything that a terminal would obey written out, as in ``\\x1b``.

    Ends of lines and tabs stay, as do the joiners that some languages and symbols need.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(map(_plain, text))


def _plain(character: str) -> str:
    if character in _STAYS or unicodedata.category(character) not in _OBEYED:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class PlainTextOut:
    """Writes :func:`plain_text` to ``out``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write it."""
        return self._out.write(plain_text(text))

    def flush(self) -> None:
        """Have it written now."""
        self._out.flush()

    def isatty(self) -> bool:
        """Return whether that is a terminal."""
        return self._out.isatty()
