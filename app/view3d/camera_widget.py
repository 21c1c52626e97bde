"""The part of the 3D view that moves the camera: modes, standard views, framing, lens."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.selection import Element
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.camera import (
    FRAME_FILL,
    CameraState,
    StandardView,
    View,
    ViewMode,
    fitted,
)
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.items import body_of
from stroboscope.app.view3d.resolve import lookat_of, resolve_view

__all__ = ["CameraWidget", "as_point"]

MIN_FOVY, MAX_FOVY = 5.0, 120.0
MOST_COVERED = 0.28  # of the view's height: below messages nothing shall become tiny
_BELOW_GRID = 60  # [px]


class CameraWidget(QWidget):
    """A widget with a camera in a drawn scene; whoever draws it says how in ``_redraw``."""

    camera_changed = Signal(object)  # CameraState

    def __init__(self, parent: QWidget | None = None, *, scene: DrawnScene | None = None) -> None:
        super().__init__(parent)
        self._scene = scene or DrawnScene()
        self._options = ViewOptions()
        self._camera = CameraState()
        self._selection: Element | None = None
        self._framed = False
        self._extent: float | None = None
        self._kept_free = 0

    def _redraw(self) -> None:
        """Draw with the next picture what has changed."""
        raise NotImplementedError

    @property
    def camera(self) -> CameraState:
        """Where the camera is; ``lookat`` of a tracking camera is where it looks now."""
        if self._camera.mode is ViewMode.TRACKING:
            return dataclasses.replace(
                self._camera, lookat=as_point(lookat_of(self._camera, self._scene))
            )
        return self._camera

    @property
    def is_framed(self) -> bool:
        """Whether the camera has been put somewhere for the scene on show."""
        return self._framed

    def set_camera(self, camera: CameraState) -> None:
        """Move the camera and tell with ``camera_changed``; the scene is not framed afterwards."""
        self._framed = True
        if camera != self._camera:
            self._camera = camera
            self._redraw()
            self.camera_changed.emit(camera)

    def keep_free(self, height: int) -> None:
        """Frame scenes below the upper ``height`` [px], where messages stand over the picture."""
        self._kept_free = height

    def free_camera(self) -> None:
        """Stop tracking or leave a fixed camera, staying where the camera is."""
        if self._camera.mode is ViewMode.FREE:
            return
        state = self.camera
        self.set_camera(
            dataclasses.replace(state, mode=ViewMode.FREE, tracked_body=-1, fixed_camera=-1)
        )

    def track_body(self, body: int) -> None:
        """Follow ``body`` (an index into the bodies) with the present angles and distance."""
        self.set_camera(
            dataclasses.replace(
                self._camera, mode=ViewMode.TRACKING, tracked_body=body, fixed_camera=-1
            )
        )

    def look_through(self, camera: int) -> None:
        """Look through one of the model's own cameras (an index into the cameras)."""
        self.set_camera(
            dataclasses.replace(
                self.camera, mode=ViewMode.FIXED, fixed_camera=camera, tracked_body=-1
            )
        )

    def standard_view(self, view: StandardView) -> None:
        """Look from a named direction at what the camera looks at now."""
        azimuth, elevation = view.value
        state = dataclasses.replace(
            self.camera, azimuth=azimuth, elevation=elevation, fixed_camera=-1
        )
        if state.mode is ViewMode.FIXED:
            state = dataclasses.replace(state, mode=ViewMode.FREE)
        self.set_camera(state)

    def toggle_tracking(self) -> bool:
        """Follow what is selected (or what the first moving body is); once more: stay.

        Returns whether a body is followed now.
        """
        if self._camera.mode is ViewMode.TRACKING:
            self.free_camera()
            return False
        description = self._scene.description
        if description is None:
            return False
        body = body_of(self._selection, description) if self._selection is not None else -1
        if body <= 0:
            moving = (i for i, b in enumerate(description.bodies) if i > 0 and b.weld != 0)
            body = next(moving, -1)
        if body <= 0:
            return False
        self.track_body(body)
        return True

    def set_orthographic(self, orthographic: bool) -> None:
        """Draw without perspective, or with."""
        state = self.camera
        if state.mode is ViewMode.FIXED:
            state = dataclasses.replace(state, mode=ViewMode.FREE, fixed_camera=-1)
        self.set_camera(dataclasses.replace(state, orthographic=orthographic))

    def set_fovy(self, fovy: float) -> None:
        """Change the vertical field of view [deg], keeping the size of what is looked at."""
        fovy = min(max(fovy, MIN_FOVY), MAX_FOVY)
        state = self.camera
        before = math.tan(math.radians(state.fovy) / 2.0)
        distance = state.distance * before / math.tan(math.radians(fovy) / 2.0)
        self.set_camera(dataclasses.replace(state, fovy=fovy, distance=distance))

    def frame_scene(self) -> None:
        """Move the camera so that the whole scene fits, keeping or choosing good angles."""
        state = self._camera
        if not self._framed:
            azimuth, elevation = StandardView.CORNER.value
            description = self._scene.description
            given = description is not None and (
                description.camera_azimuth,
                description.camera_elevation,
            ) != (90.0, -45.0)
            if description is not None and given:
                azimuth, elevation = description.camera_azimuth, description.camera_elevation
            state = dataclasses.replace(state, azimuth=azimuth, elevation=elevation)
        corners = self._scene.framing_points(self._options)
        if not len(corners):
            center, radius = self._scene.scene_bounds(self._options)
            corners = _around(center, radius)
        self._fit(state, corners, self._scene.reach_points(self._options))

    def frame_selection(self) -> None:
        """Move the camera so that the selected element fills the view, or do nothing."""
        if self._selection is None:
            return
        bounds = self._scene.element_bounds(self._selection)
        if bounds is not None:
            center, radius = bounds
            # Centred, not fitted: the mouse shall turn the view about what is selected.
            angle = math.atan(math.tan(math.radians(self._camera.fovy) / 2.0) * FRAME_FILL)
            reach = max(radius, 0.02 * self._scene_extent()) / min(1.0, self._aspect())
            self.set_camera(
                dataclasses.replace(
                    self._camera,
                    mode=ViewMode.FREE,
                    lookat=as_point(center),
                    distance=1.6 * reach / math.sin(angle),
                    tracked_body=-1,
                    fixed_camera=-1,
                )
            )

    def _fit(
        self, state: CameraState, points: NDArray[np.float64], reached: NDArray[np.float64]
    ) -> None:
        free = dataclasses.replace(state, mode=ViewMode.FREE, tracked_body=-1, fixed_camera=-1)
        covered = min(self._kept_free / max(self.height(), 1), MOST_COVERED)
        # Several environments: a number below each, and the bar that chooses among them.
        below = _BELOW_GRID if self._scene.environments is not None else 0
        self.set_camera(
            fitted(
                free,
                points,
                aspect=self._aspect(),
                covered=covered,
                covered_below=min(below / max(self.height(), 1), MOST_COVERED),
                reached=reached,
            )
        )

    def view(self) -> View:
        """Return the camera of the next frame, with its projection."""
        return resolve_view(
            self._camera, self._scene, aspect=self._aspect(), extent=self._scene_extent()
        )

    def _aspect(self) -> float:
        return max(self.width(), 1) / max(self.height(), 1)

    def _scene_extent(self) -> float:
        """Return the scene's radius [m]; taken once per scene, so that sizes do not swim."""
        if self._extent is None:
            self._extent = self._scene.scene_bounds(ViewOptions())[1]
        return self._extent


def as_point(array: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return a point (3,) as plain numbers."""
    return float(array[0]), float(array[1]), float(array[2])


def _around(center: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the corners (8, 3) of a cube about ``center``."""
    signs = [[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    return center + radius * np.array(signs)
