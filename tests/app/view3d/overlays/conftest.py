"""Scenes of the real engine in a real window, with everything that overlays read."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.view_options import Quality, ViewOptions
from stroboscope.debugger_protocol.topics import Topic

PLAIN = ViewOptions(quality=Quality.LOW, triad=False, legend=False)


@dataclasses.dataclass
class EngineView:
    """A viewport that shows a scene of the engine as it stands."""

    view: Any
    scene: physics.Scene

    def set(self, **changes: Any) -> None:
        """Change options and feed what they need."""
        self.view.options = dataclasses.replace(PLAIN, **changes)
        self.feed()

    def feed(self) -> None:
        """Bring poses and the values of what is switched on."""
        description = self.view.description
        topics = frozenset({Topic.POSE, *topics_of(self.view.options, description)})
        frames = self.scene.link.backend.frame_now(topics).arrays
        self.view.set_poses(frames[Topic.POSE]["xpos"], frames[Topic.POSE]["xquat"])
        for topic in topics - {Topic.POSE}:
            self.view.set_values(topic, frames.get(topic))

    @property
    def picture(self) -> Any:
        """The overlays on show."""
        return self.view._overlay_picture()

    def parts(self, role: Any) -> list[Any]:
        """Return the glyphs whose colours mean ``role``."""
        return [part for part in self.picture.parts if role in part.roles]


@pytest.fixture
def engine_view(qapp: Any, show: Callable[..., Any]) -> Iterator[Callable[..., EngineView]]:
    """``engine_view(model, steps=0)``: a model (a path or MJCF) after some steps, 640x480."""
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    def start(model: Any, *, steps: int = 0) -> EngineView:
        scene = physics.create_scene("case", model=model)
        for _ in range(steps):
            scene.step()
        view = Viewport(DARK)
        view.options = PLAIN
        view.set_description(scene.link.backend.describe(1, "case"), {})
        shown = EngineView(view, scene)
        shown.feed()
        show(view, 640, 480)
        return shown

    yield start
    physics.shutdown()


@pytest.fixture
def near() -> Callable[..., NDArray[np.bool_]]:
    """``near(picture, color)``: which pixels (h, w) have that hue, whatever their brightness."""
    return _near


def _near(
    picture: NDArray[np.float64], color: Any, *, tolerance: float = 0.12
) -> NDArray[np.bool_]:
    wanted = np.array(color[:3]) / np.linalg.norm(color[:3])
    length = np.maximum(np.linalg.norm(picture, axis=2, keepdims=True), 1e-6)
    return (np.linalg.norm(picture / length - wanted, axis=2) < tolerance) & (length[..., 0] > 0.35)
