"""Watched expressions: which there are, and what they are worth at the instant that is shown.

Values come from the frames of exactly that instant, like those of every other panel. What no
topic carries (what the script logs) comes from rows of signals: the newest that is not younger.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.expressions import (
    ChannelUse,
    Expression,
    ExpressionError,
    SignalTable,
    compile_expression,
    contact_part,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["LoggedRows", "Watch", "WatchList", "WatchValue", "all_signals", "all_topics"]

Array = NDArray[np.float64]
_FromFrames = Callable[[FrameSet, SceneDescription], Array | None]

_KEPT_ROWS = 64
_STATE = (
    "qpos", "qvel", "act", "ctrl", "qacc", "qfrc_actuator", "qfrc_passive", "qfrc_constraint",
    "qfrc_applied", "qfrc_bias", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid",
    "actuator_force", "actuator_length", "actuator_velocity",
)  # fmt: skip


def _array(topic: Topic, name: str) -> tuple[Topic, _FromFrames]:
    def read(frames: FrameSet, _description: SceneDescription) -> Array | None:
        found = frames.array(topic, name)
        return None if found is None else found.reshape(-1)

    return topic, read


def _energy_total(frames: FrameSet, _description: SceneDescription) -> Array | None:
    parts = [frames.array(Topic.ENERGY, name) for name in ("potential", "kinetic")]
    potential, kinetic = parts
    return None if potential is None or kinetic is None else potential + kinetic


def _count(topic: Topic, name: str) -> tuple[Topic, _FromFrames]:
    def read(frames: FrameSet, _description: SceneDescription) -> Array | None:
        found = frames.array(topic, name)
        return None if found is None else np.array((float(len(found)),))

    return topic, read


def _normal_force(frames: FrameSet, _description: SceneDescription) -> Array | None:
    force = frames.array(Topic.CONTACTS, "force")
    return None if force is None else np.array((float(force.reshape(-1, 6)[:, 0].sum()),))


def _depth(frames: FrameSet, _description: SceneDescription) -> Array | None:
    dist = frames.array(Topic.CONTACTS, "dist")
    return None if dist is None else np.array((max(0.0, -float(dist.min(initial=0.0))),))


def _iterations(frames: FrameSet, _description: SceneDescription) -> Array | None:
    niter = frames.array(Topic.SOLVER, "niter")
    return None if niter is None else np.array((float(niter.max(initial=0.0)),))


def _placed(kind: str) -> _FromFrames:
    """Return what puts sites or geoms, which are fixed to their bodies, into the world."""

    def read(frames: FrameSet, description: SceneDescription) -> Array | None:
        xpos, xquat = frames.array(Topic.POSE, "xpos"), frames.array(Topic.POSE, "xquat")
        items = description.sites if kind == "site" else description.geoms
        if xpos is None or xquat is None or not items:
            return None
        body = np.array([item.body for item in items])
        local = np.array([item.pos for item in items])
        w, v = xquat[body, :1], xquat[body, 1:]
        # Rotation of a vector by a unit quaternion (wxyz).
        turned = local + 2.0 * np.cross(v, np.cross(v, local) + w * local)
        placed: Array = (xpos[body] + turned).reshape(-1)
        return placed

    return read


_SOURCES: dict[str, tuple[Topic, _FromFrames]] = {
    **{name: _array(Topic.STATE, name) for name in _STATE},
    "xvel": _array(Topic.STATE, "body_velocity"),
    "xpos": _array(Topic.POSE, "xpos"),
    "xquat": _array(Topic.POSE, "xquat"),
    "xipos": _array(Topic.BODIES, "xipos"),
    "site_xpos": (Topic.POSE, _placed("site")),
    "geom_xpos": (Topic.POSE, _placed("geom")),
    "sensordata": _array(Topic.SENSORS, "sensordata"),
    "energy.potential": _array(Topic.ENERGY, "potential"),
    "energy.kinetic": _array(Topic.ENERGY, "kinetic"),
    "energy.total": (Topic.ENERGY, _energy_total),
    "contact.count": _count(Topic.CONTACTS, "dist"),
    "contact.force": (Topic.CONTACTS, _normal_force),
    "contact.depth": (Topic.CONTACTS, _depth),
    "constraint.count": _count(Topic.CONSTRAINTS, "pos"),
    "solver.iterations": (Topic.SOLVER, _iterations),
    "time": (Topic.POSE, lambda frames, _description: np.array((frames.time,))),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchValue:
    """What a watch shows: ``values`` (width,) with ``names`` and ``units``, or why there are none.

    ``problem`` is what is wrong with the expression, with carets; ``note`` what is to be known
    about the value.
    """

    text: str
    values: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    unit: str = ""
    problem: str = ""
    note: str = ""


class LoggedRows:
    """The newest rows of the signals of one scene that no topic carries."""

    def __init__(self) -> None:
        self._rows: dict[str, collections.deque[tuple[int, Array]]] = {}

    def append(self, name: str, axis: NDArray[np.int64], values: Array) -> None:
        """Take rows: ``axis`` (n,), ``values`` (n, width)."""
        kept = self._rows.setdefault(name, collections.deque(maxlen=_KEPT_ROWS))
        for row in range(max(0, len(axis) - _KEPT_ROWS), len(axis)):
            kept.append((int(axis[row]), np.array(values[row], np.float64)))

    def clear(self) -> None:
        """Forget everything: the state was replaced, or another scene is shown."""
        self._rows.clear()

    def at(self, name: str, axis: int) -> Array | None:
        """Return the newest row of a channel at or before physics step ``axis``."""
        for step, values in reversed(self._rows.get(name, ())):
            if step <= axis:
                return values
        return None


class Watch:
    """One watched expression about one scene."""

    def __init__(self, text: str, table: SignalTable | None) -> None:
        self.text = text
        self.problem = ""
        self._expression: Expression | None = None
        if table is not None:
            try:
                self._expression = compile_expression(text, table)
            except ExpressionError as error:
                self.problem = str(error)

    @property
    def is_valid(self) -> bool:
        """Whether it can be evaluated."""
        return self._expression is not None

    @property
    def width(self) -> int:
        """How many values it has, 0 when it is not valid."""
        return self._expression.width if self._expression is not None else 0

    @property
    def topics(self) -> frozenset[Topic]:
        """The topics that its value comes from."""
        if self._expression is None:
            return frozenset()
        needed = {_topic_of(use) for use in self._expression.channels}
        return frozenset(topic for topic in needed if topic is not None)

    @property
    def signals(self) -> frozenset[str]:
        """The channels that no topic carries."""
        if self._expression is None:
            return frozenset()
        return frozenset(u.channel for u in self._expression.channels if _topic_of(u) is None)

    def value(
        self, frames: FrameSet | None, description: SceneDescription, logged: LoggedRows
    ) -> WatchValue:
        """Return the value at the instant of ``frames``."""
        expression = self._expression
        if expression is None:
            return WatchValue(text=self.text, problem=self.problem)
        arrays: dict[str, Array] = {}
        missing = "waiting for values" if frames is None else ""
        for use in expression.channels if frames is not None else ():
            array = _read(use, frames, description, logged)
            if array is None or len(array) != use.width:
                missing = _missing(use)
                break
            arrays[use.key] = array
        values: tuple[float, ...] = ()
        if not missing:
            values = tuple(expression.evaluate(arrays).tolist())
        return WatchValue(
            text=self.text,
            values=values,
            names=expression.names,
            units=expression.units,
            unit=expression.unit,
            note=missing or expression.problem,
        )


def _missing(use: ChannelUse) -> str:
    if use.is_user:
        return f"{use.channel} has not been logged up to this instant"
    return f"{use.channel} is not known at this instant"


def _topic_of(use: ChannelUse) -> Topic | None:
    if use.part:
        return Topic.CONTACTS
    if use.is_user or use.channel not in _SOURCES:
        return None
    return _SOURCES[use.channel][0]


def _read(
    use: ChannelUse, frames: FrameSet | None, description: SceneDescription, logged: LoggedRows
) -> Array | None:
    if frames is None:
        return None
    if use.part:
        contacts = frames.frames.get(Topic.CONTACTS)
        needed = {"geom", "force", "frame", "dist"}
        if contacts is None or not needed <= set(contacts.arrays):
            return None
        return contact_part(use.part, contacts.arrays, use.first, use.second)
    if _topic_of(use) is None:
        return logged.at(use.channel, frames.axis)
    return _SOURCES[use.channel][1](frames, description)


class WatchList:
    """The texts of the watched expressions, in order; kept in the list it is given.

    ``changed`` tells of every change.
    """

    def __init__(self, texts: list[str]) -> None:
        self.changed: Signal[[]] = Signal()
        self._texts = texts

    @property
    def texts(self) -> tuple[str, ...]:
        """The expressions from top to bottom."""
        return tuple(self._texts)

    def add(self, text: str) -> None:
        """Watch one more; one that is watched already stays where it is."""
        text = text.strip().removeprefix("=").strip()
        if text and text not in self._texts:
            self._texts.append(text)
            self.changed.emit()

    def change(self, index: int, text: str) -> None:
        """Replace an expression; an empty one is taken out."""
        text = text.strip().removeprefix("=").strip()
        if not text:
            self.remove(index)
        elif self._texts[index] != text:
            self._texts[index] = text
            self.changed.emit()

    def remove(self, index: int) -> None:
        """Take one out."""
        del self._texts[index]
        self.changed.emit()

    def move(self, index: int, by: int) -> int:
        """Move one up (-1) or down (1); return where it is then."""
        to = min(max(index + by, 0), len(self._texts) - 1)
        if to != index:
            self._texts.insert(to, self._texts.pop(index))
            self.changed.emit()
        return to


def all_topics(watches: Iterable[Watch]) -> frozenset[Topic]:
    """Return what all of them need together."""
    return frozenset().union(*(watch.topics for watch in watches))


def all_signals(watches: Iterable[Watch]) -> frozenset[str]:
    """Return the channels that all of them need together."""
    return frozenset().union(*(watch.signals for watch in watches))
