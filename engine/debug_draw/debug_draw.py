"""What a script draws into the 3D view of its scene."""

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import DrawKind, Topic
from stroboscope.engine.arguments import flag
from stroboscope.engine.debug_draw import checks
from stroboscope.engine.debug_draw.drawn import (
    KIND_NUMBERS,
    MAX_ITEMS,
    MAX_POINTS,
    DrawnFrame,
    KeptDrawings,
    packed_item,
)

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["DebugDraw", "Drawing"]

_UNTURNED = (1.0, 0.0, 0.0, 0.0)
_DEFAULT_COLOR = "orange"
_NO_WIDTH = 0.0


class Drawing:
    """Something drawn. What is persistent stays until :meth:`remove`; the rest goes by itself."""

    __slots__ = ("_draw", "_number")

    def __init__(self, draw: "DebugDraw | None", number: int) -> None:
        self._draw = draw
        self._number = number

    def remove(self) -> None:
        """Take a persistent drawing away; nothing when it is gone. On the owner thread."""
        if self._draw is not None:
            self._draw.remove(self._number)


_GOES_BY_ITSELF = Drawing(None, 0)


class DebugDraw:
    """Draws into the 3D view of one scene; made by :attr:`Scene.debug_draw`, owner thread only.

    Positions are in the world frame [m]. What is drawn belongs to the current frame: it is seen
    from now until the scene's next application step has ended and the one after it begins, so
    draw once per loop, before or after ``step()``. In a scene that isn't stepped, the first
    drawing after ``update_debugger()`` begins a new frame. With ``persistent=True`` it stays until
    it is removed.

    ``color``: a name (``"red"``, …) or r, g, b[, a] from 0 to 1. ``width`` [px], 0: the viewer's
    own. Wrong values raise ValueError, and nothing is drawn then. At most 10,000 items and 400,000
    points are drawn at a time; the log says when some were left out. While nobody is attached,
    only persistent drawings are kept.
    """

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._link = scene.link
        self._counters = scene.counters
        self._kept = KeptDrawings()
        self._kept_made: Arrays | None = None
        self._now = DrawnFrame()
        self._before = DrawnFrame()
        self._is_over = False
        self._is_told = True
        self._warned = False

    # --- what scripts call

    def arrow(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        color: checks.Color = _DEFAULT_COLOR,
        width: float = _NO_WIDTH,
        persistent: bool = False,
    ) -> Drawing:
        """Draw an arrow that ends at ``end``."""
        return self._span(DrawKind.ARROW, start, end, color, width, persistent)

    def line(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        color: checks.Color = _DEFAULT_COLOR,
        width: float = _NO_WIDTH,
        persistent: bool = False,
    ) -> Drawing:
        """Draw a straight line."""
        return self._span(DrawKind.LINE, start, end, color, width, persistent)

    def sphere(
        self,
        center: ArrayLike,
        radius: float,
        *,
        color: checks.Color = _DEFAULT_COLOR,
        persistent: bool = False,
    ) -> Drawing:
        """Draw a sphere."""
        pos, size = checks.vector("center", center), checks.positive("radius", radius)
        return self._add(
            DrawKind.SPHERE, pos, (size, size, size), rgba=checks.rgba(color), persistent=persistent
        )

    def box(
        self,
        center: ArrayLike,
        half_sizes: ArrayLike,
        *,
        quat: ArrayLike = _UNTURNED,
        color: checks.Color = _DEFAULT_COLOR,
        persistent: bool = False,
    ) -> Drawing:
        """Draw a box with these half sizes [m] along its axes, turned by ``quat`` (wxyz)."""
        pos, size = checks.vector("center", center), checks.vector("half_sizes", half_sizes)
        checks.positive("each of half_sizes", min(size))
        return self._add(
            DrawKind.BOX,
            pos,
            size,
            quat=checks.unit_quaternion(quat),
            rgba=checks.rgba(color),
            persistent=persistent,
        )

    def frame(
        self,
        pos: ArrayLike,
        quat: ArrayLike = _UNTURNED,
        *,
        length: float = 0.1,
        width: float = 0.0,
        persistent: bool = False,
    ) -> Drawing:
        """Draw the axes of a frame, x red, y green, z blue, each ``length`` [m] long."""
        size = checks.positive("length", length)
        return self._add(
            DrawKind.FRAME,
            checks.vector("pos", pos),
            (size, size, size),
            quat=checks.unit_quaternion(quat),
            rgba=checks.COLORS["white"],
            width=checks.positive("width", width, zero=True),
            persistent=persistent,
        )

    def text(
        self,
        pos: ArrayLike,
        text: str,
        *,
        color: checks.Color = _DEFAULT_COLOR,
        persistent: bool = False,
    ) -> Drawing:
        """Write ``text`` at ``pos``, of 1 to 256 bytes of UTF-8."""
        return self._add(
            DrawKind.TEXT,
            checks.vector("pos", pos),
            (0.0, 0.0, 0.0),
            rgba=checks.rgba(color),
            text=checks.text_bytes(text),
            persistent=persistent,
        )

    def point_cloud(
        self,
        points: ArrayLike,
        *,
        color: Any = _DEFAULT_COLOR,
        size: Any = 3.0,
        persistent: bool = False,
    ) -> Drawing:
        """Draw points (n, 3). ``color``: one, or (n, 3 or 4); ``size`` [px]: one, or (n,)."""
        pos = checks.points(points)
        rgba, sizes = checks.rgba_rows(color, count=len(pos)), checks.sizes(size, count=len(pos))
        self._check_owner()
        persistent = flag(persistent, "debug_draw: persistent")
        kept, number = self._kept, 0
        if persistent:
            count = min(len(pos), MAX_POINTS - kept.n_points)
            number, rows = kept.add_points(count)
            kept.left_out += len(pos) - count
        elif self._link.active:
            frame = self._frame_to_draw_on()
            count = max(0, min(len(pos), MAX_POINTS - kept.n_points - frame.n_points))
            rows = frame.add_points(count)
            frame.left_out += len(pos) - count
        else:
            return _GOES_BY_ITSELF
        rows[:, :3] = pos[:count]
        rows[:, 3:7] = _first(rgba, count)
        rows[:, 7] = _first(sizes, count)
        return self._drawn(number)

    def clear(self) -> None:
        """Take everything away, what is persistent too."""
        self._check_owner()
        self._kept.clear()
        self.forget_frame()

    def remove(self, number: int) -> None:
        """Take a persistent drawing away; :meth:`Drawing.remove` calls this."""
        self._check_owner()
        if self._kept.remove(number):
            self._changed_all()

    # --- what the engine calls

    def now(self, *, step_begun: bool) -> Arrays:
        """Return DRAWING for the state as it stands.

        Until the next step begins, that is what was drawn for the last one, unless something has
        been drawn since.
        """
        done = self._counters.total_steps
        stays = not step_begun and self._now.step == done - 1
        return self.at(done - 1 if stays else done)

    def at(self, step: int) -> Arrays:
        """Return DRAWING for the step that began when ``step`` steps had been completed.

        The same object again while nothing changes.
        """
        self._is_told = False
        for frame in (self._now, self._before):
            if frame.step == step >= 0:
                if frame.made is None:
                    frame.made = self._warn(self._kept.together(frame))
                return frame.made
        if self._kept_made is None:
            self._kept_made = self._warn(self._kept.together(None))
        return self._kept_made

    def served(self) -> None:
        """Note that an unstepped scene has been shown: the next drawing begins a new frame."""
        self._is_over = True

    def forget_frame(self) -> None:
        """Drop what is not persistent: it was drawn for a state that is gone."""
        for frame in (self._now, self._before):
            frame.clear(step=-1)
        self._changed_all()

    # --- inside

    def _check_owner(self) -> None:
        self._scene._guard()

    def _span(
        self,
        kind: DrawKind,
        start: Any,
        end: Any,
        color: Any,
        width: float,
        persistent: bool,
    ) -> Drawing:
        x, y, z = pos = checks.vector("start", start)
        to_x, to_y, to_z = checks.vector("end", end)
        rgba = checks.rgba(color)
        if width is not _NO_WIDTH:
            width = checks.positive("width", width, zero=True)
        size = (to_x - x, to_y - y, to_z - z)
        return self._add(kind, pos, size, rgba=rgba, width=width, persistent=persistent)

    def _add(
        self,
        kind: DrawKind,
        pos: checks.Vector,
        size: checks.Vector,
        *,
        rgba: checks.Rgba,
        quat: checks.Rgba = _UNTURNED,
        width: float = 0.0,
        text: bytes = b"",
        persistent: bool,
    ) -> Drawing:
        self._check_owner()
        if persistent is not False:
            persistent = flag(persistent, "debug_draw: persistent")
        if not persistent and not self._link.active:
            return _GOES_BY_ITSELF
        kept, number = self._kept, 0
        row = packed_item(*pos, *quat, *size, *rgba, width, KIND_NUMBERS[kind], len(text))
        if persistent:
            if kept.items < MAX_ITEMS:
                number = kept.add(row, text)
            else:
                kept.left_out += 1
        else:
            frame = self._frame_to_draw_on()
            if kept.items + frame.items < MAX_ITEMS:
                frame.add(row, text)
            else:
                frame.left_out += 1
        return self._drawn(number)

    def _frame_to_draw_on(self) -> DrawnFrame:
        step, frame = self._counters.total_steps, self._now
        if frame.step == step and not self._is_over:
            return frame
        self._is_over = False
        if frame.step != step:
            # What the last step was drawn with stays with its executed frame.
            self._now, self._before = self._before, frame
            frame = self._now
        frame.clear(step=step)
        return frame

    def _drawn(self, number: int) -> Drawing:
        if number:
            self._changed_all()
            return Drawing(self, number)
        self._now.made = None
        self._tell()
        return _GOES_BY_ITSELF

    def _changed_all(self) -> None:
        self._now.made = self._before.made = self._kept_made = None
        self._tell()

    def _tell(self) -> None:
        """Say that what was shown is no longer what is drawn, once for each time it was shown."""
        if not self._is_told:
            self._is_told = True
            self._link.topic_changed(Topic.DRAWING)

    def _warn(self, made: Arrays) -> Arrays:
        """Tell the log, once per scene, when something was left out; return ``made``."""
        left_out = int(made["left_out"][0])
        if left_out and not self._warned:
            self._warned = True
            self._link.log_text(
                LogLevel.WARNING,
                f"debug_draw: {left_out:,} items or points are left out: a scene draws at most "
                f"{MAX_ITEMS:,} items and {MAX_POINTS:,} points at a time",
            )
        return made


def _first(values: Any, count: int) -> Any:
    return values[:count] if hasattr(values, "shape") else values
