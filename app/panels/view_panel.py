"""Everything that can be switched in the 3D view, made from the table of overlays. Searchable."""

import dataclasses
import enum
import functools
import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.overlays import OVERLAYS, Overlay, OverlayGroup
from stroboscope.app.models.view_options import (
    GROUPS,
    MOST_LEVELS,
    FloorStyle,
    FrameMode,
    LabelMode,
    Lighting,
    Quality,
    RenderMode,
    ViewOptions,
)
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.resources.themes import Palette

__all__ = ["ViewPanel"]

_CHOICES: tuple[tuple[str, str, type[enum.StrEnum], str], ...] = (
    ("labels", "Labels", LabelMode, "F7"),
    ("frames", "Axes", FrameMode, "F6"),
    ("render", "Render", RenderMode, ""),
    ("lighting", "Lighting", Lighting, ""),
    ("floor", "Floor", FloorStyle, ""),
    ("quality", "Quality", Quality, ""),
)
_SCALES = (
    ("force_scale", "Forces"),
    ("torque_scale", "Torques"),
    ("velocity_scale", "Velocities"),
    ("acceleration_scale", "Accelerations"),
    ("marker_scale", "Joints, axes, points"),
)
_LEVELS = (
    ("tree_depth", "Tree depth", "Which level of bounding volumes is shown; 0: around everything."),
    (
        "flex_layer",
        "Flex layer",
        "Which layer of a solid's elements has its faces shown; 0: outside.",
    ),
)
_GROUP_ROWS = (
    ("geom_groups", "Geoms"),
    ("site_groups", "Sites"),
    ("joint_groups", "Joints"),
    ("tendon_groups", "Tendons"),
    ("actuator_groups", "Actuators"),
    ("flex_groups", "Flexes"),
    ("skin_groups", "Skins"),
)
# A slider's steps are eighths of a power of two, from 1/16 to 16.
_STEPS_PER_OCTAVE, _OCTAVES = 8, 4
_ROW_HEIGHT = METRICS.compact_height


class ViewPanel(QWidget):
    """Switches, sizes, groups and looks of the 3D view.

    ``get_options`` and ``set_options`` are the viewport's; call :meth:`refresh` when somebody else
    has changed them. ``keys_of`` gives the keys an overlay has now; without, those of the table.
    """

    def __init__(
        self,
        palette: Palette,
        *,
        get_options: Callable[[], ViewOptions],
        set_options: Callable[[ViewOptions], None],
        keys_of: Callable[[str], tuple[str, ...]] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._get, self._set, self._keys_of = get_options, set_options, keys_of
        self.switches: dict[str, QCheckBox] = {}
        self.choices: dict[str, QComboBox] = {}
        self.sliders: dict[str, QSlider] = {}
        self.levels: dict[str, QSlider] = {}
        self.groups: dict[tuple[str, int], QToolButton] = {}
        self._amounts: dict[str, QLabel] = {}
        self._key_labels: dict[str, QLabel] = {}
        # What the search looks through: each row with its words, each heading with its rows.
        self._rows: list[tuple[QWidget, str]] = []
        self._sections: list[tuple[QWidget, list[QWidget]]] = []
        self._build(palette)
        self.refresh()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._search_icon.setIcon(icon(Icon.SEARCH, palette, color=palette.muted))

    def close_panel(self) -> None:
        """Nothing to stop: the panel listens to nobody."""

    def refresh(self) -> None:
        """Show what the options are now."""
        options = self._get()
        for name, switch in self.switches.items():
            switch.setChecked(bool(getattr(options, name)))
            parent = _parent_of(name)
            switch.setEnabled(not parent or bool(getattr(options, parent)))
        for name, choice in self.choices.items():
            choice.setCurrentIndex(choice.findData(str(getattr(options, name))))
        for name, slider in self.sliders.items():
            value = float(getattr(options, name))
            if not slider.isSliderDown():
                slider.setValue(round(_STEPS_PER_OCTAVE * math.log2(max(value, 1e-3))))
            self._amounts[name].setText(_times(value))
        for name, slider in self.levels.items():
            if not slider.isSliderDown():
                slider.setValue(getattr(options, name))
            self._amounts[name].setText(str(getattr(options, name)))
        for (name, group), button in self.groups.items():
            button.setChecked(getattr(options, name)[group])
        for name, key in self._key_labels.items():
            text = self._key(name)
            key.setText(text)
            key.setVisible(bool(text))
        self.reset.setEnabled(options != ViewOptions())

    # --- building

    def _build(self, palette: Palette) -> None:
        top = QHBoxLayout()
        top.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.gap, METRICS.gap)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self._search_icon = self.search.addAction(
            icon(Icon.SEARCH, palette, color=palette.muted),
            QLineEdit.ActionPosition.LeadingPosition,
        )
        self.search.textChanged.connect(self._filter)
        self.reset = QPushButton("Reset")
        set_property(self.reset, "flat", "true")
        self.reset.setToolTip("Show everything as at the first start.")
        self.reset.clicked.connect(lambda: self._change(ViewOptions()))
        top.addWidget(self.search, 1)
        top.addWidget(self.reset)
        inside = QWidget()
        inside.setObjectName("panel")
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(METRICS.padding, 0, METRICS.gap, METRICS.padding)
        self._column.setSpacing(0)
        for group in OverlayGroup:
            self._section(group.value)
            for overlay in OVERLAYS:
                if overlay.group is group:
                    self._add_switch(overlay)
            if group is OverlayGroup.PICTURE:
                self._add_choices(_CHOICES[2:])
                for name, title, tip in _LEVELS:
                    self._add_level(name, title, tip)
            if group is OverlayGroup.STATE:
                self._section("Labels and axes")
                self._add_choices(_CHOICES[:2])
                self._section("Sizes")
                for name, title in _SCALES:
                    self._add_slider(name, title)
                self._section("Groups")
                self._add_groups()
        self.nothing = label("Nothing is called that.", "muted")
        self.nothing.hide()
        self._column.addWidget(self.nothing)
        self._column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(scroll, 1)
        self.setMinimumWidth(240)

    def _section(self, title: str) -> None:
        heading = label(title, "section")
        heading.setContentsMargins(0, METRICS.padding if self._sections else 0, 0, METRICS.grid)
        self._column.addWidget(heading)
        self._sections.append((heading, []))

    def _add_row(self, row: QWidget, words: str) -> None:
        self._column.addWidget(row)
        self._rows.append((row, words.lower()))
        self._sections[-1][1].append(row)

    def _add_switch(self, overlay: Overlay) -> None:
        row, line = _line()
        switch = QCheckBox(overlay.title)
        switch.setToolTip(self._tip(overlay))
        switch.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        switch.clicked.connect(lambda shown, n=overlay.name: self._replace(n, shown))
        if overlay.parent:
            line.setContentsMargins(22, 0, 0, 0)
        line.addWidget(switch, 1)
        line.addWidget(self._key_label(overlay.name))
        self.switches[overlay.name] = switch
        words = f"{overlay.title} {overlay.words} {overlay.tip} {overlay.group.value}"
        self._add_row(row, words)

    def _add_choices(self, which: tuple[tuple[str, str, type[enum.StrEnum], str], ...]) -> None:
        for name, title, kind, key in which:
            row, line = _line(METRICS.control_height + METRICS.grid)
            choice = QComboBox()
            for each in kind:
                choice.addItem(each.value.capitalize(), each.value)
            choice.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            choice.setFixedWidth(132)
            choice.activated.connect(
                functools.partial(self._choose, name=name, kind=kind, choice=choice)
            )
            line.addWidget(QLabel(title), 1)
            if key:
                line.addWidget(self._key_label(name, key))
            line.addWidget(choice)
            self.choices[name] = choice
            self._add_row(row, f"{title} {' '.join(each.value for each in kind)}")

    def _add_slider(self, name: str, title: str) -> None:
        slider = self._slider_row(name, title, words="size scale arrows longer")
        slider.setRange(-_OCTAVES * _STEPS_PER_OCTAVE, _OCTAVES * _STEPS_PER_OCTAVE)
        slider.setPageStep(_STEPS_PER_OCTAVE)
        slider.setToolTip("Relative to MuJoCo's own size.")
        slider.valueChanged.connect(functools.partial(self._slide, name))
        self.sliders[name] = slider

    def _add_level(self, name: str, title: str, tip: str) -> None:
        slider = self._slider_row(name, title, words=tip)
        slider.setRange(0, MOST_LEVELS)
        slider.setPageStep(1)
        slider.setToolTip(tip)
        slider.valueChanged.connect(functools.partial(self._set_level, name))
        self.levels[name] = slider

    def _slider_row(self, name: str, title: str, *, words: str) -> QSlider:
        row, line = _line()
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setFixedWidth(96)
        slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        amount = QLabel()
        amount.setFont(number_font())
        amount.setFixedWidth(44)
        amount.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        line.addWidget(QLabel(title), 1)
        line.addWidget(slider)
        line.addWidget(amount)
        self._amounts[name] = amount
        self._add_row(row, f"{title} {words}")
        return slider

    def _add_groups(self) -> None:
        for row_number, (name, title) in enumerate(_GROUP_ROWS):
            row, line = _line(METRICS.control_height + 2)
            line.addWidget(QLabel(title), 1)
            for group in range(GROUPS):
                button = QToolButton()
                button.setText(str(group))
                button.setCheckable(True)
                button.setFixedSize(28, METRICS.control_height)
                button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
                key = {0: f"   {group}", 1: f"   Shift+{group}"}.get(row_number, "")
                button.setToolTip(f"{title} of group {group}{key}")
                button.clicked.connect(
                    lambda shown, n=name, g=group: self._toggle_group(n, g, shown)
                )
                line.addWidget(button)
                self.groups[name, group] = button
            self._add_row(row, f"{title} group")

    def _key_label(self, name: str, key: str = "") -> QLabel:
        shown = label(key)
        shown.setObjectName("key")
        shown.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if not key:
            self._key_labels[name] = shown
        return shown

    def _key(self, name: str) -> str:
        if self._keys_of is not None:
            return next(iter(self._keys_of(name)), "")
        return next((key for each in OVERLAYS if each.name == name for key in each.keys), "")

    def _tip(self, overlay: Overlay) -> str:
        key = self._key(overlay.name)
        first = f"{overlay.title}   {key}" if key else overlay.title
        return f"{first}\n{overlay.tip}" if overlay.tip else first

    # --- what people do

    def _change(self, options: ViewOptions) -> None:
        self._set(options)
        self.refresh()

    def _replace(self, name: str, value: object) -> None:
        change: dict[str, Any] = {name: value}
        self._change(dataclasses.replace(self._get(), **change))

    def _choose(
        self, index: int, *, name: str, kind: type[enum.StrEnum], choice: QComboBox
    ) -> None:
        self._replace(name, kind(choice.itemData(index)))

    def _slide(self, name: str, step: int) -> None:
        value = 2.0 ** (step / _STEPS_PER_OCTAVE)
        if abs(value - getattr(self._get(), name)) > 0.01 * value:
            self._replace(name, value)

    def _set_level(self, name: str, level: int) -> None:
        if level != getattr(self._get(), name):
            self._replace(name, level)

    def _toggle_group(self, name: str, group: int, shown: bool) -> None:
        groups = list(getattr(self._get(), name))
        groups[group] = shown
        self._replace(name, tuple(groups))

    def _filter(self, text: str) -> None:
        """Show only the rows in which every word occurs."""
        wanted = text.lower().split()
        for row, words in self._rows:
            row.setVisible(all(word in words for word in wanted))
        for heading, rows in self._sections:
            heading.setVisible(any(not row.isHidden() for row in rows))
        self.nothing.setVisible(all(row.isHidden() for row, _ in self._rows))


def _line(height: int = _ROW_HEIGHT) -> tuple[QWidget, QHBoxLayout]:
    row = QWidget()
    row.setFixedHeight(height)
    line = QHBoxLayout(row)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(METRICS.grid)
    return row, line


def _parent_of(name: str) -> str:
    return next((each.parent for each in OVERLAYS if each.name == name), "")


def _times(value: float) -> str:
    """Return a factor as people write it, always in the same width."""
    return f"{value:.1f}×" if value >= 0.95 else f"{value:.2f}×"
