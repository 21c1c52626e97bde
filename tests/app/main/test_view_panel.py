"""The View panel in a real window: clicks, keys, and what they do to the picture."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from stroboscope.app.models.overlays import OVERLAYS
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions

_INSIDE = QPoint(8, 10)


@pytest.fixture
def panel(desktop, wait_until):
    window = desktop.window
    window.panels.appear(True)
    window.panels.show("view")
    wait_until(window.view_panel.isVisible)
    return window.view_panel


def _options(desktop):
    return desktop.window.scene_view.viewport.options


def test_a_click_or_a_key_switches_an_overlay_and_panel_menu_and_picture_agree(
    desktop, panel, wait_until
):
    actions = desktop.window.actions_by_name
    assert set(panel.switches) == {each.name for each in OVERLAYS}
    for each in OVERLAYS:
        assert actions[each.name] in actions.menus[f"Show/{each.group.value}"].actions()
    switch = panel.switches["contacts"]
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton, pos=switch.rect().topLeft() + _INSIDE)
    assert _options(desktop).contacts
    assert desktop.window.actions_by_name["contacts"].isChecked()
    # A key does it too.
    window = desktop.window
    wait_until(window.isActiveWindow)
    window.setFocus()
    QTest.keyClick(window, Qt.Key.Key_F)
    wait_until(lambda: _options(desktop).contact_forces)
    assert panel.switches["contact_forces"].isChecked()
    assert panel.switches["contact_split"].isEnabled()
    QTest.keyClick(window, Qt.Key.Key_F6)
    wait_until(lambda: _options(desktop).frames is FrameMode.BODY)
    assert panel.choices["frames"].currentText() == "Body"
    QTest.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: _options(desktop).site_groups[3])
    assert panel.groups["site_groups", 3].isChecked()


def test_the_panel_is_searched_scales_reset_and_fits_a_narrow_dock(desktop, panel):
    panel.search.setText("servo saturation")
    shown = [name for name, switch in panel.switches.items() if switch.parent().isVisible()]
    assert shown == ["actuators"]
    panel.search.setText("no such thing")
    assert panel.nothing.isVisible()
    panel.search.clear()
    assert not panel.nothing.isVisible()
    assert panel.switches["legend"].parent().isVisibleTo(panel)
    # Sliders change scales, and reset brings everything back.
    slider = panel.sliders["force_scale"]
    slider.setValue(slider.pageStep())
    assert _options(desktop).force_scale == pytest.approx(2.0)
    assert panel._amounts["force_scale"].text() == "2.0×"
    panel.choices["labels"].setCurrentIndex(1)
    panel.choices["labels"].activated.emit(1)
    assert _options(desktop).labels is LabelMode.BODY
    panel.groups["tendon_groups", 4].click()
    assert _options(desktop).tendon_groups[4]
    assert panel.reset.isEnabled()
    panel.reset.click()
    assert _options(desktop) == ViewOptions()
    assert slider.value() == 0
    assert not panel.reset.isEnabled()
    # The layer of solids is chosen by a slider.
    panel.levels["flex_layer"].setValue(2)
    assert _options(desktop).flex_layer == 2
    assert panel._amounts["flex_layer"].text() == "2"
    panel.reset.click()
    assert panel.levels["flex_layer"].value() == 0
    # It fits a narrow dock.
    panel.resize(300, 500)
    for row, _ in panel._rows:
        assert row.minimumSizeHint().width() <= 300 - 12 - 8 - 10
