"""Edits of a re-simulation that give servos other gains: one, some, or all of them at once."""

import dataclasses
from typing import Any

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.servo_gains import (
    GAIN_WORDS,
    ChosenServos,
    Servo,
    Servos,
)
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.debugger_protocol.trials import gains_text, gains_title
from stroboscope.engine.describe.actuators import describe_actuators
from stroboscope.engine.describe.part import Part
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames
from stroboscope.engine.interventions import LARGEST_VALUE
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["GainEdit", "GainEdits"]

# Of all edits of a trial together: while they are written the scene waits.
_MOST_GAINS = 5_000


@dataclasses.dataclass(slots=True, eq=False)
class GainEdit:
    """Servos that got another gain together: what each had, and has."""

    chosen: ChosenServos
    new: list[float]
    factor: float | None = None

    @property
    def title(self) -> str:
        """The edit in few words: "kp of all 12 servos: 40 → 80"."""
        return gains_title(self.chosen, self.new, factor=self.factor)

    @property
    def text(self) -> str:
        """The edit with all servos that it is about."""
        return gains_text(self.chosen, self.new, factor=self.factor)

    def add(self, servo: Servo, new: float) -> None:
        """Tell one more servo that got the same by its name."""
        if all(each.name != servo.name for each in self.chosen.servos):
            servos = (*self.chosen.servos, servo)
            self.chosen = dataclasses.replace(self.chosen, servos=servos)
            self.new.append(new)


class GainEdits:
    """Writes gains into ``model``, a copy that nobody else uses; in the order of the edits."""

    def __init__(self, model: Any, *, adapter: MujocoAdapter) -> None:
        self._model = model
        self._adapter = adapter
        self._servos: Servos | None = None
        self._set = 0
        self._by_name: dict[tuple[str, float], GainEdit] = {}

    def apply(self, edit: WhatIf) -> GainEdit:
        """Give the servos of an edit their gain, and return what is told of it.

        Servos that are named one by one and get the same are told together: of those it returns
        what it did for the first. Raises CommandError for what is no gain of any servo.
        """
        if edit.name.partition(".")[0] not in GAIN_WORDS:
            raise CommandError(f"{edit.name!r} is no gain: there is {' and '.join(GAIN_WORDS)}")
        if len(edit.values) != 1 or edit.index:
            raise CommandError(
                f"{edit.name} is one number of each servo, not {len(edit.values)} from index "
                f"{edit.index} on"
            )
        value = edit.values[0]
        factor = value if edit.kind is EditKind.GAIN_FACTOR else None
        word, dot, element = edit.name.partition(".")
        what = f"{word}{dot}{trim_text(element, SHOWN_NAME_BYTES)}"
        chosen = self._known().choose(what)
        self._set += len(chosen.servos)
        if self._set > _MOST_GAINS:
            raise CommandError(
                f"at most {_MOST_GAINS:,} gains can be set in a trial, all edits together, got "
                f"{self._set:,} with {edit.name}: say the last value of each servo only"
            )
        servos = tuple(self._as_it_stands(servo) for servo in chosen.servos)
        chosen = dataclasses.replace(chosen, servos=servos)
        old = [servo.gain.value for servo in servos]
        new = [value if factor is None else factor * each for each in old]
        if factor is not None and not any(old):
            raise CommandError(f"{edit.name} is 0: {factor:g} times that is 0, too; give a value")
        if (largest := max(map(abs, new))) > LARGEST_VALUE:
            raise CommandError(f"{edit.name} is at most {LARGEST_VALUE:g}, not {largest:g}")
        for servo, number in zip(servos, new, strict=True):
            for field, at, sign in servo.gain.targets:
                getattr(self._model, field).reshape(-1)[at] = sign * number
        if not chosen.is_listed or factor is not None:
            return GainEdit(chosen, new, factor)
        key = (chosen.word, value)
        if key not in self._by_name:
            self._by_name[key] = GainEdit(chosen, new)
        else:
            self._by_name[key].add(servos[0], value)
        return self._by_name[key]

    def _known(self) -> Servos:
        """Return the servos as they were before the first gain was changed."""
        if self._servos is None:
            names = ElementNames(self._model, adapter=self._adapter, limit=SHOWN_NAME_BYTES)
            part = Part(self._model, names=names, adapter=self._adapter)
            self._servos = Servos(describe_actuators(part))
        return self._servos

    def _as_it_stands(self, servo: Servo) -> Servo:
        """Return a servo with the gain that edits before this one have given it."""
        field, at, sign = servo.gain.targets[-1]
        value = float(getattr(self._model, field).reshape(-1)[at]) * sign + 0.0
        return dataclasses.replace(servo, gain=dataclasses.replace(servo.gain, value=value))
