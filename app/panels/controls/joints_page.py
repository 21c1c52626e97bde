"""Joint sliders, moved while the scene is paused, and the switches of equality constraints."""

from functools import partial

from PySide6.QtWidgets import QCheckBox, QWidget

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.kept import Kept
from stroboscope.app.panels.controls.page import ControlsPage, name_of, split_names
from stroboscope.app.panels.controls.value_bar import ValueBar
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import JointInfo, JointType
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["JointsPage"]

_FREE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_BALL = ("qw", "qx", "qy", "qz")
_NAN = float("nan")
# Sliders of joints without limits reach this far from the reference [rad], [m].
_TURN, _WAY = 3.141592653589793, 1.0


class JointsPage(ControlsPage):
    """Sliders for hinges and slides, numbers for free and ball joints, switches for equalities."""

    name = "joints"
    empty_text = "This scene has no joints and no equality constraints."

    def __init__(self, *arguments: object) -> None:
        self._bars: list[tuple[int, ValueBar]] = []
        self.switches: dict[int, QCheckBox] = {}
        self._kept: dict[int, Kept] = {}
        super().__init__(*arguments)  # type: ignore[arg-type]

    def topics(self, scene: SceneModel) -> Topics:
        """Return what the sliders need."""
        return (Topic.STATE,), ()

    def forget(self) -> None:
        """Drop the rows of before."""
        self._bars, self.switches, self._kept = [], {}, {}

    def build(self, scene: SceneModel) -> None:
        """Make a line per joint, then a switch per equality."""
        description = scene.description
        if description is None:
            return
        plain = [j for j in description.joints if j.type in (JointType.HINGE, JointType.SLIDE)]
        sliders = [(n, joint) for n, joint in enumerate(description.joints) if joint in plain]
        parts = split_names([name_of(joint.name, "joint", n) for n, joint in sliders])
        above: str | None = None
        heading: QWidget | None = None
        for (index, joint), (place, short) in zip(sliders, parts, strict=True):
            if place != above:
                heading = self.add_heading(f"Joints of {place}" if place else "Joints")
                above = place
            self._add_slider(index, joint, heading, short)
        for index, joint in enumerate(description.joints):
            if joint not in plain:
                self._add_numbers(index, joint)
        if description.equalities:
            heading = self.add_heading("Equality constraints")
            for index, equality in enumerate(description.equalities):
                switch = QCheckBox(f"{name_of(equality.name, 'equality', index)}")
                switch.setToolTip(f"{equality.kind}: on or off (eq_active)")
                switch.clicked.connect(lambda on, i=index: self._switch(i, on))
                self.switches[index] = switch
                self._kept[index] = Kept()
                words = f"{equality.name} {equality.kind} equality {index}"
                self.add_whole(switch, words=words, heading=heading)

    def _add_slider(
        self, index: int, joint: JointInfo, heading: QWidget | None, short: str
    ) -> None:
        hinge = joint.type is JointType.HINGE
        reach = _TURN if hinge else _WAY
        middle = joint.qpos0[0] if joint.qpos0 else 0.0
        low, high = joint.range or (middle - reach, middle + reach)
        name = name_of(joint.name, "joint", index)
        unit = "rad" if hinge else "m"
        bar = ValueBar(self.colors, name=name, low=low, high=high, unit=unit)
        bar.changed.connect(partial(self._set, joint.qpos))
        self._bars.append((joint.qpos, bar))
        row = self.add_bar(name, short, bar, heading=heading, tip=name if name != short else "")
        row.words = name.casefold()

    def _add_numbers(self, index: int, joint: JointInfo) -> None:
        free = joint.type is JointType.FREE
        name = name_of(joint.name, "joint", index)
        heading = self.add_heading(f"{name}  ·  {joint.type.value}")
        for place, axis in enumerate(_FREE if free else _BALL):
            is_length = free and place < 3
            bar = ValueBar(self.colors, name=f"{name}.{axis}", unit="m" if is_length else "")
            address = joint.qpos + place
            start = joint.qpos + (3 if free else 0)
            bar.changed.connect(
                partial(self._set, address) if is_length else partial(self._turn, address, start)
            )
            self._bars.append((address, bar))
            row = self.add_bar(f"{name}.{axis}", axis, bar, heading=heading)
            row.words = f"{name} {axis} {joint.type.value}".casefold()

    def fill(self, scene: SceneModel) -> None:
        """Show where the joints are."""
        why_not = self.why_not(paused=True)
        qpos = self.values(Topic.STATE, "qpos")
        for address, bar in self._bars:
            bar.set_why_not(why_not)
            known = qpos is not None and address < len(qpos)
            bar.set_value(float(qpos[address]) if qpos is not None and known else None)
        active = self.values(Topic.STATE, "eq_active")
        equalities = scene.description.equalities if scene.description is not None else ()
        blocked = self.why_not()
        for index, switch in self.switches.items():
            known = active is not None and index < len(active)
            on = bool(active[index]) if active is not None and known else equalities[index].active
            if not self._kept[index].outdates(float(on)):
                switch.setChecked(on)
            self.allow(switch, blocked)

    def _set(self, address: int, value: float) -> None:
        if self.scene is not None:
            self.scene.edits.set_state(EditField.QPOS, address, (value,))

    def _turn(self, address: int, start: int, value: float) -> None:
        """Set one component of a quaternion; all four are written, of unit length."""
        qpos = self.values(Topic.STATE, "qpos")
        if self.scene is None or qpos is None:
            return
        quat = [float(v) for v in qpos[start : start + 4]]
        quat[address - start] = value
        length = sum(v * v for v in quat) ** 0.5
        if length > 1e-9:
            self.scene.edits.set_state(EditField.QPOS, start, [v / length for v in quat])

    def _switch(self, index: int, on: bool) -> None:
        self._kept[index].keep(float(on))
        self.was_set()
        if self.scene is not None:
            self.scene.edits.set_state(EditField.EQ_ACTIVE, index, (float(on),))
