"""Draws a :class:`DrawnScene` with vispy.gloo: a handful of draw calls, whatever the scene.

Everything here belongs to one OpenGL context, is used on the GUI thread while that context is
current, and can be thrown away and made again from the scene at any time.
"""

import dataclasses
import itertools
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.view_options import Quality, RenderMode, ViewOptions
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.floor_pass import FloorPass, Rect, screen_area
from stroboscope.app.view3d.floors import GROUND, Floor, floors_of, highlighted
from stroboscope.app.view3d.fog import (
    haze_color,
    haze_distance,
    mist_at_sky,
    mist_uniforms,
)
from stroboscope.app.view3d.ghost_pass import GhostPass
from stroboscope.app.view3d.gl_canvas import GlCanvas
from stroboscope.app.view3d.light_rig import SELECTION_COLOR, LightRig, rgb, selection_color
from stroboscope.app.view3d.measured import depth_range
from stroboscope.app.view3d.measured_pass import MeasuredPass
from stroboscope.app.view3d.model_lights import rig_for
from stroboscope.app.view3d.outline_pass import OutlinePass
from stroboscope.app.view3d.overlays.glyph_pass import GlyphPass
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.app.view3d.overlays.triad import Triad
from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.scene_buffers import Batch, SceneBuffers
from stroboscope.app.view3d.scene_geometry import Detail
from stroboscope.app.view3d.shader_programs import ItemPrograms, screen_quad
from stroboscope.app.view3d.shaders import (
    DOWNSAMPLE_FRAGMENT,
    SCREEN_VERTEX,
)
from stroboscope.app.view3d.shadow_pass import ShadowPass
from stroboscope.app.view3d.sky_pass import SkyPass
from stroboscope.app.view3d.targets import ColorTarget
from stroboscope.resources.themes import DARK, LIGHT, Palette

__all__ = ["Frame", "Renderer"]

_SHADOW_TAPS = {Quality.HIGH: 7, Quality.LOW: 3}
_SHADOW_SIZE = {Quality.HIGH: 2048, Quality.LOW: 1024}
# Fewer texels and fewer taps: the edge of a shadow stays nearly as wide in the world.
_COARSE_TAPS, _COARSE_SIZE = 3, 512
# A shadow may follow what moves by so much [s]: every other moving picture makes do with the map of
# the one before, which is a fifth of its work. A picture that comes alone has its own.
_COARSE_LATE = 0.1
# More faces than these are too many to go through twice for a moving picture; a still one has all.
_MOST_COARSE_CASTERS = 300_000


# Which end of a box each of its corners has on each axis.
_CORNERS = list(itertools.product((0, 1), repeat=3))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Everything about one picture that is not the scene: who looks, how, and how large [px]."""

    view: View
    options: ViewOptions
    palette: Palette
    quality: Quality
    size: tuple[int, int]
    selected: NDArray[np.int64]
    selected_planes: frozenset[int]
    extent: float
    stale: bool = False
    looked_through: int = -1  # the model's camera in use
    supersample: int = 1  # samples per pixel and axis, for still pictures without multisampling
    pixel_ratio: float = 1.0
    coarse: bool = False  # a moving picture of which not every pixel is drawn
    overlays: OverlayPicture | None = None
    transparent: bool = False  # nothing but the model, on nothing: alpha premultiplied
    rows: tuple[int, int] | None = None  # all that is drawn of it, from the bottom [px]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """What a picture takes from the scene itself and not from its buffers."""

    floors: list[Floor]
    height: float
    center: NDArray[np.float64]


class Renderer:
    """All OpenGL objects of one viewport."""

    def __init__(self, canvas: GlCanvas) -> None:
        self.draw_calls = 0
        self.upload_ms = 0.0
        self._selection_color = SELECTION_COLOR
        self._canvas = canvas
        self.buffers = SceneBuffers(canvas)
        self._programs = ItemPrograms()
        self._floors = FloorPass()
        self._glyphs = GlyphPass()
        self._triad = Triad()
        self._outline = OutlinePass()
        self._measured = MeasuredPass()
        self._shadow = ShadowPass()
        self._mirror = ColorTarget(depth=True)
        self._prepared = False
        self._ground: _Ground | None = None
        self._quad = screen_quad()
        self._sky = SkyPass(self._quad)
        self._ghosts = GhostPass()
        self._rig = LightRig.of(DARK)
        self._large = ColorTarget(depth=True)
        self._average: Any = Program(SCREEN_VERTEX, DOWNSAMPLE_FRAGMENT)
        self._average["a_position"] = self._quad

    def prepare(self, scene: DrawnScene, frame: Frame) -> bool:
        """Upload what has changed, draw the shadow map and the mask of what is selected.

        Returns whether there was one to draw. llvmpipe makes whoever draws with a map wait until it
        is done. :meth:`draw` may follow later; until it does, the scene must keep its description.
        The context must be current.
        """
        self._canvas.make_current()
        self.draw_calls = 0
        self._upload(scene, frame)
        self._set_rig(scene, frame)
        self._ground = self._ground_of(scene, frame)
        # The mask before the shadow map: llvmpipe counts what was drawn last as being drawn still,
        # and to look that up late in a picture waits for all of the picture before.
        drawn = self._draw_mask(frame) if frame.supersample == 1 else 0
        drawn += self._update_shadow(scene, frame)
        self._canvas.flush()
        self.draw_calls = drawn
        return drawn > 0

    def draw(self, scene: DrawnScene, frame: Frame, *, prepared: bool = False) -> None:
        """Draw one picture into the widget's framebuffer. The context must be current.

        ``prepared``: :meth:`prepare` was called for this frame, and its uploads shall be shown.
        """
        self._canvas.make_current()
        self._prepared = prepared
        if not prepared:
            self.draw_calls = 0
        if frame.supersample > 1:
            self._draw_supersampled(scene, frame)
        else:
            self._draw_picture(scene, frame)
        gloo.set_state(scissor_test=False)
        self._canvas.flush()

    def _draw_supersampled(self, scene: DrawnScene, frame: Frame) -> None:
        factor = frame.supersample
        size = (frame.size[0] * factor, frame.size[1] * factor)
        self._large.resize(size)
        with self._large.framebuffer:
            self._draw_picture(
                scene,
                dataclasses.replace(
                    frame,
                    size=size,
                    pixel_ratio=frame.pixel_ratio * factor,
                    rows=None if frame.rows is None else _times(frame.rows, factor),
                ),
            )
        gloo.set_viewport(0, 0, *frame.size)
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        _cut(frame)
        self._average["u_picture"] = self._large.texture
        self._average.draw("triangles")

    def _draw_picture(self, scene: DrawnScene, frame: Frame) -> None:
        if not self._prepared:
            self._upload(scene, frame)
        self._set_rig(scene, frame)
        own = scene.items.material[frame.selected, 0, :3]
        self._selection_color = selection_color(own, frame.palette)
        # Of a picture in bands all bands show what was there when it was prepared.
        keep = self._ground if frame.rows is not None else None
        ground = keep or self._ground_of(scene, frame)
        floors = ground.floors
        if frame.options.render is not RenderMode.PICTURE:
            self._draw_measured(scene, frame, floors)
            return
        light = self._light_uniforms(scene, frame, ground)
        _cut(frame)
        self._draw_reflection(floors, frame, light)
        width, height = frame.size
        gloo.set_viewport(0, 0, width, height)
        if frame.transparent:
            gloo.clear(color=(0.0, 0.0, 0.0, 0.0), depth=True)
        else:
            gloo.clear(color=(*self._rig.sky_horizon, 1.0), depth=True)
            self._sky.draw(
                frame.view,
                rig=self._rig,
                sky=self.buffers.sky if frame.options.skybox else None,
                mist=mist_at_sky(frame.view, scene.description, frame.options),
            )
            self.draw_calls += 1
        matrix = frame.view.matrix()
        self._draw_opaque(frame, matrix, light)
        self._draw_floors(floors, frame, matrix, light, behind=False)
        self._draw_ghosts(scene, frame, matrix, light)
        self._draw_transparent(frame, matrix, light)
        self._draw_floors(floors, frame, matrix, light, behind=True)
        self._draw_overlays(scene, frame, matrix)

    def _draw_measured(self, scene: DrawnScene, frame: Frame, floors: list[Floor]) -> None:
        options = frame.options
        far = 1.0 if options.render is RenderMode.DEPTH else 0.0
        _cut(frame)
        gloo.set_viewport(0, 0, *frame.size)
        gloo.clear(color=(far, far, far, 0.0 if frame.transparent else 1.0), depth=True)
        self.draw_calls += self._measured.draw(
            options.render,
            view=frame.view,
            between=depth_range(scene, options, frame.view),
            buffers=self.buffers,
            programs=self._programs,
            floors=[f for f in floors if _is_solid(frame, f)],
            floor_pass=self._floors,
        )

    def _ground_of(self, scene: DrawnScene, frame: Frame) -> _Ground:
        floors = floors_of(
            scene,
            options=frame.options,
            palette=frame.palette,
            checkers=self.buffers.checkers,
            extent=frame.extent,
        )
        if frame.transparent:  # of endless floors nothing would be transparent
            floors = [floor for floor in floors if floor.half is not None]
        return _Ground(floors, scene.ground_height, scene.scene_center)

    def _upload(self, scene: DrawnScene, frame: Frame) -> None:
        start = time.thread_time()
        self.buffers.update(
            scene,
            options=frame.options,
            selected=frame.selected,
            eye=frame.view.eye,
            detail=_detail(frame),
        )
        self._canvas.flush()
        self.upload_ms = 1000.0 * (time.thread_time() - start)

    def _set_rig(self, scene: DrawnScene, frame: Frame) -> None:
        rig = rig_for(scene, LightRig.of(frame.palette), frame.options.lighting)
        sky = self.buffers.sky
        if sky is not None and frame.options.skybox:
            haze = haze_color(scene.description, sky.horizon)
            rig = dataclasses.replace(rig, sky_horizon=sky.horizon, haze=haze)
        self._rig = rig

    def _update_shadow(self, scene: DrawnScene, frame: Frame) -> int:
        """Draw the shadow map if it is due; return how many draw calls that took."""
        if not self._taps(frame):
            return 0
        return self._shadow.update(
            scene,
            self.buffers,
            lamp=self._rig.lamps[0],
            size=_COARSE_SIZE if frame.coarse else _SHADOW_SIZE[frame.quality],
            options=frame.options,
            late=_COARSE_LATE if frame.coarse else 0.0,
            most_faces=_MOST_COARSE_CASTERS if frame.coarse else None,
        )

    def draw_pick(
        self,
        scene: DrawnScene,
        frame: Frame,
        matrix: NDArray[np.float64],
        *,
        items: NDArray[np.int64],
    ) -> None:
        """Draw positions and numbers of ``items`` and planes into the bound float framebuffer."""
        self._canvas.make_current()
        self.buffers.update(
            scene, options=frame.options, selected=frame.selected, eye=frame.view.eye
        )
        gloo.set_state(depth_test=True, depth_mask=True, blend=False, cull_face=False)
        gloo.clear(color=(0.0, 0.0, 0.0, 0.0), depth=True)
        for batch in self.buffers.batches(scene, items):
            program = self._programs.pick(self.buffers, batch.source)
            program["u_matrix"] = gl_matrix(matrix)
            program.draw("triangles", batch.indices)
        for floor in floors_of(
            scene,
            options=frame.options,
            palette=frame.palette,
            checkers=self.buffers.checkers,
            extent=frame.extent,
        ):
            if _is_solid(frame, floor):  # else one sees, and points, through it
                self._floors.draw_pick(floor, matrix, eye=frame.view.eye, reach=frame.view.far)

    def _light_uniforms(self, scene: DrawnScene, frame: Frame, ground: _Ground) -> dict[str, Any]:
        """Draw the shadow map if it is due; return what every lit shader needs."""
        rig = self._rig
        light: dict[str, Any] = {
            "u_eye": frame.view.eye,
            "u_fill_direction": rig.fill_direction,
            "u_fill_color": rig.fill,
            "u_head_color": rig.head,
            "u_sky_light": rig.sky_light,
            "u_ground_light": rig.ground_light,
            "u_ground_height": ground.height,
            "u_extent": frame.extent,
            "u_fog_color": rig.haze,
            "u_fog_distance": _haze_distance(scene, ground, frame),
            **mist_uniforms(frame.view, scene.description, frame.options),
            "u_stale": 0.85 if frame.stale else 0.0,
        }
        for index, lamp in enumerate(rig.lamps):
            light[f"u_lamp{index}"] = lamp.uniform()
        if self._taps(frame):
            if not self._prepared:
                self.draw_calls += self._update_shadow(scene, frame)
            light.update(self._shadow.uniforms())
        return light

    def _taps(self, frame: Frame) -> int:
        if not frame.options.shadows or not self._rig.lamps or not self._rig.casts_shadow:
            return 0
        if not frame.coarse:
            return _SHADOW_TAPS[frame.quality]
        return _COARSE_TAPS if self.buffers.shadow_faces <= _MOST_COARSE_CASTERS else 0

    def _draw_opaque(
        self,
        frame: Frame,
        matrix: NDArray[np.float64],
        light: dict[str, Any],
        *,
        mirrored: bool = False,
    ) -> None:
        cull = frame.options.cull_face
        gloo.set_state(depth_test=True, depth_mask=True, blend=False, cull_face=cull)
        gloo.set_cull_face("front" if mirrored else "back")
        for batch in self.buffers.opaque:
            self._draw_items(frame, matrix, light, batch=batch, mirrored=mirrored)
        for batch in self.buffers.wires:
            self._draw_items(frame, matrix, light, batch=batch, mode="lines", mirrored=mirrored)

    def _draw_items(
        self,
        frame: Frame,
        matrix: NDArray[np.float64],
        light: dict[str, Any],
        *,
        batch: Batch,
        opacity: float = 1.0,
        solid: bool = True,
        mode: str = "triangles",
        mirrored: bool = False,
    ) -> None:
        image = self.buffers.texture(batch.texture)
        program = self._programs.shaded(
            self.buffers,
            batch.source,
            TEXTURED=0 if image is None else 2 if self.buffers.is_cube(batch.texture) else 1,
            LAMPS=len(self._rig.lamps),
            SHADOW_TAPS=self._taps(frame),
            MIRRORED=int(mirrored),
            TWO_SIDED=int(not frame.options.cull_face),
        )
        for name, value in light.items():
            program[name] = value
        if image is not None:
            program["u_texture"] = image
        program["u_matrix"] = gl_matrix(matrix)
        program["u_highlight_color"] = self._selection_color
        program["u_opacity"] = opacity
        program["u_solid"] = float(solid)
        program.draw(mode, batch.indices)
        self.draw_calls += 1

    def _draw_ghosts(
        self,
        scene: DrawnScene,
        frame: Frame,
        matrix: NDArray[np.float64],
        light: dict[str, Any],
    ) -> None:
        self.draw_calls += self._ghosts.draw(
            scene,
            self.buffers,
            light=light,
            matrix=gl_matrix(matrix),
            lamps=len(self._rig.lamps),
            taps=self._taps(frame),
            bias=2e-4,
        )

    def _draw_transparent(
        self, frame: Frame, matrix: NDArray[np.float64], light: dict[str, Any]
    ) -> None:
        if not self.buffers.transparent:
            return
        _blend(depth_mask=False, cull_face=frame.options.cull_face)
        gloo.set_cull_face("back")
        if frame.options.additive:
            gloo.set_blend_func("src_alpha", "one", "one", "one")
        glass = frame.options.xray_selection and len(frame.selected) > 0
        opacity = 0.3 if frame.options.transparent or glass else 1.0
        for batch in self.buffers.transparent:
            self._draw_items(frame, matrix, light, batch=batch, opacity=opacity, solid=False)
        gloo.set_state(depth_mask=True)

    def _draw_floors(
        self,
        floors: list[Floor],
        frame: Frame,
        matrix: NDArray[np.float64],
        light: dict[str, Any],
        *,
        behind: bool,
    ) -> None:
        mirrored = self._mirrored(floors, frame)
        for floor in floors:
            below = _from_behind(frame, floor) and floor.item != GROUND
            see_through = below or floor.color_a[3] < 0.999
            if see_through != behind:
                continue
            _blend(depth_mask=not see_through, cull_face=False)
            self._floors.draw(
                highlighted(floor) if floor.item in frame.selected_planes else floor,
                matrix,
                light,
                view=frame.view,
                alpha=0.3 if below else 1.0,
                taps=self._taps(frame),
                lamps=len(self._rig.lamps),
                image=self._floor_image(frame, floor),
                reflection=self._mirror.texture if floor is mirrored else None,
                pixels=frame.size,
                rows=frame.rows,
                shadowed=self._shadow.footprint(floor.pos, floor.mat[:, 2]),
            )
            self.draw_calls += 1
        gloo.set_state(depth_mask=True)

    def _floor_image(self, frame: Frame, floor: Floor) -> Any:
        if self.buffers.is_cube(floor.texture) or not frame.options.textures:
            return None
        return self.buffers.texture(floor.texture)

    @staticmethod
    def _mirrored(floors: list[Floor], frame: Frame) -> Floor | None:
        """Return the one floor that reflects: the most reflective seen from above."""
        if not frame.options.reflections or frame.quality is Quality.LOW:
            return None
        seen = [
            floor
            for floor in floors
            if floor.surface[3] > 0.0
            and float((frame.view.eye - floor.pos) @ floor.mat[:, 2]) > 0.0
        ]
        return max(seen, key=lambda floor: floor.surface[3], default=None)

    def _draw_reflection(self, floors: list[Floor], frame: Frame, light: dict[str, Any]) -> None:
        floor = self._mirrored(floors, frame)
        if floor is None:
            return
        normal = floor.mat[:, 2]
        offset = -float(normal @ floor.pos)
        mirror = np.eye(4)
        mirror[:3, :3] -= 2.0 * np.outer(normal, normal)
        mirror[:3, 3] = -2.0 * offset * normal
        matrix = frame.view.matrix() @ mirror
        self._mirror.resize(frame.size)
        with self._mirror.framebuffer:
            gloo.set_viewport(0, 0, *frame.size)
            gloo.set_state(depth_test=True, depth_mask=True, blend=False)
            gloo.clear(color=(0.0, 0.0, 0.0, 0.0), depth=True)
            # Lit as seen from the mirrored eye, so that highlights lie where they belong.
            seen = dict(light)
            seen["u_eye"] = mirror[:3, :3] @ frame.view.eye + mirror[:3, 3]
            seen["u_clip_plane"] = (*normal, offset)
            self._draw_opaque(frame, matrix, seen, mirrored=True)

    def _draw_mask(self, frame: Frame) -> int:
        """Draw which pixels are selected; return how many draw calls that took."""
        if not self.buffers.selected:
            return 0
        return self._outline.draw_mask(
            self._programs,
            self.buffers,
            matrix=gl_matrix(frame.view.matrix()),
            size=frame.size,
        )

    def _draw_overlays(self, scene: DrawnScene, frame: Frame, matrix: NDArray[np.float64]) -> None:
        if frame.overlays is not None:
            self.draw_calls += self._glyphs.draw(
                frame.overlays,
                frame.view,
                height=frame.size[1],
                pixel_ratio=frame.pixel_ratio,
                xray=frame.options.xray,
                # MuJoCo's colours are pale; on a bright ground they need a line round them.
                ink=rgb(frame.palette.text) if frame.palette.name == LIGHT.name else None,
            )
        if self.buffers.selected:
            if not self._prepared or frame.supersample > 1:
                self.draw_calls += self._draw_mask(frame)
            self.draw_calls += self._outline.draw_edge(
                size=frame.size,
                color=self._selection_color,
                pixel_ratio=frame.pixel_ratio,
                area=_selected_area(scene, frame, matrix),
            )
        if frame.options.triad:
            self.draw_calls += self._triad.draw(
                self._glyphs, frame.view, size=frame.size, pixel_ratio=frame.pixel_ratio
            )
        gloo.set_viewport(0, 0, *frame.size)


def _selected_area(scene: DrawnScene, frame: Frame, matrix: NDArray[np.float64]) -> Rect | None:
    """Return the part of the picture that what is selected lies in; None where it may be anywhere.

    That is so of what bends, and where a part of it is behind the eye.
    """
    buffers, items = scene.buffers(), frame.selected
    low, high = buffers.low[items], buffers.high[items]
    shaped = (low <= high).all(axis=1)
    soft = items >= scene.items.n_rigid
    if soft.any() or not shaped.any():
        return None
    ends = np.stack([low[shaped], high[shaped]], axis=1)  # (n, 2, 3)
    corners = np.stack([ends[:, pick, range(3)] for pick in _CORNERS], axis=1)  # (n, 8, 3)
    mat, pos = scene.item_mat[items[shaped]], scene.item_pos[items[shaped]]
    points = np.einsum("nij,ncj->nci", mat, corners) + pos[:, None]
    return screen_area(points.reshape(-1, 3), matrix, frame.size)


def _haze_distance(scene: DrawnScene, ground: _Ground, frame: Frame) -> float:
    options = frame.options
    if frame.transparent:  # there is no horizon to fade into
        options = dataclasses.replace(options, haze=False)
    return haze_distance(
        frame.view,
        options,
        description=scene.description,
        center=ground.center,
        extent=frame.extent,
    )


def _cut(frame: Frame) -> None:
    """Draw only the rows that are wanted from now on."""
    gloo.set_state(scissor_test=frame.rows is not None)
    if frame.rows is not None:
        low, high = frame.rows
        gloo.set_scissor(0, low, frame.size[0], high - low)


def _times(rows: tuple[int, int], factor: int) -> tuple[int, int]:
    return rows[0] * factor, rows[1] * factor


def _detail(frame: Frame) -> Detail:
    if frame.quality is not Quality.LOW:
        return Detail.FULL
    return Detail.MOVING if frame.coarse else Detail.COARSE


def gl_matrix(matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a column-vector matrix the way gloo sends it: transposed, single precision."""
    return np.ascontiguousarray(matrix.T, dtype=np.float32)


def _is_solid(frame: Frame, floor: Floor) -> bool:
    """Return whether a plane is the model's and seen from its front."""
    return floor.item != GROUND and not _from_behind(frame, floor)


def _from_behind(frame: Frame, floor: Floor) -> bool:
    if frame.view.orthographic:
        return float(frame.view.forward @ floor.mat[:, 2]) > 0.0
    return float((frame.view.eye - floor.pos) @ floor.mat[:, 2]) < 0.0


def _blend(*, depth_mask: bool, cull_face: bool) -> None:
    """Blend over what is there; on an opaque picture alpha stays 1."""
    gloo.set_state(depth_test=True, depth_mask=depth_mask, blend=True, cull_face=cull_face)
    gloo.set_blend_func("src_alpha", "one_minus_src_alpha", "one", "one_minus_src_alpha")
