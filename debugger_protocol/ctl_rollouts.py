"""The words of ``stroboscope ctl`` about rollouts: what was simulated again, and numbers of it."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_item, write_items
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.plain_text import plain_line
from stroboscope.debugger_protocol.time_messages import Reduction, RolloutInfo
from stroboscope.debugger_protocol.trials import OPEN_LOOP, unnamed_edits

__all__ = ["COMMANDS", "add_arguments", "only_looks"]


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    again = add("resimulate", "simulate recorded inputs again beside the scene, with edits")
    again.add_argument("--axis", type=int, help="where to begin; without it: what is looked at")
    again.add_argument("--steps", type=int, default=0, help="physics steps; 0: all that follow")
    again.add_argument("--name", default="", help="of the rollout")
    again.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="WHAT=VALUES",
        help="option.timestep=0.001, integrator=implicitfast, ctrl.wrist=0.5, kp.wrist=50, kp=80 "
        "(all servos), kp.*hip*=x1.5 (1.5 times its own each), dof_damping.elbow=1, "
        "actuator_gainprm.wrist=100,0,0, geom_solref[4]=0.01",
    )
    rollouts = add("rollouts", "list the rollouts of a scene, or of scenes that have ended")
    rollouts.add_argument("--ended", action="store_true", help="of scenes that have ended")
    add_json(again, rollouts)
    derive = add("derive", 'compute a number of rollouts: "max(contact.depth)"')
    derive.add_argument("expression")
    derive.add_argument("--reduction", choices=[each.value for each in Reduction], default="max")
    derive.add_argument("--name", default="", help="what the number is called")
    derive.add_argument("--ended", action="store_true", help="of scenes that have ended")
    derive.add_argument("--rollouts", nargs="*", type=int, default=[], help="of these only")
    drop = add("drop-rollout", "forget a rollout")
    drop.add_argument("rollout", type=int)
    drop.add_argument("--ended", action="store_true", help="of scenes that have ended")


def only_looks(name: str, _: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "rollouts"


def _resimulate(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    made = client.resimulate(scene_id, axis=a.axis, steps=a.steps, edits=a.set, name=a.name)
    for info in client.rollouts(scene_id):
        if info.rollout_id == made:
            write_item(a, out, info, lambda each: f"{_rollout(each)}      {OPEN_LOOP}\n")


def _rollouts(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.rollouts(scene_id), _rollout, empty="no rollouts yet")


def _rollout(info: RolloutInfo) -> str:
    env = f", environment {info.env}" if info.env >= 0 else ""
    begin = f", from axis {info.from_axis}" if info.from_axis >= 0 else ""
    # Without a name of its own it is called after its edits.
    edits = ", ".join(unnamed_edits(info))
    edits = f"; {edits}" if edits else ""
    numbers = "".join(f"; {name} {value:.6g}" for name, value in info.numbers)
    event = f" at step {info.event_step}" if info.event_step >= 0 else ""
    doubt = f"; {info.reproducible}" if info.reproducible else ""
    line = plain_line(
        f"{info.rollout_id:>4}  {info.name}: {info.steps} steps to {info.time:.6g} s{begin}{env}, "
        f"{info.outcome}{event}{edits}{numbers}{doubt}"
    )
    return f"{line}\n"


def _derive(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.derive_number(
        scene_id, a.expression, reduction=a.reduction, name=a.name, rollout_ids=a.rollouts
    )
    ended = " --ended" if a.ended else ""
    out.write(f"it is being computed: `stroboscope ctl rollouts{ended}` lists it\n")


def _drop_rollout(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.drop_rollout(scene_id, a.rollout)
    out.write(f"rollout {a.rollout} dropped\n")


COMMANDS: dict[str, Command] = {
    "resimulate": _resimulate,
    "rollouts": _rollouts,
    "derive": _derive,
    "drop-rollout": _drop_rollout,
}
"""What each word does with a client, a scene and its arguments."""
