"""A real viewport that draws one reference scene; shared by the tests and the picture script."""

import dataclasses
from typing import Any

from reference_scenes import SCENES, shown_by_engine

__all__ = ["open_viewport", "reference_image", "start_qt"]


def start_qt() -> Any:
    """Return the application, set up as the real one."""
    from PySide6.QtCore import QCoreApplication, Qt
    from PySide6.QtWidgets import QApplication

    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    return QApplication.instance() or QApplication([])


def open_viewport(name: str) -> Any:
    """Return a viewport (not shown) with the scene ``name`` and its camera."""
    from stroboscope.app.models.view_options import Quality, ViewOptions
    from stroboscope.app.view3d.camera import CameraState
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import LIGHT

    scene = SCENES[name]
    shown = shown_by_engine(scene)
    view = Viewport(LIGHT)
    options: dict[str, Any] = {"triad": False, "quality": Quality.LOW, **scene.options}
    view.options = dataclasses.replace(ViewOptions(), **options)
    view.set_description(shown.description, shown.assets)
    view.set_poses(*shown.poses)
    for topic, arrays in shown.values.items():
        view.set_values(topic, arrays)
    if shown.ghost is not None:
        view._scene.set_ghost(*shown.ghost)
    azimuth, elevation, distance, lookat = scene.camera
    view.set_camera(
        CameraState(azimuth=azimuth, elevation=elevation, distance=distance, lookat=lookat)
    )
    return view


def reference_image(name: str, *, size: tuple[int, int]) -> Any:
    """Return the picture of scene ``name`` at ``size`` [px], in full quality."""
    view = open_viewport(name)
    view.resize(*size)
    view.show()
    image = view._surface.picture(size=size)
    view.close()
    view.deleteLater()
    return image
