"""Where a Ctrl-drag wants a body to be: MuJoCo's perturbation by mouse, ``mjv_movePerturb``.

Right button: the point that was taken hold of moves along the screen, up and down in the world
(with Shift: in the horizontal plane). Left button: the body turns about the screen's horizontal
and the world's vertical (with Shift: about the view's direction instead of that).
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.edit_messages import PerturbKind
from stroboscope.debugger_protocol.scene_description import Vec3, Vec4

__all__ = ["Pull", "Pulling"]

Floats = NDArray[np.float64]
# A body is turned at most this far away from where it is [rad], as in MuJoCo's viewer.
_MOST_TURN = math.pi / 2.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """Where the mouse wants a body, in the world; points in m, quaternions wxyz.

    ``point`` (in the body's frame) shall come to ``pos``, or its inertial frame turn to ``quat``.
    ``body_pos`` and ``body_quat`` are the pose that its own frame would have there.
    """

    body: int
    kind: PerturbKind
    point: Vec3
    pos: Vec3
    quat: Vec4
    body_pos: Vec3
    body_quat: Vec4


class Pulling:
    """One drag at one body, from where it stood when the drag began."""

    def __init__(
        self, scene: DrawnScene, *, body: int, kind: PerturbKind, point: Floats | None
    ) -> None:
        self._scene = scene
        self.body = body
        self.kind = kind
        description = scene.description
        info = description.bodies[body] if description is not None else None
        self._ipos = np.array(info.ipos if info is not None else (0.0, 0.0, 0.0))
        self._iquat = np.array(info.iquat if info is not None else (1.0, 0.0, 0.0, 0.0))
        # Taken in the tree, not in the picture: there is no point, so its centre of mass.
        self._point = self._ipos if point is None else np.asarray(point, np.float64)
        pos, mat = scene.body_pos[body], scene.body_mat[body]
        self._start = pos.copy()
        self._pos = pos + mat @ self._point
        self._taken = self._pos.copy()
        self._start_quat = _matrix_to_quat(mat)
        self._turn = np.array([1.0, 0.0, 0.0, 0.0])

    def move(self, view: View, *, dx: float, dy: float, shift: bool) -> Pull:
        """Follow the mouse by (dx, dy) in fractions of the view's height, y down."""
        if self.kind is PerturbKind.FORCE:
            depth = float((self._pos - view.eye) @ view.forward)
            span = view.pixel_size(max(depth, 1e-6), height=1.0)
            up, right = np.array([0.0, 0.0, 1.0]), view.right
            away = np.cross(up, right) if shift else up
            self._pos = self._pos + span * (dx * right - dy * away)
        else:
            ahead = np.array([view.forward[0], view.forward[1], 0.0])
            length = float(np.linalg.norm(ahead))
            ahead = ahead / length if length > 1e-9 else view.up
            # As convert2D: the vertical drag turns about the screen's x, the other about z or y.
            axis = dy * view.right + dx * (np.array([0.0, 0.0, 1.0]) if not shift else ahead)
            angle = float(np.linalg.norm(axis))
            if angle > 0.0:
                turn = _axis_angle(axis / angle, 2.0 * math.pi * angle)
                self._turn = self._limited(_product(turn, self._turn))
        return self.pull()

    def pull(self) -> Pull:
        """Return where the body is wanted now."""
        body_quat = _product(self._turn, self._start_quat)
        if self.kind is PerturbKind.FORCE:
            body_pos = self._start + (self._pos - self._taken)
        else:
            # It turns about its centre of mass.
            before = quat_to_matrix(self._start_quat[None])[0]
            after = quat_to_matrix(body_quat[None])[0]
            body_pos = self._start + before @ self._ipos - after @ self._ipos
        return Pull(
            body=self.body,
            kind=self.kind,
            point=_vec3(self._point),
            pos=_vec3(self._pos),
            quat=_vec4(_product(body_quat, self._iquat)),
            body_pos=_vec3(body_pos),
            body_quat=_vec4(body_quat),
        )

    def _limited(self, turn: Floats) -> Floats:
        """Return ``turn`` such that the body is wanted at most 90° from where it is now."""
        now = _matrix_to_quat(self._scene.body_mat[self.body])
        wanted = _product(turn, self._start_quat)
        rest = _product(wanted, _conjugate(now))
        if rest[0] < 0.0:
            rest = -rest
        size = float(np.linalg.norm(rest[1:]))
        angle = 2.0 * math.atan2(size, float(rest[0]))
        if angle <= _MOST_TURN or size < 1e-12:
            return turn
        rest = _axis_angle(rest[1:] / size, _MOST_TURN)
        return _product(_product(rest, now), _conjugate(self._start_quat))


def _axis_angle(axis: Floats, angle: float) -> Floats:
    return np.concatenate([[math.cos(angle / 2.0)], math.sin(angle / 2.0) * axis])


def _conjugate(q: Floats) -> Floats:
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))


def _product(a: Floats, b: Floats) -> Floats:
    w = a[0] * b[0] - a[1:] @ b[1:]
    v = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.asarray([w, *v], dtype=np.float64)


def _matrix_to_quat(m: Floats) -> Floats:
    """Return the unit quaternion (4,) wxyz of a rotation (3, 3)."""
    squares = np.array(
        [
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    rows = np.array(
        [
            [squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], squares[1], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], squares[2], m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[3]],
        ]
    )
    quat = rows[int(squares.argmax())]
    return np.asarray(quat / np.linalg.norm(quat))


def _vec3(v: Floats) -> Vec3:
    return float(v[0]), float(v[1]), float(v[2])


def _vec4(v: Floats) -> Vec4:
    return float(v[0]), float(v[1]), float(v[2]), float(v[3])
