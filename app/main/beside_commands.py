"""Other scenes beside the shown one: as ghosts in its picture, and at the same time as it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu

from stroboscope.app.main.linked_times import LinkedTimes
from stroboscope.app.models.ghosts import scene_title
from stroboscope.app.models.scene import SceneModel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["BesideCommands"]

_SHOWN_MS = 8000
_ALONE = "No other scene is open: open another recorded run, or attach to another application."


class BesideCommands:
    """Handlers by name of action, and what panels ask the window for; ``close`` stops listening."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self.times = LinkedTimes(window.sessions)
        self.times.changed.connect(self.refresh)

    def close(self) -> None:
        """Stop listening."""
        self.times.changed.disconnect(self.refresh)
        self.times.close()

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        return {"link_times": self.link_times, "ghost_scene": self.choose_ghost}

    def refresh(self) -> None:
        """Offer what can be done now."""
        a = self._window.actions_by_name
        link = a["link_times"]
        link.setVisible(self.times.can_link or self.times.linked)
        link.setChecked(self.times.linked)
        a["ghost_scene"].setEnabled(bool(self._others()))

    def link_times(self) -> None:
        """Have all others follow the shown scene, or not."""
        linked = not self.times.linked
        self.times.link(linked=linked)
        self._tell(
            "Views of other recorded runs, and of scenes that are paused, now go where this one is."
            if linked
            else "Every view goes its own way again."
        )

    # --- ghosts

    def _others(self) -> list[SceneModel]:
        shown = self._window.sessions.shown
        if shown is None:
            return []
        return [scene for scene in self._window.sessions.all_scenes() if scene is not shown]

    def toggle_ghost(self, other: SceneModel) -> None:
        """Show a scene as a ghost in the shown one, or no more; say why it can't be."""
        shown = self._window.sessions.shown
        if shown is None or shown is other:
            return
        if problem := shown.ghosts.toggle_scene(other):
            self._tell(problem)

    def fill_scene_menu(self, menu: QMenu, other: SceneModel) -> None:
        """Offer to show a scene as a ghost in the one that is shown."""
        shown = self._window.sessions.shown
        if shown is None or shown is other:
            return
        has = shown.ghosts.has(other)
        text = f"Remove its ghost from {shown.name}" if has else f"Show as ghost in {shown.name}"
        menu.addAction(text.replace("&", "&&"), lambda: self.toggle_ghost(other))

    def ghost_menu(self) -> QMenu:
        """Return a menu of all other scenes, those with a tick that are ghosts."""
        menu = QMenu(self._window)
        shown = self._window.sessions.shown
        for other in self._others():
            action = menu.addAction(scene_title(other).replace("&", "&&"))
            action.triggered.connect(lambda _=False, each=other: self.toggle_ghost(each))
            action.setCheckable(True)
            action.setChecked(shown is not None and shown.ghosts.has(other))
        return menu

    def choose_ghost(self) -> None:
        """Ask which scene to show as a ghost."""
        if not self._others():
            self._tell(_ALONE)
            return
        menu = self.ghost_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(QCursor.pos())

    def _tell(self, text: str) -> None:
        self._window.status.showMessage(text, _SHOWN_MS)
