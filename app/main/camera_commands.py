"""What the actions of the Camera menu do, and its lists of model cameras and saved ones."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu

from stroboscope.app.main.action_table import BOOKMARKS
from stroboscope.app.models.element_values import elements_of
from stroboscope.app.models.elements import element_name
from stroboscope.app.models.keyframe_xml import camera_xml
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.camera import CameraState, StandardView, ViewMode
from stroboscope.app.view3d.camera_widget import MAX_FOVY, MIN_FOVY
from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow
    from stroboscope.app.view3d.viewport import Viewport

__all__ = ["CameraCommands"]


class CameraCommands:
    """Handlers by name of action; ``refresh`` keeps check marks and the saved cameras' names."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self._said: tuple[object, ...] = ()

    @property
    def _viewport(self) -> "Viewport":
        return self._window.scene_view.viewport

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        table: dict[str, Callable[[], None]] = {
            "frame_selection": lambda: self._viewport.frame_selection(),
            "frame_all": lambda: self._viewport.frame_scene(),
            "free_camera": self.free_camera,
            "track": self.track,
            "next_camera": lambda: self.cycle_camera(1),
            "previous_camera": lambda: self.cycle_camera(-1),
            "orthographic": self.toggle_orthographic,
            "field_of_view": self.field_of_view,
            "save_camera": self.save,
            "copy_camera": self.copy,
        }
        for view in StandardView:
            table[f"look_{view.name.lower()}"] = (
                lambda v=view: self._viewport.standard_view(v)  # type: ignore[misc]
            )
        for number in range(1, BOOKMARKS + 1):
            table[f"bookmark_{number}"] = (
                lambda n=number: self.go_to(n - 1)  # type: ignore[misc]
            )
        return table

    def fill_menus(self) -> None:
        """Make the lists that depend on the scene; they are filled when they open."""
        actions = self._window.actions_by_name
        menu = actions.menus["Camera"]
        cameras = QMenu("Model cameras", menu)
        menu.insertMenu(actions["next_camera"], cameras)
        actions.menus["Camera/Model cameras"] = cameras
        cameras.aboutToShow.connect(partial(self._fill_cameras, cameras))
        saved = actions.menu("Camera/Saved cameras")
        saved.addSeparator()
        forget = saved.addMenu("Forget")
        forget.aboutToShow.connect(partial(self._fill_forget, forget))
        saved.aboutToShow.connect(self.refresh)

    def refresh(self) -> None:
        """Say what the camera is, and name the saved ones."""
        a, camera = self._window.actions_by_name, self._viewport.camera
        a["track"].setChecked(camera.mode is ViewMode.TRACKING)
        body = self._tracked(camera)
        a.set_title("track", f"Tracking {body}, once more to stay here" if body else None)
        a["orthographic"].setChecked(camera.orthographic)
        scene = self._window.sessions.shown
        self._said = _kind(camera)
        names = self._window.memory.bookmarks(scene) if scene is not None else []
        for number in range(1, BOOKMARKS + 1):
            action = a[f"bookmark_{number}"]
            known = number <= len(names)
            action.setText(names[number - 1] if known else f"Saved camera {number}")
            action.setVisible(known)
            action.setEnabled(known)
        for name in ("save_camera", "copy_camera"):
            a[name].setEnabled(scene is not None)

    def on_camera(self, camera: CameraState) -> None:
        """Follow the camera's mode; where it is concerns no menu."""
        if _kind(camera) != self._said:
            self.refresh()
            if body := self._tracked(camera):
                self._say(f"Tracking {body}")

    def _tracked(self, camera: CameraState) -> str:
        """Return the name of the body that is followed; "" without one."""
        scene = self._window.scene_view.drawn_scene
        description = scene.description if scene is not None else None
        if camera.mode is not ViewMode.TRACKING or description is None:
            return ""
        if not 0 <= camera.tracked_body < len(description.bodies):
            return ""
        return element_name(description, Element(ElementKind.BODY, camera.tracked_body))

    # --- which camera

    def free_camera(self) -> None:
        """Leave a tracking or fixed camera; with the free one, select nothing.

        Lets go of a body first. In the list it gives the keys back to the scene.
        """
        viewport = self._viewport
        if viewport.let_go():
            return
        if self._window.tree.view.hasFocus():
            viewport.setFocus()
        if viewport.camera.mode is ViewMode.FREE:
            self._window.sessions.selection.select(None)
        else:
            viewport.free_camera()

    def track(self) -> None:
        """Follow what is selected, or stay."""
        if self._viewport.camera.mode is ViewMode.TRACKING:
            self._viewport.free_camera()
        elif not self._viewport.toggle_tracking():
            self._say("There is no body that moves to be tracked.")
        self.refresh()

    def cycle_camera(self, places: int) -> None:
        """Go through free camera and the model's cameras."""
        count = self._count()
        camera = self._viewport.camera
        at = camera.fixed_camera if camera.mode is ViewMode.FIXED else -1
        after = (at + 1 + places) % (count + 1) - 1
        if after < 0:
            if count == 0:
                self._say("This model has no cameras of its own.")
            self._viewport.free_camera()
        else:
            self._viewport.look_through(after)

    def toggle_orthographic(self) -> None:
        """With or without perspective."""
        self._viewport.set_orthographic(not self._viewport.camera.orthographic)
        self.refresh()

    def field_of_view(self) -> None:
        """Ask for the vertical field of view."""
        camera = self._viewport.camera
        fovy, ok = QInputDialog.getDouble(
            self._window, "Field of view", "Vertical angle [°]", camera.fovy, MIN_FOVY, MAX_FOVY, 1
        )
        if ok:
            self._viewport.set_fovy(fovy)

    def _count(self) -> int:
        shown = self._window.sessions.shown
        if shown is None or shown.description is None:
            return 0
        return len(elements_of(shown.description, ElementKind.CAMERA))

    def _fill_cameras(self, menu: QMenu) -> None:
        menu.clear()
        shown = self._window.sessions.shown
        cameras = shown.description.cameras if shown is not None and shown.description else ()
        present = self._viewport.camera
        for index, camera in enumerate(cameras):
            action = menu.addAction(camera.name or f"camera {index}")
            action.setCheckable(True)
            chosen = present.mode is ViewMode.FIXED and present.fixed_camera == index
            action.setChecked(chosen)
            action.triggered.connect(lambda _=False, i=index: self._viewport.look_through(i))
        if not cameras:
            menu.addAction("This model has none").setEnabled(False)

    # --- saved ones

    def save(self) -> None:
        """Ask for a name and keep the camera under it."""
        scene = self._window.scene_view.drawn_scene
        if scene is None:
            return
        names = self._window.memory.bookmarks(scene)
        name, ok = QInputDialog.getText(
            self._window,
            "Save this camera",
            "Name; an old one is replaced",
            text=f"view {len(names) + 1}",
        )
        if ok and name.strip():
            self._window.memory.save_bookmark(scene, name.strip())
            self.refresh()
            self._say(f"Saved the camera as {name.strip()}.")

    def go_to(self, index: int) -> None:
        """Put the camera where a saved one stands."""
        scene = self._window.scene_view.drawn_scene
        camera = self._window.memory.bookmark(scene, index) if scene is not None else None
        if camera is not None:
            self._viewport.set_camera(camera)
            self.refresh()

    def _fill_forget(self, menu: QMenu) -> None:
        menu.clear()
        scene = self._window.scene_view.drawn_scene
        for index, name in enumerate(self._window.memory.bookmarks(scene) if scene else []):
            action: QAction = menu.addAction(name)
            action.triggered.connect(lambda _=False, i=index: self._forget(i))
        menu.setEnabled(bool(menu.actions()))

    def _forget(self, index: int) -> None:
        scene = self._window.scene_view.drawn_scene
        if scene is not None:
            self._window.memory.forget_bookmark(scene, index)
            self.refresh()

    def copy(self) -> None:
        """Put the camera into the clipboard as MJCF."""
        view = self._viewport.view()
        text = camera_xml(
            "view",
            pos=view.eye,
            right=view.right,
            up=view.up,
            fovy=view.height if view.orthographic else view.fovy,
            orthographic=view.orthographic,
        )
        QApplication.clipboard().setText(text)
        self._window.sessions.log.add(LogLevel.INFO, f"Copied {text}")

    def _say(self, text: str) -> None:
        self._window.status.showMessage(text, 4000)


def _kind(camera: CameraState) -> tuple[object, ...]:
    return camera.mode, camera.orthographic, camera.fixed_camera, camera.tracked_body
