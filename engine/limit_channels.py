"""Channels that say how near something is to its limit: joints, actuators, equality constraints."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames, joint_units
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = [
    "ACTUATOR_LOAD",
    "EQUALITY_RESIDUAL",
    "JOINT_MARGIN",
    "LIMIT_CHANNELS",
    "joints_named",
    "limit_channels",
    "limit_reader",
    "margins_of",
]

JOINT_MARGIN = "joint.margin"
"""How far each limited joint is from its nearer limit [rad, m]; below 0 it is past it."""
ACTUATOR_LOAD = "actuator.load"
"""How much of its control or force range each limited actuator uses; 1 is all of it."""
EQUALITY_RESIDUAL = "equality.residual"
"""How far each active equality constraint is from being fulfilled [m, rad]; 0 while inactive."""
LIMIT_CHANNELS = (JOINT_MARGIN, ACTUATOR_LOAD, EQUALITY_RESIDUAL)

Reader = Callable[[Any], NDArray[np.float64]]


def _limited_joints(model: Any, *, adapter: MujocoAdapter) -> NDArray[np.intp]:
    """Return the hinges and slides that have limits."""
    kinds = adapter.module.mjtJoint
    single = np.isin(model.jnt_type, (int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE)))
    return np.flatnonzero(single & (np.asarray(model.jnt_limited) != 0))


def _loaded_actuators(model: Any, *, adapter: MujocoAdapter) -> NDArray[np.intp]:
    """Return the actuators with one control and one output that have a range of either."""
    found = []
    limited, _ = adapter.control_ranges(model)
    for index in range(adapter.actuator_count(model)):
        controls, outputs = adapter.actuator_slices(model, index)
        single = controls.stop - controls.start == 1 == outputs.stop - outputs.start
        if single and (limited[controls.start] or model.actuator_forcelimited[index]):
            found.append(index)
    return np.array(found, dtype=np.intp)


def limit_channels(model: Any, *, adapter: MujocoAdapter) -> list[ChannelInfo]:
    """Return the channels with their names and units; those without any value have width 0."""
    names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
    joints = _limited_joints(model, adapter=adapter).tolist()
    actuators = _loaded_actuators(model, adapter=adapter).tolist()
    return [
        ChannelInfo(
            name=JOINT_MARGIN,
            width=len(joints),
            names=tuple(map(names.joint, joints)),
            units=tuple(joint_units(model, joint, adapter=adapter)[0] for joint in joints),
        ),
        ChannelInfo(
            name=ACTUATOR_LOAD, width=len(actuators), names=tuple(map(names.actuator, actuators))
        ),
        ChannelInfo(
            name=EQUALITY_RESIDUAL,
            width=int(model.neq),
            names=tuple(map(names.equality, range(model.neq))),
        ),
    ]


def joints_named(names: Sequence[str], model: Any, *, adapter: MujocoAdapter) -> NDArray[np.intp]:
    """Return the joints that the channel of margins has, by their names: limits come and go."""
    of = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES).joint
    return _places(names, map(of, range(model.njnt)))


def margins_of(
    position: NDArray[np.float64], limited: NDArray[Any], ranges: NDArray[Any]
) -> NDArray[np.float64]:
    """Return how far joints are from their nearer limits; infinitely far from none at all.

    Each (..., joints), ``ranges`` (..., joints, 2).
    """
    nearer = np.minimum(position - ranges[..., 0], ranges[..., 1] - position)
    margins: NDArray[np.float64] = np.where(limited != 0, nearer, np.inf)
    return margins


def limit_reader(name: str, names: Sequence[str], model: Any, *, adapter: MujocoAdapter) -> Reader:
    """Return what reads one of them; :data:`JOINT_MARGIN` reads what is there before a step.

    ``names``: those of its values. Which joints and actuators have limits was looked up when the
    channel was described, and the model may have been written into since.
    """
    if name == JOINT_MARGIN:
        return _joint_margins(joints_named(names, model, adapter=adapter), model)
    if name == ACTUATOR_LOAD:
        of = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES).actuator
        count = adapter.actuator_count(model)
        return _actuator_loads(_places(names, map(of, range(count))), model, adapter)
    return _residuals(model, adapter)


def _places(names: Sequence[str], of_all: Iterable[str]) -> NDArray[np.intp]:
    """Return where among all names those are, in one order; names cut short may be alike."""
    found, wanted = [], iter(names)
    name = next(wanted, None)
    for place, each in enumerate(of_all):
        if each == name:
            found.append(place)
            name = next(wanted, None)
    return np.array(found, dtype=np.intp)


def _joint_margins(joints: NDArray[np.intp], model: Any) -> Reader:
    address = np.asarray(model.jnt_qposadr)[joints]

    def read(source: Any) -> NDArray[np.float64]:
        # Limits and ranges are read anew: they may be edited.
        limited, ranges = np.asarray(model.jnt_limited)[joints], np.asarray(model.jnt_range)[joints]
        return margins_of(np.asarray(source.qpos)[address], limited, ranges)

    return read


def _actuator_loads(actuators: NDArray[np.intp], model: Any, adapter: MujocoAdapter) -> Reader:
    places = [adapter.actuator_slices(model, int(index)) for index in actuators]
    controls = np.array([control.start for control, _ in places], dtype=np.intp)
    outputs = np.array([output.start for _, output in places], dtype=np.intp)

    def read(source: Any) -> NDArray[np.float64]:
        limited, ranges = adapter.control_ranges(model)
        by_control = _share(np.asarray(source.ctrl)[controls], ranges[controls], limited[controls])
        by_force = _share(
            np.asarray(source.actuator_force)[outputs],
            np.asarray(model.actuator_forcerange)[actuators],
            np.asarray(model.actuator_forcelimited)[actuators] != 0,
        )
        loads: NDArray[np.float64] = np.maximum(by_control, by_force)
        return loads

    return read


def _share(
    value: NDArray[np.float64], ranges: NDArray[np.float64], limited: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return how far values are from the middle of their range, 1 at its ends; 0 without one."""
    half = 0.5 * (ranges[:, 1] - ranges[:, 0])
    there = limited & (half > 0.0)
    distance = np.abs(value - 0.5 * (ranges[:, 0] + ranges[:, 1]))
    return np.divide(distance, half, out=np.zeros(len(value)), where=there)


def _residuals(model: Any, adapter: MujocoAdapter) -> Reader:
    equality = int(adapter.module.mjtConstraint.mjCNSTR_EQUALITY)

    def read(source: Any) -> NDArray[np.float64]:
        result = np.zeros(int(model.neq))
        count = int(source.ne)  # they come first
        if count:
            of = np.asarray(source.efc_type)[:count] == equality
            positions = np.abs(np.asarray(source.efc_pos)[:count])
            np.maximum.at(result, np.asarray(source.efc_id)[:count][of], positions[of])
        return result

    return read
