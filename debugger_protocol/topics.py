"""What a client can subscribe to, and which arrays each topic carries.

All arrays are C-contiguous little-endian. Quaternions are wxyz, poses are in the world frame,
units are SI. ``n`` below varies from frame to frame.
"""

import enum

__all__ = ["Instant", "Topic"]


class Topic(enum.StrEnum):
    """A stream of frames about one scene."""

    POSE = "pose"
    """``xpos`` (nbody, 3) [m], ``xquat`` (nbody, 4), float64: body frames."""

    STATE = "state"
    """float64: ``qpos`` (nq,), ``qvel`` (nv,), ``act`` (na,), ``ctrl`` (nu,), ``qacc`` (nv,),
    ``qfrc_actuator`` (nv,), ``qfrc_passive`` (nv,), ``qfrc_constraint`` (nv,),
    ``qfrc_applied`` (nv,), ``actuator_force`` (nu,), ``actuator_length`` (nu,),
    ``actuator_velocity`` (nu,), ``body_velocity`` (nbody, 6): world-frame linear [m/s] then
    angular [rad/s] velocity of the body frame."""

    CONTACTS = "contacts"
    """``pos`` (n, 3) [m], ``frame`` (n, 3, 3) rows are the contact axes, normal first,
    ``dist`` (n,) [m], ``force`` (n, 6) contact frame [N, N·m], float64; ``geom`` (n, 2) int32."""

    SENSORS = "sensors"
    """``sensordata`` (nsensordata,) float64."""

    CONSTRAINTS = "constraints"
    """float64 (n,): ``pos``, ``vel``, ``force``; int32 (n,): ``type``, ``id``, ``state``."""

    ENERGY = "energy"
    """``potential``, ``kinetic`` (1,) float64 [J]."""

    SOLVER = "solver"
    """``niter`` (nisland,) int32; ``improvement``, ``gradient`` (nisland, niter_kept) float64."""

    TIMING = "timing"
    """``duration`` (nstage,) float64 [s] mean per physics step since the last frame, in the
    order of the description's ``timer_stages``."""

    SIGNALS = "signals"
    """``axis`` (n,) int64 (physics steps, never falls), ``time`` (n,) float64 [s], and one
    (n, width) float64 array per channel: every physics step, or every ``log()`` call."""

    LOG = "log"
    """No arrays: text arrives as :class:`~.messages.LogEntry`."""


class Instant(enum.StrEnum):
    """Which instant the values of a frame belong to; values of two instants never mix."""

    EXECUTED = "executed"
    """The executed frame: the state before a physics step and everything that step computed."""

    NOW = "now"
    """The state a scene stands at, recomputed on scratch data; its forces are predictions."""
