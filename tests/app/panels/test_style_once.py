"""The application's style is set once, whatever themes come."""

from PySide6.QtWidgets import QApplication

from stroboscope.app.panels.style import apply_theme, palette_named


def test_another_theme_keeps_the_style_that_widgets_are_painted_with(qapp, monkeypatch):
    apply_theme(qapp, palette_named("dark"))
    replaced = []
    monkeypatch.setattr(QApplication, "setStyle", lambda *style: replaced.append(style))
    apply_theme(qapp, palette_named("light"))
    apply_theme(qapp, palette_named("dark"))
    assert replaced == []
