"""The look of the window: Fusion, a QPalette and one stylesheet, all built from design tokens."""

import importlib.resources

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QWidget

from stroboscope.resources.themes import DARK, LIGHT, Metrics, Palette

__all__ = [
    "METRICS",
    "SELECTED_ALPHA",
    "apply_theme",
    "keep_clear",
    "number_font",
    "palette_named",
    "prepare_theme",
    "set_property",
    "ui_font",
]

METRICS = Metrics()
SELECTED_ALPHA = 0.14
"""How much accent lies behind what is selected: muted text must be readable on it."""


def palette_named(name: str) -> Palette:
    """Return the palette of that name; dark for an unknown one."""
    return LIGHT if name == LIGHT.name else DARK


_DRESSED = "stroboscopeDressed"


def ui_font() -> QFont:
    """Return the system's interface font in our size."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(METRICS.font_px)
    return font


def number_font() -> QFont:
    """Return the interface font with figures of equal width, so that numbers don't jitter."""
    font = ui_font()
    tabular = getattr(QFont, "Tag", None)
    if tabular is not None:
        font.setFeature(tabular("tnum"), 1)
    return font


def keep_clear(field: QAbstractSpinBox) -> None:
    """Keep the number in a field clear of its edges: there the style sheet has no say."""
    field.lineEdit().setTextMargins(METRICS.gap - 2, 0, METRICS.gap - 2, 0)


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the stylesheet selects on, and restyle the widget if it changed."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def prepare_theme(app: QApplication, palette: Palette) -> None:
    """Give the application its style, font and colours, and no sheet: a window is to be built.

    With a sheet Qt dresses every widget anew for each parent it gets, which takes a third of the
    time of a window: :func:`apply_theme` dresses what has been built, once.
    """
    if app.styleSheet():
        app.setStyleSheet("")
    _set_basics(app, palette)


def apply_theme(app: QApplication, palette: Palette) -> None:
    """Dress the whole application."""
    sheet = _stylesheet(palette)
    if app.styleSheet() == sheet:
        return  # Qt would dress every widget anew all the same: half a second for a window
    _set_basics(app, palette)
    app.setStyleSheet(sheet)


def _set_basics(app: QApplication, palette: Palette) -> None:
    # Once: a style sheet wraps the style, so its name no longer tells, and another style would have
    # every widget dressed once more.
    if app.property(_DRESSED) is None:
        app.setProperty(_DRESSED, True)
        app.setStyle("Fusion")
    if app.font() != ui_font():
        app.setFont(ui_font())
    app.setPalette(_qpalette(palette))


def _qpalette(p: Palette) -> QPalette:
    role = QPalette.ColorRole
    colors = {
        role.Window: p.surface1,
        role.WindowText: p.text,
        role.Base: p.surface0,
        role.AlternateBase: p.surface1,
        role.ToolTipBase: p.surface2,
        role.ToolTipText: p.text,
        role.PlaceholderText: p.muted,
        role.Text: p.text,
        role.Button: p.surface2,
        role.ButtonText: p.text,
        role.BrightText: p.stop,
        role.Link: p.accent,
        role.Highlight: p.accent,
        role.HighlightedText: p.on_accent,
        role.Light: p.surface2,
        role.Midlight: p.surface2,
        role.Mid: p.line,
        role.Dark: p.line,
        role.Shadow: p.surface0,
        role.Accent: p.accent,
    }
    palette = QPalette()
    for color_role, color in colors.items():
        palette.setColor(color_role, QColor(color))
    disabled = QPalette.ColorGroup.Disabled
    for color_role in (role.WindowText, role.Text, role.ButtonText, role.PlaceholderText):
        palette.setColor(disabled, color_role, QColor(p.disabled))
    return palette


def _mix(front: str, back: str, part: float) -> str:
    """Return ``front`` laid over ``back`` with the opacity ``part``, as ``#rrggbb``."""
    a, b = QColor(front), QColor(back)
    channels = (
        round(x * part + y * (1 - part))
        for x, y in ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    )
    return "#" + "".join(f"{c:02x}" for c in channels)


def _icon_path(name: str) -> str:
    return str(importlib.resources.files("stroboscope.resources") / "icons" / name).replace(
        "\\", "/"
    )


def _stylesheet(p: Palette) -> str:
    m = METRICS
    chevron, check = _icon_path(f"chevron_{p.name}.svg"), _icon_path(f"check_{p.name}.svg")
    hover = _mix(p.text, p.surface2, 0.08)
    selected = _mix(p.accent, p.surface1, SELECTED_ALPHA)
    return f"""
* {{ font-size: {m.font_px}px; }}
QMainWindow, QDialog {{ background: {p.surface1}; }}
QMainWindow::separator {{ background: {p.surface0}; width: 4px; height: 4px; }}
QMainWindow::separator:hover {{ background: {p.accent}; }}
QToolTip {{ background: {p.surface2}; color: {p.text}; border: 1px solid {p.line};
    padding: 4px; }}

QMenuBar {{ background: {p.surface1}; border-bottom: 1px solid {p.line}; padding: 0 4px; }}
QMenuBar::item {{ padding: 5px 9px; background: transparent; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {p.surface2}; }}
QMenu {{ background: {p.surface1}; border: 1px solid {p.line}; padding: 4px; }}
QMenu::item {{ padding: 5px 28px 5px 24px; border-radius: 4px; }}
QMenu::item:selected {{ background: {p.accent}; color: {p.on_accent}; }}
QMenu::item:disabled {{ color: {p.disabled}; background: transparent; }}
QMenu::separator {{ height: 1px; background: {p.line}; margin: 4px 8px; }}
QMenu::indicator {{ left: 6px; width: 14px; height: 14px; }}

QDockWidget {{ color: {p.muted}; font-weight: 600; titlebar-close-icon: none; }}
QDockWidget::title {{ background: {p.surface1}; padding: 6px 12px;
    border-bottom: 1px solid {p.line}; }}
QWidget#dockTitle {{ background: {p.surface1}; border-bottom: 1px solid {p.line}; }}
QWidget#dockTitle QLabel {{ font-weight: 600; color: {p.text}; }}
QTabBar::tab {{ background: {p.surface1}; color: {p.muted}; padding: 6px 14px; border: none;
    border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {p.text}; border-bottom: 2px solid {p.accent}; }}
QTabBar::tab:hover:!selected {{ color: {p.text}; }}
QMainWindow > QTabBar {{ background: {p.surface1}; border-bottom: 1px solid {p.line}; }}
QMainWindow > QTabBar::tab {{ padding: 5px 10px 4px 10px; }}
QMainWindow > QTabBar::tab:!selected, QTabBar#innerTabs::tab:!selected {{
    border-bottom: 1px solid {p.line}; padding-bottom: 5px; }}
QTabBar#innerTabs {{ border-bottom: 1px solid {p.line}; }}
QTabBar#innerTabs::tab {{ padding: 4px 4px 3px 4px; font-size: {m.small_font_px}px; }}
QTabWidget::pane {{ border: none; }}

QPushButton {{ background: {p.surface2}; border: 1px solid {p.line}; border-radius: 6px;
    padding: 0 12px; min-height: {m.control_height - 2}px; }}
QPushButton:hover {{ background: {hover}; }}
QPushButton:focus {{ border-color: {p.accent}; }}
QPushButton:pressed {{ background: {p.line}; }}
QPushButton:disabled {{ color: {p.disabled}; }}
QPushButton[result="true"]:disabled {{ color: {p.text}; background: transparent; }}
QPushButton[compact="true"] {{ min-height: 0; padding: 0 8px; }}
QPushButton[primary="true"] {{ background: {p.accent}; color: {p.on_accent};
    border-color: {p.accent};
    font-weight: 600; }}
QPushButton[row="true"] {{ text-align: left; padding: 0 12px 0 8px; }}
QPushButton[key] {{ border-radius: 4px; padding: 0 6px; min-height: 19px; }}
QPushButton[key="none"] {{ background: transparent; color: {p.muted}; border-style: dashed; }}
QPushButton[flat="true"] {{ background: transparent; border: none; color: {p.accent};
    padding: 0 4px; }}
QPushButton[flat="true"]:hover {{ text-decoration: underline; }}

QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QCheckBox {{ spacing: 8px; }}
QCheckBox::indicator {{ width: 14px; height: 14px; border: 1px solid {p.muted};
    border-radius: 3px; background: {p.surface0}; }}
QCheckBox::indicator:checked {{ background: {p.accent}; border-color: {p.accent};
    image: url("{check}"); }}
QCheckBox::indicator:checked:disabled {{ background: {p.disabled}; border-color: {p.disabled}; }}
QProgressBar {{ background: {p.surface2}; border: none; border-radius: 3px; max-height: 6px;
    min-height: 6px; }}
QProgressBar::chunk {{ background: {p.accent}; border-radius: 3px; }}

QToolButton {{ background: transparent; border: 1px solid transparent; border-radius: 6px;
    padding: 3px; min-width: 22px; min-height: 20px; }}
QToolButton:hover:enabled {{ background: {p.surface2}; }}
QToolButton:pressed:enabled {{ background: {p.line}; }}
QToolButton:focus {{ border-color: {p.accent}; }}
QToolButton:checked {{ background: {selected}; border-color: {p.accent}; }}
QToolButton[compact="true"] {{ min-height: 0; padding: 0 3px; }}
QToolButton[hint="true"] {{ color: {p.accent}; border-color: {p.line}; padding: 3px 10px; }}
QToolButton[hint="true"][compact="true"] {{ background: {p.surface1}; padding: 0 6px; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton::menu-button {{ border: none; background: transparent; width: 16px; }}
QToolButton::menu-arrow {{ image: url("{chevron}"); width: 14px; height: 14px; }}

QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{ background: {p.surface0};
    border: 1px solid {p.line};
    border-radius: 6px; padding: 0 8px; min-height: {m.control_height - 4}px;
    selection-background-color: {p.accent}; selection-color: {p.on_accent}; }}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {{
    border-color: {p.accent}; }}
QLineEdit > QToolButton {{ min-width: 0; min-height: 0; padding: 0; border: none;
    background: transparent; }}
QLineEdit[compact="true"], QComboBox[compact="true"], QSpinBox[compact="true"] {{
    min-height: {m.compact_height - 2}px; padding: 0 6px; border-radius: 4px; }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ border: none; width: 0; }}
QAbstractSpinBox > QLineEdit {{ border: none; min-height: 0; padding: 0;
    background: transparent; }}
QComboBox::drop-down {{ border: none; width: 22px; }}
QComboBox::down-arrow {{ image: url("{chevron}"); width: 16px; height: 16px; }}
QComboBox QAbstractItemView {{ background: {p.surface1}; border: 1px solid {p.line}; outline: 0;
    selection-background-color: {p.accent}; selection-color: {p.on_accent}; }}

QTreeView, QListView, QTableView, QPlainTextEdit, QScrollArea {{ background: {p.surface1};
    border: none;
    outline: 0; }}
QTreeView::item, QListView::item {{ min-height: {m.compact_height}px; border: none;
    padding: 0 2px; }}
QTreeView::item:hover, QListView::item:hover {{ background: {p.surface2}; }}
QTreeView::item:selected, QListView::item:selected {{ background: {selected}; color: {p.text}; }}
QTreeView::branch:selected {{ background: {selected}; }}
QTreeView::branch:hover:!selected {{ background: {p.surface2}; }}
QHeaderView::section {{ background: {p.surface1}; color: {p.muted}; border: none;
    border-bottom: 1px solid {p.line}; padding: 4px 8px; }}

QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {p.line}; border-radius: 4px; min-height: 24px;
    min-width: 24px; margin: 1px; }}
QScrollBar::handle:hover {{ background: {p.disabled}; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{
    background: transparent; border: none; width: 0; height: 0; }}

QStatusBar {{ background: {p.surface1}; border-top: 1px solid {p.line}; color: {p.muted}; }}
QStatusBar::item {{ border: none; }}
QStatusBar QToolButton {{ min-height: 0; padding: 0 6px; }}
QStatusBar QLabel {{ color: {p.muted}; padding: 0 6px; }}

QLabel[role="muted"] {{ color: {p.muted}; }}
QLabel[role="small"] {{ color: {p.muted}; font-size: {m.small_font_px}px; }}
QLabel[role="heading"] {{ font-weight: 600; }}
QLabel[role="section"] {{ color: {p.muted}; font-weight: 600; font-size: {m.small_font_px}px; }}
QLabel[role="display"] {{ font-size: 28px; font-weight: 600; }}
QLabel[role="title"] {{ font-size: 22px; font-weight: 600; }}
QLabel[level="warn"] {{ color: {p.warn}; }}
QLabel[level="stop"] {{ color: {p.stop}; }}
QLabel[level="ok"] {{ color: {p.ok}; }}

QWidget#panel, QWidget#transport {{ background: {p.surface1}; }}
QWidget#transport {{ border-bottom: 1px solid {p.line}; }}
QFrame#viewButtons {{ background: {p.surface1}; border: 1px solid {p.line}; border-radius: 6px; }}
QWidget#welcome {{ background: {p.surface0}; }}
QFrame#card {{ background: {p.surface1}; border: 1px solid {p.line}; border-radius: 8px; }}
QFrame#rule {{ background: {p.line}; border: none; max-height: 1px; min-height: 1px; }}
QFrame#vrule {{ background: {p.line}; border: none; max-width: 1px; min-width: 1px; }}
QFrame#banner {{ background: {p.surface2}; border: none; border-left: 3px solid {p.accent}; }}
QFrame#banner[overPicture="true"] {{ background: {p.surface1}; border: 1px solid {p.line};
    border-left: 3px solid {p.accent}; border-top-right-radius: 6px;
    border-bottom-right-radius: 6px; }}
QFrame#banner[level="warn"] {{ border-left-color: {p.warn}; }}
QFrame#banner[level="stop"] {{ border-left-color: {p.stop}; }}
QFrame#banner QProgressBar {{ background: {p.line}; }}
QFrame#banner[level="ok"] {{ border-left-color: {p.ok}; }}
QFrame#badge {{ border-radius: 6px; background: {p.surface2}; border: 1px solid {p.line}; }}
QFrame#badge QLabel {{ font-weight: 600; }}
QFrame#badge[level="ok"] {{ border-color: {p.ok}; background: {_mix(p.ok, p.surface1, 0.14)}; }}
QFrame#badge[level="warn"] {{ border-color: {p.warn};
    background: {_mix(p.warn, p.surface1, 0.14)}; }}
QFrame#badge[level="stop"] {{ border-color: {p.stop};
    background: {_mix(p.stop, p.surface1, 0.14)}; }}
QFrame#badge[level="accent"] {{ border-color: {p.accent};
    background: {_mix(p.accent, p.surface1, 0.14)}; }}
QFrame#code {{ background: {p.surface0}; border: 1px solid {p.line}; border-radius: 6px; }}
QLabel#codeText {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 12px; }}
QLabel#key {{ background: {p.surface2}; border: 1px solid {p.line}; border-radius: 4px;
    padding: 1px 6px; }}
"""
