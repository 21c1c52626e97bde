"""Up to four views of the shown scene: cameras of their own, everything else in common.

One of them is active: keys and menus act on it, and an accent line is around it. The scene is fed
once; the others look at what the first one was told.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QObject, QRect, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.selection import Element
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.camera import CameraState, StandardView, ViewMode
from stroboscope.app.view3d.environments import EnvironmentGrid
from stroboscope.app.view3d.ghosts import OtherPose
from stroboscope.app.view3d.viewport import SPACING, Viewport
from stroboscope.debugger_protocol.edit_messages import Perturb
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["Arrangement", "ViewGrid"]

# Where the second, third and fourth view look from until somebody moves them.
_DIRECTIONS = (StandardView.CORNER, StandardView.FRONT, StandardView.TOP, StandardView.RIGHT)
# Of the first view, where the banner of a stop and the buttons stand [px].
_MESSAGES = 88
_LINE = 2  # around each view while there are several [px]
# Where the processor draws, pictures per second of a view that nobody works in, for all of these
# together: each takes as much time from the simulation as one of the active view.
_OTHERS_FPS = 6.0
_OTHERS_FPS_FAST = 1.0
# And no more than a third of the time altogether.
_OTHERS_SPACING = 3.0


class Arrangement(enum.StrEnum):
    """How many views there are and where."""

    ONE = "one"
    SIDE_BY_SIDE = "side by side"
    STACKED = "stacked"
    FOUR = "four"

    @property
    def shape(self) -> tuple[int, int]:
        """How many columns and rows."""
        shapes = {"one": (1, 1), "side by side": (2, 1), "stacked": (1, 2), "four": (2, 2)}
        return shapes[self.value]


class ViewGrid(QWidget):
    """Holds the views and tells all of them what the scene does. GUI thread only."""

    added = Signal(object)  # Viewport
    removed = Signal(object)  # Viewport, which is about to be deleted
    activated = Signal(object)  # Viewport
    picked = Signal(object)  # Element | None, in whichever view
    environment_picked = Signal(int)  # another one, in whichever view
    camera_changed = Signal(object)  # CameraState, of whichever view

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._limit = 0.0
        self._legend_above = 0
        self._stale = False
        self._selection: Element | None = None
        self.arrangement = Arrangement.ONE
        self.leader = Viewport(palette, self)
        self.leader.keep_free(_MESSAGES)
        self.views: list[Viewport] = []
        self.active = self.leader
        self._take(self.leader)

    # --- which views there are

    def arrange(self, arrangement: Arrangement) -> None:
        """Have that many views; new ones look from other sides at what the active one looks at."""
        if arrangement is self.arrangement:
            return
        self.arrangement = arrangement
        columns, rows = arrangement.shape
        while len(self.views) > columns * rows:
            self._drop(self.views[-1])
        while len(self.views) < columns * rows:
            self._add()
        self._place()
        self._apply_limits()

    def activate(self, view: Viewport) -> None:
        """Let keys and menus act on ``view``."""
        if view is not self.active and view in self.views:
            self.active = view
            self._apply_limits()
            self.update()
            self.activated.emit(view)

    def activate_next(self) -> None:
        """Go to the next view, and put the focus there."""
        at = self.views.index(self.active)
        self.activate(self.views[(at + 1) % len(self.views)])
        self.active.setFocus()

    def set_cameras(self, cameras: list[CameraState]) -> None:
        """Move the cameras of as many views as there are ``cameras`` for."""
        for view, camera in zip(self.views, cameras, strict=False):
            view.set_camera(camera)

    def _add(self) -> None:
        view = Viewport(self._palette, self, leader=self.leader)
        view.options = self.leader.options
        view.set_selection(self._selection)
        view.set_stale(self._stale)
        if self.leader.is_framed:
            view.set_camera(_from_another_side(self.active.camera, len(self.views)))
        self._take(view)
        view.show()
        self.added.emit(view)

    def _take(self, view: Viewport) -> None:
        self.views.append(view)
        view.picked.connect(self.picked)
        view.environment_picked.connect(self.environment_picked)
        view.camera_changed.connect(self.camera_changed)
        surface = view.focusProxy()
        if surface is not None:
            surface.installEventFilter(self)

    def _drop(self, view: Viewport) -> None:
        self.views.remove(view)
        self.removed.emit(view)
        if view is self.active:
            self.activate(self.leader)
        view.hide()
        view.close()
        view.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Activate the view that is clicked or gets the focus."""
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.FocusIn):
            for view in self.views:
                if view.focusProxy() is watched:
                    self.activate(view)
        return False

    # --- where they stand

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep all views the same size."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        columns, rows = self.arrangement.shape
        line = _LINE if len(self.views) > 1 else 0
        for index, view in enumerate(self.views):
            view.setGeometry(self._cell(index, columns, rows).adjusted(line, line, -line, -line))
        self.update()

    def _cell(self, index: int, columns: int, rows: int) -> QRect:
        column, row = index % columns, index // columns
        left, right = (self.width() * n // columns for n in (column, column + 1))
        top, bottom = (self.height() * n // rows for n in (row, row + 1))
        return QRect(left, top, right - left, bottom - top)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines between the views, and that around the active one."""
        if len(self.views) < 2:
            return
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(self._palette.line))
        around = self.active.geometry().adjusted(-_LINE, -_LINE, _LINE, _LINE)
        painter.fillRect(around, QColor(self._palette.accent))
        painter.end()

    # --- what all are told, the first of them before the others

    @property
    def options(self) -> ViewOptions:
        """What is drawn, in all views."""
        return self.leader.options

    @options.setter
    def options(self, options: ViewOptions) -> None:
        for view in self.views:
            view.options = options

    def set_description(
        self,
        description: SceneDescription | None,
        assets: Mapping[str, Mapping[str, NDArray[np.generic]]] | None = None,
    ) -> None:
        """Show another scene, or a new revision of this one."""
        for view in self.views:
            view.set_description(description, assets)

    def set_asset(self, digest: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take an asset's arrays."""
        for view in self.views:
            view.set_asset(digest, arrays)

    def set_poses(self, xpos: NDArray[np.float64], xquat: NDArray[np.float64]) -> None:
        """Move the bodies: ``xpos`` (nbody, 3) [m], ``xquat`` (nbody, 4) wxyz, world frame."""
        for index, view in enumerate(self.views):
            is_new = not view.is_framed
            view.set_poses(xpos, xquat)
            if is_new and index:
                view.standard_view(_DIRECTIONS[index])
                view.frame_scene()

    def set_values(self, topic: Topic, arrays: Mapping[str, NDArray[np.generic]] | None) -> None:
        """Take a topic's arrays for the overlays that draw them; None: they are not known."""
        for view in self.views:
            view.set_values(topic, arrays)

    def set_others(
        self, others: Sequence[OtherPose], environments: EnvironmentGrid | None = None
    ) -> None:
        """Draw the scene once more for each of these: ghosts, and environments in their grid."""
        for view in self.views:
            view.set_others(others, environments)

    def set_hidden(self, elements: frozenset[Element]) -> None:
        """Leave these elements out of the pictures."""
        for view in self.views:
            view.set_hidden(elements)

    def set_selection(self, element: Element | None) -> None:
        """Highlight ``element``."""
        self._selection = element
        for view in self.views:
            view.set_selection(element)

    def set_perturbation(self, perturb: Perturb | None) -> None:
        """Draw the spring that pulls a body, None: no more."""
        for view in self.views:
            view.set_perturbation(perturb)

    def set_stale(self, stale: bool) -> None:
        """Dim the pictures while what they show is no longer true."""
        self._stale = stale
        for view in self.views:
            view.set_stale(stale)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.update()
        for view in self.views:
            view.set_theme(palette)

    def set_frame_limit(self, frames_per_second: float) -> None:
        """Draw new poses at most this often in the active view; 0 for as often as they come."""
        self._limit = frames_per_second
        self._apply_limits()

    def keep_legend_above(self, pixels: int) -> None:
        """Leave so much of the lower edge to what lies over it."""
        if pixels != self._legend_above:
            self._legend_above = pixels
            self._apply_limits()

    def _apply_limits(self) -> None:
        others = max(len(self.views) - 1, 1)
        for view in self.views:
            limit = self._limit
            if view is not self.active and view.on_software:
                limit = (_OTHERS_FPS_FAST if limit else _OTHERS_FPS) / others
            view.set_frame_limit(limit)
            view.set_has_legend(view is self.active, above=self._legend_above)
            spacing = SPACING if view is self.active else _OTHERS_SPACING * others
            view.take_turns((each for each in self.views if each is not view), spacing=spacing)

    def close_views(self) -> None:
        """Stop every view's timers and give the OpenGL resources back."""
        for view in reversed(self.views):
            view.close()


def _from_another_side(camera: CameraState, index: int) -> CameraState:
    """Return a free camera that looks at the same from the direction of view ``index``."""
    azimuth, elevation = _DIRECTIONS[index].value
    return dataclasses.replace(
        camera,
        mode=ViewMode.FREE,
        azimuth=azimuth,
        elevation=elevation,
        tracked_body=-1,
        fixed_camera=-1,
    )
