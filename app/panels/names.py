"""Names that are longer than the room there is for them."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics

__all__ = ["elided_name"]


def elided_name(text: str, metrics: QFontMetrics, width: int) -> str:
    """Return ``text`` shortened to ``width`` [px].

    What stands before the last slash goes first: it is the same for a whole robot. Then the middle,
    as in names with spaces, which people have given.
    """
    if metrics.horizontalAdvance(text) <= width:
        return text
    place, _, own = text.rpartition("/")
    if place and own and " " not in place:
        text = f"…/{own}"
    return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, width)
