"""The words of ``stroboscope ctl`` that travel in time: looking back, branches, stops, rollouts."""

import argparse
from collections.abc import Callable, Iterable
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_edits import list_checkpoints
from stroboscope.debugger_protocol.environment_grid import grid_with
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.step_words import step_words
from stroboscope.debugger_protocol.time_messages import (
    ConditionInfo,
    EditKind,
    GhostRef,
    GhostSource,
    Reduction,
    RolloutInfo,
    Segment,
    StopInfo,
    StopReason,
    WhatIf,
)

__all__ = ["TIME_COMMANDS", "add_arguments", "only_looks"]

Command = Callable[[DebuggerClient, int, argparse.Namespace, TextIO], None]
Add = Callable[[str, str], argparse.ArgumentParser]

_REFERENCE = "row:118, checkpoint:NAME or :ID, rollout:ID, ended:ID (a scene that has ended), env:N"
_MOST_MIB = 1 << 40
# What read_rows returns besides the channels.
_OF_EVERY_ROW = frozenset({"axis", "time"})
_LOOKS = frozenset(
    {"branches", "checkpoints", "compare", "conditions", "rollouts", "rows", "stops"}
)


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`TIME_COMMANDS`; ``add`` makes one from a name and a help text."""
    _add_looking(add)
    _add_branches(add)
    _add_stops(add)
    environments = add("environments", "list the environments of a scene, or look at one")
    environments.add_argument("selected", nargs="?", type=int, help="number of the one to look at")
    environments.add_argument(
        "--shown",
        nargs="*",
        type=int,
        default=[],
        help="those in the grid; as it is, around the one that is looked at, unless given",
    )
    fork = add("fork", "copy the state of one environment to others")
    fork.add_argument("source", type=int)
    fork.add_argument("targets", nargs="+", type=int)


def _add_looking(add: Add) -> None:
    for name, text in (
        ("step-back", "look one step back, or several; the scene is paused, and stays where it is"),
        ("step-forward", "look one step forward, or several, to the live state at most"),
    ):
        parser = add(name, text)
        parser.add_argument("-n", "--count", type=int, default=1, help="how many (default 1)")
        parser.add_argument("--physics", action="store_true", help="physics steps, not steps")
    goto = add("goto", "look at a step, a time or an episode of the past")
    where = goto.add_mutually_exclusive_group()
    where.add_argument("bare_step", nargs="?", type=_bare_step, metavar="STEP", help="as --step")
    where.add_argument("--step", type=int, help="physics step, of the episode when that is given")
    where.add_argument("--time", type=float, help="simulation time [s]")
    where.add_argument("--axis", type=int, help="physics steps ever taken")
    goto.add_argument("--episode", type=int, help="alone: its beginning")
    add("live", "look at where the scene stands; ends what is being re-simulated")
    end = add("hold-at-end", "when the script is over, hold its last scene until play, or not")
    end.add_argument("hold", nargs="?", choices=("on", "off"), default="on")
    history = add("history", "tell what is remembered, or keep it or not")
    history.add_argument("keep", nargs="?", choices=("on", "off"))
    history.add_argument("--max-mib", type=float, help="in at most so many MiB")


def _bare_step(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a step: write a whole number, or --time 0.3, --episode 2"
        ) from None


def _add_branches(add: Add) -> None:
    parser = add("continue", "move the scene to the step that is looked at: a branch begins")
    parser.add_argument(
        "--recorded-inputs",
        action="store_true",
        help="simulate the recorded inputs again; the script goes on after that",
    )
    add("branches", "list where a scene has continued from its past")
    add("checkpoints", "list what is kept of a scene")
    forget = add("drop-checkpoint", "forget a checkpoint; the script keeps its own")
    forget.add_argument("checkpoint", help="name or id")
    label = add("label-checkpoint", "give a checkpoint another name or note")
    label.add_argument("checkpoint", help="name or id")
    label.add_argument("--name")
    label.add_argument("--note")
    again = add("resimulate", "simulate recorded inputs again beside the scene, with edits")
    again.add_argument("--axis", type=int, help="where to begin; without it: what is looked at")
    again.add_argument("--steps", type=int, default=0, help="physics steps; 0: all that follow")
    again.add_argument("--name", default="", help="of the rollout")
    again.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="WHAT=VALUES",
        help="option.timestep=0.001, ctrl[2]=0.5, qfrc_applied[0]=3, actuator_gainprm[20]=50",
    )
    rollouts = add("rollouts", "list the rollouts of a scene, or of scenes that have ended")
    rollouts.add_argument("--ended", action="store_true", help="of scenes that have ended")
    derive = add("derive", 'compute a number of rollouts: "max(contact.depth)"')
    derive.add_argument("expression")
    derive.add_argument("--reduction", choices=[each.value for each in Reduction], default="max")
    derive.add_argument("--name", default="", help="what the number is called")
    derive.add_argument("--ended", action="store_true", help="of scenes that have ended")
    derive.add_argument("--rollouts", nargs="*", type=int, default=[], help="of these only")
    drop = add("drop-rollout", "forget a rollout")
    drop.add_argument("rollout", type=int)
    drop.add_argument("--ended", action="store_true", help="of scenes that have ended")
    ghosts = add("ghosts", f"show others beside a scene: {_REFERENCE}; none: show none")
    ghosts.add_argument("references", nargs="*")
    compare = add("compare", f"compare two states or rollouts: {_REFERENCE}")
    compare.add_argument("first")
    compare.add_argument("second")
    compare.add_argument("--tolerance", type=float, default=0.0)
    rows = add("rows", "print channels of the history, or of a rollout, as CSV")
    rows.add_argument("channels", nargs="+", help="qpos, ctrl, energy.total, …")
    rows.add_argument("--rollout", type=int, default=0)
    rows.add_argument("--ended", action="store_true", help="a rollout of scenes that have ended")
    rows.add_argument("--first", type=int, default=0, help="axis, or step of the rollout")
    rows.add_argument("--last", type=int)
    rows.add_argument("--max-rows", type=int, default=1000)


def _add_stops(add: Add) -> None:
    add("stops", "list what has stopped a scene, and its rules")
    rules = add("stop-rules", "tell the rules; with options: set them, all that is not named is on")
    rules.add_argument(
        "--off",
        nargs="*",
        choices=[r.value for r in StopReason],
        help="what is not to stop it; without names: everything stops it",
    )
    rules.add_argument("--stop-all", action="store_true", help="a stop pauses all scenes")
    rules.add_argument("--mark-only", action="store_true", help="a stop holds nothing")
    when = add("break-when", 'stop when an expression becomes true: "contact.count > 3"')
    when.add_argument("expression")
    when.add_argument("--name", default="")
    when.add_argument("--hits", type=int, default=1, help="at the how manieth time")
    when.add_argument("--once", action="store_true", help="and forget it then")
    when.add_argument("--log-only", action="store_true", help="tell it instead of stopping")
    when.add_argument(
        "--envs-idx",
        nargs="+",
        type=int,
        default=[],
        metavar="NUMBER",
        help="look at it in these environments, 64 at most",
    )
    add("conditions", "list the conditions that stop a scene")
    edit = add("edit-condition", "change a condition")
    edit.add_argument("condition", type=int, help="its number: see conditions")
    edit.add_argument("--expression", help="another one")
    edit.add_argument("--hits", type=int, help="at the how manieth time")
    for name, text in (
        ("enabled", "whether it is looked at"),
        ("once", "whether it is forgotten when it has become true"),
        ("log-only", "whether it tells instead of stopping"),
    ):
        edit.add_argument(f"--{name}", choices=("on", "off"), help=text)
    remove = add("remove-condition", "forget a condition")
    remove.add_argument("condition", type=int, help="its number: see conditions")


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    if name in ("environments", "history"):
        return (arguments.selected if name == "environments" else arguments.keep) is None
    return name in _LOOKS or (name == "stop-rules" and _asks_for_rules(arguments))


# --- looking


def _hold_at_end(client: DebuggerClient, _: int, a: argparse.Namespace, out: TextIO) -> None:
    client.hold_at_end(a.hold == "on")
    out.write(f"holding at the end of the script: {a.hold}\n")


def _step_back(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.step_back(scene_id, a.count, physics=a.physics)
    _tell_view(client, scene_id, out)


def _step_forward(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.step_forward(scene_id, a.count, physics=a.physics)
    _tell_view(client, scene_id, out)


def _goto(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    step = a.bare_step if a.step is None else a.step
    _refuse_the_future(client, scene_id, a, step=step)
    client.goto(scene_id, step=step, time=a.time, axis=a.axis, episode=a.episode)
    _tell_view(client, scene_id, out)


def _refuse_the_future(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, *, step: int | None
) -> None:
    """Refuse what was not simulated yet: ``Goto`` would show the live state instead."""
    scene = next(scene for scene in client.scenes() if scene.scene_id == scene_id)
    history = client.history(scene_id)
    if history is None:
        return  # the engine remembers nothing, and says so
    ahead = stands = ""
    axis = step if a.axis is None and a.episode is None else a.axis
    if axis is not None and axis > scene.axis:
        ahead, stands = f"physics step {axis}", f"physics step {scene.axis}"
    elif a.time is not None and a.time > scene.time:
        begun = [s for s in history.segments if history.view is None or s.begin <= history.view]
        episode = begun[-1].episode if begun and a.episode is None else a.episode
        newest = history.segments[-1].episode if history.segments else episode
        ahead, stands = f"{a.time:.6g} s", f"{scene.time:.6g} s"
        if episode != newest or ahead == stands:
            return
    if ahead:
        raise CommandError(
            f"{ahead} lies ahead: {scene.name!r} has been simulated to {stands}; go to an earlier "
            "place, or play or step on until there"
        )


def _live(client: DebuggerClient, scene_id: int, _: argparse.Namespace, out: TextIO) -> None:
    client.go_live(scene_id)
    _tell_view(client, scene_id, out)


def _tell_view(client: DebuggerClient, scene_id: int, out: TextIO) -> None:
    scene = next(scene for scene in client.scenes() if scene.scene_id == scene_id)
    history = client.history(scene_id)
    if history is None or history.view is None:
        out.write(f"{scene.name}: live, step {scene.step_count}, {scene.time:.6g} s\n")
        return
    note = f" ({history.view_note})" if history.view_note else ""
    out.write(
        f"{scene.name}: looking at step {history.view_step}, {history.view_time:.6g} s, "
        f"{history.view_back} before live; row {history.view}{note}\n"
    )


def _history(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    if a.keep is not None:
        if a.max_mib is not None and not 0.0 < a.max_mib < _MOST_MIB:
            raise CommandError(
                f"--max-mib is a size above 0 and below {_MOST_MIB}, not {a.max_mib}"
            )
        limit = None if a.max_mib is None else round(a.max_mib * (1 << 20))
        client.set_history(scene_id, keep=a.keep == "on", max_bytes=limit)
    history = client.history(scene_id)
    if history is None:
        out.write("nothing is remembered: the engine of this scene keeps no history\n")
        return
    kept = "kept" if history.keeps else "not kept"
    out.write(
        f"{history.rows} rows from {history.first} on, every one from {history.dense} on; "
        f"{history.used_bytes / (1 << 20):.1f} of {history.max_bytes / (1 << 20):.1f} MiB, {kept}\n"
    )
    if history.older_segments:
        out.write(f"+{history.older_segments} older segments\n")
    for segment in history.segments:
        out.write(_segment(segment))


def _segment(segment: Segment) -> str:
    parent = f", from axis {segment.parent_axis}" if segment.parent_axis >= 0 else ""
    text = f"  {segment.text}" if segment.text else ""
    return (
        f"{segment.segment_id:>4}  {step_words(segment.physics_step, segment.begin):<24}  "
        f"{segment.time:10.3f} s  "
        f"episode {segment.episode}, {segment.kind.value}{parent}{text}\n"
    )


# --- branches and rollouts


def _continue(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    branch = client.continue_from_here(scene_id, with_script=not a.recorded_inputs)
    out.write(f"branch {_segment(branch).strip()}\n")


def _branches(client: DebuggerClient, scene_id: int, _: argparse.Namespace, out: TextIO) -> None:
    _list(out, map(_segment, client.branches(scene_id)), "no branches yet")


def _checkpoints(client: DebuggerClient, scene_id: int, _: argparse.Namespace, out: TextIO) -> None:
    list_checkpoints(client, scene_id, out)


def _resimulate(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    edits = [_what_if(text) for text in a.set]
    made = client.resimulate(scene_id, axis=a.axis, steps=a.steps, edits=edits, name=a.name)
    for info in client.rollouts(scene_id):
        if info.rollout_id == made:
            out.write(_rollout(info))


def _what_if(text: str) -> WhatIf:
    """Return the edit that ``ctrl[2]=0.5`` means."""
    what, equals, numbers = text.partition("=")
    name, bracket, index = what.strip().partition("[")
    try:
        values = tuple(float(number) for number in numbers.replace(",", " ").split())
        first = int(index.rstrip("]")) if bracket else 0
    except ValueError:
        values, first = (), 0
    if not equals or not name or not values:
        raise CommandError(
            f"{text!r} is no edit: write option.timestep=0.001, ctrl[2]=0.5 or "
            "actuator_gainprm[20]=50"
        )
    if name.startswith("option."):
        option = name.removeprefix("option.")
        return WhatIf(kind=EditKind.OPTION, name=option, index=first, values=values)
    if name in (EditKind.CONTROL, EditKind.FORCE):
        return WhatIf(kind=EditKind(name), index=first, values=values)
    return WhatIf(kind=EditKind.MODEL, name=name, index=first, values=values)


def _rollouts(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    rollouts = client.rollouts(0 if a.ended else scene_id)
    _list(out, map(_rollout, rollouts), "no rollouts yet")


def _rollout(info: RolloutInfo) -> str:
    begin = f", from axis {info.from_axis}" if info.from_axis >= 0 else ""
    # Without a name of its own it is called after its edit.
    edits = ", ".join(edit for edit in info.edits if edit != info.name)
    edits = f"; {edits}" if edits else ""
    numbers = "".join(f"; {name} {value:.6g}" for name, value in info.numbers)
    event = f" at step {info.event_step}" if info.event_step >= 0 else ""
    doubt = f"; {info.reproducible}" if info.reproducible else ""
    return (
        f"{info.rollout_id:>4}  {info.name}: {info.steps} steps to {info.time:.6g} s{begin}, "
        f"{info.outcome}{event}{edits}{numbers}{doubt}\n"
    )


def _derive(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    of = 0 if a.ended else scene_id
    client.derive_number(
        of, a.expression, reduction=a.reduction, name=a.name, rollout_ids=a.rollouts
    )
    out.write("it is being computed: `stroboscope ctl rollouts` lists it\n")


def _drop_rollout(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.drop_rollout(0 if a.ended else scene_id, a.rollout)
    out.write(f"rollout {a.rollout} dropped\n")


def _ghosts(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    references = [] if a.references == ["none"] else a.references
    client.show_ghosts(scene_id, [_reference(client, scene_id, text) for text in references])
    count = len(references)
    out.write("1 ghost is shown\n" if count == 1 else f"{count or 'no'} ghosts are shown\n")
    if count:
        out.write(
            "in the topic “ghosts”, to clients that ask for it; a window draws those that were "
            "chosen in it\n"
        )


def _reference(client: DebuggerClient, scene_id: int, text: str) -> GhostRef:
    kind, _, what = text.partition(":")
    sources = {
        "row": GhostSource.ROW,
        "checkpoint": GhostSource.CHECKPOINT,
        "rollout": GhostSource.ROLLOUT,
        "ended": GhostSource.ROLLOUT,
        "env": GhostSource.ENVIRONMENT,
    }
    if kind == "checkpoint":
        what = str(_checkpoint(client, scene_id, what))
    if kind not in sources or not what.isdecimal():
        raise CommandError(f"{text!r} is nothing to compare with or show: write {_REFERENCE}")
    scene = 0 if kind == "ended" else scene_id
    return GhostRef(source=sources[kind], number=int(what), scene_id=scene)


def _checkpoint(client: DebuggerClient, scene_id: int, what: str) -> int:
    """Return the id of the newest checkpoint that is called so, or has that id."""
    kept = client.checkpoints(scene_id)
    named = [each.checkpoint_id for each in kept if each.name == what]
    found = named or [each.checkpoint_id for each in kept if str(each.checkpoint_id) == what]
    if not found:
        names = ", ".join(repr(each.name) for each in kept[-5:])
        known = f"the newest are {names}" if names else "there are none"
        raise CommandError(f"there is no checkpoint {what!r}; {known}")
    return found[-1]


def _drop_checkpoint(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.drop_checkpoint(scene_id, _checkpoint(client, scene_id, a.checkpoint))
    out.write(f"checkpoint {a.checkpoint} dropped\n")


def _label_checkpoint(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    number = _checkpoint(client, scene_id, a.checkpoint)
    client.label_checkpoint(scene_id, number, name=a.name, note=a.note)
    _checkpoints(client, scene_id, a, out)


def _compare(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    first, second = (_reference(client, scene_id, text) for text in (a.first, a.second))
    compared = client.compare(scene_id, first, second, tolerance=a.tolerance)
    if compared.text:
        out.write(f"{compared.text}\n")
    for each in compared.differences:
        step = f"  step {each.at_step}" if each.at_step else ""
        out.write(f"  {each.name:<32} {each.first:>14.8g} {each.second:>14.8g} {each.unit}{step}\n")
    if compared.more:
        out.write(f"  +{compared.more} more\n")
    for name, first_step in (
        ("not the same to the last bit", compared.first_bit),
        ("beyond the tolerance", compared.first_beyond),
        ("with other contacts", compared.first_contacts),
    ):
        if first_step >= 0:
            out.write(f"first step {name}: {first_step}\n")


def _rows(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    wanted = [name for name in dict.fromkeys(a.channels) if name not in _OF_EVERY_ROW]
    rows = _read_rows(client, scene_id, a, wanted or ["time"])
    names = [
        name if rows[name].shape[1] == 1 else f"{name}[{column}]"
        for name in wanted
        for column in range(rows[name].shape[1])
    ]
    out.write(",".join(["axis", "time", *names]) + "\n")
    for index, (axis, time) in enumerate(zip(rows["axis"], rows["time"].ravel(), strict=True)):
        values = [float(value) for name in wanted for value in rows[name][index]]
        out.write(",".join([str(int(axis)), *map(repr, [float(time), *values])]) + "\n")


def _read_rows(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, channels: list[str]
) -> dict[str, NDArray[np.float64]]:
    """Return ``axis`` (n,), ``time`` (n,) [s] and each channel (n, width), as asked for in ``a``.

    What a script has logged in a recorded run can only be read alone: where they can't be read
    together, they are read one after another; nan where one has no value.
    """
    try:
        return client.read_rows(
            0 if a.ended else scene_id,
            channels,
            rollout_id=a.rollout,
            first=a.first,
            last=a.last,
            max_rows=a.max_rows,
        )
    except CommandError as error:
        if len(channels) > 1:
            return _joined({name: _read_rows(client, scene_id, a, [name]) for name in channels})
        if "there is no signal" not in str(error):
            raise
        raise CommandError(
            f"{error}. What a script logs is only read from a recording that was opened, by its "
            "name alone: rows 'ball height'"
        ) from error


def _joined(
    read: dict[str, dict[str, NDArray[np.float64]]],
) -> dict[str, NDArray[np.float64]]:
    """Return the rows of channels that were read one after another, in the order of the axis."""
    axis, first = np.unique(
        np.concatenate([rows["axis"] for rows in read.values()]), return_index=True
    )
    joined = {"axis": axis, "time": np.concatenate([r["time"] for r in read.values()])[first]}
    for name, rows in read.items():
        joined[name] = np.full((len(axis), rows[name].shape[1]), np.nan)
        joined[name][np.searchsorted(axis, rows["axis"])] = rows[name]
    return joined


# --- stops


def _stops(client: DebuggerClient, scene_id: int, _: argparse.Namespace, out: TextIO) -> None:
    told = client.stop_rules(scene_id)
    if told.count > len(told.stops):
        out.write(f"+{told.count - len(told.stops)} older ones\n")
    _list(out, map(_stop, told.stops), "nothing has stopped it")
    rules = [f"{rule.value} is off" for rule in told.off]
    rules += ["a stop pauses all scenes"] * told.stop_all + ["stops only mark"] * told.mark_only
    if rules:
        out.write(f"rules: {'; '.join(rules)}\n")


def _stop(stop: StopInfo) -> str:
    held = "" if stop.held else " (only marked)"
    more = "".join(f"\n      {text}" for text in (stop.culprit, stop.advice) if text)
    return (
        f"{stop.stop_id:>4}  episode {stop.episode}, step {stop.step}, {stop.time:.6g} s, "
        f"{stop.reason.value}{held}: {stop.message}{more}\n"
    )


def _stop_rules(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    off, stop_all, mark_only = a.off or [], a.stop_all, a.mark_only
    if _asks_for_rules(a):
        told = client.stop_rules(scene_id)
        off, stop_all, mark_only = [r.value for r in told.off], told.stop_all, told.mark_only
    else:
        client.set_stop_rules(scene_id, off=off, stop_all=stop_all, mark_only=mark_only)
    words = [f"rules that are off: {', '.join(off) or 'none'}"]
    words += ["a stop pauses all scenes"] * stop_all + ["stops only mark"] * mark_only
    out.write(f"{'; '.join(words)}\n")


def _asks_for_rules(a: argparse.Namespace) -> bool:
    return a.off is None and not a.stop_all and not a.mark_only


def _break_when(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    condition = client.break_when(
        scene_id,
        a.expression,
        name=a.name,
        hits=a.hits,
        once=a.once,
        log_only=a.log_only,
        envs_idx=a.envs_idx,
    )
    out.write(f"condition {condition}: {a.expression}\n")
    if not client.has_control or client.session_status.mode is PlaybackMode.PAUSED:
        _tell_note(client, out)
        return
    out.write(
        "nothing stops while nobody is attached, and this command leaves now: have a window, "
        "or another client, attached\n"
    )


def _tell_note(client: DebuggerClient, out: TextIO) -> None:
    """Write what the answer to the newest command has said besides."""
    if client.last_note:
        out.write(f"it {client.last_note}\n")


def _conditions(client: DebuggerClient, scene_id: int, _: argparse.Namespace, out: TextIO) -> None:
    _list(out, map(_condition, client.conditions(scene_id)), "no conditions yet")


def _condition(info: ConditionInfo) -> str:
    words = [f"true {info.hit_count}×"]
    words += ["off"] * (not info.enabled) + ["once"] * info.once + ["log only"] * info.log_only
    words += [f"from the {info.hits}. time on"] * (info.hits > 1)
    words += [info.where] * bool(info.where)
    words += [f"not watched: {info.failure}"] * bool(info.failure)
    name = f"{info.name}: " if info.name else ""
    return f"{info.condition_id:>4}  {name}{info.expression}  ({', '.join(words)})\n"


def _edit_condition(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    switches = {
        name: value == "on"
        for name in ("enabled", "once", "log_only")
        if (value := getattr(a, name)) is not None
    }
    client.edit_condition(
        a.condition, scene_id=scene_id, expression=a.expression, hits=a.hits, **switches
    )
    _tell_note(client, out)
    _conditions(client, scene_id, a, out)


def _remove_condition(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.remove_condition(a.condition, scene_id=scene_id)
    out.write(f"condition {a.condition} removed\n")


# --- environments


def _environments(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    told = client.environments(scene_id)
    if a.selected is not None:
        shown = a.shown
        if told is not None and not shown:
            # Who looks at a grid keeps it.
            shown = grid_with(a.selected, told.shown, looked_at=told.selected, count=told.count)
        client.select_environments(scene_id, a.selected, shown)
        told = client.environments(scene_id)
    if told is None:
        out.write("this scene has no environments: it is one world\n")
        return
    failed = ", ".join(map(str, told.failed)) or "none"
    more = told.failed_count - len(told.failed)
    out.write(
        f"{told.count} environments, {told.selected} selected, "
        f"{len(told.shown)} shown; failed: {failed}{f' (+{more} more)' if more else ''}\n"
    )


def _fork(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.fork(scene_id, a.source, a.targets)
    out.write(f"environment {a.source} copied to {len(a.targets)} others\n")


def _list(out: TextIO, lines: Iterable[str], empty: str) -> None:
    written = [out.write(line) for line in lines]
    if not written:
        out.write(f"{empty}\n")


TIME_COMMANDS: dict[str, Command] = {
    "hold-at-end": _hold_at_end,
    "step-back": _step_back,
    "step-forward": _step_forward,
    "goto": _goto,
    "live": _live,
    "history": _history,
    "continue": _continue,
    "branches": _branches,
    "checkpoints": _checkpoints,
    "drop-checkpoint": _drop_checkpoint,
    "label-checkpoint": _label_checkpoint,
    "resimulate": _resimulate,
    "rollouts": _rollouts,
    "derive": _derive,
    "drop-rollout": _drop_rollout,
    "ghosts": _ghosts,
    "compare": _compare,
    "rows": _rows,
    "stops": _stops,
    "stop-rules": _stop_rules,
    "break-when": _break_when,
    "conditions": _conditions,
    "edit-condition": _edit_condition,
    "remove-condition": _remove_condition,
    "environments": _environments,
    "fork": _fork,
}
"""What each word does with a client, a scene and its arguments."""
