"""The tree as a person uses it: eyes, menus, one selection everywhere."""

import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from view_pixels import view_pixels

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.panels.tree_items import HIDDEN_ROLE, NODE_ROLE

ROD = Element(ElementKind.GEOM, 1)
FLOOR = Element(ElementKind.GEOM, 0)
BODY = Element(ElementKind.BODY, 1)


def _index(tree, element):
    """Return the index of an element's row, opened so that it can be seen."""
    items = tree._scene_items[id(tree._sessions.shown)]
    index = tree._proxy.mapFromSource(items.find(element).index())
    parent = index.parent()
    while parent.isValid():
        tree.view.setExpanded(parent, True)
        parent = parent.parent()
    tree.view.scrollTo(index)
    return index


def _click(tree, element, *, at_eye=False):
    rect = tree.view.visualRect(_index(tree, element))
    x = rect.right() - 10 if at_eye else rect.left() + 30
    QTest.mouseClick(
        tree.view.viewport(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(x, rect.center().y()),
    )


@pytest.fixture
def tree(desktop, attached, wait_until):
    attached()
    wait_until(lambda: desktop.sessions.shown.latest("pose") is not None)
    wait_until(lambda: desktop.window.scene_view.drawn_pose is not None)
    return desktop.window.tree


def _hit_at_bob(desktop):
    """Return the moving element where the bob is, floor and sky left out."""
    viewport = desktop.window.scene_view.viewport
    bob = viewport._scene.item_pos[2]
    x, y, _ = viewport.view().project(bob, width=viewport.width(), height=viewport.height())[0]
    hit = viewport.pick_at(float(x), float(y))
    return hit.element if hit is not None and hit.element != FLOOR else None


def test_one_selection_in_tree_picture_and_inspector_and_an_eye_that_hides(
    desktop, tree, wait_until
):
    window = desktop.window
    _click(tree, ROD)
    assert desktop.sessions.selection.element == ROD
    assert window.scene_view.viewport._selection == ROD
    wait_until(lambda: window.inspector.title.full_text == "rod")

    viewport = window.scene_view.viewport
    tree.view.collapseAll()
    rod = viewport._scene.item_pos[1]
    x, y, _ = viewport.view().project(rod, width=viewport.width(), height=viewport.height())[0]
    desktop.sessions.selection.select(None)
    QTest.mouseDClick(
        viewport._surface,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(round(x), round(y)),
    )
    assert desktop.sessions.selection.element == ROD
    current = tree.view.currentIndex()
    assert current.data(NODE_ROLE).element == ROD
    assert tree.view.visualRect(current).isValid()  # its parents are open
    wait_until(lambda: window.inspector.title.full_text == "rod")
    # The eye hides in the picture and selects nothing.
    shown = view_pixels(viewport)
    selected = desktop.sessions.selection.element
    _click(tree, BODY, at_eye=True)
    assert desktop.sessions.selection.element == selected
    assert (view_pixels(viewport) != shown).any()
    assert _index(tree, ROD).data(HIDDEN_ROLE) is True
    assert _hit_at_bob(desktop) is None
    # The eye of a part opens what hides it.
    _click(tree, ROD, at_eye=True)
    assert _hit_at_bob(desktop) == Element(ElementKind.GEOM, 2)
    assert _index(tree, BODY).data(HIDDEN_ROLE) is False


def test_keys_and_the_menu_of_an_element_plot_hide_and_isolate(desktop, tree, wait_until):
    window, visibility = desktop.window, desktop.sessions.visibility
    scene = desktop.sessions.shown
    desktop.sessions.selection.select(Element(ElementKind.JOINT, 0))
    window.scene_view.setFocus()
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_H, control)
    assert visibility.hidden(scene) == {BODY}  # a joint stands for its body
    QTest.keyClick(window, Qt.Key.Key_H, control | shift)
    assert not visibility.hidden(scene)
    desktop.sessions.selection.select(ROD)
    QTest.keyClick(window, Qt.Key.Key_I, control)
    assert visibility.isolated(scene) == ROD
    assert Element(ElementKind.GEOM, 2) in visibility.hidden(scene)
    QTest.keyClick(window, Qt.Key.Key_I, control)
    assert not visibility.hidden(scene)

    # The menu of an element does the same, and plots.
    def entries(element):
        menu = tree.menu_of(_index(tree, element).data(NODE_ROLE))
        return {action.text(): action for action in menu.actions()}

    trigger(entries(Element(ElementKind.JOINT, 0))["Plot"])
    assert [s.channel for s in desktop.window.plots.plots.all_series()] == ["qpos"]
    assert "Plot" not in entries(ROD)
    assert "Hide" not in entries(Element(ElementKind.JOINT, 0))
    trigger(entries(ROD)["Hide"])
    assert "Show" in entries(ROD)
    trigger(entries(ROD)["Show everything"])
    assert not desktop.sessions.visibility.hidden(desktop.sessions.shown)


def test_the_menu_is_of_the_row_that_was_clicked_even_if_the_rows_move_then(
    desktop, tree, right_click
):
    """A row that is seen in part is scrolled to when it is selected."""
    view, bar = tree.view, tree.view.verticalScrollBar()
    view.expandAll()
    view.setVerticalScrollMode(view.ScrollMode.ScrollPerPixel)
    bar.setValue(0)
    room = view.viewport().height()
    row = view.indexAt(QPoint(80, room + 20))
    bar.setValue(view.visualRect(row).center().y() + 3 - room)
    before, rect = bar.value(), view.visualRect(row)
    assert rect.bottom() > room > rect.center().y()
    assert "Copy name" in right_click(view, row)
    assert bar.value() > before
    assert desktop.sessions.selection.element == row.data(NODE_ROLE).element


def test_what_is_hidden_stays_hidden_when_the_script_is_started_again(
    desktop, attached, pendulums, wait_until
):
    first = attached("--script", "/somewhere/train.py")
    desktop.sessions.visibility.toggle(desktop.sessions.shown, ROD)
    first.close()
    wait_until(lambda: desktop.window.transport.badge.word == "DISCONNECTED")
    pendulums("--script", "/somewhere/train.py")
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED")
    wait_until(lambda: desktop.sessions.shown.description is not None)
    viewport = desktop.window.scene_view.viewport
    wait_until(lambda: not viewport._scene.visible(viewport.options)[1])
    wait_until(lambda: _index(desktop.window.tree, ROD).data(HIDDEN_ROLE) is True)


def test_escape_clears_the_search_leaves_it_and_selects_nothing_and_right_steps_or_opens_rows(
    desktop, tree, wait_until
):
    window = desktop.window
    desktop.sessions.selection.select(ROD)
    wait_until(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    wait_until(tree.search.hasFocus)
    QTest.keyClicks(tree.search, "bob")
    QTest.keyClick(tree.search, Qt.Key.Key_Escape)
    assert tree.search.text() == ""
    wait_until(tree.search.hasFocus)
    QTest.keyClick(tree.search, Qt.Key.Key_Escape)
    wait_until(tree.view.hasFocus)
    assert desktop.sessions.selection.element == ROD
    window.scene_view.viewport.look_through(0)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.scene_view.viewport.camera.fixed_camera == -1
    assert desktop.sessions.selection.element == ROD
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert desktop.sessions.selection.element is None
    # Right steps after a click on a scene, and opens rows after one inside it.
    scene = desktop.sessions.shown
    row = tree.view.model().index(0, 0, tree.view.model().index(0, 0))
    assert row.data(NODE_ROLE).scene is scene
    center = tree.view.visualRect(row).center()
    QTest.mouseClick(
        tree.view.viewport(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        center,
    )
    wait_until(lambda: not tree.view.hasFocus())
    QTest.keyClick(desktop.window.focusWidget(), Qt.Key.Key_Right)
    wait_until(lambda: scene.status.step_count == 1)
    _click(tree, ROD)
    wait_until(tree.view.hasFocus)
    QTest.keyClick(tree.view, Qt.Key.Key_Up)
    assert desktop.sessions.selection.element != ROD
    QTest.keyClick(tree.view, Qt.Key.Key_Escape)
    wait_until(lambda: not tree.view.hasFocus())
    assert scene.status.step_count == 1
