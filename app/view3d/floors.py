"""How planes look: pattern, colours and reach, from the model or from the theme."""

import dataclasses
import enum

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import FloorStyle, ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.light_rig import SELECTION_COLOR, rgb
from stroboscope.debugger_protocol.scene_description import GeomInfo, TextureInfo, TextureKind
from stroboscope.resources.themes import Palette

__all__ = ["Checker", "Floor", "FloorPattern", "find_checker", "floors_of", "highlighted"]

GROUND = -1  # the item of the lines that are drawn where a model has no floor
_GRID_STRENGTH = 0.26
Rgba = tuple[float, float, float, float]


class FloorPattern(enum.IntEnum):
    """Which variant of the floor shader draws a plane."""

    LINES = 0
    CHECKER = 1
    IMAGE = 2
    GRID = 3
    """Lines and nothing between them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Checker:
    """A checker texture taken apart: two squares per side, and the line around them if any."""

    color_a: tuple[float, float, float]
    color_b: tuple[float, float, float]
    line: tuple[float, float, float] | None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """One plane, ready to draw. ``half`` [m] are its half sizes, None for no end.

    ``repeat`` turns metres on the plane into squares (or images), ``offset`` is added to them;
    ``item`` is GROUND for the lines that no model asked for.
    """

    item: int
    pos: NDArray[np.float64]
    mat: NDArray[np.float64]
    half: tuple[float, float] | None
    pattern: FloorPattern
    color_a: Rgba
    color_b: Rgba
    line: Rgba
    line_width: float
    repeat: tuple[float, float]
    surface: Rgba
    texture: int = -1
    offset: tuple[float, float] = (0.0, 0.0)
    line_period: float = 1.0  # squares between two lines


def find_checker(data: NDArray[np.uint8]) -> Checker | None:
    """Return the checker that an image (height, width, channels) is, None when it is none."""
    height, width = data.shape[:2]
    if height < 8 or width < 8 or data.shape[2] < 3:
        return None
    image = data[..., :3].astype(np.int64)
    third = [image[height // 4, width // 4], image[height // 4, 3 * width // 4]]
    fourth = [image[3 * height // 4, width // 4], image[3 * height // 4, 3 * width // 4]]
    (a, b), (b2, a2) = third, fourth
    if np.abs(a - a2).max() > 2 or np.abs(b - b2).max() > 2:
        return None
    # All but a thin border must be those two colours, in quadrants.
    margin = max(height, width) // 20 + 2
    rows, columns = np.mgrid[0:height, 0:width]
    odd = (rows >= height // 2) != (columns >= width // 2)
    expected = np.where(odd[..., None], b, a)
    inner = np.zeros((height, width), dtype=np.bool_)
    for y0 in (0, height // 2):
        for x0 in (0, width // 2):
            inner[
                y0 + margin : y0 + height // 2 - margin, x0 + margin : x0 + width // 2 - margin
            ] = True
    if np.abs(image - expected)[inner].max(initial=0) > 2:
        return None
    edge = image[0, width // 4]
    line = None if np.abs(edge - a).max() <= 2 else edge
    return Checker(_unit(a), _unit(b), None if line is None else _unit(line))


def _unit(color: NDArray[np.int64]) -> tuple[float, float, float]:
    return float(color[0]) / 255.0, float(color[1]) / 255.0, float(color[2]) / 255.0


def _times(color: tuple[float, float, float], rgba: Rgba) -> Rgba:
    return color[0] * rgba[0], color[1] * rgba[1], color[2] * rgba[2], rgba[3]


def _nice_cell(extent: float) -> float:
    """Return a cell size of 1, 2 or 5 times a power of ten, about a third of ``extent`` [m]."""
    exponent = 10.0 ** np.floor(np.log10(max(extent, 1e-6) / 3.0))
    ratio = max(extent, 1e-6) / 3.0 / exponent
    step = 1.0 if ratio < 1.5 else 2.0 if ratio < 3.5 else 5.0 if ratio < 7.5 else 10.0
    return float(exponent * step)


def floors_of(
    scene: DrawnScene,
    *,
    options: ViewOptions,
    palette: Palette,
    checkers: dict[int, Checker | None],
    extent: float,
) -> list[Floor]:
    """Return every plane to draw now; ``checkers`` says which textures are checkers.

    When the model has no level plane and ``options.grid`` is on, lines show where the world's
    x-y plane is. A floor of ours would seem to hold what falls through it.
    """
    items = scene.items
    shown = np.flatnonzero(scene.visible(options) & items.is_plane)
    floors = [
        _model_floor(
            scene, int(i), options=options, palette=palette, checkers=checkers, extent=extent
        )
        for i in shown
    ]
    # A floor that people have hidden is not replaced.
    grounded = (items.is_plane & (scene.item_mat[:, 2, 2] > 0.5)).any()
    if not grounded and options.grid and scene.description is not None:
        floors.append(_grid(palette=palette, extent=extent))
    return floors


def _themed(
    palette: Palette, *, extent: float, alpha: float = 1.0
) -> tuple[Rgba, Rgba, Rgba, float]:
    a, b, line = rgb(palette.floor_a), rgb(palette.floor_b), rgb(palette.floor_line)
    return (*a, alpha), (*b, alpha), (*line, 0.8), 1.0 / _nice_cell(extent)


def highlighted(floor: Floor) -> Floor:
    """Return ``floor`` tinted as selected; an endless plane has no outline to draw."""

    def tint(rgba: Rgba) -> Rgba:
        r, g, b = (0.7 * c + 0.3 * s for c, s in zip(rgba[:3], SELECTION_COLOR, strict=True))
        return r, g, b, rgba[3]

    return dataclasses.replace(floor, color_a=tint(floor.color_a), color_b=tint(floor.color_b))


def _grid(*, palette: Palette, extent: float) -> Floor:
    nothing = (0.0, 0.0, 0.0, 0.0)
    cell = 1.0 / _nice_cell(extent)
    return Floor(
        item=GROUND,
        pos=np.zeros(3),
        mat=np.eye(3),
        half=None,
        pattern=FloorPattern.GRID,
        color_a=nothing,
        color_b=nothing,
        line=(*rgb(palette.muted), _GRID_STRENGTH),
        line_width=0.0,
        repeat=(cell, cell),
        surface=nothing,
    )


def _model_floor(
    scene: DrawnScene,
    item: int,
    *,
    options: ViewOptions,
    palette: Palette,
    checkers: dict[int, Checker | None],
    extent: float,
) -> Floor:
    items = scene.items
    info = items.infos[item]
    half = (info.size[0], info.size[1]) if min(info.size[:2]) > 0.0 else None
    drawn_half = None if half is not None and _is_endless(scene, item, extent) else half
    rgba_, surface_, mapping, _ = items.material[item].tolist()
    rgba: Rgba = (rgba_[0], rgba_[1], rgba_[2], rgba_[3])
    surface: Rgba = (surface_[0], surface_[1], surface_[2], surface_[3])
    texture = int(items.texture[item])
    repeat = _plane_repeat(mapping, half)
    checker = checkers.get(texture)
    in_squares = checker is not None
    themed = options.floor is FloorStyle.THEME
    if options.floor is FloorStyle.AUTO:
        # A checker is scenery, not data: it keeps its squares and wears the theme's colours.
        # A wall is no floor: what is painted on it may be what somebody wants to see.
        level = scene.item_mat[item][2, 2] > 0.99 and items.body[item] == 0
        # Most images of floors are checkers: one that is still to come is taken for one, else a
        # white floor flashed up in a dark window.
        in_squares = in_squares or (level and _is_awaited(scene, texture))
        themed = (in_squares and level) or not items.has_own_look[item]
    offset, line_period = _plane_offset(repeat, half), 1.0
    color_b, line, line_width = rgba, (0.0, 0.0, 0.0, 0.0), 0.012
    pattern = FloorPattern.LINES
    if themed:
        pattern = FloorPattern.CHECKER
        color_a, color_b, line, cell = _themed(palette, extent=extent, alpha=rgba[3])
        squares = (2.0 * repeat[0], 2.0 * repeat[1]) if in_squares else (cell, cell)
        offset = (2.0 * offset[0], 2.0 * offset[1]) if in_squares else (0.0, 0.0)
        surface = (*surface[:3], max(surface[3], 0.12))
        rgba, repeat = color_a, squares
    elif checker is not None:
        pattern = FloorPattern.CHECKER
        rgba_a = _times(checker.color_a, rgba)
        color_b = _times(checker.color_b, rgba)
        if checker.line is not None:
            line = (*_times(checker.line, rgba)[:3], 1.0)
        rgba, repeat = rgba_a, (2.0 * repeat[0], 2.0 * repeat[1])
        offset, line_period = (2.0 * offset[0], 2.0 * offset[1]), 2.0
    elif _has_image(scene, texture):
        pattern = FloorPattern.IMAGE
    else:
        # A flat colour gives no sense of scale or speed: fine lines, a little off the colour.
        bright = sum(rgba[:3]) / 3.0
        shade = 0.0 if bright > 0.5 else 1.0
        line = (shade, shade, shade, 0.14)
        cell = 1.0 / _nice_cell(extent)
        repeat, offset = (cell, cell), (0.0, 0.0)
    return Floor(
        item=item,
        pos=scene.item_pos[item],
        mat=scene.item_mat[item],
        half=drawn_half,
        pattern=pattern,
        color_a=rgba,
        color_b=color_b,
        line=line,
        line_width=line_width,
        repeat=repeat,
        surface=surface,
        texture=texture,
        offset=offset,
        line_period=line_period,
    )


def _plane_repeat(mapping: list[float], half: tuple[float, float] | None) -> tuple[float, float]:
    """Return images per metre as MuJoCo maps them: repeats over the plane, or per two metres."""
    _, u, v, uniform = mapping
    if uniform > 0.5 or half is None:
        return 0.5 * u, 0.5 * v
    return 0.5 * u / half[0], 0.5 * v / half[1]


def _plane_offset(
    repeat: tuple[float, float], half: tuple[float, float] | None
) -> tuple[float, float]:
    """Return what MuJoCo adds, in images: they start at a corner, or half one off the centre."""
    if half is None:
        return 0.5, 0.5
    return repeat[0] * half[0], repeat[1] * half[1]


def _is_endless(scene: DrawnScene, item: int, extent: float) -> bool:
    """Return whether a sized plane is a floor, which things touch beyond its drawn size too.

    Planes collide without end in MuJoCo, whatever their size. A ball that rolls on beyond the
    edge of what is drawn would seem to float.
    """
    info = scene.items.infos[item]
    level = scene.item_mat[item][2, 2] > 0.99
    large = min(info.size[:2]) > extent
    return bool(isinstance(info, GeomInfo) and info.collides and info.body == 0 and level and large)


def _is_awaited(scene: DrawnScene, texture: int) -> bool:
    """Return whether an image has not arrived yet; one that is damaged has."""
    info = _image_info(scene, texture)
    return info is not None and scene.asset(info.digest) is None


def _has_image(scene: DrawnScene, texture: int) -> bool:
    info = _image_info(scene, texture)
    return info is not None and scene.asset(info.digest) is not None


def _image_info(scene: DrawnScene, texture: int) -> TextureInfo | None:
    """Return what is known of a texture that is an image, None of anything else."""
    if scene.description is None or not 0 <= texture < len(scene.description.textures):
        return None
    info = scene.description.textures[texture]
    return info if info.kind is TextureKind.TWO_D else None
