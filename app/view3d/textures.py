"""Textures of a description on the graphics card: images, cubes and skies, with mipmaps."""

import dataclasses
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.floors import Checker, find_checker
from stroboscope.app.view3d.gl_canvas import GlCanvas
from stroboscope.debugger_protocol.scene_description import TextureInfo, TextureKind

__all__ = ["SceneTextures", "Sky", "sky_index"]

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sky:
    """A model's sky: the cube, and the display colour 0…1 of its horizon."""

    cube: Any
    horizon: tuple[float, float, float]


class SceneTextures:
    """Uploads what arrives; each texture once, whatever else of the scene changes."""

    def __init__(self, canvas: GlCanvas) -> None:
        self._canvas = canvas
        self._kept: dict[str, Any] = {}  # by digest
        self._known_checkers: dict[str, Checker | None] = {}
        self._by_index: dict[int, Any] = {}
        self._cubes: set[int] = set()
        self.checkers: dict[int, Checker | None] = {}
        self.sky: Sky | None = None

    def get(self, index: int) -> Any:
        """Return the texture ``index`` of the description, None when there is none to show."""
        return self._by_index.get(index)

    def is_cube(self, index: int) -> bool:
        """Return whether texture ``index`` is looked up by direction."""
        return index in self._cubes

    def update(self, scene: DrawnScene) -> None:
        """Make textures of whatever the scene uses and has."""
        self._by_index, self.checkers, self.sky = {}, {}, None
        self._cubes = set()
        description = scene.description
        before, self._kept = self._kept, {}
        if description is None:
            return
        sky = sky_index(scene)
        for index in sorted((set(scene.items.texture.tolist()) | {sky}) - {-1}):
            info = description.textures[index]
            data = _pixels(scene, info)
            if data is None:
                continue
            texture = before.get(info.digest)
            if texture is None:
                texture = self._upload(info, data)
            if texture is None:
                continue
            self._kept[info.digest] = texture
            if info.kind is TextureKind.TWO_D:
                if info.digest not in self._known_checkers:
                    self._known_checkers[info.digest] = find_checker(data)
                self.checkers[index] = self._known_checkers[info.digest]
            else:
                self._cubes.add(index)
            if index == sky:
                self.sky = Sky(texture, _horizon(data))
            else:
                self._by_index[index] = texture

    def _upload(self, info: TextureInfo, data: NDArray[np.uint8]) -> Any:
        if info.kind is TextureKind.TWO_D:
            texture = gloo.Texture2D(
                np.ascontiguousarray(data), interpolation="linear", wrapping="repeat"
            )
            self._canvas.make_mipmaps(texture)
            return texture
        side = data.shape[1]
        if data.shape[0] != 6 * side:
            _log.warning("cube texture %r can't be shown: it is not six squares", info.name)
            return None
        faces = np.ascontiguousarray(data.reshape(6, side, side, data.shape[2]))
        texture = gloo.TextureCube(faces, interpolation="linear", wrapping="clamp_to_edge")
        self._canvas.make_cube_mipmaps(texture)
        return texture


def _pixels(scene: DrawnScene, info: TextureInfo) -> NDArray[np.uint8] | None:
    """Return an image (height, width, 3 or 4), None while it is missing or when it is damaged."""
    arrays = scene.asset(info.digest)
    if arrays is None:
        return None
    data = np.asarray(arrays.get("data", ()), dtype=np.uint8)
    if not 0 < data.size == info.height * info.width * info.nchannel:
        _log.warning("texture %r can't be shown: its size is not as announced", info.name)
        return None
    data = data.reshape(info.height, info.width, info.nchannel)
    return data if info.nchannel in (3, 4) else np.repeat(data[..., :1], 3, axis=2)


def sky_index(scene: DrawnScene) -> int:
    """Return the texture of the model's sky, -1 for none.

    A plain gradient is none: it is scenery that nearly every model has, as checkers on floors,
    and the theme's own sky serves it better.
    """
    if scene.description is None:
        return -1
    for index, info in enumerate(scene.description.textures):
        if info.kind is TextureKind.SKYBOX:
            data = _pixels(scene, info)
            return -1 if data is None or _is_gradient(data) else index
    return -1


def _is_gradient(data: NDArray[np.uint8]) -> bool:
    """Return whether the four walls of a sky are the same, and each row of them has one colour."""
    side = data.shape[1]
    if data.shape[0] != 6 * side:
        return True
    walls = data.reshape(6, side, side, -1)[[0, 1, 4, 5]].astype(np.int16)
    middle = walls[0, :, side // 2]
    spread = np.abs(walls[:, :, side // 4 : side - side // 4] - middle[None, :, None]).max()
    return bool(spread <= 48 and np.abs(walls - walls[0]).max() <= 2)


def _horizon(data: NDArray[np.uint8]) -> tuple[float, float, float]:
    side = data.shape[1]
    walls = data.reshape(6, side, side, -1)[[0, 1, 4, 5], :, :, :3]
    band = walls[:, side // 2 - max(side // 32, 1) : side // 2 + 1]
    red, green, blue = (float(value) / 255.0 for value in band.mean(axis=(0, 1, 2)))
    return red, green, blue
