"""What ended a simulation that ran beside the scene, in words."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["ENDED", "CandidateEnd", "EventWords", "physics_of"]

ENDED = "ended"

_BAD = "NaN, Inf or a huge value in"
_TEXTS = {
    "inertia": "the inertia matrix is too close to singular at {dof}: a mass or armature is too "
    "small",
    "contactfull": "there were more contacts than fit into MuJoCo's memory ({info}): raise "
    "<size memory>",
    "cnstrfull": "there were more constraints than fit into MuJoCo's memory ({info}): raise "
    "<size memory>",
    "badqpos": f"{_BAD} qpos of {{qpos}}",
    "badqvel": f"{_BAD} qvel of {{dof}}",
    "badqacc": f"{_BAD} qacc of {{dof}}",
    "badctrl": f"{_BAD} ctrl of {{control}}",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CandidateEnd:
    """How a simulation ended: after ``steps`` steps, the event in step ``event_step`` (-1: none).

    The state before that step is the last one; what came of the step is no evidence.
    """

    steps: int
    event_step: int = -1
    text: str = ENDED


class EventWords:
    """Says what happened, with the names of one model; any thread."""

    def __init__(self, model: Any, *, adapter: MujocoAdapter) -> None:
        self._adapter = adapter
        self._names = ElementNames(model, adapter=adapter)
        self._sizes = (1, int(model.nq), int(model.nv), int(model.na))
        self._kinds = adapter.members("mjtWarning", "mjWARN_")

    def warning(self, raised: NDArray[np.integer[Any]]) -> str:
        """Return what MuJoCo warned of; ``raised`` (kinds, 2): last info and how often."""
        # Those of numbers that are none come last, and of these the control, which is the cause.
        kind = int(np.flatnonzero(raised[:, 1])[-1])
        info = int(raised[kind, 0])
        text = _TEXTS.get(self._kinds[kind], f"MuJoCo warned: {self._kinds[kind]} ({{info}})")
        labels = {
            "qpos": self._names.qpos(),
            "dof": self._names.dofs(),
            "control": self._names.controls(),
        }
        found = {
            key: repr(names[info]) if 0 <= info < len(names) else f"number {info}"
            for key, names in labels.items()
        }
        return text.format(info=info, **found)

    def not_finite(self, column: int) -> str:
        """Return what became no number; ``column``: which value of the row."""
        names = self._names
        families = (
            ("time", ("time",)),
            ("qpos", names.qpos()),
            ("qvel", names.dofs()),
            ("act", names.activations()),
        )
        for (family, labels), size in zip(families, self._sizes, strict=True):
            if column < size:
                return f"{family} of {labels[column]!r} became NaN or Inf"
            column -= size
        return "a value of the state became NaN or Inf"


def physics_of(model: Any) -> slice:
    """Return where a row has time, positions, velocities and activations: what must be finite."""
    return slice(0, 1 + int(model.nq) + int(model.nv) + int(model.na))
