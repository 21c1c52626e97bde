"""Remembers per script which scene, element, camera and plots the user looked at."""

import dataclasses
from collections.abc import Callable

from stroboscope.app.models.element_values import element_name, elements_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.settings import Settings
from stroboscope.app.view3d.camera import CameraState, ViewMode

__all__ = ["Memory", "camera_from_dict", "camera_to_dict"]


def camera_to_dict(camera: CameraState) -> dict[str, object]:
    """Return a camera as plain data for the settings."""
    return {
        name: (value.value if isinstance(value, ViewMode) else value)
        for name, value in dataclasses.asdict(camera).items()
    }


def camera_from_dict(data: dict[str, object]) -> CameraState | None:
    """Return the camera that ``data`` describes, None when it is of no use."""
    names = {field.name for field in dataclasses.fields(CameraState)}
    known = {name: value for name, value in data.items() if name in names}
    try:
        if "mode" in known:
            known["mode"] = ViewMode(str(known["mode"]))
        if isinstance(known.get("lookat"), list):
            known["lookat"] = tuple(known["lookat"])  # type: ignore[arg-type]
        return CameraState(**known) if known else None  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


class Memory:
    """Follows selection and scene; gives the selection back when a script is started again."""

    def __init__(
        self,
        sessions: SessionsModel,
        settings: Settings,
        *,
        get_drawn: Callable[[], SceneModel | None],
        get_camera: Callable[[], CameraState],
        get_cameras: Callable[[], list[CameraState]],
        set_cameras: Callable[[list[CameraState]], None],
    ) -> None:
        self._sessions = sessions
        self._settings = settings
        self._get_drawn = get_drawn
        self._get_camera = get_camera
        self._get_cameras = get_cameras
        self._set_cameras = set_cameras
        self._scene: SceneModel | None = None
        sessions.selection.changed.connect(self._on_selection)
        sessions.shown_changed.connect(self._on_shown)
        for script, memory in settings.scripts.items():
            if memory.scene:
                sessions.remembered_scene[script] = memory.scene

    def close(self) -> None:
        """Keep what is shown and stop listening."""
        self.keep_camera()
        self._sessions.selection.changed.disconnect(self._on_selection)
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._follow(None)

    def keep_camera(self) -> None:
        """Remember where the cameras of the shown scene stand."""
        scene = self._get_drawn()
        if scene is not None and scene.session.identity:
            memory = self._settings.script(scene.session.identity)
            first, *others = [camera_to_dict(camera) for camera in self._get_cameras()]
            memory.camera[scene.name] = first
            # Those of views that are not there now come back with them.
            known = memory.other_cameras.get(scene.name, [])
            if others or known:
                memory.other_cameras[scene.name] = others + known[len(others) :]

    def restore_camera(self, script: str, scene: str) -> bool:
        """Put the cameras where they were for that scene; False when nothing is known."""
        cameras = self._cameras(script, scene)
        self._set_cameras(cameras)
        return bool(cameras)

    def restore_cameras_from(self, index: int) -> None:
        """Put the cameras of views that have just been added where they were."""
        scene = self._get_drawn()
        if scene is not None:
            remembered = self._cameras(scene.session.identity, scene.name)
            self._set_cameras([*self._get_cameras()[:index], *remembered[index:]])

    def _cameras(self, script: str, scene: str) -> list[CameraState]:
        """Return what is known of that scene's cameras, as far as all before it are known."""
        memory = self._settings.scripts.get(script)
        if memory is None:
            return []
        cameras: list[CameraState] = []
        for data in (memory.camera.get(scene), *memory.other_cameras.get(scene, [])):
            camera = camera_from_dict(data) if isinstance(data, dict) else None
            if camera is None:
                break
            cameras.append(camera)
        return cameras

    # --- saved cameras, by script and scene

    def bookmarks(self, scene: SceneModel) -> list[str]:
        """Return the names of the saved cameras of a scene, in order."""
        return [name for name, _ in self._bookmarks(scene)]

    def bookmark(self, scene: SceneModel, index: int) -> CameraState | None:
        """Return a saved camera, None when there is none or it is of no use."""
        saved = self._bookmarks(scene)
        return camera_from_dict(saved[index][1]) if 0 <= index < len(saved) else None

    def save_bookmark(self, scene: SceneModel, name: str) -> None:
        """Keep where the camera stands under a name; an old one of that name is replaced."""
        saved = self._bookmarks(scene)
        camera = camera_to_dict(self._get_camera())
        at = next((i for i, (known, _) in enumerate(saved) if known == name), len(saved))
        saved[at : at + 1] = [(name, camera)]
        self._keep_bookmarks(scene, saved)

    def forget_bookmark(self, scene: SceneModel, index: int) -> None:
        """Drop a saved camera."""
        saved = self._bookmarks(scene)
        del saved[index : index + 1]
        self._keep_bookmarks(scene, saved)

    def _bookmarks(self, scene: SceneModel) -> list[tuple[str, dict[str, object]]]:
        memory = self._settings.scripts.get(scene.session.identity)
        return list(memory.bookmarks.get(scene.name, [])) if memory is not None else []

    def _keep_bookmarks(
        self, scene: SceneModel, saved: list[tuple[str, dict[str, object]]]
    ) -> None:
        if scene.session.identity:
            self._settings.script(scene.session.identity).bookmarks[scene.name] = saved

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.described.disconnect(self._select_again)
        self._scene = scene
        if scene is not None:
            scene.described.connect(self._select_again)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        if scene is not None and scene.session.identity:
            self._settings.script(scene.session.identity).scene = scene.name
            self._select_again()

    def _on_selection(self, element: Element | None) -> None:
        scene = self._sessions.shown
        if element is None or scene is None or scene.description is None:
            return
        if scene.session.identity:
            memory = self._settings.script(scene.session.identity)
            memory.element_kind = element.kind.value
            memory.element_name = element_name(scene.description, element)

    def _select_again(self) -> None:
        scene = self._scene
        if scene is None or scene.description is None or self._sessions.selection.element:
            return
        memory = self._settings.scripts.get(scene.session.identity)
        if memory is None or not memory.element_name:
            return
        try:
            kind = ElementKind(memory.element_kind)
        except ValueError:
            return
        for index in range(len(elements_of(scene.description, kind))):
            if element_name(scene.description, Element(kind, index)) == memory.element_name:
                self._sessions.selection.select(Element(kind, index))
                return
