"""What the script draws: arrows, lines, spheres, boxes, frames; points and texts are elsewhere."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.overlays.frames import axes
from stroboscope.app.view3d.overlays.glyphs import (
    Glyphs,
    Layer,
    Shape,
    arrows,
    lines,
    solids,
    spheres,
)
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.topics import DrawKind, Topic

__all__ = [
    "Points",
    "Text",
    "drawing_glyphs",
    "drawing_points",
    "drawing_texts",
    "drawn_shapes",
    "left_out",
]

Floats = NDArray[np.float64]
_KINDS = {kind: index for index, kind in enumerate(DrawKind)}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A cloud: ``pos`` (n, 3) [m], ``rgba`` (n, 4), ``size`` (n,) [px], all float32."""

    pos: NDArray[np.float32]
    rgba: NDArray[np.float32]
    size: NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Words at a point (3,) [m]."""

    text: str
    pos: Floats
    rgba: tuple[float, float, float, float]


def drawing_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield everything that the script has given a shape."""
    if subject.options.drawings:
        yield from drawn_shapes(subject, Topic.DRAWING)


def drawn_shapes(
    subject: Subject, topic: Topic, *, chosen: NDArray[np.bool_] | None = None
) -> Iterator[Glyphs]:
    """Yield the shapes of a topic with DRAWING's arrays; ``chosen`` (n,): only those."""
    kinds = subject.value(topic, "kind", -1)
    if kinds is None or not len(kinds):
        return
    count = len(kinds)
    pos = subject.value(topic, "pos", count, 3)
    size = subject.value(topic, "size", count, 3)
    rgba = subject.value(topic, "rgba", count, 4)
    if pos is None or size is None or rgba is None:
        return
    quat = subject.value(topic, "quat", count, 4)
    mat = quat_to_matrix(np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) if quat is None else quat)
    width = subject.value(topic, "width", count)
    pixels = np.zeros(count) if width is None else 0.5 * width
    own = 0.8 * subject.sizes.arrow_radius
    good = np.isfinite(pos).all(axis=1) & np.isfinite(size).all(axis=1)
    if chosen is not None:
        good &= chosen
    sheer = rgba[:, 3] < 0.99

    def of(kind: DrawKind) -> NDArray[np.bool_]:
        return np.asarray((kinds == _KINDS[kind]) & good)

    arrow, line = of(DrawKind.ARROW), of(DrawKind.LINE)
    # A width in pixels is meant, whatever the distance: no radius in the world then.
    radius = np.where(pixels > 0.0, 0.0, own)
    thin = np.where(pixels > 0.0, pixels, 0.8)
    yield arrows(
        pos[arrow], size[arrow], radius=radius[arrow], pixels=thin[arrow], color=rgba[arrow]
    )
    yield lines(
        pos[line],
        pos[line] + size[line],
        radius=0.5 * radius[line],
        pixels=thin[line],
        color=rgba[line],
    )
    for layer, clear in ((Layer.SURFACE, ~sheer), (Layer.SHEER, sheer)):
        ball, box = of(DrawKind.SPHERE) & clear, of(DrawKind.BOX) & clear
        yield spheres(pos[ball], radius=size[ball, 0], color=rgba[ball], layer=layer)
        yield solids(
            Shape.BOX, pos=pos[box], mat=mat[box], size=size[box], color=rgba[box], layer=layer
        )
    frame = of(DrawKind.FRAME)
    lengths = size[frame, 0]
    for length in np.unique(lengths):
        same = np.flatnonzero(frame)[lengths == length]
        yield axes(
            pos[same],
            mat[same],
            length=float(length),
            radius=0.04 * float(length),
            layer=Layer.SURFACE,
        )


def drawing_points(subject: Subject) -> Points | None:
    """Return the point cloud, None when there is none."""
    if not subject.options.drawings:
        return None
    pos = subject.value(Topic.DRAWING, "point_pos", -1, 3)
    if pos is None or not len(pos):
        return None
    rgba = subject.value(Topic.DRAWING, "point_rgba", len(pos), 4)
    size = subject.value(Topic.DRAWING, "point_size", len(pos))
    return Points(
        pos.astype(np.float32),
        (np.ones((len(pos), 4)) if rgba is None else rgba).astype(np.float32),
        (np.full(len(pos), 3.0) if size is None else size).astype(np.float32),
    )


def drawing_texts(subject: Subject) -> list[Text]:
    """Return the words of the script and where they stand."""
    kinds = subject.value(Topic.DRAWING, "kind", -1)
    pos = subject.value(Topic.DRAWING, "pos", -1, 3)
    raw = subject.scene.values.get(Topic.DRAWING, {})
    if not subject.options.drawings or kinds is None or pos is None or "text" not in raw:
        return []
    ends = np.asarray(raw.get("text_end", ()), dtype=np.int64)
    letters = np.asarray(raw["text"], dtype=np.uint8).tobytes()
    rgba = subject.value(Topic.DRAWING, "rgba", len(kinds), 4)
    found = []
    for index in np.flatnonzero(kinds == _KINDS[DrawKind.TEXT]).tolist():
        if index >= min(len(ends), len(pos)) or not np.isfinite(pos[index]).all():
            continue
        start = int(ends[index - 1]) if index else 0
        text = letters[start : int(ends[index])].decode(errors="replace")
        color = (1.0, 1.0, 1.0, 1.0) if rgba is None else tuple(rgba[index].tolist())
        found.append(Text(text, pos[index], color))
    return found


def left_out(subject: Subject) -> int:
    """Return how many drawings did not fit under the script's cap."""
    count = subject.value(Topic.DRAWING, "left_out", 1)
    return int(count[0]) if count is not None and subject.options.drawings else 0
