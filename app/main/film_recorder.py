"""Makes a film of a view while it shows a scene.

Frames are chosen by time (``FilmClock``), drawn here, and given to an encoder that nobody waits
for (``FilmWriter``). What this costs the window is bounded while a scene plays: it draws for the
film no more than half of the time, and frames in between show the picture that is nearest. How many
did is said in the end. Of a scene that is paused and stepped nothing is left out.
"""

import math
import time

from PySide6.QtCore import QObject, QTimer, Signal

from stroboscope.app.main.scene_view import SceneView
from stroboscope.app.models.film import FilmClock, FilmSpec, TimeBase
from stroboscope.app.models.film_writer import FilmWriter
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.view3d.still import Still
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.messages import PlaybackMode

__all__ = ["FilmRecorder"]

_PROGRESS_MS = 200
# How long nothing is drawn for the film after a picture, in durations of drawing it.
_PAUSE = 1.0
_LAST_WAIT_S = 20.0


class FilmRecorder(QObject):
    """At most one film at a time. GUI thread only.

    ``changed`` comes a few times a second while there is one; ``ended`` when it is over, with the
    FilmWriter that knows how it went.
    """

    changed = Signal()
    ended = Signal(object)

    def __init__(self, scene_view: SceneView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scene_view = scene_view
        self._view: Viewport | None = None
        self._writer: FilmWriter | None = None
        self._still = Still()
        self._clock = FilmClock(fps=60.0)
        self._scene: SceneModel | None = None
        self._axis = -1
        self._began = 0.0
        self._drawn_until = 0.0
        self._drawing_took = 0.0
        self._drawn: tuple[object, ...] = ()
        self._skipped = 0
        self._recording = False
        self._progress = QTimer(self)
        self._progress.setInterval(_PROGRESS_MS)
        self._progress.timeout.connect(self._look)
        self._ticks = QTimer(self)
        self._ticks.timeout.connect(self._on_tick)
        # What comes while nothing may be drawn is not forgotten: it may be the last for long.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._on_rested)
        scene_view.pose_shown.connect(self._on_pose)
        scene_view.grid.removed.connect(self._on_removed)

    @property
    def is_recording(self) -> bool:
        """Whether frames are added."""
        return self._recording

    @property
    def writer(self) -> FilmWriter | None:
        """The film in the making, None without one."""
        return self._writer

    @property
    def seconds(self) -> float:
        """How long the film is [s of the film]."""
        return self._writer.frames / self._writer.spec.fps if self._writer is not None else 0.0

    @property
    def dropped(self) -> int:
        """How many frames show an older picture though there was a newer one, or time for one.

        Of the film before, once it has ended.
        """
        return self._skipped + (self._writer.dropped if self._writer is not None else 0)

    def start(self, spec: FilmSpec, still: Still) -> None:
        """Film the active view; the film before must be over."""
        if self._writer is not None:
            raise RuntimeError("there is a film already")
        self._view = self._scene_view.viewport
        self._still = still
        self._clock = FilmClock(fps=spec.fps, speed=spec.speed)
        self._scene, self._axis = self._scene_view.drawn_scene, -1
        self._drawn_until = self._drawing_took = 0.0
        self._drawn = ()
        self._skipped = 0
        self._picture(self._view)  # the first compiles shaders, or says why there can't be any
        self._began = time.monotonic()
        self._writer = FilmWriter(spec)
        self._recording = True
        self._scene_view.set_filming(True)
        self._progress.start()
        if spec.base is TimeBase.WALL:
            self._ticks.start(max(round(1000.0 * spec.speed / spec.fps), 5))
            self._on_tick()
        elif (pose := self._scene_view.drawn_pose) is not None:
            self._on_pose(pose)
        self.changed.emit()

    def stop(self) -> None:
        """Add no more frames; the encoder goes on until it has written all there are."""
        if self._writer is not None and self._recording:
            self._end_recording()
            self._writer.finish()
            self.changed.emit()

    def cancel(self) -> None:
        """End the film and remove its file."""
        if self._writer is not None:
            self._end_recording()
            self._writer.cancel()
            self.changed.emit()

    def close(self) -> None:
        """Finish the film, as well as that goes in some seconds: the window closes."""
        self.stop()
        self._progress.stop()
        self._scene_view.pose_shown.disconnect(self._on_pose)
        self._scene_view.grid.removed.disconnect(self._on_removed)
        writer = self._writer
        if writer is not None and not writer.wait(_LAST_WAIT_S):
            writer.cancel()
            writer.wait(1.0)

    # --- frames

    def _on_pose(self, pose: SceneFrame) -> None:
        if self._writer is None or not self._recording:
            return
        if self._writer.spec.base is TimeBase.SIMULATION:
            scene = self._scene_view.drawn_scene
            if scene is not self._scene:
                self._scene, self._axis = scene, -1
                self._clock.cut()
            if pose.axis < self._axis:  # the executed step after the state that it led to
                return
            self._axis = pose.axis
            rest = self._rest()
            # Between the steps of a scene that is paused there is time: none of them is left out.
            if rest <= 0.0 or (scene is not None and scene.mode is PlaybackMode.PAUSED):
                self._film(pose.time)
            elif not self._later.isActive():
                self._later.start(math.ceil(1000.0 * rest))

    def _on_rested(self) -> None:
        pose = self._scene_view.drawn_pose
        if pose is not None:
            self._on_pose(pose)

    def _on_tick(self) -> None:
        """Look whether frames of real time are due."""
        if self._rest() <= 0.0:
            self._film(time.monotonic() - self._began)

    def _rest(self) -> float:
        """Return for how long nothing shall be drawn [s]."""
        return self._drawn_until + _PAUSE * self._drawing_took - time.monotonic()

    def _film(self, instant: float) -> None:
        writer, view = self._writer, self._view
        if writer is None or view is None:
            return
        shares = self._clock.look(instant)
        if not shares.before + shares.now:
            return
        writer.repeat(shares.before)
        content = view.content
        if writer.frames and content == self._drawn:
            writer.repeat(shares.now)
            return
        start = time.monotonic()
        pixels = self._picture(view)
        self._drawn_until = time.monotonic()
        self._drawing_took = self._drawn_until - start
        self._drawn = content
        if pixels:
            self._skipped += shares.before + shares.now - 1
            writer.add(pixels, shares.now)

    def _picture(self, view: Viewport) -> bytes:
        image = view.still(self._still)
        return b"" if image.isNull() else bytes(image.constBits())

    # --- its end

    def _end_recording(self) -> None:
        self._recording = False
        self._ticks.stop()
        self._later.stop()
        self._scene_view.set_filming(False)

    def _on_removed(self, view: Viewport) -> None:
        if view is self._view:
            self.stop()
            self._view = None

    def _look(self) -> None:
        writer = self._writer
        if writer is None:
            self._progress.stop()
        elif writer.is_over:
            self._progress.stop()
            if self._recording:  # it failed
                self._end_recording()
            self._skipped += writer.dropped
            self._writer = self._view = None
            self.changed.emit()
            self.ended.emit(writer)
        else:
            self.changed.emit()
