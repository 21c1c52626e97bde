"""Panels: tabs that cost nothing while hidden, and layouts that outlive other programs' panels."""

import base64

import pytest
from event_loop import trigger
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar

from stroboscope.app.main import panel_set
from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.main.panel_set import PANELS
from stroboscope.app.models.selection import Element, ElementKind


def _fronts(window):
    return {name for name, dock in window.docks.items() if dock.in_front}


def _run(qapp, path, application, wait_until, use, *, size=(1400, 900)):
    """Open a window with the settings in ``path``, show a scene, use it, close it."""
    desktop = DesktopApplication(qapp, settings_path=path)
    desktop.window.resize(*size)
    desktop.window.show()
    try:
        desktop.sessions.open(application.path)
        wait_until(lambda: desktop.sessions.shown is not None)
        wait_until(lambda: desktop.window.docks["inspector"].isVisible())
        use(desktop.window)
    finally:
        desktop.window.close()
        desktop.close()
        desktop.window.deleteLater()


def test_only_the_front_of_each_group_is_visible_and_behind_it_nobody_asks_for_numbers(
    desktop, attached, wait_until
):
    attached()
    window = desktop.window
    wait_until(lambda: "plots" in _fronts(window))
    wait_until(lambda: not window.docks["contacts"].content.isVisible())
    trigger(window.panels.actions["contacts"])
    wait_until(lambda: "contacts" in _fronts(window))
    assert window.docks["contacts"].content.isVisible()
    wait_until(lambda: not window.docks["plots"].content.isVisible())
    wait_until(lambda: window.docks["contacts"]._bar.height() == 0)
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    titles = {bar.tabText(i) for bar in bars for i in range(bar.count())}
    assert {"Inspector", "Controls", "Plots", "Contacts", "Log"} <= titles
    trigger(window.panels.actions["contacts"])
    wait_until(lambda: window.docks["contacts"].isHidden())
    # Behind another tab nobody asks for numbers.
    scene = desktop.sessions.shown
    desktop.sessions.selection.select(Element(ElementKind.BODY, 1))
    wait_until(lambda: "inspector" in scene._wanted)
    window.panels.toggle_all()
    wait_until(lambda: set(scene._wanted) <= {"shown", "log", "3d view"})
    window.panels.toggle_all()
    wait_until(lambda: "inspector" in scene._wanted)
    window.panels.show("view")
    wait_until(lambda: "inspector" not in scene._wanted)


def test_every_panel_is_found_in_the_menu_and_the_palette(desktop):
    entries = [text for text, _, _ in desktop.window.panels.palette_entries()]
    menu = desktop.window.actions_by_name.menus["Window"]
    titles = {spec.title for spec in PANELS}
    assert {f"Panel: {title}" for title in titles} <= set(entries)
    assert titles <= {action.text() for action in menu.actions()}


def _share(window):
    """The part of the window that the picture has."""
    view = window.scene_view
    return view.width() * view.height() / (window.width() * window.height())


def _tab(window, title):
    """The tab bar with that tab, and the middle of the tab."""
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    for bar in bars:
        for index in range(bar.count()):
            if bar.tabText(index) == title:
                return bar, bar.tabRect(index).center()
    raise AssertionError(f"no tab is called {title}")


def test_a_small_window_begins_with_the_picture_and_tabs_that_open_what_is_below(
    qapp, own_folders, pendulums, wait_until
):
    path = own_folders / "config" / "settings.json"

    def begin(window):
        wait_until(lambda: _share(window) > 0.55)
        assert {"sessions", "inspector", "timeline"} <= _fronts(window)
        assert not {"plots", "log"} & _fronts(window)
        # Nobody sees them, so nothing is asked for.
        assert not window.docks["plots"].content.isVisible()
        below = window.actions_by_name["panels_below"]
        assert not below.isChecked()
        bar, at = _tab(window, "Contacts")
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at)
        wait_until(lambda: {"contacts", "log"} <= _fronts(window))
        wait_until(lambda: window.docks["contacts"].height() > 120)
        assert below.isChecked()
        # Folding and opening again leaves everything as high as it was.
        heights = {n: window.docks[n].height() for n in ("contacts", "log", "timeline")}
        QTest.mouseClick(window.status.opener, Qt.MouseButton.LeftButton)
        wait_until(lambda: _share(window) > 0.55)
        assert not {"contacts", "log"} & _fronts(window)
        trigger(below)
        wait_until(lambda: heights == {n: window.docks[n].height() for n in heights})

    _run(qapp, path, pendulums(), wait_until, begin, size=(1280, 720))

    def later(window):
        wait_until(lambda: {"contacts", "log"} <= _fronts(window))
        window.panels.set_folded(True)
        # Who asks for a panel sees it.
        window.show_log()
        wait_until(lambda: "log" in _fronts(window))
        # So does who drags something to its tab.
        window.panels.set_folded(True)
        bar, at = _tab(window, "Contacts")
        nothing, left = QMimeData(), Qt.MouseButton.LeftButton
        for kind in (QDragEnterEvent, QDragMoveEvent):
            entering = kind(
                at, Qt.DropAction.CopyAction, nothing, left, Qt.KeyboardModifier.NoModifier
            )
            QApplication.sendEvent(bar, entering)
            assert entering.isAccepted() or kind is QDragMoveEvent
        wait_until(lambda: "contacts" in _fronts(window))
        window.docks["log"].setFloating(True)
        window.panels.set_folded(True)
        wait_until(lambda: "contacts" not in _fronts(window))
        assert "log" in _fronts(window)
        window.panels.reset()
        wait_until(lambda: _share(window) > 0.55)

    _run(qapp, path, pendulums(), wait_until, later, size=(1280, 720))


def test_a_large_window_begins_with_plots_and_log_open(qapp, own_folders, pendulums, wait_until):
    path = own_folders / "config" / "settings.json"

    def look(window):
        wait_until(lambda: {"sessions", "inspector", "plots", "log"} <= _fronts(window))
        wait_until(lambda: _share(window) > 0.4)

    _run(qapp, path, pendulums(), wait_until, look, size=(1900, 1060))


@pytest.mark.slow
def test_a_layout_of_another_version_is_left_alone(qapp, own_folders, pendulums, wait_until):
    path = own_folders / "config" / "settings.json"

    def spoil(window):
        window.panels.state = lambda: (  # what a program before tabs has written
            base64.b64encode(window.saveState(1).data()).decode(),
            [],
            None,
        )

    _run(qapp, path, pendulums(), wait_until, spoil)
    _run(
        qapp, path, pendulums(), wait_until,
        lambda window: wait_until(lambda: {"inspector", "sessions"} <= _fronts(window)),
    )  # fmt: skip


def test_a_layout_is_kept_and_a_panel_it_does_not_know_joins_its_group(
    qapp, own_folders, pendulums, wait_until, monkeypatch
):
    path = own_folders / "config" / "settings.json"
    less = tuple(spec for spec in PANELS if spec.name not in ("findings", "controls"))
    with monkeypatch.context() as patch:
        patch.setattr(panel_set, "PANELS", less)

        def arrange(window):
            window.panels.show("contacts")
            window.docks["why"].close()
            wait_until(lambda: "contacts" in _fronts(window))

        _run(qapp, path, pendulums(), wait_until, arrange)

    def look(window):
        wait_until(lambda: "contacts" in _fronts(window))
        assert window.docks["why"].isHidden()
        beside = window.tabifiedDockWidgets(window.docks["findings"])
        assert window.docks["log"] in beside
        assert window.docks["inspector"] in window.tabifiedDockWidgets(window.docks["controls"])
        wait_until(lambda: {"log", "inspector"} <= _fronts(window))

    _run(qapp, path, pendulums(), wait_until, look)
