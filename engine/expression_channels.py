"""Expressions as channels: evaluated at every physics step, where the data is.

What a step reads (qpos, ctrl, …) is taken before it, what it computes after it, so that an
expression never mixes two instants. What the script logs counts with its latest value.
"""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import (
    ChannelUse,
    Expression,
    ExpressionError,
    SignalTable,
    compile_expression,
    contact_sum,
    expression_text,
    geom_mask,
    pair_of_contacts,
)
from stroboscope.debugger_protocol.host.scene_link import channel_info
from stroboscope.debugger_protocol.host.signals import UserChannel
from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.engine.contacts import body_velocities
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["ExpressionChannel", "ExpressionScope", "MakeReader", "Reader", "reader_of"]

Array = NDArray[np.float64]
Reader = Callable[[Any], Any]
MakeReader = Callable[[str], Reader]

_POSES = ("xpos", "xquat", "xipos", "site_xpos", "geom_xpos")


class ExpressionScope:
    """What the expressions of one scene may name; made when the first one is asked for.

    ``user`` are the channels that the script logs, ``report`` tells the user of a problem.
    """

    def __init__(
        self,
        model: Any,
        *,
        channels: Mapping[str, ChannelInfo],
        user: Mapping[str, UserChannel],
        report: Callable[[str], None],
        adapter: MujocoAdapter,
    ) -> None:
        self.model = model
        self.adapter = adapter
        self.user = user
        self.report = report
        names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
        self.table = SignalTable(
            (*channels.values(), *(channel_info(each) for each in tuple(user.values()))),
            bodies=tuple(map(names.body, range(model.nbody))),
            sites=tuple(map(names.site, range(model.nsite))),
            geoms=tuple(map(names.geom, range(model.ngeom))),
            geom_bodies=tuple(model.geom_bodyid.tolist()),
        )

    def compile(self, channel: str) -> Expression:
        """Return the expression of a channel's name; raises CommandError."""
        try:
            return compile_expression(expression_text(channel), self.table)
        except ExpressionError as error:
            raise CommandError(str(error)) from error


class ExpressionChannel:
    """Writes the values of one expression; owner thread only.

    ``inputs`` are the names of what follows from what a physics step reads, ``make_reader`` returns
    what reads a channel from data of its instant.
    """

    def __init__(
        self,
        channel: str,
        *,
        scope: ExpressionScope,
        inputs: frozenset[str],
        make_reader: MakeReader,
    ) -> None:
        self._scope = scope
        self._expression = scope.compile(channel)
        self.width = self._expression.width
        uses = self._expression.channels
        self.channels = frozenset(use.channel for use in uses if not use.is_user)
        self._arrays: list[Array] = [np.full(use.width, math.nan) for use in uses]
        self._before: list[tuple[Array, Reader]] = []
        self._after: list[tuple[int, Reader]] = []
        self._told = False
        for slot, use in enumerate(uses):
            if use.channel == "time":
                self._before.append((self._arrays[slot], operator.attrgetter("time")))
            elif use.channel in inputs:
                self._before.append((self._arrays[slot], make_reader(use.channel)))
            else:
                self._after.append((slot, reader_of(use, scope=scope, make_reader=make_reader)))

    @property
    def reads_after(self) -> bool:
        """Whether anything is read that the step computes."""
        return bool(self._after)

    def before(self, data: Any) -> None:
        """Copy what the coming physics step reads."""
        for buffer, read in self._before:
            buffer[:] = read(data)

    def after(self, source: Any) -> Array:
        """Return the value, (width,), which the next call overwrites; NaN where there is none."""
        arrays = self._arrays
        for slot, read in self._after:
            arrays[slot] = read(source)
        result = self._expression.evaluate_list(arrays)
        if self._expression.problem and not self._told:
            self._told = True
            text, problem = self._expression.text, self._expression.problem
            self._scope.report(f"“{text}” has no value at some steps: {problem}")
        return result


def reader_of(use: ChannelUse, *, scope: ExpressionScope, make_reader: MakeReader) -> Reader:
    """Return what reads one use, (width,), from data that holds what a step has computed."""
    if use.is_user:
        ring = scope.user[use.channel]
        return lambda _source: _latest(ring)
    if use.part:
        return _contact_reader(use, scope)
    if use.channel in _POSES:
        name = use.channel
        return lambda source: getattr(source, name).reshape(-1)
    if use.channel == "xvel":
        return lambda source: body_velocities(scope.model, source).reshape(-1)
    read = make_reader(use.channel)
    return lambda source: np.atleast_1d(read(source))


def _contact_reader(use: ChannelUse, scope: ExpressionScope) -> Reader:
    """Return what sums over the contacts of a pair; the forces of no others are computed."""
    model, contact_force = scope.model, scope.adapter.module.mj_contactForce
    first, second = geom_mask(use.first, model.ngeom), geom_mask(use.second, model.ngeom)
    part, nothing = use.part, np.zeros(use.width)

    def read(source: Any) -> Array:
        contact, count = source.contact, int(source.ncon)
        chosen, sign = pair_of_contacts(np.asarray(contact.geom).reshape(count, 2), first, second)
        if part == "count":
            return np.array((float(len(chosen)),))
        if not len(chosen):
            return nothing
        if part == "depth":
            return np.array((max(0.0, -float(np.asarray(contact.dist)[chosen].min())),))
        forces = np.zeros((len(chosen), 6))
        for row, index in zip(forces, chosen.tolist(), strict=True):
            contact_force(model, source, index, row)
        frame = np.asarray(contact.frame).reshape(count, 3, 3)[chosen]
        return contact_sum(part, forces[:, :3], frame, sign)

    return read


def _latest(ring: UserChannel) -> Array:
    """Return the newest logged value, NaN before the first."""
    if not ring.count:
        return np.full(ring.width, math.nan)
    newest: Array = ring.values[(ring.count - 1) % ring.capacity]
    return newest
