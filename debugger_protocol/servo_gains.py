"""The gains of servos as their authors think of them: kp and kv, and what has to be written."""

import dataclasses
import fnmatch
from collections.abc import Iterator, Sequence
from typing import Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.near_names import near_names, suggestion
from stroboscope.debugger_protocol.scene_description import ActuatorInfo

__all__ = [
    "GAIN_WORDS",
    "ChosenServos",
    "Servo",
    "ServoGain",
    "Servos",
    "gain_unit",
    "servo_gains",
]

GAIN_WORDS: Final = ("kp", "kv")
"""What gains are called: per position, and per velocity."""

_PATTERN: Final = "*?["
# Names that are listed where none is near.
_LISTED: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class ServoGain:
    """One gain: ``word`` is kp or kv, ``value`` what it is now.

    ``targets``: fields of the model, their index counted flat, and what the gain is multiplied
    with there. Those of kp keep the servo's target.
    """

    word: str
    value: float
    targets: tuple[tuple[str, int, float], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Servo:
    """A servo and one of its gains; ``unit`` of the gain, empty where it is not known."""

    name: str
    gain: ServoGain
    unit: str


@dataclasses.dataclass(frozen=True, slots=True)
class ChosenServos:
    """Servos that are changed together: all, those that match ``pattern``, or some by name."""

    word: str
    servos: tuple[Servo, ...]
    pattern: str = ""
    is_listed: bool = False
    """Whether they were named one by one."""
    of: int = 0
    """How many there are that have such a gain."""

    @property
    def unit(self) -> str:
        """The unit of all of them, empty where they differ."""
        units = {servo.unit for servo in self.servos}
        return units.pop() if len(units) == 1 else ""


def servo_gains(actuator: ActuatorInfo, index: int) -> Iterator[ServoGain]:
    """Yield the gains of actuator ``index``; nothing where it is no servo."""
    if actuator.bias != "affine" or len(actuator.biasprm) <= 2:
        return
    gain, bias = index * len(actuator.gainprm), index * len(actuator.biasprm)
    fixed = actuator.gain == "fixed" and bool(actuator.gainprm)
    for word, place, value in (("kp", 1, actuator.kp), ("kv", 2, actuator.kv)):
        if value is None:
            continue
        targets = [("actuator_biasprm", bias + place, -1.0)]
        if fixed and value and actuator.gainprm[0] == value:
            targets.insert(0, ("actuator_gainprm", gain, 1.0))
        yield ServoGain(word, value, tuple(targets))


def gain_unit(actuator: ActuatorInfo, word: str) -> str:
    """Return the unit of a gain ("N·m/rad"); empty where it is not known."""
    length = actuator.ctrl_unit.removesuffix("/s")
    if length not in ("rad", "m") or not actuator.force_unit:
        return ""
    return f"{actuator.force_unit}{'·s' if word == 'kv' else ''}/{length}"


class Servos:
    """The servos among some actuators, as edits choose them by words."""

    def __init__(self, actuators: Sequence[ActuatorInfo]) -> None:
        self._labels = [each.name or f"actuator {at}" for at, each in enumerate(actuators)]
        self._able: dict[str, dict[int, Servo]] = {word: {} for word in GAIN_WORDS}
        for at, each in enumerate(actuators):
            for gain in servo_gains(each, at):
                unit = gain_unit(each, gain.word)
                self._able[gain.word][at] = Servo(self._labels[at], gain, unit)

    def count(self, word: str) -> int:
        """Return how many have such a gain."""
        return len(self._able[word])

    def choose(self, what: str) -> ChosenServos:
        """Return the servos that ``kp``, ``kp.wrist`` or ``kp.*hip*`` means.

        Without a name those whose gain is not 0, with a pattern all that can have one. Raises
        CommandError, which says what there is, where it is none.
        """
        word, dot, element = what.partition(".")
        labels, able = self._labels, self._able[word]
        if not dot:
            used = tuple(servo for servo in able.values() if servo.gain.value)
            if not used:
                raise CommandError(_no_gain(word, count=len(labels), able=len(able)))
            return ChosenServos(word, used, of=len(able))
        matched = [at for at, label in enumerate(labels) if label == element]
        is_name = bool(matched) or not any(sign in element for sign in _PATTERN)
        if not is_name:
            matched = [at for at, label in enumerate(labels) if fnmatch.fnmatchcase(label, element)]
        elif len(matched) > 1:
            raise CommandError(f"{len(matched)} actuators are called {element!r}: name them apart")
        if not matched:
            raise CommandError(f"no actuator is called {element!r}{_near(element, labels)}")
        chosen = tuple(able[at] for at in matched if at in able)
        if not chosen:
            raise CommandError(_not_able(word, element, [labels[at] for at in matched], is_name))
        return ChosenServos(
            word, chosen, pattern="" if is_name else element, is_listed=is_name, of=len(able)
        )


def _not_able(word: str, element: str, names: Sequence[str], is_name: bool) -> str:
    wrong = f"actuator {element!r} has no {word}: it is no such servo"
    if not is_name and len(names) > 1:
        wrong = f"none of the {len(names)} actuators that match {element!r} has a {word}"
    elif not is_name:
        wrong = f"actuator {names[0]!r}, all that matches {element!r}, has no {word}"
    return f"{wrong}; write actuator_gainprm.{names[0]} or actuator_biasprm.{names[0]} instead"


def _no_gain(word: str, *, count: int, able: int) -> str:
    if able:  # position servos without any damping of their own
        servos = "the only servo" if able == 1 else f"each of the {able} servos"
        return f"{word} of {servos} is 0: to give one to all of them write {word}.*=VALUE"
    kind = {"kp": "position servo", "kv": "servo with velocity feedback"}[word]
    where = f"none of the {count} actuators is a {kind}" if count else "there are no actuators"
    return f"nothing here has a {word}: {where}; for another gain write actuator_gainprm.NAME=VALUE"


def _near(element: str, labels: Sequence[str]) -> str:
    """Return what somebody may have meant who has written a name or a pattern that is none."""
    folded = element.casefold()
    plain = "".join(sign for sign in folded if sign not in "*?[]!")
    found = [label for label in labels if fnmatch.fnmatchcase(label.casefold(), folded)]
    found = found or [label for label in labels if plain and plain in label.casefold()]
    close = tuple(found[:_LISTED]) or near_names(plain, labels)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if few := suggestion(element, labels):
        return few
    listed = ", ".join(map(repr, labels[:_LISTED]))
    return f"; there is {listed} and {len(labels) - _LISTED} more" if listed else ""
