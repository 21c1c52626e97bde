"""What a re-simulation may change, by the names that people use: gains, options, inputs, masses."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stroboscope.app.models.editing import parsed_number
from stroboscope.app.models.numbers import MINUS
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import (
    JointType,
    OptionKind,
    SceneDescription,
)
from stroboscope.debugger_protocol.servo_gains import (
    GAIN_WORDS,
    ChosenServos,
    Servo,
    Servos,
    gain_unit,
    servo_gains,
)
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.debugger_protocol.trials import (
    gain_values,
    gains_title,
    servos_words,
    trial_name,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = [
    "Target",
    "TryField",
    "fields_of",
    "name_of_trial",
    "typed_fields",
    "value_now",
    "value_text",
]

_AXES = "xyz"
_SCALE = "scale "
_TYPED = re.compile(r"([a-z]+_[a-z0-9_]+|qpos0)(\..+?)?(?:\[(\d{1,9})\])?")
_STATE = {EditKind.CONTROL: "ctrl", EditKind.FORCE: "qfrc_applied"}
# Units of a hinge's and of a slide's numbers.
_JOINT_UNITS = {
    JointType.HINGE: ("N·m·s/rad", "N·m/rad", "kg·m²", "N·m"),
    JointType.SLIDE: ("N·s/m", "N/m", "kg", "N"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """One number that an edit writes: what was typed, times ``factor``."""

    kind: EditKind
    name: str
    index: int
    factor: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TryField:
    """One number that can be changed, with all that has to change with it.

    ``key`` is the engine's name for it, ``described`` its value in the description; ``servos``:
    whose gain it is.
    """

    name: str
    key: str
    targets: tuple[Target, ...]
    unit: str = ""
    words: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    is_whole: bool = False
    described: float | None = None
    servos: ChosenServos | None = None

    @property
    def several(self) -> ChosenServos | None:
        """The servos that it is a gain of, where they are more than one."""
        return self.servos if self.servos is not None and len(self.servos.servos) > 1 else None

    @property
    def whose(self) -> str:
        """Its name beside its sign, which says what a factor does."""
        return self.name.removeprefix(_SCALE)

    @property
    def kind(self) -> EditKind:
        """What kind of edit it is."""
        return self.targets[0].kind

    def edits(self, value: float) -> tuple[WhatIf, ...]:
        """Return what has to be written for ``value``."""
        return tuple(
            WhatIf(kind=t.kind, name=t.name, index=t.index, values=(value * t.factor,))
            for t in self.targets
        )

    def parsed(self, text: str) -> float | None:
        """Return the number that somebody typed; a factor also as ``×1.5``."""
        if self.kind is EditKind.GAIN_FACTOR:
            text = text.strip().lstrip("x×X")
        return parsed_number(text)

    def why_not(self, text: str, now: float | None) -> str:
        """Return why what somebody has typed can't be tried, empty: it can."""
        value = self.parsed(text)
        if value is None and self.several is not None and text.strip()[:1] in ("x", "×", "X"):
            return f"{self.name}: for a factor add “{_SCALE}{self.name}”."
        if value is None:
            return (
                f"{self.name}: {text.strip()!r} is not a number."
                if text.strip()
                else (f"{self.name}: type the value to try.")
            )
        if not abs(value) < float("inf"):
            return f"{self.name} takes finite numbers."
        if self.is_whole and not value.is_integer():
            return f"{self.name} takes whole numbers, not {_plain(value)}."
        if self.minimum is not None and value < self.minimum:
            return f"{self.name} is at least {_plain(self.minimum)}, not {_plain(value)}."
        if self.maximum is not None and value > self.maximum:
            return f"{self.name} is at most {_plain(self.maximum)}, not {_plain(value)}."
        if self.kind is EditKind.FORCE:
            return "" if value else f"{self.name}: 0 adds nothing."
        if self.kind is EditKind.GAIN_FACTOR:
            return f"{self.whose}: ×1 changes nothing." if value == 1.0 else ""
        if self.kind is not EditKind.CONTROL and value == now:
            return f"{self.name} is {value_text(self, value)} already: set another value."
        return ""

    def text(self, value: float, now: float | None) -> str:
        """Return the edit in words: "kp of wrist 2000 → 1000"."""
        if self.several is not None:
            return _gains_title(self.several, value, is_factor=self.kind is EditKind.GAIN_FACTOR)
        new = value_text(self, value)
        if self.kind is EditKind.FORCE:
            return f"{self.name} {'+' if value > 0 else ''}{new}"
        if self.kind is EditKind.CONTROL:
            return f"{self.name} held at {new}"
        old = f"{value_text(self, now, unit=False)} " if now is not None else ""
        return f"{self.name} {old}→ {new}"


def value_text(field: TryField, value: float | None, *, unit: bool = True) -> str:
    """Return a value of a field in words, with its unit."""
    if field.several is not None and (value is None or field.kind is EditKind.GAIN_FACTOR):
        text = gain_values([servo.gain.value for servo in field.several.servos])
        return f"{text} {field.unit}" if unit and field.unit else text
    if value is None:
        return "–"
    if field.choices:
        at = int(value)
        return field.choices[at] if 0 <= at < len(field.choices) else str(at)
    text = _plain(value)
    return f"{text} {field.unit}" if unit and field.unit else text


def fields_of(d: SceneDescription | None) -> tuple[TryField, ...]:
    """Return everything that has a name in a description, what is tried most first."""
    if d is None:
        return ()
    return (*_gains(d), *_options(d), *_inputs(d), *_joints(d), *_bodies(d), *_geoms(d))


def typed_fields(d: SceneDescription | None, text: str) -> tuple[TryField, ...]:
    """Return what is typed out: a number of the engine's model, or gains of some servos.

    "dof_damping[3]", "dof_damping.elbow"; "kp.*hip*": those whose names match.
    """
    text = text.strip()
    if text.partition(".")[0] in GAIN_WORDS:
        return _gains_of(Servos(d.actuators), text) if d is not None else ()
    typed = typed_field(text)
    return (typed,) if typed is not None else ()


def typed_field(text: str) -> TryField | None:
    """Return the field of the engine's model that is typed out: "dof_damping[3]", or "….elbow"."""
    found = _TYPED.fullmatch(text.strip())
    if found is None or not (found[2] or found[3]):
        return None
    name = f"{found[1]}{found[2] or ''}"
    place = "" if found[3] is None else f"[{found[3]}]"
    key = f"{name}{place}"
    return TryField(name=key, key=key, targets=(_model(name, int(found[3] or 0)),))


def name_of_trial(rows: Sequence[tuple[TryField, float, float | None]]) -> str:
    """Return what a trial of fields, with their new value and what it is now, is called.

    Servos that were added one by one and get the same gain are told together.
    """
    alike: dict[object, list[int]] = {}
    for at, (field, value, _) in enumerate(rows):
        one = field.servos if field.several is None else None
        alike.setdefault((one.word, value) if one is not None else at, []).append(at)
    titles = []
    for places in alike.values():
        field, value, now = rows[places[0]]
        servos = [servo for at in places for servo in getattr(rows[at][0].servos, "servos", ())]
        if len(places) > 1 and field.servos is not None:
            together = dataclasses.replace(field.servos, servos=tuple(servos))
            titles.append(_gains_title(together, value, is_factor=False))
        else:
            titles.append(field.text(value, now))
    return trial_name(titles, separator="; ")


def _gains_title(servos: ChosenServos, value: float, *, is_factor: bool) -> str:
    factor = value if is_factor else None
    new = [servo.gain.value * value if is_factor else value for servo in servos.servos]
    return gains_title(servos, new, factor=factor)


def value_now(scene: "SceneModel", field: TryField) -> float | None:
    """Return the value at the instant that is shown; None: not known."""
    target = field.targets[0]
    if target.kind in (EditKind.MODEL, EditKind.GAIN, EditKind.GAIN_FACTOR):
        return field.described
    if target.kind is EditKind.OPTION:
        frame = scene.latest(Topic.OPTIONS)
        values, at = (frame.arrays.get("values") if frame is not None else None), target.index
        for option in scene.description.options if scene.description is not None else ():
            if option.name == target.name:
                break
            at += option.width
    else:
        frame, at = scene.latest(Topic.STATE), target.index
        values = frame.arrays.get(_STATE[target.kind]) if frame is not None else None
    if values is None or at >= len(values):
        return field.described
    return float(values[at])


def _plain(value: float) -> str:
    return f"{value:.7g}".replace("-", MINUS)


def _model(name: str, index: int, factor: float = 1.0) -> Target:
    return Target(EditKind.MODEL, name, index, factor)


def _gains(d: SceneDescription) -> Iterator[TryField]:
    """Yield gains as a servo's author thinks of them: its target stays the same.

    Those of all servos together, then each.
    """
    servos = Servos(d.actuators)
    for word in GAIN_WORDS:
        yield from _gains_of(servos, word) or _gains_of(servos, f"{word}.*")
    labels = [each.name or f"actuator {at}" for at, each in enumerate(d.actuators)]
    count = Counter(labels)
    for index, (actuator, whose) in enumerate(zip(d.actuators, labels, strict=True)):
        words = f"gain {actuator.kind} {actuator.target}"
        gain = index * len(actuator.gainprm)
        fixed = actuator.gain == "fixed" and bool(actuator.gainprm)
        if actuator.bias == "affine" and len(actuator.biasprm) > 2:
            for each in servo_gains(actuator, index):
                key, unit = f"{each.word}.{whose}", gain_unit(actuator, each.word)
                servo = Servo(whose, each, unit)
                targets: tuple[Target, ...] = (Target(EditKind.GAIN, key, 0),)
                if count[whose] > 1:  # the name alone does not say which
                    targets = tuple(_model(*target) for target in each.targets)
                    key = f"{targets[0].name}[{targets[0].index}]"
                yield TryField(
                    name=f"{each.word} of {whose}",
                    key=key,
                    targets=targets,
                    unit=unit,
                    words=words,
                    described=each.value,
                    servos=ChosenServos(
                        each.word, (servo,), is_listed=True, of=servos.count(each.word)
                    ),
                )
        elif fixed:
            yield TryField(
                name=f"gain of {whose}",
                key=f"actuator_gainprm[{gain}]",
                targets=(_model("actuator_gainprm", gain),),
                words=words,
                described=actuator.gainprm[0],
            )


def _gains_of(servos: Servos, what: str) -> tuple[TryField, ...]:
    """Return the gain of several servos as one field, and a factor of it; nothing for others."""
    try:
        chosen = servos.choose(what)
    except CommandError:
        return ()
    values = {servo.gain.value for servo in chosen.servos}
    if len(chosen.servos) < 2:
        return ()
    name = f"{chosen.word} of {servos_words(chosen)}"
    made = TryField(
        name=name,
        key=what,
        targets=(Target(EditKind.GAIN, what, 0),),
        unit=chosen.unit,
        words="gain all servos actuators",
        described=values.pop() if len(values) == 1 else None,
        servos=chosen,
    )
    if not any(servo.gain.value for servo in chosen.servos):
        return (made,)
    scaled = dataclasses.replace(
        made,
        name=f"{_SCALE}{name}",
        key=f"{what}=x…",
        targets=(Target(EditKind.GAIN_FACTOR, what, 0),),
        words=f"{made.words} factor multiply × times",
        described=1.0,
    )
    return made, scaled


def _options(d: SceneDescription) -> Iterator[TryField]:
    described = {"timestep": (d.timestep,), "gravity": tuple(d.gravity)}
    for option in d.options:
        flag = option.kind is OptionKind.FLAG
        known = described.get(option.name, ())
        for place in range(option.width):
            part = ""
            if option.width > 1:
                part = f" {_AXES[place]}" if option.width == 3 else f"[{place}]"
            yield TryField(
                name=f"{option.name}{part}",
                key=f"option.{option.name}" + (f"[{place}]" if option.width > 1 else ""),
                targets=(Target(EditKind.OPTION, option.name, place),),
                unit=option.unit,
                words=f"option physics {option.tip}",
                choices=("off", "on") if flag else option.choices,
                minimum=option.minimum,
                maximum=option.maximum,
                is_whole=option.kind is OptionKind.INTEGER,
                described=known[place] if place < len(known) else None,
            )


def _inputs(d: SceneDescription) -> Iterator[TryField]:
    channels = {channel.name: channel for channel in d.channels}
    for kind, what, words in (
        (EditKind.CONTROL, "ctrl of", "control input hold"),
        (EditKind.FORCE, "force on", "applied torque push add"),
    ):
        channel = channels.get(_STATE[kind])
        for index in range(channel.width if channel is not None else 0):
            if channel is None:
                continue
            named = index < len(channel.names)
            yield TryField(
                name=f"{what} {channel.names[index] if named else index}",
                key=f"{kind.value}[{index}]",
                targets=(Target(kind, "", index),),
                unit=channel.units[index] if index < len(channel.units) else channel.unit,
                words=words,
            )


def _joints(d: SceneDescription) -> Iterator[TryField]:
    for index, joint in enumerate(d.joints):
        units = _JOINT_UNITS.get(joint.type)
        if units is None:
            continue  # a number per dof: those are typed out
        whose, dof = joint.name or f"joint {index}", joint.dof
        for short, field, at, value, unit in (
            ("damping", "dof_damping", dof, joint.damping, units[0]),
            ("stiffness", "jnt_stiffness", index, joint.stiffness, units[1]),
            ("armature", "dof_armature", dof, joint.armature, units[2]),
            ("friction loss", "dof_frictionloss", dof, joint.frictionloss, units[3]),
        ):
            yield TryField(
                name=f"{short} of {whose}",
                key=f"{field}[{at}]",
                targets=(_model(field, at),),
                unit=unit,
                words="joint spring" if short == "stiffness" else "joint",
                minimum=0.0,
                described=value,
            )


def _bodies(d: SceneDescription) -> Iterator[TryField]:
    for index, body in enumerate(d.bodies):
        if body.mass > 0.0:
            yield TryField(
                name=f"mass of {body.name or f'body {index}'}",
                key=f"body_mass[{index}]",
                targets=(_model("body_mass", index),),
                unit="kg",
                words="body weight",
                minimum=0.0,
                described=body.mass,
            )


def _geoms(d: SceneDescription) -> Iterator[TryField]:
    for index, geom in enumerate(d.geoms):
        if geom.collides:
            yield TryField(
                name=f"friction of {geom.name or f'geom {index}'}",
                key=f"geom_friction[{index * len(geom.friction)}]",
                targets=(_model("geom_friction", index * len(geom.friction)),),
                words="geom sliding",
                minimum=0.0,
                described=geom.friction[0],
            )
