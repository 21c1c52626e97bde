"""Options and memory that hide or cause trouble later."""

import numpy as np

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint.subject import Subject

__all__ = ["arena_headroom", "autoreset", "energy_flag", "out_of_memory"]

_FULL = 0.6


def arena_headroom(subject: Subject) -> list[Finding]:
    """Find memory for contacts and constraints that is nearly used up."""
    data, kinds = subject.data, subject.module.mjtWarning
    full = [int(kinds.mjWARN_CONTACTFULL), int(kinds.mjWARN_CNSTRFULL)]
    missed = sum(int(data.warning[kind].number) for kind in full)
    if missed:
        return [out_of_memory(f"contacts or constraints were left out {missed} times")]
    room = int(data.narena)
    used = max(int(data.maxuse_arena), int(data.parena))
    if not room or used < _FULL * room:
        return []
    return [
        Finding(
            rule="arena",
            level=LogLevel.WARNING,
            text=(
                f"{used / room:.0%} of the memory for contacts and constraints is used "
                f"({used:,} of {room:,} bytes, {int(data.ncon)} contacts): when it is full, "
                "constraints are left out, then a step fails"
            ),
            advice='Give it more: <size memory="…"/>, for example twice as much.',
        )
    ]


def out_of_memory(error: str) -> Finding:
    """Say that this very state needs more memory than there is."""
    return Finding(
        rule="arena",
        level=LogLevel.ERROR,
        text=f"contacts and constraints need more memory than the model has: {error}",
        advice='Give it more: <size memory="…"/>, for example ten times as much.',
    )


def autoreset(subject: Subject) -> list[Finding]:
    """Say that MuJoCo replaces a state that has diverged."""
    if subject.is_disabled("mjDSBL_AUTORESET"):
        return []
    return [
        Finding(
            rule="autoreset",
            level=LogLevel.INFO,
            text=(
                "autoreset is on: when the simulation diverges, MuJoCo puts it back to the "
                "initial state without stopping, and the evidence is gone"
            ),
            advice='Set <flag autoreset="disable"/> while you look for such an error.',
        )
    ]


def energy_flag(subject: Subject) -> list[Finding]:
    """Say that a script that reads the energies reads zeros."""
    if subject.is_enabled("mjENBL_ENERGY") or np.any(subject.data.energy):
        return []
    return [
        Finding(
            rule="energy-flag",
            level=LogLevel.INFO,
            text="the flag energy is off: data.energy stays 0 (the energies shown here are right)",
            advice='Set <flag energy="enable"/> if your script reads data.energy.',
        )
    ]
