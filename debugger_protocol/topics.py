"""What a client can subscribe to, and which arrays each topic carries.

All arrays are C-contiguous little-endian. Quaternions are wxyz, poses are in the world frame,
units are SI. ``n`` below varies from frame to frame.
"""

import enum

__all__ = ["AccelerationSource", "DrawKind", "Instant", "ParameterOrigin", "Topic"]


class Topic(enum.StrEnum):
    """A stream of frames about one scene."""

    POSE = "pose"
    """``xpos`` (nbody, 3) [m], ``xquat`` (nbody, 4), float64: body frames."""

    STATE = "state"
    """float64: ``qpos`` (nq,), ``qvel`` (nv,), ``act`` (na,), ``ctrl`` (nu,), ``qacc`` (nv,),
    ``qfrc_actuator`` (nv,), ``qfrc_passive`` (nv,), ``qfrc_constraint`` (nv,),
    ``qfrc_applied`` (nv,), ``actuator_force`` (nu,), ``actuator_length`` (nu,),
    ``actuator_velocity`` (nu,), ``body_velocity`` (nbody, 6): world-frame linear [m/s] then
    angular [rad/s] velocity of the body frame. Also, where the engine has them: ``qfrc_bias``,
    ``qfrc_spring``, ``qfrc_damper``, ``qfrc_gravcomp``, ``qfrc_fluid``, ``dof_inertia`` (nv,)
    (diagonal of the joint-space inertia, armature included), ``act_dot`` (na,), ``mocap_pos``
    (nmocap, 3), ``mocap_quat`` (nmocap, 4), ``userdata`` (nuserdata,), ``eq_active`` (neq,)."""

    BODIES = "bodies"
    """float64, world frame: ``xipos`` (nbody, 3) centres of mass, ``subtree_com`` (nbody, 3),
    ``subtree_linvel`` (nbody, 3) [m/s], ``subtree_angmom`` (nbody, 3) [kg·m²/s] about that centre,
    ``acceleration`` (nbody, 6) of the body frame, linear [m/s²] (gravity not included: a body at
    rest has 0) then angular [rad/s²]; forces then torques about the centre of mass [N, N·m]:
    ``xfrc_applied`` (nbody, 6) as used by the step (perturbation included), ``contact_force``
    (nbody, 6) sum of the contacts on the body. int32 (nbody,): ``awake`` 1 or 0, ``island``, -1
    for none."""

    CONTACTS = "contacts"
    """``pos`` (n, 3) [m], ``frame`` (n, 3, 3) rows are the contact axes, normal first (from the
    first geom to the second), ``dist`` (n,) [m], ``force`` (n, 6) contact frame [N, N·m], acting
    on the second body (the first gets the opposite), float64; ``geom`` (n, 2) int32, -1 for a
    flex. Also: ``body`` (n, 2) int32; ``flex``, ``vert`` (n, 2) int32, -1 for a geom; ``dim`` (n,)
    int32; float64: ``friction`` (n, 5), ``solref`` (n, 2), ``solreffriction`` (n, 2), ``solimp``
    (n, 5), ``includemargin`` (n,) [m], ``velocity`` (n, 3) contact frame [m/s] of the second
    body's material point relative to the first's; ``exclude``, ``efc_address`` (n,) int32 (-1: no
    constraint, so no force); ``hull`` (n, 2) int32, 1 where a mesh collides as its convex hull;
    ``origin`` (n, 5) int32: a :class:`ParameterOrigin` each for condim, friction, solref, solimp,
    margin and gap; ``pair`` (n,) int32, index of the model's contact pair or -1; ``clamped`` (n,)
    int32, 1 when ``solref``'s time constant was raised to twice the timestep."""

    SENSORS = "sensors"
    """``sensordata`` (nsensordata,) float64."""

    CONSTRAINTS = "constraints"
    """One row per scalar constraint. float64 (n,): ``pos`` (residual, or distance), ``vel``,
    ``force``; int32 (n,): ``type`` (index into ``constraint_types``), ``id`` (of the equality, dof,
    tendon, joint or contact), ``state`` (index into ``constraint_states``). Also float64 (n,):
    ``margin``, ``aref``, ``impedance``, ``regularization`` (R), ``frictionloss``; ``island`` int32.
    Of equality constraints: ``eq_anchor`` (neq, 2, 3) [m] world, the two points that should
    coincide, NaN where there are none; ``eq_active`` (neq,) int32."""

    TENDONS = "tendons"
    """float64: ``length`` [m or rad], ``velocity``, ``force`` (of actuators, springs and dampers)
    (ntendon,); ``path`` (n, 3) [m] float32, ``first`` and ``count`` (ntendon,) int32 say which
    points are whose, ``wrap`` (n,) int32: index of the geom wrapped at this point, -1 site or
    other, -2 a pulley: its point is NaN, the path is interrupted."""

    DEFORMABLE = "deformable"
    """``flexvert_xpos`` (nflexvert, 3) float32 [m]. Skins follow from the poses."""

    ACCELERATION = "acceleration"
    """Why each dof accelerates: one row per source; the rows sum to ``qacc``. ``kind`` (n,) int32,
    index into :class:`AccelerationSource` in order; ``index`` (n,) int32 of the actuator, joint,
    tendon, body, contact or equality, -1 for the whole model; ``qacc`` (n, nv) float64 [rad/s² or
    m/s²] = M⁻¹ times that source's generalised force; ``qfrc`` (n, nv) that force; ``total`` (nv,)
    the engine's qacc."""

    VOLUMES = "volumes"
    """``active`` (nnode,) uint8: which nodes of the description's ``trees`` the search for contacts
    went through. Only where ``trees.active`` says so."""

    LOOKS = "looks"
    """What a script has written into the model since it was described, from then on. float32:
    ``geom_rgba`` (ngeom, 4), ``geom_pos`` (ngeom, 3) [m], ``geom_quat`` (ngeom, 4) in the body's
    frame, ``geom_size`` (ngeom, 3), ``site_rgba``, ``site_pos``, ``site_quat``, ``site_size``,
    ``tendon_rgba``, ``tendon_width`` (ntendon,) [m], ``skin_rgba``, ``flex_rgba`` (the flex's own
    where it has several materials), ``cam_pos``, ``cam_quat``, ``cam_fovy``, ``light_pos``,
    ``light_dir``, ``light_ambient``, ``light_diffuse``, ``light_specular``, ``light_active``, as
    the description has them. Only where its ``tells_looks`` says so."""

    DRAWING = "drawing"
    """What the script draws. float32: ``pos`` (n, 3) [m] world, ``quat`` (n, 4) wxyz, ``size``
    (n, 3) (arrow and line: vector to the end [m]; sphere: radius; box: half sizes; frame: length),
    ``rgba`` (n, 4), ``width`` (n,) [px, 0 for the viewer's own]; ``kind`` (n,) int32, index into
    :class:`DrawKind`; ``text`` uint8 UTF-8 of all texts, ``text_end`` (n,) int32; ``point_pos``
    (m, 3), ``point_rgba`` (m, 4), ``point_size`` (m,) [px]; ``left_out`` (1,) int32, how many did
    not fit under the cap. One that is large is not sent again while it stays the same: the newest
    of an instant holds until the next."""

    PLUGINS = "plugins"
    """What the engine's plugins draw of themselves, with DRAWING's ``kind``, ``pos``, ``quat``,
    ``size``, ``rgba`` and ``width``; ``iteration`` (n,) int32 is 1 for what belongs to the descent
    of an SDF's search for contacts, ``left_out`` (1,) int32 how many have no kind of their own."""

    OPTIONS = "options"
    """``values`` float64: the description's ``options`` one after the other, ``width`` each."""

    ENERGY = "energy"
    """float64: ``potential``, ``kinetic`` (1,) [J]; ``momentum`` (3,) [kg·m/s] and
    ``angular_momentum`` (3,) [kg·m²/s] of everything about its centre of mass ``com`` (3,) [m]."""

    SOLVER = "solver"
    """``niter`` (nisland,) int32; ``improvement``, ``gradient`` (nisland, niter_kept) float64."""

    TIMING = "timing"
    """``duration`` (nstage,) float64 [s] mean per physics step since the last frame, in the
    order of the description's ``timer_stages``; ``publish`` (1,) float64 [s] the owner thread's
    own time for the debugger per physics step."""

    SIGNALS = "signals"
    """``axis`` (n,) int64 (physics steps, never falls), ``time`` (n,) float64 [s], and one
    (n, width) float64 array per channel: every physics step, or every ``log()`` call."""

    GHOSTS = "ghosts"
    """Poses of what ShowGhosts asked for, at the instant in view: ``xpos`` (g, nbody, 3) [m],
    ``xquat`` (g, nbody, 4), ``time`` (g,) [s] float64; ``number`` (g,) int32, place in the list."""

    ENVIRONMENTS = "environments"
    """Poses of the environments shown in a grid: ``xpos`` (k, nbody, 3) [m], ``xquat``
    (k, nbody, 4), ``time`` (k,) [s] float64; ``env`` (k,) int32."""

    LOG = "log"
    """No arrays: text arrives as :class:`~.messages.LogEntry`."""


class ParameterOrigin(enum.IntEnum):
    """Where an effective contact parameter came from."""

    SAME = 0
    """Both geoms say the same."""
    GEOM1 = 1
    """The first geom's, because its priority is higher."""
    GEOM2 = 2
    """The second geom's, because its priority is higher."""
    MAXIMUM = 3
    """The larger of the two, element by element."""
    MIX = 4
    """Weighted by ``solmix``."""
    MINIMUM = 5
    """The smaller of the two, element by element."""
    SUM = 6
    """The sum of the two."""
    PAIR = 7
    """An explicit contact pair of the model."""
    OVERRIDE = 8
    """The option that overrides all contacts (``o_solref``, …)."""
    FLEX = 9
    """A flex takes part."""


class AccelerationSource(enum.StrEnum):
    """What pushes a dof; frames carry the place in this order."""

    GRAVITY = "gravity"
    CORIOLIS = "coriolis"
    ACTUATOR = "actuator"
    SPRING = "spring"
    DAMPER = "damper"
    GRAVCOMP = "gravcomp"
    FLUID = "fluid"
    APPLIED = "applied"
    BODY_FORCE = "body_force"
    CONTACT = "contact"
    LIMIT = "limit"
    FRICTION = "friction"
    EQUALITY = "equality"
    TENDON = "tendon"
    CALLBACK = "callback"
    REST = "rest"


class DrawKind(enum.StrEnum):
    """What a script may draw; frames carry the place in this order."""

    ARROW = "arrow"
    LINE = "line"
    SPHERE = "sphere"
    BOX = "box"
    FRAME = "frame"
    TEXT = "text"


class Instant(enum.StrEnum):
    """Which instant the values of a frame belong to; values of two instants never mix."""

    EXECUTED = "executed"
    """The executed frame: the state before a physics step and everything that step computed."""

    NOW = "now"
    """The state a scene stands at, recomputed on scratch data; its forces are predictions."""

    PAST = "past"
    """A row of the history that is looked at, and everything its physics step computed."""
