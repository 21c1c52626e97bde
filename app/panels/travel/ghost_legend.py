"""Which ghosts are in the picture: colour and name of each, shown or hidden, removed."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QGridLayout, QToolButton, QWidget

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.ghosts import (
    MAX_GHOSTS,
    GhostEntry,
    SceneGhost,
    ghost_colour,
    ghost_note,
)
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.telling import telling_names
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.app.panels.travel.corner_frame import MARGIN, CornerFrame
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.resources.themes import Palette

__all__ = ["GhostLegend"]

_AnyGhost = GhostEntry | SceneGhost
_NAME_WIDTH = 190
# Of the picture, at most; names are as wide as they need.
_WIDEST = 0.5
_SHOWN = 8
_SWATCH = 10
_BESIDE_NAME = 114
# What the axes in the corner of the picture take [px].
_AXES = 92


class GhostLegend(CornerFrame):
    """Lies over the lower left corner of ``area`` while there are ghosts."""

    def __init__(self, area: QWidget, sessions: SessionsModel, palette: Palette) -> None:
        super().__init__(area)
        self._palette = palette
        self._built: object = None
        self.rows: list[tuple[_AnyGhost, QToolButton, QToolButton]] = []
        self.names: list[ElidedLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(METRICS.gap, METRICS.grid, 2, METRICS.grid)
        self._grid.setHorizontalSpacing(METRICS.grid)
        self._grid.setVerticalSpacing(0)
        self.follower = SceneFollower(
            self,
            sessions,
            signals=lambda scene: (scene.ghosts.changed, scene.history.changed),
            refresh=self.refresh,
            always=True,
        )
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self.follower.close()
        self.close_frame()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._built = None
        self.refresh()

    def refresh(self) -> None:
        """List the ghosts of the shown scene."""
        scene = self.follower.scene
        entries = scene.ghosts.all if scene is not None else ()
        why_not = why_not_changeable(scene)
        notes = tuple(self._note(scene, entry) for entry in entries) if scene is not None else ()
        key = (scene, entries, notes, why_not)
        if key != self._built:
            self._built = key
            self._clear()
            if scene is not None and entries:
                self._fill(scene, entries, notes, why_not)
        self.setVisible(bool(entries))
        self.place()

    @staticmethod
    def _note(scene: SceneModel, entry: _AnyGhost) -> str:
        return entry.note if isinstance(entry, SceneGhost) else ghost_note(scene, entry.ref)

    def _clear(self) -> None:
        self.rows, self.names = [], []
        for line in range(self._grid.rowCount()):
            self._grid.setRowMinimumHeight(line, 0)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def _fill(
        self,
        scene: SceneModel,
        entries: tuple[_AnyGhost, ...],
        notes: tuple[str, ...],
        why_not: str,
    ) -> None:
        title = label("Ghosts", "section")
        self._grid.addWidget(title, 0, 0, 1, 2)
        mine = any(isinstance(entry, GhostEntry) for entry in entries)
        clear = self._tool(Icon.CLOSE, "Remove all ghosts", why_not if mine else "")
        clear.clicked.connect(scene.ghosts.clear)
        # Before they are dressed buttons have no height.
        for line in range(min(len(entries), _SHOWN) + 1):
            self._grid.setRowMinimumHeight(line, METRICS.compact_height - 2)
        self._grid.addWidget(clear, 0, 3)
        shorter = telling_names([entry.label for entry in entries])
        lines = zip(entries[:_SHOWN], notes, shorter, strict=False)
        for line, (entry, note, short) in enumerate(lines, start=1):
            swatch = QToolButton()
            swatch.setIcon(self._swatch(entry))
            swatch.setIconSize(QSize(_SWATCH, _SWATCH))
            swatch.setAutoRaise(True)
            swatch.setEnabled(False)
            swatch.setProperty("compact", True)
            name = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
            texts = (entry.label, short) if short != entry.label else (entry.label,)
            name.set_full_text(*(f"{note} · {text}" if note else text for text in texts))
            set_property(name, "role", "" if entry.on else "muted")
            # What the window draws itself needs no application.
            refused = "" if isinstance(entry, SceneGhost) else why_not
            eye = self._tool(
                Icon.EYE if entry.on else Icon.EYE_OFF,
                f"Hide {entry.label}" if entry.on else f"Show {entry.label}",
                refused,
            )
            eye.clicked.connect(lambda _=False, e=entry: scene.ghosts.switch(e.ref, on=not e.on))
            remove = self._tool(Icon.CLOSE, f"Remove {entry.label}", refused)
            remove.clicked.connect(lambda _=False, e=entry: scene.ghosts.remove(e.ref))
            for place, widget in enumerate((swatch, name, eye, remove)):
                self._grid.addWidget(widget, line, place)
            self.rows.append((entry, eye, remove))
            self.names.append(name)
        if len(entries) > _SHOWN:
            more = label(f"+{len(entries) - _SHOWN} more of at most {MAX_GHOSTS}", "small")
            self._grid.addWidget(more, _SHOWN + 1, 1)

    def _swatch(self, entry: _AnyGhost) -> QIcon:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(QSize(_SWATCH, _SWATCH) * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        color = QColor(ghost_colour(self._palette, entry.colour))
        if entry.on:
            painter.fillRect(0, 0, _SWATCH, _SWATCH, color)
        else:
            painter.setPen(color)
            painter.drawRect(0, 0, _SWATCH - 1, _SWATCH - 1)
        painter.end()
        made = QIcon()
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Disabled):
            made.addPixmap(picture, mode)
        return made

    def _tool(self, which: Icon, tip: str, why_not: str) -> QToolButton:
        button = icon_button(which, self._palette, plain_text(why_not or tip))
        button.setIcon(icon(which, self._palette, color=self._palette.muted))
        button.setAccessibleName(tip)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setProperty("compact", True)
        button.setFixedSize(METRICS.compact_height - 2, METRICS.compact_height - 2)
        button.setEnabled(not why_not)
        return button

    def place(self) -> None:
        """Lie in the lower left corner, beside the axes of the world."""
        # Not by its parts' wishes: while they are hidden they are not dressed, and smaller.
        lines = 1 + len(self.rows) + (len(self.rows) == _SHOWN)
        widest = max(round(_WIDEST * self.area.width()) - _BESIDE_NAME, _NAME_WIDTH)
        wanted = [name.fontMetrics().horizontalAdvance(name.full_text) for name in self.names]
        width = min(max([_NAME_WIDTH, *wanted]), widest)
        for name in self.names:
            name.setFixedWidth(width)
        self._grid.setColumnMinimumWidth(1, width)
        self.resize(width + _BESIDE_NAME, lines * (METRICS.compact_height - 2) + 2 * METRICS.grid)
        self.move(MARGIN + _AXES, self.area.height() - self.height() - MARGIN)
        self.raise_()
