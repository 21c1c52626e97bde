"""Sessions, their scenes, and what is in the shown ones: the tree on the left."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import (
    QItemSelectionModel,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import (
    QBrush,
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMenu,
    QStackedLayout,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element
from stroboscope.app.models.session import EndKind, SessionModel, SessionState
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.shown_state import activity_text
from stroboscope.app.models.visibility import HIDEABLE
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tree_items import (
    EYE_WIDTH,
    HIDDEN_ROLE,
    NODE_ROLE,
    SceneItems,
    SideTextDelegate,
    TreeNode,
    row_of,
)
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.resources.themes import Palette

__all__ = ["TreePanel"]


MakeMime = Callable[[SceneModel, Element], QMimeData | None]


class _TreeModel(QStandardItemModel):
    """The rows; dragging an element carries its signals."""

    def __init__(self, make_mime: MakeMime | None, parent: QWidget) -> None:
        super().__init__(0, 1, parent)
        self._make_mime = make_mime

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return the signals of the dragged element; empty when it has none."""
        for index in indexes:
            node = index.siblingAtColumn(0).data(NODE_ROLE)
            if self._make_mime and isinstance(node, TreeNode) and node.scene and node.element:
                made = self._make_mime(node.scene, node.element)
                if made is not None:
                    return made
        return QMimeData()


class _TreeView(QTreeView):
    """A tree whose rows may have an eye at their right end."""

    def __init__(self) -> None:
        super().__init__()
        self.on_eye: Callable[[QModelIndex], None] = lambda _index: None
        # Called after a click on a row with its index.
        self.on_clicked: Callable[[QModelIndex], None] = lambda _index: None
        # Called for the menu of a row with its index, and where to open it on the screen.
        self.on_menu: Callable[[QModelIndex, QPoint], None] = lambda _index, _at: None
        self.selects_for_menu: Callable[[QModelIndex], bool] = lambda _index: True
        self._pressed = QPersistentModelIndex()
        self.setMouseTracking(True)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take clicks on an eye, and those for the menu of some rows: they select nothing."""
        if self._press_eye(event):
            return
        index = self.indexAt(event.position().toPoint())
        self._pressed = QPersistentModelIndex(index)
        if event.button() is not Qt.MouseButton.RightButton or self.selects_for_menu(index):
            super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of the row that was pressed: by now another may be under the pointer."""
        by_mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        pressed = self._pressed.sibling(self._pressed.row(), 0)
        index = pressed if by_mouse else self.currentIndex()
        self.on_menu(index, event.globalPos())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell which row was clicked, once it is selected."""
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton:
            self.on_clicked(self.indexAt(event.position().toPoint()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Take fast clicks on an eye too; they open nothing."""
        if not self._press_eye(event):
            super().mouseDoubleClickEvent(event)

    def _press_eye(self, event: QMouseEvent) -> bool:
        at = event.position().toPoint()
        index = self.indexAt(at)
        if event.button() is not Qt.MouseButton.LeftButton or not index.isValid():
            return False
        at_eye = at.x() >= self.visualRect(index).right() - EYE_WIDTH
        if not at_eye or index.data(HIDDEN_ROLE) is None:
            return False
        self.on_eye(index)
        event.accept()
        return True


class _SearchField(QLineEdit):
    """Escape clears it, and leaves it when there is nothing to clear."""

    def __init__(self) -> None:
        super().__init__()
        self.on_leave: Callable[[], None] = lambda: None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape, and Down, which goes on in the list."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Down, Qt.Key.Key_Return):
            self.on_leave()
        else:
            super().keyPressEvent(event)


class TreePanel(QWidget):
    """A search field over a tree. Selecting a scene shows it and changes nothing in playback."""

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        *,
        make_mime: MakeMime | None = None,
        plot: Callable[[SceneModel, Element], None] | None = None,
        leave: Callable[[], None] = lambda: None,
        fill_scene: Callable[[QMenu, SceneModel], None] = lambda _menu, _scene: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._make_mime = make_mime
        self._plot = plot
        self._leave = leave
        self._fill_scene_menu = fill_scene
        self._sessions = sessions
        self._palette = palette
        self._session_items: dict[int, QStandardItem] = {}
        self._scene_items: dict[int, SceneItems] = {}
        self._following = False
        self._model = _TreeModel(make_mime, self)
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSourceModel(self._model)
        self._proxy.setRecursiveFilteringEnabled(True)
        self._proxy.setAutoAcceptChildRows(True)
        self._proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._build()
        self._listen()
        for session in sessions.sessions:
            self._add_session(session)
        self._refresh_empty()

    def close_panel(self) -> None:
        """Stop listening."""
        s = self._sessions
        s.session_added.disconnect(self._add_session)
        s.session_removed.disconnect(self._remove_session)
        s.session_changed.disconnect(self._refresh_session)
        s.scene_added.disconnect(self._add_scene)
        s.scene_removed.disconnect(self._remove_scene)
        s.shown_changed.disconnect(self._on_shown)
        for items in self._scene_items.values():
            items.close()
        s.selection.changed.disconnect(self._on_selection)
        s.visibility.changed.disconnect(self._on_visibility)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours: the icons are made again."""
        self._palette = palette
        self._delegate.set_theme(palette)
        for session in self._sessions.sessions:
            self._refresh_session(session)
        for items in self._scene_items.values():
            items.set_theme(palette)
        for key, items in self._scene_items.items():
            items.set_shown(self._sessions.shown is not None and key == id(self._sessions.shown))
        self._search_action.setIcon(icon(Icon.SEARCH, palette, color=palette.muted))

    # --- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, METRICS.gap, 0, 0)
        layout.setSpacing(METRICS.grid)
        self.search = _SearchField()
        self.search.on_leave = lambda: self.view.setFocus()
        self.search.setPlaceholderText("Search names")
        self.search.setClearButtonEnabled(True)
        self.search.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.search.setToolTip("Show only what has this in its name.   Ctrl+F")
        self._search_action = self.search.addAction(
            icon(Icon.SEARCH, self._palette, color=self._palette.muted),
            QLineEdit.ActionPosition.LeadingPosition,
        )
        self.search.textChanged.connect(self._on_search)
        field = QWidget()
        field_layout = QVBoxLayout(field)
        field_layout.setContentsMargins(METRICS.gap, 0, METRICS.gap, METRICS.grid)
        field_layout.addWidget(self.search)
        layout.addWidget(field)

        self.view = _TreeView()
        self.view.on_eye = self._on_eye
        self.view.on_clicked = self._on_clicked
        self.view.setModel(self._proxy)
        self.view.setHeaderHidden(True)
        self.view.setUniformRowHeights(True)
        self.view.setIndentation(14)
        self.view.setDragEnabled(True)
        self.view.setDragDropMode(QTreeView.DragDropMode.DragOnly)
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        self.view.on_menu = self._on_menu
        self.view.selects_for_menu = self._is_shown
        self._delegate = SideTextDelegate(self._palette, self.view)
        self.view.setItemDelegate(self._delegate)
        self.view.selectionModel().currentChanged.connect(self._on_current)

        self._empty = label(
            "No application is attached.\n\nRun a script with\n    stroboscope run train.py\n"
            "or use Session ▸ Connect…",
            "muted",
            wrap=True,
        )
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._empty.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, 0)
        stack_host = QWidget()
        self._stack = QStackedLayout(stack_host)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        layout.addWidget(stack_host, 1)

    def _listen(self) -> None:
        s = self._sessions
        s.session_added.connect(self._add_session)
        s.session_removed.connect(self._remove_session)
        s.session_changed.connect(self._refresh_session)
        s.scene_added.connect(self._add_scene)
        s.scene_removed.connect(self._remove_scene)
        s.shown_changed.connect(self._on_shown)
        s.selection.changed.connect(self._on_selection)
        s.visibility.changed.connect(self._on_visibility)

    # --- sessions and scenes

    def _add_session(self, session: SessionModel) -> None:
        row = row_of(
            session.name,
            TreeNode(session),
            icon(Icon.SESSION, self._palette, color=self._palette.muted),
        )
        font = row.font()
        font.setBold(True)
        row.setFont(font)
        self._session_items[id(session)] = row
        self._model.appendRow(row)
        self._refresh_session(session)
        for scene in session.scenes.values():
            self._add_scene(scene)
        self._expand(row)
        self._refresh_empty()

    def _remove_session(self, session: SessionModel) -> None:
        item = self._session_items.pop(id(session), None)
        if item is not None:
            for scene in session.scenes.values():
                self._forget_scene(scene)
            self._model.removeRow(item.row())
        self._refresh_empty()

    def _refresh_session(self, session: SessionModel) -> None:
        item = self._session_items.get(id(session))
        if item is None:
            return
        item.setText(session.name + _state_text(session))
        lost = session.state is SessionState.LOST
        p = self._palette
        color = p.accent if session.unseen else p.disabled if lost else p.muted
        item.setIcon(icon(Icon.SESSION, p, color=color))
        item.setForeground(
            QBrush(QColor(p.accent if session.unseen else p.muted if lost else p.text))
        )
        self._fold_if_over(session)
        info = session.info
        tip = f"{info.script or session.name}\npid {info.pid}" if info else session.name
        item.setToolTip(plain_text(f"{tip}\n{session.lost_reason}".rstrip()))

    def _fold_if_over(self, session: SessionModel) -> None:
        """Close an application that has ended and isn't looked at, so that others can be seen."""
        shown = self._sessions.shown
        item = self._session_items.get(id(session))
        over = session.state is SessionState.LOST
        if item is not None and over and (shown is None or shown.session is not session):
            self.view.setExpanded(self._proxy.mapFromSource(item.index()), False)

    def _add_scene(self, scene: SceneModel) -> None:
        parent = self._session_items.get(id(scene.session))
        if parent is None or id(scene) in self._scene_items:
            return
        items = SceneItems(scene, self._palette)
        self._scene_items[id(scene)] = items
        parent.appendRow(items.row)
        self._expand(parent)
        items.on_status = lambda: self._refresh_scene(scene)
        items.on_described = lambda: self._on_described(scene)
        items.listen()
        self._refresh_scene(scene)
        if scene is self._sessions.shown:
            self._on_shown(scene)

    def _remove_scene(self, scene: SceneModel) -> None:
        items = self._scene_items.get(id(scene))
        self._forget_scene(scene)
        parent = self._session_items.get(id(scene.session))
        if items is not None and parent is not None:
            self._following = True
            parent.removeRow(items.row.row())
            self._following = False

    def _forget_scene(self, scene: SceneModel) -> None:
        items = self._scene_items.pop(id(scene), None)
        if items is not None:
            items.close()

    def _refresh_scene(self, scene: SceneModel) -> None:
        items = self._scene_items.get(id(scene))
        if items is None:
            return
        status = scene.status
        text, tip = "", f"{scene.name}\nowned by {scene.owner}" if scene.owner else scene.name
        if status is not None:
            tip += "".join(
                f"\n{each}" for each in (activity_text(status), scene.stops.resetting) if each
            )
            if status.held and scene.session.mode is not PlaybackMode.PAUSED:
                text = "held"
            elif scene.stops.resetting:
                text = "resetting"
            elif status.rtf is not None and status.mode is not PlaybackMode.PAUSED:
                text = f"{number_text(status.rtf, 2 if status.rtf < 100 else 0)}×"
        if scene.is_stale:
            text = "" if not scene.session.is_connected else "stale"
        items.show_status(scene.name, text, tip)

    def _on_described(self, scene: SceneModel) -> None:
        if scene is self._sessions.shown:
            self._fill(scene)

    def _fill(self, scene: SceneModel) -> None:
        items = self._scene_items.get(id(scene))
        if items is None or scene.description is None:
            return
        self._following = True
        is_new = items.fill(scene.description, self._palette)
        self._following = False
        items.show_hidden(self._sessions.visibility)
        self._expand(items.row)
        # Beside other scenes the bodies stay closed, so that those can be seen.
        if is_new and len(scene.session.scenes) == 1:
            for item in items.opened_at_first:
                self._expand(item)
        self._on_selection(self._sessions.selection.element)

    # --- selection

    def _on_shown(self, scene: SceneModel | None) -> None:
        for key, items in self._scene_items.items():
            shown = scene is not None and key == id(scene)
            items.set_shown(shown)
            if not shown:
                self.view.setExpanded(self._proxy.mapFromSource(items.row.index()), False)
        for session in self._sessions.sessions:
            self._refresh_session(session)
        if scene is not None:
            parent = self._session_items.get(id(scene.session))
            if parent is not None:
                self._expand(parent)
            self._fill(scene)
            if self._sessions.selection.element is None:
                items_shown = self._scene_items.get(id(scene))
                if items_shown is not None:
                    self._make_current(items_shown.row)

    def _on_selection(self, element: Element | None) -> None:
        scene = self._sessions.shown
        items = self._scene_items.get(id(scene)) if scene is not None else None
        if items is None:
            return
        item = items.row if element is None else items.find(element)
        if item is not None:
            self._make_current(item)

    def _make_current(self, item: QStandardItem) -> None:
        index = self._proxy.mapFromSource(item.index())
        if index.isValid() and index != self.view.currentIndex():
            self._following = True
            self.view.selectionModel().setCurrentIndex(
                index,
                QItemSelectionModel.SelectionFlag.ClearAndSelect
                | QItemSelectionModel.SelectionFlag.Rows,
            )
            self._following = False
        if index.isValid():
            self.view.scrollTo(index)

    def _on_current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if self._following or not current.isValid():
            return
        node = current.siblingAtColumn(0).data(NODE_ROLE)
        if not isinstance(node, TreeNode):
            return
        if node.scene is None:
            first = next(iter(node.session.scenes.values()), None)
            shown = self._sessions.shown
            if first is not None and (shown is None or shown.session is not node.session):
                self._sessions.show(first)
            return
        self._sessions.show(node.scene)
        if node.element is not None or current.siblingAtColumn(0).parent().isValid():
            self._sessions.selection.select(node.element)

    # --- the rest

    def _on_search(self, text: str) -> None:
        self._following = True
        self._proxy.setFilterFixedString(text)
        self._following = False
        if text:
            self.view.expandAll()
        else:
            self._on_selection(self._sessions.selection.element)

    def _on_eye(self, index: QModelIndex) -> None:
        node = index.siblingAtColumn(0).data(NODE_ROLE)
        if isinstance(node, TreeNode) and node.scene is not None and node.element is not None:
            self._sessions.visibility.toggle(node.scene, node.element)

    def _on_clicked(self, index: QModelIndex) -> None:
        """Who chooses a scene wants to run it: give its keys (Right steps) to the picture.

        Rows inside a scene keep the keyboard, so that the arrows walk through them.
        """
        node = index.siblingAtColumn(0).data(NODE_ROLE) if index.isValid() else None
        if isinstance(node, TreeNode) and node.element is None:
            self._leave()

    def _on_visibility(self, scene: SceneModel) -> None:
        items = self._scene_items.get(id(scene))
        if items is not None:
            items.show_hidden(self._sessions.visibility)

    def _is_shown(self, index: QModelIndex) -> bool:
        """Return whether a row is of the shown scene: selecting any other one shows its scene."""
        node = index.siblingAtColumn(0).data(NODE_ROLE) if index.isValid() else None
        return isinstance(node, TreeNode) and node.scene is self._sessions.shown

    def _on_menu(self, index: QModelIndex, position: QPoint) -> None:
        node = index.siblingAtColumn(0).data(NODE_ROLE) if index.isValid() else None
        if not isinstance(node, TreeNode):
            return
        menu = self.menu_of(node)
        if menu.isEmpty():
            menu.deleteLater()
            return
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(position)

    def menu_of(self, node: TreeNode) -> QMenu:
        """Return the menu of a row; the caller shows it."""
        menu = QMenu(self)
        if node.scene is None:
            self._add_session_actions(menu, node.session)
        elif node.element is not None:
            self._add_element_actions(menu, node.scene, node.element)
        elif node.keyframe >= 0:
            edits, index = node.scene.edits, node.keyframe
            menu.addAction("Load keyframe", lambda: edits.load_keyframe(index))
        else:
            scene = node.scene
            self._fill_scene_menu(menu, scene)
            if self._sessions.visibility.hidden(scene):
                menu.addAction("Show everything", lambda: self._sessions.visibility.show_all(scene))
            if node.session.state is SessionState.LOST:
                self._add_session_actions(menu, node.session)
        return menu

    def _add_session_actions(self, menu: QMenu, session: SessionModel) -> None:
        if session.state is SessionState.LOST:
            menu.addAction("Reconnect", lambda: self._sessions.reconnect(session))
        word = "Remove from window" if session.state is SessionState.LOST else "Disconnect"
        menu.addAction(word, lambda: self._sessions.remove(session))

    def _add_element_actions(self, menu: QMenu, scene: SceneModel, element: Element) -> None:
        visibility = self._sessions.visibility
        mime = self._make_mime(scene, element) if self._make_mime is not None else None
        if mime is not None and self._plot is not None:
            plot = self._plot
            menu.addAction("Plot", lambda: plot(scene, element))
        if element.kind in HIDEABLE:
            hidden = visibility.is_hidden(scene, element)
            menu.addAction("Show" if hidden else "Hide", lambda: visibility.toggle(scene, element))
            alone = visibility.isolated(scene) == element
            menu.addAction(
                "Show the rest again" if alone else "Show only this",
                lambda: visibility.isolate(scene, element),
            )
        if visibility.hidden(scene):
            menu.addAction("Show everything", lambda: visibility.show_all(scene))
        if scene.description is not None:
            name = element_name(scene.description, element)
            menu.addAction("Copy name", lambda: QApplication.clipboard().setText(name))

    def _expand(self, item: QStandardItem) -> None:
        self.view.setExpanded(self._proxy.mapFromSource(item.index()), True)

    def _refresh_empty(self) -> None:
        self._stack.setCurrentWidget(self.view if self._session_items else self._empty)


def _state_text(session: SessionModel) -> str:
    """Return what stands behind an application's name; "" for one that is attached and seen."""
    match session.state:
        case SessionState.CONNECTING:
            return " · connecting…"
        case SessionState.LOST:
            words = {
                EndKind.ENDED: "ended",
                EndKind.FAILED: "failed",
                EndKind.BROKEN: "disconnected",
            }
            return f" · {words[session.end]}"
    if session.unseen:
        return " · new, paused" if session.mode is PlaybackMode.PAUSED else " · new"
    if not session.has_control and session.status is not None:
        return " · observing"
    return ""
