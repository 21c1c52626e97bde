"""Which bodies of one model are which of another, so that a scene can be drawn at its poses."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.numbers import count_text
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["BodyMatch", "match_bodies", "why_no_match"]

_NAMED = 3


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BodyMatch:
    """``bodies`` (nbody,): of each body its number in the other model, -1 where it has none."""

    bodies: NDArray[np.intp]

    @property
    def found(self) -> int:
        """How many bodies both have, the world aside."""
        return int((self.bodies[1:] >= 0).sum())

    @property
    def note(self) -> str:
        """Say how many there are when not all of them are; empty: they are the same."""
        missing = len(self.bodies) - 1 - self.found
        return f"{count_text(self.found)} of {count_text(len(self.bodies) - 1)} bodies" * (
            missing > 0
        )

    def poses(
        self, xpos: NDArray[np.float64], xquat: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return poses of the other's bodies, (m, 3) and (m, 4), as those of this model's.

        Those that it does not have are nowhere (nan), and are not drawn.
        """
        nowhere = self.bodies < 0
        pos, quat = xpos[self.bodies], xquat[self.bodies]
        pos[nowhere], quat[nowhere] = np.nan, (1.0, 0.0, 0.0, 0.0)
        return pos, quat


def match_bodies(shown: SceneDescription, other: SceneDescription) -> BodyMatch | None:
    """Return which bodies of ``shown`` are which of ``other``: by number where all have the same
    names and parents, else by name; None when they have none in common.
    """
    mine, others = shown.bodies, other.bodies
    if [(body.name, body.parent) for body in mine] == [(b.name, b.parent) for b in others]:
        return BodyMatch(np.arange(len(mine)))
    numbers = {body.name: number for number, body in enumerate(others) if number and body.name}
    bodies = np.array([0, *(numbers.get(body.name, -1) for body in mine[1:])], dtype=np.intp)
    match = BodyMatch(bodies)
    return match if match.found else None


def why_no_match(shown: SceneDescription, other: SceneDescription) -> str:
    """Say what bodies both have, when none is the same."""
    return (
        f"no body of {other.name!r} ({_names(other)}) has the name of one of "
        f"{shown.name!r} ({_names(shown)})"
    )


def _names(description: SceneDescription) -> str:
    names = [body.name or "no name" for body in description.bodies[1:]]
    more = f", +{count_text(len(names) - _NAMED)}" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "it has none"
