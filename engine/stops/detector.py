"""Noticing that a physics step goes wrong: cheaply, for every step, and exactly.

The stepper looks at the numbers itself (see :class:`StepWatch` for which); what is here is asked
when they look unusual, and may take its time.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.data_views import DataViews
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.trouble import Trouble

__all__ = ["FAST", "StepWatch"]

FAST = 1e4
"""Speeds [rad/s, m/s] below this one are not looked at any closer."""
_GROWTH = 100.0
"""A step that makes the largest speed so many times larger is an explosion, whatever comes next."""
_SLOW_GROWTH, _SLOW_GROWTH_STEPS = 2.0, 4
"""And so is that growth over so many physics steps in a row."""

_STATE = ("time", "qpos", "qvel", "act", "warmstart", "plastic")
_INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")
_ARENA = ("mjWARN_CONTACTFULL", "mjWARN_CNSTRFULL")
_RESETTING = {"mjWARN_BADQPOS": "qpos", "mjWARN_BADQVEL": "qvel", "mjWARN_BADQACC": "qacc"}
_BAD_CONTROL = "mjWARN_BADCTRL"
_SINGULAR = "mjWARN_INERTIA"
"""Says the dof, as those do that lead to a reset."""


class StepWatch:
    """Looks at one data around its physics steps; owner thread only.

    A step is fine when its row is finite, the warnings are those of before, time has advanced by
    the timestep, and the speeds are below :data:`FAST`. Else :meth:`before` and :meth:`after` say
    whether it is in trouble.
    """

    def __init__(self, views: DataViews, model: Any, *, adapter: MujocoAdapter) -> None:
        self._views = views
        self._model = model
        self._parts = RowLayout(model, adapter=adapter).parts
        self._kinds = _warning_kinds(adapter)
        self._resetting = [i for i, kind in enumerate(self._kinds) if kind in _RESETTING]
        self.seen: Any = memoryview(bytearray(views.warnings.nbytes)).cast("i")
        """The warnings as they stood before the step that comes or runs."""
        self._aside: tuple[int, ...] = ()
        self._option = model.opt
        self._no_autoreset = int(adapter.module.mjtDisableBit.mjDSBL_AUTORESET)
        self._growing = 0
        self._growing_since = math.nan
        self.earlier: Callable[[NDArray[np.float64]], Iterator[NDArray[np.float64]]] = _nothing
        """Goes back from the row of the step that runs through those that led to it."""

    def before(self, row: NDArray[np.float64]) -> Trouble | None:
        """Return what is wrong with the state or the inputs of the coming step."""
        self.note_warnings()
        if row[0] == 0.0 and any(self.seen[2 * i + 1] for i in self._resetting):
            # A reset in this step would end with the same time and the same count as no reset.
            warnings = self._views.warnings
            self._aside = tuple(warnings[2 * i + 1] for i in self._resetting)
            for i in self._resetting:
                warnings[2 * i + 1] = 0
            self.note_warnings()
        wrong = self.not_finite(row)
        return None if wrong is None else dataclasses.replace(wrong, is_before_step=True)

    def not_finite(self, row: NDArray[np.float64]) -> Trouble | None:
        """Return what of a state or its inputs is no number."""
        if np.isfinite(row).all():
            return None
        for reason, names in ((StopReason.NON_FINITE, _STATE), (StopReason.BAD_INPUT, _INPUTS)):
            for name in names:
                part = self._parts.get(name)
                bad = [] if part is None else np.flatnonzero(~np.isfinite(row[part])).tolist()
                if bad:
                    return self._wrong_number(reason, row, name, bad[0])
        return None

    def _wrong_number(
        self, reason: StopReason, row: NDArray[np.float64], name: str, index: int
    ) -> Trouble:
        array = "qacc_warmstart" if name == "warmstart" else name
        return Trouble(
            reason=reason,
            row=row.copy(),
            timestep=self._views.timestep[0],
            array=array,
            index=index,
            value=float(row[self._parts[name]][index]),
            dof=self._dof(array, index),
        )

    def after(self, row: NDArray[np.float64]) -> Trouble | None:
        """Return what is wrong with the step that began with ``row``."""
        trouble = self._after(row)
        if trouble is None:
            return None
        # What began with a number that is none is to blame for all that follows.
        wrong = self.not_finite(row)
        return trouble if wrong is None else dataclasses.replace(wrong, is_reset=trouble.is_reset)

    def _after(self, row: NDArray[np.float64]) -> Trouble | None:
        warnings, seen = self._views.warnings, self.seen
        rose = [i for i in range(len(self._kinds)) if warnings[2 * i + 1] > seen[2 * i + 1]]
        advanced = self._views.time[0] == float(row[0]) + self._views.timestep[0]
        if self._resets_itself():
            # Those that are there after a reset are of what led to it: it cleared the others.
            reset = [
                i for i in self._resetting if i in rose or (not advanced and warnings[2 * i + 1])
            ]
            if reset:
                return self._warned(StopReason.AUTORESET, row, reset[0])
        if rose:
            return self._warned(_reason_of(self._kinds[rose[0]]), row, rose[0])
        return self._speeds(row)

    def raised(self, row: NDArray[np.float64], error: Exception, *, fatal: bool) -> Trouble:
        """Return the trouble of a step that raised."""
        return Trouble(
            reason=StopReason.FATAL if fatal else StopReason.CALLBACK,
            row=row.copy(),
            timestep=self._views.timestep[0],
            error=error,
        )

    def note_warnings(self) -> None:
        """Take the warnings as they stand for those of before."""
        self.seen[:] = self._views.warnings

    def put_back(self) -> None:
        """Write the warnings of before the step into the data: it has not happened."""
        self._views.warnings[:] = self.seen
        self.end()

    def end(self) -> None:
        """Give back the counts that were put aside for the step; after every step that had them.

        Where MuJoCo has reset the data it has cleared them itself.
        """
        aside, self._aside = self._aside, ()
        warnings = self._views.warnings
        if not any(warnings[2 * i + 1] for i in self._resetting) or not self._resets_itself():
            for i, number in zip(self._resetting, aside, strict=False):
                warnings[2 * i + 1] += number
        self.note_warnings()

    def _resets_itself(self) -> bool:
        return not self._option.disableflags & self._no_autoreset

    def _warned(self, reason: StopReason, row: NDArray[np.float64], kind: int) -> Trouble:
        name, info = self._kinds[kind], self._views.warnings[2 * kind]
        array = "ctrl" if name == _BAD_CONTROL else _RESETTING.get(name, "")
        dof = self._dof(array, info)
        if name == _SINGULAR and 0 <= info < self._model.nv:
            dof = info
        value = None
        if array in self._parts:
            part = row[self._parts[array]]
            value = float(part[info]) if info < len(part) else None
        return Trouble(
            reason=reason,
            row=row.copy(),
            timestep=self._views.timestep[0],
            array=array,
            index=info if array else -1,
            value=value,
            dof=dof,
            time_after=self._views.time[0],
            warning=name,
            warning_info=info,
            is_reset=reason is StopReason.AUTORESET,
        )

    def _speeds(self, row: NDArray[np.float64]) -> Trouble | None:
        after = np.abs(self._views.qvel)
        if not after.size:
            return None
        dof = int(np.argmax(after))  # the first NaN where there is one
        largest = float(after[dof])
        before = float(np.abs(row[self._parts["qvel"]]).max())
        reason = None
        if not math.isfinite(largest):
            reason = StopReason.NON_FINITE
        elif largest > FAST and (largest > _GROWTH * before or self._keeps_growing(row, largest)):
            reason = StopReason.EXPLODING
        if reason is None:
            return None
        return Trouble(
            reason=reason,
            row=row.copy(),
            timestep=self._views.timestep[0],
            array="qvel",
            index=dof,
            value=float(self._views.qvel[dof]),
            dof=dof,
            before=before,
            speeds=self._views.qvel.copy(),
        )

    def _keeps_growing(self, row: NDArray[np.float64], largest: float) -> bool:
        before = float(np.abs(row[self._parts["qvel"]]).max())
        if not largest > _SLOW_GROWTH * before:
            self._growing = 0
        elif self._growing_since == row[0]:
            self._growing += 1
        else:  # the first that is so fast
            self._growing = 1 + self._grew_before(row, before)
        self._growing_since = self._views.time[0]
        return self._growing >= _SLOW_GROWTH_STEPS

    def _grew_before(self, row: NDArray[np.float64], speed: float) -> int:
        """Return in how many steps in a row the largest speed has grown to ``speed``."""
        steps = 0
        for earlier in self.earlier(row):
            before = float(np.abs(earlier[self._parts["qvel"]]).max())
            if steps == _SLOW_GROWTH_STEPS or not speed > _SLOW_GROWTH * before:
                break
            steps, speed = steps + 1, before
        return steps

    def _dof(self, array: str, index: int) -> int:
        """Return the dof that a number belongs to, -1 for none."""
        if array in ("qvel", "qacc", "qacc_warmstart", "qfrc_applied"):
            return index if index < self._model.nv else -1
        if array != "qpos" or index >= self._model.nq:
            return -1
        joint = int(np.searchsorted(self._model.jnt_qposadr, index, side="right")) - 1
        first = int(self._model.jnt_dofadr[joint])
        offset = index - int(self._model.jnt_qposadr[joint])
        last = (
            self._model.nv if joint + 1 == self._model.njnt else self._model.jnt_dofadr[joint + 1]
        )
        return min(first + offset, int(last) - 1)


def _nothing(_row: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    yield from ()


def _reason_of(kind: str) -> StopReason:
    if kind in _ARENA:
        return StopReason.ARENA
    return StopReason.BAD_INPUT if kind == _BAD_CONTROL else StopReason.WARNING


def _warning_kinds(adapter: MujocoAdapter) -> tuple[str, ...]:
    """Return the names of MuJoCo's warnings, ``mjWARN_…``, in order."""
    members = adapter.module.mjtWarning.__members__
    names = {int(value): name for name, value in members.items() if name.startswith("mjWARN_")}
    return tuple(names[i] for i in range(len(names)))
