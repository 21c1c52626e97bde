"""Icons of one family, coloured from the palette."""

import enum
from typing import Any

import qtawesome
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QPixmap
from qtawesome.iconic_font import CharIconEngine

from stroboscope.resources.themes import Palette

__all__ = ["Icon", "icon", "pixmap"]


class Icon(enum.StrEnum):
    """Everything the window draws as an icon; values are names of the Material family."""

    PLAY = "mdi6.play"
    PAUSE = "mdi6.pause"
    STEP = "mdi6.skip-next"
    STEP_BACK = "mdi6.skip-previous"
    PAST = "mdi6.rewind"
    REPLAY = "mdi6.filmstrip"
    BRANCH = "mdi6.source-branch"
    PREVIOUS = "mdi6.chevron-left"
    NEXT = "mdi6.chevron-right"
    OPEN = "mdi6.chevron-up"
    FOLD = "mdi6.chevron-down"
    TO_FIRST = "mdi6.page-first"
    TO_LIVE = "mdi6.page-last"
    LOOP = "mdi6.repeat"
    FIT = "mdi6.arrow-expand-horizontal"
    SYNC = "mdi6.sync"
    FOLLOW = "mdi6.arrow-collapse-right"
    FAST_FORWARD = "mdi6.fast-forward"
    RESTORE = "mdi6.backup-restore"
    LIVE = "mdi6.access-point"
    HELD = "mdi6.hand-back-left"
    STALE = "mdi6.lan-disconnect"
    WAIT = "mdi6.timer-sand"
    INFO = "mdi6.information-outline"
    WARNING = "mdi6.alert"
    ERROR = "mdi6.alert-octagon"
    CHECK = "mdi6.check"
    SESSION = "mdi6.application-brackets-outline"
    SCENE = "mdi6.cube-scan"
    BODY = "mdi6.cube-outline"
    JOINT = "mdi6.rotate-3d-variant"
    GEOM = "mdi6.shape-outline"
    SITE = "mdi6.map-marker-outline"
    ACTUATOR = "mdi6.engine-outline"
    SENSOR = "mdi6.gauge"
    CAMERA = "mdi6.video-outline"
    TRACK = "mdi6.crosshairs-gps"
    FRAME = "mdi6.fit-to-page-outline"
    PICTURE = "mdi6.camera-outline"
    RECORD = "mdi6.record"
    LIGHT = "mdi6.lightbulb-outline"
    TENDON = "mdi6.vector-polyline"
    EQUALITY = "mdi6.link-variant"
    FLEX = "mdi6.waves"
    SKIN = "mdi6.texture"
    CONTACT = "mdi6.arrow-collapse-vertical"
    KEYFRAME = "mdi6.rhombus-outline"
    SEARCH = "mdi6.magnify"
    COPY = "mdi6.content-copy"
    EDIT = "mdi6.pencil-outline"
    GHOST = "mdi6.ghost-outline"
    GRID = "mdi6.view-grid-outline"
    COLUMNS = "mdi6.view-column-outline"
    CLEAR = "mdi6.delete-sweep-outline"
    CLOSE = "mdi6.close"
    FLOAT = "mdi6.dock-window"
    CONNECT = "mdi6.lan-connect"
    DEMO = "mdi6.robot-industrial"
    RECENT = "mdi6.history"
    CODE = "mdi6.code-tags"
    MORE = "mdi6.dots-horizontal"
    SPEED = "mdi6.speedometer"
    EYE = "mdi6.eye-outline"
    EYE_OFF = "mdi6.eye-off-outline"
    CHART = "mdi6.chart-line"
    LOGO = "mdi6.flash-outline"


class _Engine(CharIconEngine):  # type: ignore[misc]  # qtawesome has no types
    """Draws an icon of any size; qtawesome would paint on a picture that is none."""

    def pixmap(self, size: QSize, mode: Any, state: Any) -> QPixmap:
        """Return it, nothing where a layout has left no room."""
        if size.isEmpty():
            return QPixmap()
        made: QPixmap = super().pixmap(size, mode, state)
        return made


# The only place where it makes engines, all of which it asks for by this name.
qtawesome.iconic_font.CharIconEngine = _Engine


def icon(which: Icon, palette: Palette, *, color: str | None = None) -> QIcon:
    """Return an icon in ``color`` (the palette's text), greyed when disabled."""
    made: QIcon = qtawesome.icon(
        which.value, color=color or palette.text, color_disabled=palette.disabled
    )
    return made


def pixmap(which: Icon, size: int, color: str, *, ratio: float = 1.0) -> QPixmap:
    """Return an icon as a picture of ``size`` logical pixels for a label."""
    made: QPixmap = qtawesome.icon(which.value, color=color).pixmap(QSize(size, size), ratio)
    return made
