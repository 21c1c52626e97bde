"""What the window says: banners that go when they are over, whole sentences, commands found."""

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from samples import few

from stroboscope.app.panels.command_palette import CommandPalette, matches
from stroboscope.debugger_protocol.messages import LogLevel


def test_an_error_goes_from_the_banner_when_an_application_attaches(
    desktop, attached, click, wait_until
):
    banner = desktop.window.banner
    desktop.open_first("36104570c2d7ef65", opened_by="train.py")
    wait_until(banner.isVisible)
    assert banner.text.text().startswith("train.py is over, or has gone on without this window")
    desktop.window.docks["log"].hide()
    attached()
    wait_until(lambda: not banner.isVisible())
    desktop.log.add(LogLevel.ERROR, "It ended with exit code 2", source="train.py")
    wait_until(lambda: banner.isVisible() and "code 2" in banner.text.text())
    assert banner.text.text() == "train.py: It ended with exit code 2"
    click(banner.log_button)
    wait_until(desktop.window.docks["log"].isVisible)
    banner._timer.timeout.emit()  # two minutes later
    assert not banner.isVisible()


def test_a_bug_of_the_window_stays_in_the_banner(desktop, attached, wait_until):
    banner = desktop.window.banner
    desktop.log.add(LogLevel.ERROR, "This window has a bug: RuntimeError: made to fail")
    attached()
    banner._timer.timeout.emit()
    assert banner.isVisible()
    banner.dismiss()


@pytest.mark.slow
def test_a_script_that_fails_at_its_start_is_named_with_its_error(desktop, own_folders, wait_until):
    path = own_folders / "wrong.py"
    path.write_text("raise ValueError('no such robot')\n", encoding="utf-8")
    desktop.window.start_script(str(path))
    banner = desktop.window.banner
    wait_until(banner.isVisible, 60)
    wait_until(lambda: "wrong.py" in banner.text.text())
    assert "ValueError: no such robot" in banner.text.text()


def _open_palette(desktop, wait_until):
    trigger(desktop.window.actions_by_name["command_palette"])
    palette = desktop.window.findChild(CommandPalette)
    wait_until(palette.isVisible)
    return palette


def _listed(palette):
    return [palette.list.item(row).text() for row in range(palette.list.count())]


@pytest.mark.parametrize("key", few([Qt.Key.Key_Escape, Qt.Key.Key_Return], 1))
def test_a_palette_that_was_closed_is_gone(desktop, wait_until, key):
    palette = _open_palette(desktop, wait_until)
    QTest.keyClicks(palette.field, "theme")
    QTest.keyClick(palette.field, key)
    wait_until(lambda: desktop.window.findChild(CommandPalette) is None)


@pytest.mark.parametrize("by_mouse", [True, False])
def test_what_the_palette_does_comes_behind_the_click_that_chose_it_and_once(
    desktop, wait_until, by_mouse
):
    """A dialog that opens within the click would end the list while that has the mouse."""
    palette = _open_palette(desktop, wait_until)
    action = desktop.window.actions_by_name["theme"]
    told = []
    action.triggered.connect(lambda: told.append("done"))
    QTest.keyClicks(palette.field, "theme")
    if by_mouse:
        row = palette.list.visualItemRect(palette.list.item(0)).center()
        QTest.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=row)
    else:
        QTest.keyClick(palette.field, Qt.Key.Key_Return)
    told.append("clicked")
    wait_until(lambda: desktop.window.findChild(CommandPalette) is None)
    wait_until(lambda: "done" in told)
    assert told == ["clicked", "done"]


def test_the_palette_finds_commands_by_other_words_and_says_when_there_is_none(
    desktop, attached, wait_until
):
    attached()
    palette = _open_palette(desktop, wait_until)
    QTest.keyClicks(palette.field, "speed")
    assert {"Run: Slower", "Run: Faster", "Run: Fast forward"} <= set(_listed(palette))
    palette.field.clear()
    QTest.keyClicks(palette.field, "xyzzy")
    assert _listed(palette) == ["Nothing matches “xyzzy”"]
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.close()


def test_the_palette_knows_the_words_of_mujocos_viewer(desktop):
    entries = desktop.window.actions_by_name.palette_entries()
    missing = []
    for words, command in (
        ("contact force", "Show: Contact forces"),
        ("tracking", "Camera: Track the selection"),
        ("joint slider", "Window: Go to: Joint sliders"),
        ("apply force", "Help: Keys and mouse"),
        ("perturb", "Help: Keys and mouse"),
        ("screenshot", "View: Save picture"),
        ("video", "View: Record film"),
        ("profiler", "Window: Go to: Profiler"),
        ("reload", "Run: Restore initial state"),
        ("align", "Camera: Frame everything"),
        ("copy pose", "Window: Go to: States and keyframes"),
        ("skybox", "Show: Sky"),
        ("fullscreen", "Window: Full screen"),
        ("autoconnect", "Show: Connect joints and bodies"),
        ("contact split", "Show: Split normal and friction"),
    ):
        found = [text for text, others, _action in entries if matches(words, f"{text} {others}")]
        if command not in found:
            missing.append((words, command, found))
    assert missing == []


def test_what_is_too_long_for_banner_log_and_inspector_is_whole_where_somebody_asks(
    desktop, attached, wait_until
):
    # An error has two lines over the picture, and is whole in its tooltip.
    attached("--name", "Pendulum")
    banner = desktop.window.banner
    text = " ".join(["the controller asked for more torque than the motor has"] * 9)
    desktop.log.add(LogLevel.ERROR, text, source="train.py")
    wait_until(banner.isVisible)
    wait_until(lambda: banner.text.height() >= 2 * banner.text.fontMetrics().lineSpacing())
    wait_until(lambda: banner.height() < 3 * banner.text.fontMetrics().lineSpacing())
    assert len(banner.text.shown_lines(banner.text.width())) == 2
    wait_until(lambda: banner.text.toolTip().endswith(text))
    banner.dismiss()
    # A message has two lines, and all of them when it is chosen.
    view = desktop.window.log_panel.view
    text = " ".join(["the controller asked for more torque than the motor has"] * 4)
    desktop.log.add(LogLevel.INFO, "short", source="train.py")
    desktop.log.add(LogLevel.INFO, text, source="train.py")

    def heights():
        rows = [view.topLevelItem(n) for n in range(view.topLevelItemCount())]
        return {row.text(2): view.visualItemRect(row).height() for row in rows}

    wait_until(lambda: text in heights())
    wait_until(lambda: heights()[text] > heights()["short"])
    spacing = view.fontMetrics().lineSpacing()
    assert spacing < heights()["short"] < heights()[text] <= heights()["short"] + spacing + 2
    view.topLevelItem(view.topLevelItemCount() - 1).setSelected(True)
    wait_until(lambda: heights()[text] >= 4 * spacing)
    # In a narrow panel time and source stand over the message, which has the whole width.
    panel = desktop.window.log_panel
    for width, narrow in ((300, True), (700, False)):
        panel.resize(width, panel.height())
        assert view.isColumnHidden(0) is view.isColumnHidden(1) is narrow
        wait_until(lambda: view.columnWidth(2) >= 250)
        wait_until(lambda n=narrow: (heights()["short"] > 2 * spacing) is n)
    # A text that does not fit into the inspector is whole in its tooltip.
    inspector = desktop.window.inspector
    for label in ("source", "doing"):
        wait_until(lambda n=label: (row := inspector.row(n)) and row.text.isVisible())
        # Between two events: with the next news another row may stand there.
        text = inspector.row(label).text
        text.resize(40, text.height())
        assert text.text() != text.full_text
        assert text.toolTip() == text.full_text


def test_why_an_application_is_gone_is_said_in_full_beside_the_buttons(
    desktop, attached, wait_until
):
    attached("--script", "/x/ends.py", "--steps", "5")
    transport = desktop.window.transport
    desktop.sessions.play()
    wait_until(lambda: transport.badge.word == "ENDED")
    wait_until(lambda: transport.detail.full_text == "the application stopped its debug server")
    wait_until(lambda: transport.detail.text() == transport.detail.full_text)


def test_a_message_in_the_status_bar_stands_where_its_text_did_and_leaves_the_rest_alone(
    desktop, wait_until
):
    status = desktop.window.status
    wait_until(status.text.isVisible)
    wait_until(lambda: status.text.x() + status.text.contentsRect().x() > 0)
    before = status.grab().toImage()
    status.showMessage("W" * 900)
    after = status.grab().toImage()
    ratio = after.devicePixelRatio()
    middle = after.height() // 2

    def written(image) -> list[int]:
        ground = image.pixel(1, middle)
        rows = range(middle - 4, middle + 4)
        return [x for x in range(image.width()) if any(image.pixel(x, y) != ground for y in rows)]

    assert abs(written(after)[0] - written(before)[0]) <= 2 * ratio
    counter = round(
        (status.findings if status.findings.isVisible() else status.counter).x() * ratio
    )
    assert not [x for x in written(after) if counter - 6 * ratio < x < counter - ratio]
    rest = range(counter, after.width())
    assert [after.pixel(x, middle) for x in rest] == [before.pixel(x, middle) for x in rest]
    status.clearMessage()
