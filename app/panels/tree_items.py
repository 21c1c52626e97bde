"""The rows of one scene in the tree: bodies nested by parent, then actuators, sensors, cameras."""

import dataclasses
from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPalette, QStandardItem
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from stroboscope.app.models.element_values import element_name
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.session import SessionModel
from stroboscope.app.models.visibility import HIDEABLE, VisibilityModel, hidden_parts
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.names import elided_name
from stroboscope.app.panels.style import number_font
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.resources.themes import Palette

__all__ = [
    "EYE_WIDTH",
    "HIDDEN_ROLE",
    "NODE_ROLE",
    "SIDE_ROLE",
    "SceneItems",
    "SideTextDelegate",
    "TreeNode",
    "row_of",
]

NODE_ROLE = Qt.ItemDataRole.UserRole + 1
_ICON_ROLE = Qt.ItemDataRole.UserRole + 2
SIDE_ROLE = Qt.ItemDataRole.UserRole + 3
# None: it has no eye. True: hidden by itself or by a body above it.
HIDDEN_ROLE = Qt.ItemDataRole.UserRole + 4

_ICONS = {
    ElementKind.BODY: Icon.BODY,
    ElementKind.JOINT: Icon.JOINT,
    ElementKind.GEOM: Icon.GEOM,
    ElementKind.SITE: Icon.SITE,
    ElementKind.ACTUATOR: Icon.ACTUATOR,
    ElementKind.SENSOR: Icon.SENSOR,
    ElementKind.CAMERA: Icon.CAMERA,
    ElementKind.LIGHT: Icon.LIGHT,
    ElementKind.TENDON: Icon.TENDON,
    ElementKind.EQUALITY: Icon.EQUALITY,
    ElementKind.FLEX: Icon.FLEX,
    ElementKind.SKIN: Icon.SKIN,
}


@dataclasses.dataclass(frozen=True)
class TreeNode:
    """What a row stands for: a session, a scene of it, or an element or a keyframe of that."""

    session: SessionModel
    scene: SceneModel | None = None
    element: Element | None = None
    keyframe: int = -1


# Bodies up to this depth are open at first; a humanoid's fingers are not.
_OPEN_DEPTH = 3
_OPEN_BODIES = 40
_SIDE_MARGIN = 6
EYE_WIDTH = 26
_EYE_SIZE = 16

# Beside a picture and a name in a row [px].
_NAME_MARGINS = 20


class SideTextDelegate(QStyledItemDelegate):
    """Draws a row's SIDE_ROLE text or eye at the right end; the name gets the rest.

    The eye of what is shown appears under the mouse only, so that the tree stays calm.
    """

    def __init__(self, palette: Palette, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.color = QColor(palette.muted)
        self._disabled = QColor(palette.disabled)
        self._eyes = {
            True: icon(Icon.EYE_OFF, palette, color=palette.muted),
            False: icon(Icon.EYE, palette, color=palette.muted),
        }

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Grey out what is hidden; of a name too long for its row, show what is its own."""
        super().initStyleOption(option, index)
        picture = option.decorationSize.width() + _NAME_MARGINS
        if "/" in option.text:
            room = option.rect.width() - picture
            option.text = elided_name(option.text, QFontMetrics(option.font), room)
        if index.data(HIDDEN_ROLE):
            option.palette.setColor(QPalette.ColorRole.Text, self._disabled)
            option.palette.setColor(QPalette.ColorRole.HighlightedText, self._disabled)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Paint name, then number."""
        side, hidden = index.data(SIDE_ROLE), index.data(HIDDEN_ROLE)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if hidden is not None and (hidden or hovered):
            self._paint_beside(painter, option, index, EYE_WIDTH)
            eye = QRect(0, 0, _EYE_SIZE, _EYE_SIZE)
            eye.moveCenter(option.rect.center())
            eye.moveRight(option.rect.right() - _SIDE_MARGIN)
            self._eyes[bool(hidden)].paint(painter, eye)
            return
        if not side:
            super().paint(painter, option, index)
            return
        width = QFontMetrics(option.font).horizontalAdvance(side) + 2 * _SIDE_MARGIN
        rest = self._paint_beside(painter, option, index, width)
        painter.save()
        painter.setPen(self.color)
        painter.setFont(number_font())
        painter.drawText(
            rest.adjusted(0, -1, -_SIDE_MARGIN, -1),
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            side,
        )
        painter.restore()

    def _paint_beside(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
        width: int,
    ) -> QRect:
        """Paint the row with ``width`` [px] free at its end; return that place."""
        whole = QRect(option.rect)
        narrow = QStyleOptionViewItem(option)
        narrow.rect = whole.adjusted(0, 0, -width, 0)
        super().paint(painter, narrow, index)
        rest = QStyleOptionViewItem(option)
        rest.rect = QRect(whole.right() - width + 1, whole.top(), width, whole.height())
        style = option.widget.style() if option.widget is not None else QApplication.style()
        style.drawPrimitive(
            QStyle.PrimitiveElement.PE_PanelItemViewItem, rest, painter, option.widget
        )
        return QRect(rest.rect)


def row_of(text: str, node: TreeNode, picture: QIcon | None = None) -> QStandardItem:
    """Return the item of a row."""
    item = QStandardItem(text)
    item.setEditable(False)
    item.setData(node, NODE_ROLE)
    if picture is not None:
        item.setIcon(picture)
    return item


class SceneItems:
    """Everything about one scene in the tree. ``close`` before the row is removed."""

    def __init__(self, scene: SceneModel, palette: Palette) -> None:
        self.on_status: Callable[[], None] = lambda: None
        self.on_described: Callable[[], None] = lambda: None
        self.opened_at_first: list[QStandardItem] = []
        self._scene = scene
        self._palette = palette
        self._by_element: dict[Element, QStandardItem] = {}
        self._filled: SceneDescription | None = None
        self._icons: dict[Icon, QIcon] = {}
        self.row = row_of(scene.name, TreeNode(scene.session, scene), self._icon(Icon.SCENE))
        self.row.setData(Icon.SCENE, _ICON_ROLE)

    def listen(self) -> None:
        """Follow the scene."""
        self._scene.status_changed.connect(self._status)
        self._scene.described.connect(self._described)

    def close(self) -> None:
        """Stop following the scene."""
        self._scene.status_changed.disconnect(self._status)
        self._scene.described.disconnect(self._described)

    def find(self, element: Element) -> QStandardItem | None:
        """Return the row of an element."""
        return self._by_element.get(element)

    def show_hidden(self, visibility: VisibilityModel) -> None:
        """Open and close the eyes."""
        description = self._scene.description
        if description is None or self._filled is not description:
            return
        hidden = visibility.hidden(self._scene)
        parts = hidden_parts(description, hidden)
        for element, item in self._by_element.items():
            if element.kind is ElementKind.BODY:
                closed = bool(hidden) and visibility.is_hidden(self._scene, element)
            elif element.kind in HIDEABLE:
                closed = element in parts
            else:
                continue
            if item.data(HIDDEN_ROLE) is not closed:
                item.setData(closed, HIDDEN_ROLE)

    def set_shown(self, shown: bool) -> None:
        """Mark the scene that the window shows."""
        font = self.row.font()
        font.setBold(shown)
        self.row.setFont(font)
        color = self._palette.accent if shown else self._palette.text
        self.row.setIcon(icon(Icon.SCENE, self._palette, color=color))

    def show_status(self, name: str, text: str, tooltip: str) -> None:
        """Show the scene's name and what it does."""
        item = self.row
        if item.text() != name:
            item.setText(name)
        if item.data(SIDE_ROLE) != text:
            item.setData(text, SIDE_ROLE)
        if item.toolTip() != tooltip:
            item.setToolTip(plain_text(tooltip))

    def set_theme(self, palette: Palette) -> None:
        """Make the icons again."""
        self._palette = palette
        self._icons.clear()
        todo = [self.row]
        while todo:
            item = todo.pop()
            which = item.data(_ICON_ROLE)
            if which is not None:
                item.setIcon(self._icon(Icon(which)))
            todo.extend(item.child(n) for n in range(item.rowCount()))

    def fill(self, description: SceneDescription, palette: Palette) -> bool:
        """Build the rows of the description; False when they are there already."""
        if self._filled is description:
            return False
        self._filled = description
        self._palette = palette
        self._by_element.clear()
        self.opened_at_first = []
        scene_item = self.row
        scene_item.removeRows(0, scene_item.rowCount())
        self._fill_bodies(description, scene_item)
        for title, kind, count in (
            ("Actuators", ElementKind.ACTUATOR, len(description.actuators)),
            ("Sensors", ElementKind.SENSOR, len(description.sensors)),
            ("Tendons", ElementKind.TENDON, len(description.tendons)),
            ("Equalities", ElementKind.EQUALITY, len(description.equalities)),
            ("Flexes", ElementKind.FLEX, len(description.flexes)),
            ("Skins", ElementKind.SKIN, len(description.skins)),
            ("Cameras", ElementKind.CAMERA, len(description.cameras)),
            ("Lights", ElementKind.LIGHT, len(description.lights)),
        ):
            if count:
                group = self._group(title, _ICONS[kind], count)
                for index in range(count):
                    self._append(description, group, Element(kind, index))
        self._fill_keyframes(description)
        return True

    def _group(self, title: str, which: Icon, count: int) -> QStandardItem:
        group = row_of(title, TreeNode(self._scene.session, self._scene), self._icon(which))
        group.setData(which, _ICON_ROLE)
        group.setData(str(count), SIDE_ROLE)
        self.row.appendRow(group)
        return group

    def _fill_keyframes(self, d: SceneDescription) -> None:
        if not d.keyframes:
            return
        group = self._group("Keyframes", Icon.KEYFRAME, len(d.keyframes))
        for index, keyframe in enumerate(d.keyframes):
            node = TreeNode(self._scene.session, self._scene, keyframe=index)
            row = row_of(keyframe.name or f"keyframe {index}", node, self._icon(Icon.KEYFRAME))
            row.setData(Icon.KEYFRAME, _ICON_ROLE)
            row.setToolTip("Right-click to start the scene from here.")
            group.appendRow(row)

    def _fill_bodies(self, d: SceneDescription, scene_item: QStandardItem) -> None:
        depth: dict[int, int] = {}
        parts: dict[int, list[Element]] = {}
        owners = (
            (ElementKind.JOINT, [joint.body for joint in d.joints]),
            (ElementKind.GEOM, [geom.body for geom in d.geoms]),
            (ElementKind.SITE, [site.body for site in d.sites]),
        )
        for kind, bodies in owners:
            for part, owner in enumerate(bodies):
                parts.setdefault(owner, []).append(Element(kind, part))
        for index, body in enumerate(d.bodies):
            parent = scene_item
            depth[index] = 0
            if index and body.parent < index:
                found = self._by_element.get(Element(ElementKind.BODY, body.parent))
                parent = found if found is not None else scene_item
                depth[index] = depth[body.parent] + 1
            item = self._append(d, parent, Element(ElementKind.BODY, index))
            for element in parts.get(index, ()):
                self._append(d, item, element)
            if depth[index] < _OPEN_DEPTH and len(d.bodies) <= _OPEN_BODIES:
                self.opened_at_first.append(item)

    def _append(
        self, d: SceneDescription, parent: QStandardItem, element: Element
    ) -> QStandardItem:
        name = element_name(d, element)
        which = _ICONS[element.kind]
        row = row_of(name, TreeNode(self._scene.session, self._scene, element), self._icon(which))
        row.setData(which, _ICON_ROLE)
        row.setToolTip(plain_text(f"{name}\n{element.kind.value} {element.index}"))
        if element.kind in HIDEABLE:
            row.setData(False, HIDDEN_ROLE)
        parent.appendRow(row)
        self._by_element[element] = row
        return row

    def _icon(self, which: Icon) -> QIcon:
        if which not in self._icons:
            self._icons[which] = icon(which, self._palette, color=self._palette.muted)
        return self._icons[which]

    def _status(self) -> None:
        self.on_status()

    def _described(self) -> None:
        self.on_described()
