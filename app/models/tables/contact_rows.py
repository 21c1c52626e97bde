"""The contacts of one instant, as arrays: who touches, with what force on whom, and how it slips.

Forces are the engine's. A contact's frame and force say what acts on its *second* body; here the
body that is acted on is chosen for each pair of bodies, and forces are turned to it.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.tables.options import option_choice
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["ContactRows", "contact_rows"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# Friction that is used to this part has reached its cone, up to the solver's tolerance.
_SLIPS_FROM = 0.995


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ContactRows:
    """All contacts, (n,) each unless said; None where the engine sent nothing.

    ``body`` (n, 2) in the order of ``geom``; ``acts_on`` and ``other`` the bodies of the shown
    side; ``world`` (n, 3) [N] the force on ``acts_on``. ``normal`` is the pressing force, ``used``
    the part of the friction cone that is used (NaN: frictionless), ``slip`` [m/s].
    """

    geom: Ints
    flex: Ints | None
    vert: Ints | None
    body: Ints
    acts_on: Ints
    other: Ints
    pos: Array
    depth: Array
    normal: Array
    tangential: Array
    friction_vector: Array
    world: Array
    used: Array
    slip: Array | None
    slips: NDArray[np.bool_]
    dim: Ints | None
    friction: Array | None
    solref: Array | None
    solimp: Array | None
    margin: Array | None
    exclude: Ints | None
    address: Ints | None
    hull: Ints | None
    origin: Ints | None
    pair: Ints | None
    clamped: Ints | None

    @property
    def count(self) -> int:
        """Number of contacts."""
        return len(self.depth)


def contact_rows(
    description: SceneDescription, frames: FrameSet, *, flipped: bool = False
) -> ContactRows | None:
    """Return the contacts of an instant, None when they are not known.

    Forces are on the body that can move, or on the one with the higher index when both can;
    ``flipped``: on the other one.
    """
    pos, frame, force, dist = (
        frames.array(Topic.CONTACTS, name) for name in ("pos", "frame", "force", "dist")
    )
    geom = _ints(frames, "geom")
    if pos is None or frame is None or force is None or dist is None or geom is None:
        return None
    count = len(dist)
    geom = geom.reshape(count, 2)
    body = _bodies(description, geom, _ints(frames, "body"))
    second = _acts_on_second(description, body)
    if flipped:
        second = ~second
    sign = np.where(second, 1.0, -1.0)[:, None]
    axes = frame.reshape(count, 3, 3)
    force = force.reshape(count, 6)
    friction = frames.array(Topic.CONTACTS, "friction")
    dim = _ints(frames, "dim")
    if friction is None:
        friction = _described_friction(description, geom)
    pyramidal = option_choice(description, frames, "cone") == "pyramidal"
    used, reached = _used(force, friction, dim, pyramidal=pyramidal)
    velocity = frames.array(Topic.CONTACTS, "velocity")
    rows = np.arange(count)
    return ContactRows(
        geom=geom,
        flex=_ints(frames, "flex"),
        vert=_ints(frames, "vert"),
        body=body,
        acts_on=body[rows, second.astype(np.int64)],
        other=body[rows, 1 - second.astype(np.int64)],
        pos=pos.reshape(count, 3),
        depth=-dist,
        normal=force[:, 0].copy(),
        tangential=np.hypot(force[:, 1], force[:, 2]),
        friction_vector=sign * np.einsum("nij,ni->nj", axes[:, 1:], force[:, 1:3]),
        world=sign * np.einsum("nij,ni->nj", axes, force[:, :3]),
        used=used,
        slip=None if velocity is None else np.hypot(velocity[:, 1], velocity[:, 2]),
        slips=reached >= _SLIPS_FROM,
        dim=dim,
        friction=frames.array(Topic.CONTACTS, "friction"),
        solref=frames.array(Topic.CONTACTS, "solref"),
        solimp=frames.array(Topic.CONTACTS, "solimp"),
        margin=frames.array(Topic.CONTACTS, "includemargin"),
        exclude=_ints(frames, "exclude"),
        address=_ints(frames, "efc_address"),
        hull=_ints(frames, "hull"),
        origin=_ints(frames, "origin"),
        pair=_ints(frames, "pair"),
        clamped=_ints(frames, "clamped"),
    )


def _ints(frames: FrameSet, name: str) -> Ints | None:
    frame = frames.frames.get(Topic.CONTACTS)
    array = None if frame is None else frame.arrays.get(name)
    return None if array is None else np.asarray(array).astype(np.int64)


def _bodies(description: SceneDescription, geom: Ints, body: Ints | None) -> Ints:
    if body is not None:
        return body.reshape(-1, 2)
    owners = np.array([*(g.body for g in description.geoms), -1], dtype=np.int64)
    inside = (geom >= 0) & (geom < len(description.geoms))
    found: Ints = owners[np.where(inside, geom, -1)]
    return found


def _acts_on_second(description: SceneDescription, body: Ints) -> NDArray[np.bool_]:
    """Return whether the second body is the one whose force is shown, (n,)."""
    ends, place = np.unique(body, return_inverse=True)
    # -1 stands for a flex, which can move.
    can_move = np.array([_moves(description, int(n)) for n in ends], dtype=np.bool_)
    moves = can_move[place.reshape(body.shape)]
    first, second = moves[:, 0], moves[:, 1]
    result: NDArray[np.bool_] = np.where(first == second, body[:, 1] >= body[:, 0], second)
    return result


def _moves(description: SceneDescription, body: int) -> bool:
    if body < 0 or body >= len(description.bodies):
        return True
    return body > 0 and description.bodies[body].weld != 0


def _described_friction(description: SceneDescription, geom: Ints) -> Array:
    """Return sliding friction of engines that don't say: the larger of the two geoms', (n, 2)."""
    table = np.array([*(g.friction[0] for g in description.geoms), 0.0])
    sliding = table[np.where(geom >= 0, geom, -1)].max(axis=1)
    return np.column_stack((sliding, sliding))


def _used(
    force: Array, friction: Array, dim: Ints | None, *, pyramidal: bool
) -> tuple[Array, Array]:
    """Return |ft| / (μ·fn) per contact, NaN without friction, and the part of its cone reached.

    Each direction has its own μ. A pyramid inside the cone is reached earlier between its edges.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = force[:, 1:3] / friction[:, :2] / force[:, :1]
        used: Array = np.hypot(parts[:, 0], parts[:, 1])
    used[(force[:, 0] <= 0.0) | ~np.isfinite(used)] = np.nan
    if dim is not None:
        used[dim < 3] = np.nan
    reached = np.abs(parts).sum(axis=1) if pyramidal else used
    return used, np.where(np.isnan(used), 0.0, reached)
