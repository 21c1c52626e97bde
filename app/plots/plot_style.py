"""Pens, fonts and icons of the plots, from the design tokens."""

import enum

import qtawesome
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPen
from PySide6.QtWidgets import QToolButton

from stroboscope.resources.themes import Metrics, Palette

__all__ = ["METRICS", "PlotIcon", "line_pen", "plot_icon", "small_number_font", "tool_button"]

METRICS = Metrics()


class PlotIcon(enum.StrEnum):
    """Icons of the plots; values are names of the Material family."""

    ADD = "mdi6.plus"
    FOLLOW = "mdi6.arrow-collapse-right"
    FIT = "mdi6.fit-to-page-outline"
    EXPORT = "mdi6.file-delimited-outline"
    LAYOUTS = "mdi6.view-dashboard-outline"
    CLEAR = "mdi6.delete-sweep-outline"
    REMOVE = "mdi6.close"
    CHART = "mdi6.chart-line"
    CHECK = "mdi6.check"
    WARNING = "mdi6.alert"


def plot_icon(which: PlotIcon, palette: Palette, *, color: str | None = None) -> QIcon:
    """Return an icon in ``color`` (the palette's text), greyed when disabled."""
    made: QIcon = qtawesome.icon(
        which.value, color=color or palette.text, color_disabled=palette.disabled
    )
    return made


def small_number_font() -> QFont:
    """Return the small interface font with figures of equal width."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(METRICS.small_font_px)
    tag = getattr(QFont, "Tag", None)
    if tag is not None:
        font.setFeature(tag("tnum"), 1)
    return font


def line_pen(color: str, *, alpha: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """Return a cosmetic pen of width 1: anything wider costs ten times as much to draw."""
    shade = QColor(color)
    shade.setAlphaF(alpha)
    pen = QPen(shade, 1.0, style)
    pen.setCosmetic(True)
    return pen


def tool_button(which: PlotIcon, palette: Palette, tooltip: str) -> QToolButton:
    """Return a flat toolbar button, 24 px high."""
    button = QToolButton()
    button.setIcon(plot_icon(which, palette))
    button.setIconSize(QSize(METRICS.icon, METRICS.icon))
    button.setFixedHeight(METRICS.compact_height)
    button.setAutoRaise(True)
    button.setToolTip(tooltip)
    button.setAccessibleName(tooltip)
    return button
