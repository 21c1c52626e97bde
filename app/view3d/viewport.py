"""The 3D view as a widget: a scene goes in, a selection and a camera come out."""

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import Quality, RenderMode, ViewOptions
from stroboscope.app.view3d.camera import (
    View,
    ViewMode,
)
from stroboscope.app.view3d.drawing import ViewStats
from stroboscope.app.view3d.environment_numbers import EnvironmentNumber, numbers_of
from stroboscope.app.view3d.environments import EnvironmentGrid
from stroboscope.app.view3d.ghosts import OtherPose
from stroboscope.app.view3d.gl_canvas import gl_renderer_name, is_software
from stroboscope.app.view3d.gl_surface import GlSurface
from stroboscope.app.view3d.labels import Label, LabelOverlay, labels_of
from stroboscope.app.view3d.measured import measured_options
from stroboscope.app.view3d.navigation import Navigation
from stroboscope.app.view3d.overlays.legend import LegendOverlay, legend_rows
from stroboscope.app.view3d.overlays.picture import OverlayPicture, Overlays
from stroboscope.app.view3d.picture_widget import PictureWidget
from stroboscope.app.view3d.renderer import Frame
from stroboscope.app.view3d.software_surface import SoftwareSurface
from stroboscope.app.view3d.surface_input import SurfaceInput
from stroboscope.debugger_protocol.edit_messages import Perturb
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["SPACING", "Viewport"]

# Without multisampling, a picture that has stood still this long is drawn once more, beautifully.
# Where the processor draws, new poses are drawn no sooner than this many durations of a picture
# after the last ones; of pictures that take longer than these [ms] a third is left besides.
SPACING = 1.0
SHORT_MS = 100.0
LONG_SPACING = 1.5
REFINE_DELAY_MS = 500
REFINE_PIXELS = 6_000_000
REFINE_FRAME_MS = 160.0
NO_GL = (
    "The 3D view needs OpenGL, and none could be started here. "
    "`stroboscope doctor` says what is missing; everything else works without it."
)


class Viewport(PictureWidget):
    """Draws one scene and lets people look around in it. Lives on the GUI thread.

    Draws only when something has changed. Everything that is set before the widget is shown, or
    while its OpenGL context is being replaced, appears with the next frame.

    With a ``leader`` it looks at that one's scene with a camera of its own: whatever is told of
    the scene (description, assets, poses, values, what is hidden) is told the leader first.
    ``drawn`` comes with each picture, and when there can be none.
    """

    drawn = Signal()

    def __init__(
        self,
        palette: Palette,
        parent: QWidget | None = None,
        *,
        leader: "Viewport | None" = None,
    ) -> None:
        scene = leader._scene if leader is not None else None
        super().__init__(parent, palette=palette, scene=scene)
        self._leader = leader
        self._follows = leader is not None
        self._has_legend, self._legend_above = True, 0
        self._shown = _identity(self._scene.description)
        self._overlays = Overlays()
        self._stale = False
        # Whether what is on show was begun before await_picture(), and whether one was begun since.
        self._awaits, self._begun = False, False
        self._labels: tuple[list[Label], int, View | None] = ([], 0, None)
        self._numbers: list[EnvironmentNumber] = []
        self._legend: LegendOverlay | None = None
        self._overlay: LabelOverlay | None = None
        self._message = QLabel(NO_GL, self)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._message.setMargin(24)
        self._frame_limit = 0.0
        self._spacing = SPACING
        self._last_draw = 0.0
        self._due_timer = QTimer(self)
        self._due_timer.setSingleShot(True)
        self._due_timer.timeout.connect(self._redraw)
        self._refine_timer = QTimer(self)
        self._refine_timer.setSingleShot(True)
        self._refine_timer.setInterval(REFINE_DELAY_MS)
        self._refine_timer.timeout.connect(self._refine)
        if gl_renderer_name():
            self._build_surface()

    def _build_surface(self) -> None:
        surface: GlSurface | SoftwareSurface
        if self.on_software:
            surface = SoftwareSurface(
                self, scene=self._scene, frame=self._make_frame, moving=self._is_moving
            )
        else:
            surface = GlSurface(self, scene=self._scene, frame=self._make_frame)
        navigation = Navigation(
            surface,
            camera=lambda: self._camera,
            move=self.set_camera,
            pick=self._on_pick,
            extent=self._scene_extent,
            height=surface.height,
            grip=self.grip,
        )
        self._input = SurfaceInput(surface, navigation)
        self._input.hovered.connect(self._on_hover)
        self._input.left.connect(self._on_leave)
        surface.started.connect(self._on_started)
        surface.drawn.connect(self._on_drawn)
        surface.failed.connect(self._on_failure)
        self._surface = surface
        self._overlay = LabelOverlay(self)
        self._overlay.set_bright(self._palette.name == "light")
        self._legend = LegendOverlay(self._palette, self)
        self._message.hide()
        self.setFocusProxy(surface)

    # What is shown

    @property
    def description(self) -> SceneDescription | None:
        """The scene on show."""
        return self._scene.description

    def set_description(
        self,
        description: SceneDescription | None,
        assets: Mapping[str, Mapping[str, NDArray[np.generic]]] | None = None,
    ) -> None:
        """Show another scene, or a new revision of this one (which keeps camera and selection).

        ``assets`` maps digests to asset arrays and may be incomplete: what is missing appears
        when :meth:`set_asset` brings it. What moves appears with the first poses.
        """
        before, self._shown = self._shown, _identity(description)
        same = before is not None and before == self._shown
        if not self._follows:
            self._scene.set_description(description, assets or {})
        self._extent = None
        self.grip.forget()
        if not same:
            self._selection = None
            self._framed = False
            self._camera = dataclasses.replace(
                self._camera, mode=ViewMode.FREE, tracked_body=-1, fixed_camera=-1
            )
        if self._surface is not None:
            self._message.hide()
            self._surface.show()
            self._surface.retry()
        self._redraw()

    def set_asset(self, digest: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take an asset's arrays as they arrive; digests the scene does not use are ignored."""
        if not self._follows:
            self._scene.set_asset(digest, arrays)
        self._redraw()

    def set_poses(self, xpos: NDArray[np.float64], xquat: NDArray[np.float64]) -> None:
        """Move the bodies: ``xpos`` (nbody, 3) [m], ``xquat`` (nbody, 4) wxyz, world frame.

        Raises ValueError when the sizes do not fit the description. The first poses of a scene
        frame it.
        """
        if not self._follows:
            self._scene.set_poses(xpos, xquat)
        if not self._framed:
            self._extent = None
            self.frame_scene()
        self._redraw_when_due()

    def set_values(self, topic: Topic, arrays: Mapping[str, NDArray[np.generic]] | None) -> None:
        """Take a topic's arrays for the overlays that draw them; None: they are not known.

        They belong to the poses of before and stay until the next call or description.
        """
        if not self._follows:
            self._scene.set_values(topic, arrays)
        self._redraw_when_due()

    def set_others(
        self, others: Sequence[OtherPose], environments: EnvironmentGrid | None = None
    ) -> None:
        """Draw the scene once more for each of these: ghosts, and environments in their grid.

        Raises ValueError when the sizes do not fit the description.
        """
        if not self._follows:
            self._scene.set_others(others, environments)
        self._redraw_when_due()

    def set_perturbation(self, perturb: Perturb | None) -> None:
        """Draw the spring that pulls a body, None: no more."""
        if perturb != self._overlays.perturbation:
            self._overlays.perturbation = perturb
            self._redraw()

    def set_selection(self, element: Element | None) -> None:
        """Highlight ``element``: a geom or site itself, for everything else its body's geoms."""
        if element != self._selection:
            self._selection = element
            self._redraw()

    def set_hidden(self, elements: frozenset[Element]) -> None:
        """Leave these geoms, sites, tendons, flexes and skins out of the picture.

        Another description shows everything again.
        """
        if not self._follows:
            self._scene.set_hidden(elements)
        self._redraw()

    def set_stale(self, stale: bool) -> None:
        """Dim the picture while what it shows is no longer true (a lost connection)."""
        if stale != self._stale:
            self._stale = stale
            self._redraw()

    def set_theme(self, palette: Palette) -> None:
        """Use another palette for sky, ground and lines."""
        self._palette = palette
        if self._overlay is not None:
            self._overlay.set_bright(palette.name == "light")
        if self._legend is not None:
            self._legend.set_theme(palette)
        self._redraw()

    @property
    def options(self) -> ViewOptions:
        """What is drawn."""
        return self._options

    @options.setter
    def options(self, options: ViewOptions) -> None:
        if options != self._options:
            self._options = options
            self._redraw()

    def set_frame_limit(self, frames_per_second: float) -> None:
        """Draw new poses at most this often; 0 for as often as they come.

        For fast forward on software GL, where the simulation needs the processor more.
        """
        self._frame_limit = max(frames_per_second, 0.0)

    def await_picture(self) -> None:
        """Take what is on show for something else, until a picture begun from now on is done."""
        self._awaits, self._begun = self._surface is not None, False

    @property
    def awaits_picture(self) -> bool:
        """Whether what is on show was begun before :meth:`await_picture`."""
        return self._awaits

    def set_has_legend(self, has_legend: bool, *, above: int = 0) -> None:
        """Leave the legend to another view of the same scene, or show it ``above`` px higher."""
        if (has_legend, above) != (self._has_legend, self._legend_above):
            self._has_legend, self._legend_above = has_legend, above
            self._redraw()

    def take_turns(self, others: Iterable["Viewport"], *, spacing: float = SPACING) -> None:
        """Draw nothing while one of the ``others`` draws, where the processor does it.

        New poses are drawn no sooner than ``spacing`` times the duration of a picture after the
        last ones.
        """
        self._spacing = spacing
        surfaces = (other._surface for other in others)
        if isinstance(self._surface, SoftwareSurface):
            self._surface.neighbours = tuple(
                surface for surface in surfaces if isinstance(surface, SoftwareSurface)
            )

    @property
    def frame_limit(self) -> float:
        """What :meth:`set_frame_limit` was told [1/s]."""
        return self._frame_limit

    # Answers

    def draw_now(self, scale: float = 1.0) -> None:
        """Bring what is on show up to date before returning, before a picture of the window.

        ``scale`` is how many pixels a side are wanted for one of the screen, where that can be.
        """
        if self._surface is not None:
            self._surface.draw_now(scale)

    @property
    def content(self) -> tuple[object, ...]:
        """What the picture is made of: equal as long as another one would look the same."""
        scene = self._scene
        revisions = (
            scene.geometry_revision,
            scene.pose_revision,
            scene.values_revision,
            scene.others_revision,
        )
        dress = (self._options, self._selection, self._palette.name, self._stale)
        return (self.camera, revisions, dress, self._overlays.perturbation)

    @property
    def stats(self) -> ViewStats:
        """What drawing costs."""
        if self._surface is None:
            return ViewStats(0, 0, 0.0, 0.0, 0.0, "", 0)
        return self._surface.stats()

    @property
    def on_software(self) -> bool:
        """Whether the processor draws, so that pictures cost the simulation its time."""
        return is_software(gl_renderer_name())

    @property
    def lacks_shapes(self) -> bool:
        """Whether shapes are being prepared that no picture has yet."""
        return self._scene.lacks_shapes

    @property
    def is_preparing(self) -> bool:
        """Whether a picture waits for this thread, and will then be drawn by others."""
        surface = self._surface
        return isinstance(surface, SoftwareSurface) and surface.is_preparing

    @property
    def quality(self) -> Quality:
        """The quality in use; AUTO is LOW when the processor draws."""
        if self._options.quality is Quality.AUTO:
            return Quality.LOW if self.on_software else Quality.HIGH
        return self._options.quality

    # Inside

    def _scene_extent(self) -> float:
        # Sizes and lengths mean the same in all views of a scene.
        return super()._scene_extent() if self._leader is None else self._leader._scene_extent()

    def _number_at(self, at: QPointF) -> int:
        return self._overlay.numbers.at(at.x(), at.y()) if self._overlay is not None else -1

    def _make_frame(self) -> Frame:
        selected, planes = np.empty(0, dtype=np.int64), frozenset[int]()
        measured = self._options.render is not RenderMode.PICTURE
        if self._selection is not None and self._scene.description is not None and not measured:
            selected = self._items_of(self._selection, self._scene.description)
            is_plane = self._scene.items.is_plane[selected]
            planes = frozenset(selected[is_plane].tolist())
            selected = selected[~is_plane]
        return Frame(
            view=self.view(),
            options=measured_options(self._options),
            palette=self._palette,
            quality=Quality.HIGH if self._refined else self.quality,
            supersample=self._samples() if self._refined and not measured else 1,
            size=self.pixels,
            selected=selected,
            selected_planes=planes,
            extent=self._scene_extent(),
            stale=self._stale,
            looked_through=self._camera.fixed_camera,
            pixel_ratio=self.devicePixelRatioF(),
            overlays=self._overlay_picture(),
        )

    def _items_of(self, element: Element, description: SceneDescription) -> NDArray[np.int64]:
        """Return the items that show ``element``; for a contact those of both geoms."""
        items = self._scene.items
        if element.kind is not ElementKind.CONTACT:
            return items.of_element(element, description)
        pair = (Element(ElementKind.GEOM, index) for index in (element.index, element.other))
        return np.concatenate([items.of_element(geom, description) for geom in pair])

    def _overlay_picture(self) -> OverlayPicture | None:
        self._overlays.touched = self.grip.touched
        return self._overlays.picture(
            self._scene,
            options=measured_options(self._options),
            extent=self._scene_extent(),
            selection=self._selection,
            hidden_camera=self._camera.fixed_camera,
        )

    def _redraw(self) -> None:
        if self._surface is None:
            return
        self._refined = False
        if not self.isVisible():
            return  # showing it redraws it; until then no timer shall run for it
        self._surface.redraw()
        if self.on_software and self._options.quality is not Quality.LOW:
            self._refine_timer.start()
        else:
            self._refine_timer.stop()  # a wish of the quality of before

    def _redraw_when_due(self) -> None:
        """Redraw for new poses, at most as often as drawing leaves time for everything else.

        Where the processor draws, each frame takes from the simulation's own time: long pictures
        leave a third of it to everything else, and a simulation that runs has a limit besides.
        What people do with the mouse is never held back.
        """
        interval = 1.0 / self._frame_limit if self._frame_limit > 0.0 else 0.0
        if self.on_software:
            typical = self.stats.frame_ms
            spacing = max(self._spacing, LONG_SPACING if typical > SHORT_MS else 0.0)
            interval = max(interval, 1e-3 * spacing * typical)
        wait = self._last_draw + interval - time.monotonic()
        if wait <= 0.0:
            self._redraw()
        elif not self._due_timer.isActive():
            self._due_timer.start(math.ceil(1000.0 * wait))

    def _on_drawn(self) -> None:
        self._awaits &= not self._begun
        self.drawn.emit()
        if self._overlay is not None:
            labels, missing, view = self._labels
            picture = self._overlay_picture()
            left_out = picture.left_out if picture is not None else 0
            legend = self._legend
            if legend is not None:
                shown = picture is not None and self._options.legend and self._has_legend
                rows = legend_rows(picture, view) if picture and shown else ()
                legend.show_rows(rows, above=self._legend_above)
            self._overlay.show_labels(
                labels,
                missing=missing,
                triad=view if self._options.triad else None,
                numbers=self._numbers,
                notes=(f"+{left_out} drawings of the script left out",) if left_out else (),
                kept_free=legend.geometry() if legend is not None and legend.isVisible() else None,
            )

    def _is_moving(self) -> bool:
        """Return whether the next picture may be coarse: a fine one follows when all stands."""
        plain = self._options.render is RenderMode.PICTURE
        return plain and self._options.quality is Quality.AUTO and not self._refined

    def _refine(self) -> None:
        """Draw the still picture again with everything on; then nothing is drawn until a change."""
        surface = self._surface
        if surface is None or not self.isVisible():
            return
        if self._dragging:
            self._refine_timer.start()
            return
        self._refined = True
        surface.redraw()

    def _samples(self) -> int:
        """Return how many samples per axis a still picture can afford."""
        ratio = self.devicePixelRatioF()
        pixels = self.width() * self.height() * ratio * ratio
        stats = self.stats
        # Not its square: a good part of a coarse picture is waiting, not pixels.
        slow = stats.frame_ms / stats.scale > REFINE_FRAME_MS
        return 1 if slow or 4.0 * pixels > REFINE_PIXELS else 2

    def _on_started(self) -> None:
        """Place the labels for the picture that is begun; they appear together with it."""
        self._last_draw, self._begun = time.monotonic(), True
        self._due_timer.stop()  # not when it is done: poses that come meanwhile are not in it
        view = self.view()
        picture, size = self._overlay_picture(), (float(self.width()), float(self.height()))
        labels, missing = labels_of(picture, view=view, size=size)
        self._labels = labels, missing, view
        self._numbers = numbers_of(picture, view=view, size=size)

    def _on_failure(self, reason: str) -> None:
        self._message.setText(
            f"The 3D view can't draw this scene ({reason}). Please report it with the model; "
            "everything else goes on."
        )
        if self._surface is not None:
            self._surface.hide()
        self._message.show()
        self._awaits = False
        self.drawn.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the picture, the labels and the message as large as the widget."""
        super().resizeEvent(event)
        self._message.setGeometry(self.rect())
        if self._surface is not None:
            self._surface.setGeometry(self.rect())
        if self._overlay is not None:
            self._overlay.setGeometry(self.rect())
            self._overlay.raise_()
        if self._legend is not None:
            self._legend.place()
            self._legend.raise_()
        self._redraw()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what was set while nobody looked."""
        super().showEvent(event)
        self._redraw()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop the timers."""
        self._hover_timer.stop()
        self._refine_timer.stop()
        self._due_timer.stop()
        if self._input is not None:
            self._input.navigation.stop()
        if isinstance(self._surface, SoftwareSurface):
            self._surface.release()
        super().closeEvent(event)


def _identity(description: SceneDescription | None) -> tuple[int, str] | None:
    return (description.scene_id, description.name) if description is not None else None
