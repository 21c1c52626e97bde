"""The part of the 3D view that the mouse points at: picking, hovering, taking hold."""

import dataclasses
import math

from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import RenderMode
from stroboscope.app.view3d.camera import ViewMode
from stroboscope.app.view3d.camera_widget import CameraWidget, as_point
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.environments import environment_on_ray, slack_at
from stroboscope.app.view3d.gl_surface import GlSurface
from stroboscope.app.view3d.grip import Grip
from stroboscope.app.view3d.items import body_of
from stroboscope.app.view3d.navigation import PickAction
from stroboscope.app.view3d.picking import Hit
from stroboscope.app.view3d.software_surface import SoftwareSurface
from stroboscope.app.view3d.surface_input import SurfaceInput

__all__ = ["PointingWidget"]

HOVER_DELAY_MS = 40


class PointingWidget(CameraWidget):
    """A widget whose surface, once there is one, tells what is under the mouse."""

    picked = Signal(object)  # Element | None, on double click
    environment_picked = Signal(int)  # another one, on double click
    hovered = Signal(object)  # Element | None, when the element under the mouse changes

    def __init__(self, parent: QWidget | None = None, *, scene: DrawnScene | None = None) -> None:
        super().__init__(parent, scene=scene)
        self._surface: GlSurface | SoftwareSurface | None = None
        self._input: SurfaceInput | None = None
        self._hover: Element | None = None
        self._hover_env = -1
        self._hover_at = QPointF()
        self._hover_timer = QTimer(self)
        self._hover_timer.setSingleShot(True)
        self._hover_timer.setInterval(HOVER_DELAY_MS)
        self._hover_timer.timeout.connect(self._look_under_mouse)
        self.grip = Grip(self, scene=self._scene, view=self.view, body=self._body_to_take)
        self.grip.pulled.connect(self._show_hand)
        self.grip.let_go.connect(self._show_hand)

    def pick_at(self, x: float, y: float) -> Hit | None:
        """Return the element and surface point at (x, y) [logical px], None for the sky."""
        hit = self._surface.pick(x, y) if self._surface is not None else None
        return hit if self._scene.environments is None else self._among_environments(hit, x, y)

    def _among_environments(self, hit: Hit | None, x: float, y: float) -> Hit | None:
        """Return what is hit of another environment where that is nearer than ``hit``."""
        scene, grid = self._scene, self._scene.environments
        if grid is None:
            return hit
        view, height = self.view(), float(max(self.height(), 1))
        origin, direction = view.ray(x, y, width=float(max(self.width(), 1)), height=height)
        before = math.inf if hit is None else float((hit.point - origin) @ direction)
        # Nothing thin has to be met exactly, where only a floor is behind it.
        beside = hit is None or hit.element is None or self._is_floor(hit.element)
        for slack in (0.0, *((slack_at(view, grid, height=height),) if beside else ())):
            found = environment_on_ray(
                scene,
                origin=origin,
                direction=direction,
                options=self._options,
                slack=slack,
                before=before,
            )
            if found is not None:
                return Hit(found.element, found.point, found.number)
        return hit

    def _is_floor(self, element: Element) -> bool:
        description = self._scene.description
        return description is not None and body_of(element, description) == 0

    def _number_at(self, at: QPointF) -> int:
        """Return the environment whose number is written there, -1: none."""
        del at
        return -1

    @property
    def _dragging(self) -> bool:
        return self._input is not None and self._input.navigation.dragging

    def _on_pick(self, action: PickAction, at: QPointF) -> None:
        number = self._number_at(at) if action is PickAction.SELECT else -1
        if number >= 0:
            return self.environment_picked.emit(number)
        hit = self.pick_at(at.x(), at.y())
        if action is PickAction.SELECT:
            if hit is not None and hit.env >= 0:
                self.environment_picked.emit(hit.env)
            self._touch(hit)
            self.picked.emit(hit.element if hit is not None else None)
        elif hit is None:
            return None
        elif action is PickAction.LOOK_AT:
            state = dataclasses.replace(
                self.camera,
                mode=ViewMode.FREE,
                lookat=as_point(hit.point),
                tracked_body=-1,
                fixed_camera=-1,
            )
            self.set_camera(state)
        elif hit.element is not None and hit.env < 0 and self._scene.description is not None:
            body = body_of(hit.element, self._scene.description)
            if body > 0:
                self.track_body(body)
        return None

    def _touch(self, hit: Hit | None) -> None:
        """Remember the point of a body that was pointed at: pulling begins there."""
        description = self._scene.description
        if hit is None or hit.env >= 0:
            return
        if hit.element is not None and description is not None:
            body = body_of(hit.element, description)
            if body > 0:
                self.grip.touch(body, hit.point)

    def _body_to_take(self, at: QPointF) -> int:
        """Return the selected body; with nothing selected that under the mouse, selecting it."""
        description = self._scene.description
        if description is None:
            return -1
        if self._selection is None:
            hit = self.pick_at(at.x(), at.y())
            self._touch(hit)
            if hit is not None and hit.element is not None and hit.env < 0:
                self.picked.emit(hit.element)
        element = self._selection
        return body_of(element, description) if element is not None else -1

    def let_go(self) -> bool:
        """Let go of a body that is held; return whether there was one."""
        held = self.grip.body >= 0
        if held and self._input is not None:
            self._input.navigation.stop()
        return held

    def _on_hover(self, x: float, y: float) -> None:
        self._hover_at = QPointF(x, y)
        if not self._hover_timer.isActive():
            self._hover_timer.start()

    def _on_leave(self) -> None:
        self._hover_timer.stop()
        self._set_hover(None, -1)

    def _look_under_mouse(self) -> None:
        if self._surface is None or self._dragging:
            return
        env = self._number_at(self._hover_at)
        hit = self.pick_at(self._hover_at.x(), self._hover_at.y()) if env < 0 else None
        if hit is not None and hit.env >= 0:
            env = hit.env
        self._set_hover(hit.element if hit is not None and env < 0 else None, env)

    def _set_hover(self, element: Element | None, env: int) -> None:
        if element == self._hover and env == self._hover_env:
            return
        was, self._hover, self._hover_env = self._hover, element, env
        if self._surface is not None:
            other = f"environment {env}   double-click to look at it" if env >= 0 else ""
            self._surface.setToolTip(plain_text(other or self._title_of(element)))
        self._show_hand()
        if element != was:
            self.hovered.emit(element)

    def _title_of(self, element: Element | None) -> str:
        """Return what a thing is, and what it hangs on."""
        description = self._scene.description
        if element is None or description is None:
            return ""
        title = f"{element_name(description, element)}   {element.kind}"
        if self._options.render is RenderMode.IDS:
            title = f"{title} {element.index}"
        body = body_of(element, description)
        if element.kind is ElementKind.BODY or not 0 < body < len(description.bodies):
            return title
        return f"{title} of {element_name(description, Element(ElementKind.BODY, body))}"

    def _show_hand(self, _pull: object = None) -> None:
        """Let the cursor say what the mouse would do, or does."""
        element, description = self._hover, self._scene.description
        movable = (
            element is not None and description is not None and body_of(element, description) > 0
        )
        movable = movable or self._hover_env >= 0
        shape = Qt.CursorShape.PointingHandCursor if movable else Qt.CursorShape.ArrowCursor
        if self.grip.body >= 0:
            shape = Qt.CursorShape.ClosedHandCursor
        if self._surface is not None and self._surface.cursor().shape() is not shape:
            self._surface.setCursor(shape)
