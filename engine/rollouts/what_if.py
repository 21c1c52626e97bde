"""Edits of a re-simulation: what they change in a copy of the model, or in every step's inputs.

A field of the model may be edited when a step reads it as it stands, or when MuJoCo can work out
anew what was derived from it; what decides over sizes and addresses may not. Its numbers are
counted flat, or from the first of an element that is named behind a dot: ``dof_damping.elbow``.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.edit_words import check_fit, named_place
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.edit_texts import change_text, option_text
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames
from stroboscope.engine.interventions import LARGEST_VALUE
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.physics_options import (
    describe_options,
    option_info,
    read_option,
    write_option,
)
from stroboscope.engine.rollouts.constants import constants_text, work_out_constants
from stroboscope.engine.rollouts.gain_edits import GainEdit, GainEdits
from stroboscope.engine.signal_channels import channel_table

__all__ = ["AppliedEdits", "apply_what_if"]

_TIMESTEP = "timestep"
# Of what is told of the edits of one trial; all trials are told together.
_MOST_LETTERS = 40_000
# Elements whose numbers are physics, and what of them is not: derived, or sizes of buffers.
_ELEMENTS = {
    "body": "body",
    "jnt": "joint",
    "dof": "dof",
    "geom": "geom",
    "site": "site",
    "actuator": "actuator",
    "tendon": "tendon",
    "eq": "equality",
    "pair": "pair",
    "flex": "flex",
}
_WHOLE = ("qpos0", "qpos_spring")
_DERIVED = (
    "0", "_user", "_subtreemass", "_lengthrange", "_rbound", "_aabb", "_delay", "_fluid", "_length",
    "_size", "_vert", "_node", "body_margin",
)  # fmt: skip
_FLAGS = frozenset(
    {
        "jnt_limited",
        "jnt_actfrclimited",
        "jnt_actgravcomp",
        "tendon_limited",
        "tendon_actfrclimited",
        "actuator_ctrllimited",
        "actuator_forcelimited",
        "actuator_actlimited",
    }
)
# From these MuJoCo derives constants; newer versions have a list of their own.
_GIVES_CONSTANTS = frozenset(
    {
        "body_mass", "body_inertia", "body_ipos", "body_iquat", "body_pos", "body_quat",
        "body_gravcomp", "dof_armature", "jnt_pos", "jnt_axis", "qpos0", "qpos_spring", "geom_pos",
        "geom_quat", "site_pos", "site_quat", "tendon_armature", "tendon_stiffness",
        "tendon_damping", "actuator_gear", "actuator_cranklength", "eq_data",
    }
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AppliedEdits:
    """What was changed, in words; and what every step's inputs are changed by."""

    texts: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    """The same in few words: without the list of what was changed together."""
    timestep: float | None = None
    """The timestep asked for [s]; None: each step takes as long as it was recorded."""
    controls: tuple[tuple[int, NDArray[np.float64]], ...] = ()
    """Values held from an index of ``ctrl`` on."""
    forces: tuple[tuple[int, NDArray[np.float64]], ...] = ()
    """Values added from an index of ``qfrc_applied`` on."""
    edits_model: bool = False
    """Whether the model was changed, its options among it, so that the copy must be kept."""


def apply_what_if(model: Any, edits: Sequence[WhatIf], *, adapter: MujocoAdapter) -> AppliedEdits:
    """Write edits into ``model``, a copy that nobody else uses, and return what remains to be done.

    Raises CommandError, saying which edit, what was asked and what is allowed; the copy is of no
    use then.
    """
    texts: list[str | GainEdit] = []
    labels = _Labels(model, adapter)
    gains = GainEdits(model, adapter=adapter)
    controls: list[tuple[int, NDArray[np.float64]]] = []
    forces: list[tuple[int, NDArray[np.float64]]] = []
    timestep, stale = None, None
    for edit in edits:
        values = _checked_values(edit)
        match edit.kind:
            case EditKind.OPTION:
                texts.append(_edit_option(model, edit, adapter))
                if edit.name == _TIMESTEP:
                    timestep = float(values[0])
            case EditKind.MODEL:
                placed = _placed(model, edit, labels)
                if stale is None and _gives_constants(placed.name, adapter):
                    stale = constants_text(model, adapter=adapter)
                texts.append(_edit_model(model, placed, labels))
            case EditKind.CONTROL:
                texts.append(_input_text(model, edit, "ctrl", int(model.nu), "held at", adapter))
                controls.append((edit.index, values))
            case EditKind.FORCE:
                words = "more than recorded by"
                texts.append(
                    _input_text(model, edit, "qfrc_applied", int(model.nv), words, adapter)
                )
                forces.append((edit.index, values))
            case EditKind.GAIN | EditKind.GAIN_FACTOR:
                if (done := gains.apply(edit)) not in texts:
                    texts.append(done)
    if stale is not None:
        work_out_constants(model, adapter=adapter)
    return AppliedEdits(
        texts=(*_texts(texts), stale) if stale else _texts(texts),
        titles=tuple(each if isinstance(each, str) else each.title for each in texts),
        timestep=timestep,
        controls=tuple(controls),
        forces=tuple(forces),
        edits_model=any(edit.kind not in (EditKind.CONTROL, EditKind.FORCE) for edit in edits),
    )


def _texts(edits: Sequence[str | GainEdit]) -> tuple[str, ...]:
    """Return what is told of edits: with every servo, as long as that is not too much to keep."""
    texts: list[str] = []
    letters = 0
    for edit in edits:
        text = edit if isinstance(edit, str) else edit.text
        if letters + len(text) > _MOST_LETTERS // 2 and not isinstance(edit, str):
            text = edit.title
        letters += len(text)
        if letters > _MOST_LETTERS:
            return (*texts, f"+{len(edits) - len(texts)} more")
        texts.append(text)
    return tuple(texts)


def _checked_values(edit: WhatIf) -> NDArray[np.float64]:
    what = edit.name or edit.kind.value
    wrong = next((value for value in edit.values if not abs(value) <= LARGEST_VALUE), None)
    if wrong is not None:
        raise CommandError(
            f"{what} takes finite numbers of at most {LARGEST_VALUE:g}, not {wrong:g}"
        )
    if not edit.values:
        raise CommandError(f"an edit of {what} needs at least one value")
    return np.array(edit.values, dtype=np.float64)


def _edit_option(model: Any, edit: WhatIf, adapter: MujocoAdapter) -> str:
    info = option_info(edit.name, adapter=adapter)
    old = read_option(model, edit.name, adapter=adapter)
    new = (*old[: edit.index], *edit.values, *old[edit.index + len(edit.values) :])
    write_option(model, edit.name, new, adapter=adapter)
    return option_text(info, old, new)


def _placed(model: Any, edit: WhatIf, labels: "_Labels") -> WhatIf:
    """Return the edit of a named element with its index counted flat; any other as it is."""
    name, dot, element = edit.name.partition(".")
    field = _field(model, name, labels.adapter)
    if not dot:
        return edit
    known = labels.of(field, name)
    row, count = named_place(known, trim_text(element, SHOWN_NAME_BYTES), what=name)
    width = field[0].size
    check_fit(edit.name, size=count * width, index=edit.index, count=len(edit.values))
    return msgspec.structs.replace(edit, name=name, index=row * width + edit.index)


def _edit_model(model: Any, edit: WhatIf, labels: "_Labels") -> str:
    name = edit.name
    field = _field(model, name, labels.adapter)
    flat = field.reshape(-1)
    check_fit(name, size=flat.size, index=edit.index, count=len(edit.values))
    end = edit.index + len(edit.values)
    if edit.name in _FLAGS and not all(value in (0.0, 1.0) for value in edit.values):
        raise CommandError(f"{name} is 0 (off) or 1 (on), not {edit.values}")
    old = tuple(map(float, flat[edit.index : end]))
    flat[edit.index : end] = edit.values
    row, column = divmod(edit.index, field[0].size)
    place = f"[{column}]" if field[0].size > 1 else ""
    whose = labels.of(field, name)[row]
    return f"{name}{place} of {whose}: {change_text(old, edit.values, '')}"


def _field(model: Any, name: str, adapter: MujocoAdapter) -> "np.ndarray[Any, Any]":
    """Return an array of the model that may be edited; CommandError for anything else."""
    field = None if name.startswith("_") else getattr(model, name, None)
    if not isinstance(field, np.ndarray):
        if not name.startswith("_") and hasattr(model.opt, name):
            raise CommandError(
                f"a MuJoCo model has no field {name!r}: the option is written option.{name}"
            )
        fields = (each for each in dir(model) if _is_physics(model, each))
        options = (f"option.{each.name}" for each in describe_options(model, adapter=adapter))
        near = suggestion(name, (*fields, *options)) or ": see mujoco.MjModel"
        raise CommandError(f"a MuJoCo model has no field {name!r}{near}")
    if not _is_physics(model, name):
        raise CommandError(
            f"{name} can't be tried out: only numbers that a step reads as they stand can be, like "
            "actuator_gainprm, dof_damping, geom_friction; change the model's file instead"
        )
    return field


def _is_physics(model: Any, name: str) -> bool:
    """Return whether a step reads these numbers as they stand, or what is derived anew."""
    if name in _WHOLE or name in _FLAGS:
        return hasattr(model, name)
    return (
        name.partition("_")[0] in _ELEMENTS
        and not any(name.endswith(ending) for ending in _DERIVED)
        and getattr(getattr(model, name), "dtype", None) == np.float64
    )


class _Labels:
    """What the rows of fields are called: made once for all edits of a trial."""

    def __init__(self, model: Any, adapter: MujocoAdapter) -> None:
        self.adapter = adapter
        self._model = model
        self._names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, field: "np.ndarray[Any, Any]", name: str) -> tuple[str, ...]:
        """Return the labels of a field, (len(field),)."""
        if name not in self._known:
            self._known[name] = self._made(field, name)
        return self._known[name]

    def _made(self, field: "np.ndarray[Any, Any]", name: str) -> tuple[str, ...]:
        names, model = self._names, self._model
        kind = _ELEMENTS.get(name.partition("_")[0], "")
        if name in _WHOLE:
            return names.qpos()
        if kind == "dof":
            return names.dofs()
        if kind == "actuator" and len(field) != self.adapter.actuator_count(model):
            # Since 4.0 one may have several controls and outputs, and some fields a row for each.
            return names.outputs() if len(names.outputs()) == len(field) else names.controls()
        return tuple(map(getattr(names, kind), range(len(field))))


def _input_text(
    model: Any, edit: WhatIf, field: str, size: int, words: str, adapter: MujocoAdapter
) -> str:
    """Return "ctrl of elbow held at 0.5"; CommandError when the values do not fit."""
    check_fit(field, size=size, index=edit.index, count=len(edit.values))
    channel = channel_table(model, adapter=adapter)[field]
    unit = channel.units[edit.index] if channel.units else channel.unit
    numbers = ", ".join(f"{value:g}" for value in edit.values)
    return f"{field} of {channel.names[edit.index]} {words} {numbers} {unit}".rstrip()


def _gives_constants(name: str, adapter: MujocoAdapter) -> bool:
    known = getattr(adapter.module.MjModel, "_setconst_inputs", _GIVES_CONSTANTS)
    return name in known
