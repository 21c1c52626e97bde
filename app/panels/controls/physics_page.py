"""Physics options, edited while the scene runs; what differs from the model's own is marked."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QToolButton, QWidget

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.kept import Kept
from stroboscope.app.panels.controls.number_fields import NumberFields, option_text
from stroboscope.app.panels.controls.page import ControlsPage
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["PhysicsPage"]

Values = tuple[float, ...]
_FLAG_GROUPS = {"disable": "Disable flags", "enable": "Enable flags"}


class _OptionRow:
    """The widget of one option, its value, and the button that takes an edit back."""

    def __init__(
        self, option: OptionInfo, palette: Palette, commit: Callable[[Values], None]
    ) -> None:
        self.option = option
        self.value: Values | None = None
        self.original: Values = ()
        self._kept = Kept()
        self._palette = palette

        def send(values: Values) -> None:
            self._kept.keep(hash(values))
            commit(values)

        self.widget, self._show = self._make(option, send)
        self.widget.setToolTip(plain_text(option.tip))
        self.back: QToolButton = icon_button(Icon.RESTORE, palette, "As it was")
        self.back.clicked.connect(lambda _=False: send(self.original))
        # Its room stays: nothing moves when a value is changed.
        self.slot = QWidget()
        self.slot.setFixedWidth(METRICS.control_height)
        line = QHBoxLayout(self.slot)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.back)
        self._place()

    @staticmethod
    def _make(
        option: OptionInfo, commit: Callable[[Values], None]
    ) -> tuple[QWidget, Callable[[Values], None]]:
        match option.kind:
            case OptionKind.FLAG:
                text = option.name.partition(".")[2] or option.name
                flag = QCheckBox(text)
                flag.clicked.connect(lambda on: commit((float(on),)))
                return flag, lambda v: flag.setChecked(bool(v[0]))
            case OptionKind.CHOICE:
                choice = QComboBox()
                choice.addItems(option.choices)
                choice.setMinimumContentsLength(6)
                choice.setProperty("compact", True)
                choice.activated.connect(lambda index: commit((float(index),)))
                return choice, lambda v: choice.setCurrentIndex(int(v[0]))
            case _:
                fields = NumberFields(option, commit=commit)
                return fields, fields.set_values

    def show(self, value: Values, original: Values) -> None:
        """Show what is set, and whether that is what was there first."""
        self.original = original
        if self._kept.outdates(hash(value)):
            return
        if value != self.value:
            self.value = value
            self._show(value)
        self._place()

    def set_enabled(self, why_not: str) -> None:
        """Let it be set, or say why not."""
        self.widget.setEnabled(not why_not)
        self.widget.setToolTip(plain_text(why_not or self.option.tip))
        self.back.setEnabled(not why_not)
        for field in self.widget.fields if isinstance(self.widget, NumberFields) else ():
            field.set_why_not(why_not)

    @property
    def is_changed(self) -> bool:
        """Whether it differs from what was there first."""
        return self.value is not None and self.value != self.original

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._place()

    def _place(self) -> None:
        self.back.setVisible(self.is_changed)
        if self.is_changed:
            self.back.setIcon(icon(Icon.RESTORE, self._palette, color=self._palette.warn))
            self.back.setToolTip(f"Changed. Back to {option_text(self.option, self.original)}")


class PhysicsPage(ControlsPage):
    """Numbers, choices and flags of the scene's options, as the engine names them."""

    name = "physics"
    empty_text = "The engine of this scene offers no options to edit."

    def __init__(self, *arguments: object) -> None:
        self.options: dict[str, _OptionRow] = {}
        # What the options were when they were first seen, by session and scene.
        self._originals: dict[tuple[int, int, int], dict[str, Values]] = {}
        super().__init__(*arguments)  # type: ignore[arg-type]

    def topics(self, scene: SceneModel) -> Topics:
        """Return what the page needs."""
        known = scene.description is not None and scene.description.options
        return ((Topic.OPTIONS,) if known else ()), ()

    def forget(self) -> None:
        """Drop the rows of before."""
        self.options = {}

    def build(self, scene: SceneModel) -> None:
        """Make a line per option."""
        description = scene.description
        headings: dict[str, QWidget] = {}
        for option in description.options if description is not None else ():
            group = option.name.partition(".")[0] if option.kind is OptionKind.FLAG else ""
            if group and group not in headings:
                headings[group] = self.add_heading(_FLAG_GROUPS.get(group, group.upper()))
            row = _OptionRow(option, self.colors, partial(self._commit, option.name))
            self.options[option.name] = row
            if option.kind is OptionKind.FLAG:
                line = self.add_flag(option.name, row.widget, row.slot, headings.get(group))
            else:
                line = self.add_row(option.name, row.widget, extra=row.slot, tip=option.tip)
            line.words = f"{option.name} {option.tip}".casefold()

    def fill(self, scene: SceneModel) -> None:
        """Show what is set."""
        values = self.values(Topic.OPTIONS, "values")
        why_not = self.why_not()
        for row in self.options.values():
            row.set_enabled(why_not)
        if values is None or scene.description is None:
            return
        key = (scene.session.key, scene.scene_id, scene.description.revision)
        d = scene.description
        described: dict[str, Values] = {"timestep": (d.timestep,), "gravity": d.gravity}
        originals = self._originals.setdefault(key, described)
        at = 0
        for option in scene.description.options:
            value = tuple(float(v) for v in values[at : at + option.width])
            at += option.width
            shown = self.options.get(option.name)
            if shown is not None and len(value) == option.width:
                shown.show(value, originals.setdefault(option.name, value))

    def _commit(self, name: str, values: Values) -> None:
        self.was_set()
        if self.scene is not None:
            self.scene.edits.set_option(name, values)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        super().set_theme(palette)
        for row in self.options.values():
            row.set_theme(palette)
