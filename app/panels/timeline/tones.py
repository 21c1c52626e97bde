"""Colours between those of the palette."""

import functools

from PySide6.QtGui import QColor

__all__ = ["mixed"]


@functools.lru_cache(maxsize=256)
def mixed(front: str, back: str, part: float) -> QColor:
    """Return ``front`` laid over ``back`` with an opacity."""
    a, b = QColor(front), QColor(back)
    return QColor.fromRgbF(
        a.redF() * part + b.redF() * (1.0 - part),
        a.greenF() * part + b.greenF() * (1.0 - part),
        a.blueF() * part + b.blueF() * (1.0 - part),
    )
