"""The table of rules, and one look with all of them."""

from collections.abc import Callable, Mapping
from typing import Any

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint.actuators import idle_actuators, unlimited_servos, violent_actuators
from stroboscope.engine.lint.collisions import missed_floors, penetrations, tunnelling
from stroboscope.engine.lint.constraints import open_equalities, short_time_constants
from stroboscope.engine.lint.inertia import ill_conditioned_joints, tiny_inertia, unequal_masses
from stroboscope.engine.lint.options import (
    arena_headroom,
    autoreset,
    energy_flag,
    out_of_memory,
)
from stroboscope.engine.lint.servo_stability import unstable_servos
from stroboscope.engine.lint.subject import Subject, capped
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["RULES", "lint"]

Rule = Callable[[Subject], list[Finding]]

RULES: Mapping[str, Rule] = {
    "penetration": penetrations,
    "servo-stability": unstable_servos,
    "tunnelling": tunnelling,
    "open-equality": open_equalities,
    "arena": arena_headroom,
    "inertia": tiny_inertia,
    "mass-ratio": unequal_masses,
    "conditioning": ill_conditioned_joints,
    "time-constant": short_time_constants,
    "missed-floor": missed_floors,
    "idle-actuator": idle_actuators,
    "violent-actuator": violent_actuators,
    "unlimited-servo": unlimited_servos,
    "autoreset": autoreset,
    "energy-flag": energy_flag,
}
"""Rules by the name that their findings carry."""

_ORDER = (LogLevel.ERROR, LogLevel.WARNING, LogLevel.INFO)


def lint(model: Any, data: Any, *, adapter: MujocoAdapter) -> tuple[Finding, ...]:
    """Return what usually is a mistake in ``model`` and the state in ``data``, worst first.

    ``data`` is only read: all is computed on a copy that nobody else has. No callback of the
    script is called; where one filters contacts they are not looked at.
    """
    scratch = adapter.module.MjData(model)
    adapter.copy_data(model, data, scratch)
    has_contacts = adapter.module.get_mjcb_contactfilter() is None
    try:
        _compute(model, scratch, has_contacts=has_contacts, adapter=adapter)
    except adapter.module.FatalError as error:
        return (out_of_memory(str(error)),)
    subject = Subject(model, scratch, has_contacts=has_contacts, adapter=adapter)
    findings = [finding for rule in RULES.values() for finding in capped(rule(subject))]
    return tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.level)))


def _compute(model: Any, scratch: Any, *, has_contacts: bool, adapter: MujocoAdapter) -> None:
    module = adapter.module
    if has_contacts:
        module.mj_fwdPosition(model, scratch)
    else:
        adapter.prepare_energy(model, scratch)
        module.mj_factorM(model, scratch)
        module.mj_transmission(model, scratch)
    module.mj_comVel(model, scratch)
