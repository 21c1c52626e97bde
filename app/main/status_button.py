"""A button of the status bar that says how something stands: a text, a click, and a menu."""

import dataclasses
from collections.abc import Callable, Iterable

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget, QWidgetAction

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal as ModelSignal
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.resources.themes import Palette

__all__ = ["StatusButton", "StatusEntry", "StatusNote"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StatusEntry:
    """One line of the menu; without ``act`` a heading of what follows, a line where it is empty.

    ``detail`` stands at the right, ``hint`` is its tooltip.
    """

    text: str
    detail: str = ""
    hint: str = ""
    act: Callable[[], object] | None = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StatusNote:
    """What a button says. ``color``: a colour of the palette, for the icon.

    ``act``: what a click does; None: it opens the menu of ``entries``, which else is the context
    menu. ``count``: of what it is about.
    """

    text: str
    icon: Icon
    color: str
    hint: str = ""
    count: int = 1
    entries: tuple[StatusEntry, ...] = ()
    act: Callable[[], object] | None = dataclasses.field(default=None, compare=False)


# Where the text of entries begins, without what labels in a status bar have of their own [px].
_TEXT_AT = 14


class _Heading(QWidgetAction):
    """A line of the menu that can't be chosen, and is no less readable for that."""

    def __init__(self, menu: QMenu) -> None:
        super().__init__(menu)
        self.label = ElidedLabel()
        self.label.setProperty("role", "section")
        self.label.setContentsMargins(_TEXT_AT, 0, _TEXT_AT, 0)
        self.label.setFixedHeight(METRICS.compact_height)
        self.setDefaultWidget(self.label)


class StatusButton(QToolButton):
    """Shows what ``say`` returns, and hides while that is None. GUI thread only.

    ``signals``: of the models, after which ``say`` is asked again; both are asked anew when another
    scene is shown, and when scenes come and go. ``told`` carries each new note, or None.
    """

    told = Signal(object)

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        *,
        say: Callable[[SessionsModel], StatusNote | None],
        signals: Callable[[SessionsModel], Iterable[ModelSignal[[]]]],
        is_offer: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._palette = palette
        self._say = say
        self._signals = signals
        self._heard: list[ModelSignal[[]]] = []
        self._kinds: list[tuple[str, bool]] = []
        self._actions: list[QAction] = []
        self.note: StatusNote | None = None
        self.menu_of_entries = QMenu(self)
        self.menu_of_entries.setToolTipsVisible(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        if is_offer:
            set_property(self, "hint", "true")
        self.clicked.connect(self._on_click)
        self.hide()
        sessions.shown_changed.connect(self._listen)
        sessions.scene_added.connect(self._listen)
        sessions.scene_removed.connect(self._listen)
        sessions.session_changed.connect(self._on_session)
        self._listen()

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.shown_changed.disconnect(self._listen)
        self._sessions.scene_added.disconnect(self._listen)
        self._sessions.scene_removed.disconnect(self._listen)
        self._sessions.session_changed.disconnect(self._on_session)
        for signal in self._heard:
            signal.disconnect(self._refresh)
        self._heard = []

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._dress()

    def open_menu(self) -> None:
        """Show the entries above the button."""
        if self.note is not None and self.note.entries:
            size = self.menu_of_entries.sizeHint()
            corner = self.mapToGlobal(QPoint(self.width() - size.width(), -size.height()))
            self.menu_of_entries.popup(corner)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the entries."""
        self.open_menu()
        event.accept()

    def _on_click(self) -> None:
        note = self.note
        if note is not None and note.act is not None:
            note.act()
        else:
            self.open_menu()

    # --- following the models

    def _listen(self, _scene: object = None) -> None:
        for signal in self._heard:
            signal.disconnect(self._refresh)
        self._heard = list(self._signals(self._sessions))
        for signal in self._heard:
            signal.connect(self._refresh)
        self._refresh()

    def _on_session(self, _session: object) -> None:
        self._refresh()

    def _refresh(self) -> None:
        before, self.note = self.note, self._say(self._sessions)
        if self.note == before:
            return
        if self.note is not None:
            self._dress()
        self._fill(self.note.entries if self.note is not None else ())
        self.setVisible(self.note is not None)
        self.told.emit(self.note)

    def _dress(self) -> None:
        note, p = self.note, self._palette
        if note is not None:
            self.setIcon(icon(note.icon, p, color=getattr(p, note.color)))
            self.setText(note.text)
            self.setToolTip(plain_text(note.hint))

    def _fill(self, entries: tuple[StatusEntry, ...]) -> None:
        """Put the entries into the menu, which may be open: numbers in it go on."""
        kinds = [(entry.text, entry.act is not None) for entry in entries]
        if kinds != self._kinds:
            self._kinds = kinds
            self._make_actions(entries)
        for action, entry in zip(self._actions, entries, strict=True):
            text = entry.text.replace("&", "&&")
            action.setText(f"{text}\t{entry.detail}" if entry.detail else text)
            action.setToolTip(plain_text(entry.hint))
            if isinstance(action, _Heading):
                action.label.set_full_text(entry.text)

    def _make_actions(self, entries: tuple[StatusEntry, ...]) -> None:
        menu = self.menu_of_entries
        for old in menu.actions():
            # Not at once: it may be the one that was chosen just now.
            menu.removeAction(old)
            old.deleteLater()
        self._actions = []
        for place, entry in enumerate(entries):
            if place and entry.act is None and entry.text:
                menu.addSeparator()
            action = QAction(menu) if entry.act is not None or not entry.text else _Heading(menu)
            action.setSeparator(not entry.text)
            action.setEnabled(entry.act is not None)
            action.triggered.connect(lambda _=False, n=place: self._choose(n))
            menu.addAction(action)
            self._actions.append(action)
        if not entries:
            menu.close()

    def _choose(self, place: int) -> None:
        entries = self.note.entries if self.note is not None else ()
        if place < len(entries) and (act := entries[place].act) is not None:
            act()
