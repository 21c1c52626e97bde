"""What the actions of the View menu do: what is drawn, what is hidden."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.overlays import OVERLAYS
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import (
    GROUPS,
    FrameMode,
    LabelMode,
    RenderMode,
    ViewOptions,
)
from stroboscope.app.models.visibility import HIDEABLE
from stroboscope.app.view3d.items import body_of

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["ViewCommands"]

# Groups with keys: the action's name before its number, and the field of the options.
_GROUPS = {"group": "geom_groups", "site_group": "site_groups"}

_SHORT_MS = 2000  # how long a word about a key stands in the status line


class ViewCommands:
    """Handlers by name of action; ``refresh`` of the window's commands follows each change."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        table: dict[str, Callable[[], None]] = {
            "frames": self.next_frames,
            "labels": self.next_labels,
            "hide": self.hide_selection,
            "isolate": self.isolate_selection,
            "show_all": self.show_everything,
        }
        table["next_view"] = lambda: self._window.scene_view.grid.activate_next()
        for way in Arrangement:
            table[f"views_{way.name.lower()}"] = lambda w=way: self._window.arrange_views(w)  # type: ignore[misc]
        for each in OVERLAYS:
            table[each.name] = lambda n=each.name: self.toggle_option(n)  # type: ignore[misc]
        for label in LabelMode:
            table[f"labels_{label.value}"] = lambda m=label: self.change(labels=m)  # type: ignore[misc]
        for frame in FrameMode:
            table[f"frames_{frame.value}"] = lambda m=frame: self.change(frames=m)  # type: ignore[misc]
        for mode in RenderMode:
            table[f"render_{mode.value}"] = lambda m=mode: self.change(render=m)  # type: ignore[misc]
        for kind in _GROUPS:
            for group in range(GROUPS):
                table[f"{kind}_{group}"] = (
                    lambda k=kind, g=group: self.toggle_group(k, g)  # type: ignore[misc]
                )
        return table

    def refresh(self) -> None:
        """Make the check marks say what is drawn."""
        a, options = self._window.actions_by_name, self.options
        grid = self._window.scene_view.grid
        for way in Arrangement:
            a[f"views_{way.name.lower()}"].setChecked(grid.arrangement is way)
        a["next_view"].setEnabled(len(grid.views) > 1)
        for each in OVERLAYS:
            a[each.name].setChecked(getattr(options, each.name))
        for label in LabelMode:
            a[f"labels_{label.value}"].setChecked(options.labels is label)
        for frame in FrameMode:
            a[f"frames_{frame.value}"].setChecked(options.frames is frame)
        for mode in RenderMode:
            a[f"render_{mode.value}"].setChecked(options.render is mode)
        for kind, field in _GROUPS.items():
            for group, shown in enumerate(getattr(options, field)):
                a[f"{kind}_{group}"].setChecked(shown)
        self._window.view_panel.refresh()

    @property
    def options(self) -> ViewOptions:
        """What is drawn."""
        return self._window.scene_view.grid.options

    def change(self, **changes: Any) -> None:
        """Draw something else, and subscribe to what that needs."""
        self._window.set_view_options(dataclasses.replace(self.options, **changes))

    def toggle_option(self, name: str) -> None:
        """Switch one thing that is drawn."""
        self.change(**{name: not getattr(self.options, name)})

    def next_frames(self) -> None:
        """Draw the axes of the next kind of thing."""
        kinds = list(FrameMode)
        frames = kinds[(kinds.index(self.options.frames) + 1) % len(kinds)]
        self.change(frames=frames)
        self._window.status.showMessage(f"Axes: {frames.value}", _SHORT_MS)

    def next_labels(self) -> None:
        """Write the names of the next kind of thing."""
        kinds = list(LabelMode)
        labels = kinds[(kinds.index(self.options.labels) + 1) % len(kinds)]
        self.change(labels=labels)
        self._window.status.showMessage(f"Labels: {labels.value}", _SHORT_MS)

    def toggle_group(self, kind: str, group: int) -> None:
        """Show or hide a group of geoms or sites."""
        groups = list(getattr(self.options, _GROUPS[kind]))
        groups[group] = not groups[group]
        self.change(**{_GROUPS[kind]: tuple(groups)})

    def hide_selection(self) -> None:
        """Hide what is selected, or show it again."""
        s, element = self._window.sessions, self._selected_shape()
        if s.shown is not None and element is not None:
            s.visibility.toggle(s.shown, element)

    def isolate_selection(self) -> None:
        """Show only what is selected; again: everything."""
        s, element = self._window.sessions, self._selected_shape()
        if s.shown is not None and element is not None:
            s.visibility.isolate(s.shown, element)

    def show_everything(self) -> None:
        """Show what was hidden."""
        s = self._window.sessions
        if s.shown is not None:
            s.visibility.show_all(s.shown)

    def _selected_shape(self) -> Element | None:
        """Return what is selected, or its body when it has no shape of its own."""
        s = self._window.sessions
        element = s.selection.element
        if element is None or element.kind in HIDEABLE:
            return element
        if s.shown is None or s.shown.description is None:
            return None
        body = body_of(element, s.shown.description)
        return Element(ElementKind.BODY, body) if body > 0 else None
