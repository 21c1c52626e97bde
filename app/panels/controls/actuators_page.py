"""Control sliders: dragging one overrides the script until it is given back."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.kept import Kept
from stroboscope.app.panels.controls.page import ControlsPage, name_of, split_names
from stroboscope.app.panels.controls.value_bar import ValueBar
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.debugger_protocol.scene_description import ActuatorInfo
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["ActuatorsPage", "shown_names"]

_MOST_NOISE = 1.0
_MOST_RATE = 1.0
_OVERRIDE = "Hold this control against the script"
_GIVE_BACK = "Overridden: the script's own value is not used. Click to give it back."


class ActuatorsPage(ControlsPage):
    """A slider and an override switch per control, and noise on all of them."""

    name = "actuators"
    empty_text = "This scene has no actuators."

    def __init__(self, *arguments: object) -> None:
        self._addresses: list[tuple[int, ValueBar, QToolButton]] = []
        self._kept: dict[int, Kept] = {}
        self.locks: dict[int, QToolButton] = {}
        self.noise: ValueBar | None = None
        self.rate: ValueBar | None = None
        self.give_back: QPushButton | None = None
        self.zero: QPushButton | None = None
        self._group: QWidget | None = None
        self._count = label("", "small")
        super().__init__(*arguments)  # type: ignore[arg-type]

    def topics(self, scene: SceneModel) -> Topics:
        """Return what the sliders need."""
        return (Topic.STATE,), ()

    def forget(self) -> None:
        """Drop the rows of before."""
        self._addresses, self.locks, self._kept = [], {}, {}
        self.noise = self.rate = self.give_back = self.zero = self._group = None

    def build(self, scene: SceneModel) -> None:
        """Make a line per control."""
        description = scene.description
        if description is None or not description.actuators:
            return
        self._count = label("", "small")
        self.give_back = QPushButton("Give all back")
        self.give_back.setProperty("flat", "true")
        self.give_back.clicked.connect(self.give_all_back)
        self.zero = QPushButton("All to 0")
        self.zero.setProperty("flat", "true")
        self.zero.setToolTip("Override every control with 0, or the end of its range nearest to 0.")
        self.zero.clicked.connect(self.all_to_zero)
        self.add_buttons(self._count, self.give_back, self.zero)
        names = shown_names(description.actuators)
        above: str = ""
        for index, (actuator, (group, short)) in enumerate(
            zip(description.actuators, split_names(names), strict=True)
        ):
            if group != above:
                self._group = self.add_heading(f"Actuators of {group}" if group else "Actuators")
                above = group
            first = actuator.ctrl if actuator.ctrl >= 0 else index
            for place in range(actuator.nctrl):
                self._add(index, actuator, first + place, place, short=short)
        heading = self.add_heading("Noise on all controls")
        self.noise = ValueBar(
            self.colors, name="noise, of each control's range", low=0.0, high=_MOST_NOISE
        )
        self.noise.changed.connect(self._set_noise)
        self.add_bar("noise std", "std, of range", self.noise, heading=heading)
        self.rate = ValueBar(
            self.colors, name="correlation time of the noise", low=0.0, high=_MOST_RATE, unit="s"
        )
        self.rate.changed.connect(self._set_noise)
        self.add_bar("noise rate", "rate", self.rate, heading=heading)

    def _add(
        self, index: int, actuator: ActuatorInfo, address: int, place: int, *, short: str
    ) -> None:
        name = name_of(actuator.name, "actuator", index)
        if actuator.nctrl > 1:
            name, short = f"{name}[{place}]", f"{short}[{place}]"
        low, high = actuator.ctrlrange or (None, None)
        if place:
            low = high = None  # only the first one's range is described
        bar = ValueBar(self.colors, name=name, low=low, high=high, unit=actuator.ctrl_unit)
        bar.changed.connect(partial(self._override, address))
        lock = icon_button(Icon.HELD, self.colors, _OVERRIDE)
        lock.setCheckable(True)
        lock.setFixedHeight(METRICS.compact_height - 2)
        lock.setProperty("compact", True)
        lock.clicked.connect(lambda on, a=address: self._toggle(a, on))
        self._addresses.append((address, bar, lock))
        self.locks[address] = lock
        self._kept[address] = Kept()
        tip = name if name != short else ""
        if tip and _is_unnamed(actuator, index):
            tip = f"{name} drives {actuator.target}"
        row = self.add_bar(name, short, bar, extra=lock, heading=self._group, tip=tip)
        row.words = f"{name} {actuator.kind} {actuator.target}".casefold()

    def fill(self, scene: SceneModel) -> None:
        """Show controls as they act, and which of them are overridden."""
        ctrl = self.values(Topic.STATE, "ctrl")
        said = scene.edits.interventions
        overrides = dict(said.overrides)
        why_not = self.why_not()
        for address, bar, lock in self._addresses:
            held = overrides.get(address)
            known = ctrl is not None and address < len(ctrl)
            acts = float(ctrl[address]) if ctrl is not None and known else None
            bar.set_why_not(why_not)
            bar.set_marked(held is not None)
            bar.set_value(held if held is not None else acts)
            news = not self._kept[address].outdates(float(held is not None))
            differs = lock.isChecked() != (held is not None) or lock.property("held") is None
            if news and differs:
                lock.setChecked(held is not None)
                self._dress(lock)
            self.allow(lock, why_not, tip=_GIVE_BACK if lock.isChecked() else _OVERRIDE)
        if self.noise is not None and self.rate is not None:
            for bar, value in ((self.noise, said.noise_std), (self.rate, said.noise_rate)):
                bar.set_why_not(why_not)
                bar.set_marked(said.noise_std > 0.0)
                bar.set_value(value)
        count = len(overrides)
        self._count.setText(
            f"{count} overridden" if count else "Drag to override the script's value."
        )
        set_property(self._count, "level", "warn" if count else "")
        if self.give_back is not None:
            self.give_back.setVisible(bool(count) or said.noise_std > 0.0)
            self.allow(self.give_back, why_not)
        if self.zero is not None:
            self.allow(self.zero, why_not)

    def _dress(self, lock: QToolButton) -> None:
        held = lock.isChecked()
        lock.setProperty("held", held)
        lock.setToolTip(_GIVE_BACK if held else _OVERRIDE)
        color = self.colors.warn if held else self.colors.muted
        lock.setIcon(icon(Icon.HELD, self.colors, color=color))

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        super().set_theme(palette)
        for lock in self.locks.values():
            self._dress(lock)

    def _override(self, address: int, value: float) -> None:
        self._kept[address].keep(1.0)
        self.locks[address].setChecked(True)
        self._dress(self.locks[address])
        if self.scene is not None:
            self.scene.edits.set_override(address, value)

    def _toggle(self, address: int, on: bool) -> None:
        bar = next(b for a, b, _ in self._addresses if a == address)
        self._dress(self.locks[address])
        self._kept[address].keep(float(on))
        self.was_set()
        if self.scene is not None:
            self.scene.edits.set_override(address, (bar.value or 0.0) if on else None)

    def _set_noise(self, _value: float) -> None:
        if self.scene is not None and self.noise is not None and self.rate is not None:
            self.scene.edits.set_noise(self.noise.value or 0.0, self.rate.value or 0.0)

    def all_to_zero(self) -> None:
        """Override every control with 0, as MuJoCo's viewer clears them all."""
        for address, bar, _ in self._addresses:
            self._override(address, bar.nearest(0.0))

    def give_all_back(self) -> None:
        """Give every control back to the script, without noise."""
        scene = self.scene
        if scene is None:
            return
        for address, _value in scene.edits.interventions.overrides:
            scene.edits.set_override(address, None)
        if scene.edits.interventions.noise_std > 0.0:
            scene.edits.set_noise(0.0, 0.0)


def shown_names(actuators: Sequence[ActuatorInfo]) -> list[str]:
    """Return what stands before each slider: those without a name are called by what they drive."""
    unnamed = [_is_unnamed(actuator, n) for n, actuator in enumerate(actuators)]
    alone = Counter(a.target for a, without in zip(actuators, unnamed, strict=True) if without)
    return [
        actuator.target
        if unnamed[n] and actuator.target and alone[actuator.target] == 1
        else name_of(actuator.name, "actuator", n)
        for n, actuator in enumerate(actuators)
    ]


def _is_unnamed(actuator: ActuatorInfo, index: int) -> bool:
    return actuator.name in ("", name_of("", "actuator", index))
