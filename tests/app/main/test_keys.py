"""The key sheet: all keys, each once, and changed by hand."""

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.panels.key_sheet import KeySheet


@pytest.fixture
def sheet(desktop, wait_until):
    actions = desktop.window.actions_by_name
    sheet = KeySheet(
        actions.key_groups,
        change=actions.change_key,
        reset=actions.reset_keys,
        parent=desktop.window,
    )
    sheet.show()
    sheet.activateWindow()
    assert QTest.qWaitForWindowActive(sheet, 10_000)
    yield sheet
    sheet.close()
    sheet.deleteLater()


def _press(sheet, wait_until, action, key, modifiers=Qt.KeyboardModifier.NoModifier):
    sheet.buttons[action].click()
    editor = sheet.editor
    field = editor.focusProxy() or editor
    wait_until(field.hasFocus)
    QTest.keyClick(field, key, modifiers)
    wait_until(lambda: sheet.editor is None)


def test_the_sheet_shows_every_key_and_no_key_twice(desktop):
    groups = desktop.window.actions_by_name.key_groups()
    assert groups[0].title == "Mouse in the scene"
    keys = [k for g in groups[1:] for row in g.rows for k in row.keys.split("  ") if k]
    assert len(keys) == len(set(keys))
    assert {"Space", "F10", "Backspace", "Esc", "Tab", "F1", "Ctrl+P", "Ctrl+H"} <= set(keys)


def test_a_key_is_changed_by_pressing_it_and_kept_in_the_settings(desktop, sheet, wait_until):
    actions, settings = desktop.window.actions_by_name, desktop.settings
    _press(sheet, wait_until, "wireframe", Qt.Key.Key_F12)
    assert actions.keys_of("wireframe") == ("F12",)
    assert settings.shortcuts == {"wireframe": "F12"}
    assert "F12" in actions["wireframe"].toolTip()
    assert sheet.buttons["wireframe"].text() == "F12"
    sheet.close()
    desktop.window.activateWindow()
    wait_until(desktop.window.isActiveWindow)
    desktop.window.setFocus()
    viewport = desktop.window.scene_view.viewport
    assert not viewport.options.wireframe
    QTest.keyClick(desktop.window, Qt.Key.Key_F12)
    wait_until(lambda: viewport.options.wireframe)


def test_a_key_that_is_taken_goes_from_the_other_and_one_taken_away_comes_back(
    desktop, sheet, wait_until
):
    actions = desktop.window.actions_by_name
    _press(sheet, wait_until, "wireframe", Qt.Key.Key_Space)
    assert actions.keys_of("wireframe") == ("Space",)
    assert actions.keys_of("play") == ("F5",)
    assert sheet.message.text() == "Space was a key of “Play” and is not any more."
    sheet.reset_button.click()
    assert actions.keys_of("play") == ("Space", "F5")
    assert actions.keys_of("wireframe") == ("W",)
    assert desktop.settings.shortcuts == {}
    assert not sheet.reset_button.isEnabled()

    # A key is taken away, and comes back.
    def row():
        groups = actions.key_groups()
        return next(r for g in groups for r in g.rows if r.action == "contacts")

    menu = {a.text(): a for a in sheet.menu_of(row()).actions()}
    trigger(menu["No key"])
    assert actions.keys_of("contacts") == ()
    assert sheet.buttons["contacts"].text() == "no key"
    trigger({a.text(): a for a in sheet.menu_of(row()).actions()}["Reset"])
    assert actions.keys_of("contacts") == ("C",)


def test_the_sheet_finds_commands_by_their_words_and_by_their_keys(sheet):
    sheet.search.setText("contact force")
    assert "contact_forces" in sheet.buttons
    assert "wireframe" not in sheet.buttons
    sheet.search.setText("F10")
    assert list(sheet.buttons) == ["step"]
    sheet.search.setText("xyzzy")
    assert not sheet.buttons
    sheet.search.clear()
    assert {"step", "wireframe"} <= set(sheet.buttons)
