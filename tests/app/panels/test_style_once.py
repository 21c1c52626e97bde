"""The application's style is set once, whatever themes come, and a window is dressed once."""

from PySide6.QtWidgets import QApplication

from stroboscope.app.main import application
from stroboscope.app.panels.style import apply_theme, palette_named


def test_another_theme_keeps_the_style_that_widgets_are_painted_with(qapp, monkeypatch):
    apply_theme(qapp, palette_named("dark"))
    replaced = []
    monkeypatch.setattr(QApplication, "setStyle", lambda *style: replaced.append(style))
    apply_theme(qapp, palette_named("light"))
    apply_theme(qapp, palette_named("dark"))
    assert replaced == []


def test_a_window_is_dressed_when_it_has_been_built(qapp, own_folders, monkeypatch):
    apply_theme(qapp, palette_named("light"))
    sheets = []

    class Noted(application.MainWindow):
        def __init__(self, *arguments):
            sheets.append(qapp.styleSheet())
            super().__init__(*arguments)
            sheets.append(qapp.styleSheet())

    monkeypatch.setattr(application, "MainWindow", Noted)
    desktop = application.DesktopApplication(qapp, settings_path=own_folders / "settings.json")
    dressed = qapp.styleSheet()
    desktop.window.close()
    desktop.close()
    desktop.window.deleteLater()
    assert sheets == ["", ""]
    assert dressed
    apply_theme(qapp, palette_named("dark"))
    assert qapp.styleSheet() == dressed
