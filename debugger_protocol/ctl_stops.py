"""The words of ``stroboscope ctl`` about what stops a scene: stops, their rules, conditions."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_items, write_json
from stroboscope.debugger_protocol.ctl_words import Add, Command, write_list
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.plain_text import plain_line
from stroboscope.debugger_protocol.step_words import words_in_episode
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopInfo, StopReason
from stroboscope.debugger_protocol.trials import trial_text

__all__ = ["COMMANDS", "add_arguments", "only_looks"]


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    stops = add("stops", "list what has stopped a scene, and its rules")
    offer = add(
        "try",
        "simulate what led to the last stop once more, beside the scene, with what the stop "
        "offers; without a number: list that",
    )
    offer.add_argument("offer", nargs="?", metavar="NUMBER|all", type=_offer)
    offer.add_argument("--stop", type=int, help="another stop: its number in stops")
    offer.add_argument(
        "--steps",
        type=int,
        default=0,
        help="physics steps, beyond what was recorded with the last inputs; 0: as far as was "
        "recorded, and at least half a second behind the stop",
    )
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
    conditions = add("conditions", "list the conditions that stop a scene")
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
    add_json(stops, offer, conditions)
    remove = add("remove-condition", "forget a condition")
    remove.add_argument("condition", type=int, help="its number: see conditions")


def _offer(text: str) -> int:
    """Return the number of an offer, 0 for all of them."""
    number = int(text) if text.isdecimal() else 0
    if number < 1 and text != "all":
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of what a stop offers (1, 2, …), nor all"
        )
    return number


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    if name == "try":
        return arguments.offer is None
    return name in ("conditions", "stops") or (name == "stop-rules" and _asks_for_rules(arguments))


def _stops(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    told = client.stop_rules(scene_id)
    if a.json:
        write_json(out, told)
        return
    if told.count > len(told.stops):
        out.write(f"+{told.count - len(told.stops)} older ones\n")
    newest = told.stops[-1].stop_id if told.stops else 0
    lines = (_stop(stop, is_newest=stop.stop_id == newest) for stop in told.stops)
    write_list(out, lines, "nothing has stopped it")
    rules = [f"{rule.value} is off" for rule in told.off]
    rules += ["a stop pauses all scenes"] * told.stop_all + ["stops only mark"] * told.mark_only
    if rules:
        out.write(f"rules: {'; '.join(rules)}\n")


def _stop(stop: StopInfo, *, is_newest: bool = True) -> str:
    held = "" if stop.held else " (only marked)"
    which = "" if is_newest else f" --stop {stop.stop_id}"
    offers = (f"ctl try {at}{which}: {label}" for at, (label, _) in enumerate(stop.what_if, 1))
    texts = (stop.culprit, stop.advice, *offers)
    more = "".join(f"\n      {plain_line(text)}" for text in texts if text)
    place = words_in_episode(stop.step, physics=stop.physics_step, episode=stop.episode)
    return (
        f"{stop.stop_id:>4}  {place}, {stop.time:.6g} s, "
        f"{stop.signal or stop.reason.value}{held}: {plain_line(stop.message)}{more}\n"
    )


def _try(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    stop = client.stop_with_offers(scene_id, a.stop)
    if a.offer is None and a.json:
        write_json(out, stop)
        return
    if a.offer is None:
        newest = client.stops(scene_id)[-1]
        out.write(_stop(stop, is_newest=stop == newest))
        return
    made = []
    for number in range(1, len(stop.what_if) + 1) if a.offer == 0 else (a.offer,):
        tried = client.try_offer(scene_id, number, stop_id=stop.stop_id, steps=a.steps)
        made.append(tried)
        if a.json:
            continue
        edits = ", ".join(tried.edits)
        out.write(
            f"{tried.name}: {trial_text(tried, stop)}, to {tried.time:.6g} s\n"
            f"      rollout {tried.rollout_id}, from axis {tried.from_axis}; {edits}\n"
        )
    if a.json:
        write_json(out, made)


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
    _tell_what_comes_of_it(client, out)


def _tell_what_comes_of_it(client: DebuggerClient, out: TextIO) -> None:
    """Write what the answer has said of a condition, where somebody is there to see it."""
    if client.has_control and client.session_status.mode is not PlaybackMode.PAUSED:
        out.write(
            "nothing stops while nobody is attached, unless the script asks for it, and this "
            "command leaves now: have a window, or another client, attached\n"
        )
    elif client.last_note:
        out.write(f"it {client.last_note}\n")


def _conditions(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.conditions(scene_id), _condition, empty="no conditions yet")


def _condition(info: ConditionInfo) -> str:
    words = [f"true {info.hit_count}x"]
    words += ["off"] * (not info.enabled) + ["once"] * info.once + ["log only"] * info.log_only
    words += [f"from the {info.hits}. time on"] * (info.hits > 1)
    words += [info.where] * bool(info.where)
    words += [f"not watched: {info.failure}"] * bool(info.failure)
    name = f"{info.name}: " if info.name else ""
    line = plain_line(f"{info.condition_id:>4}  {name}{info.expression}  ({', '.join(words)})")
    return f"{line}\n"


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
    _tell_what_comes_of_it(client, out)
    write_list(out, map(_condition, client.conditions(scene_id)), "no conditions yet")


def _remove_condition(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.remove_condition(a.condition, scene_id=scene_id)
    out.write(f"condition {a.condition} removed\n")


COMMANDS: dict[str, Command] = {
    "stops": _stops,
    "try": _try,
    "stop-rules": _stop_rules,
    "break-when": _break_when,
    "conditions": _conditions,
    "edit-condition": _edit_condition,
    "remove-condition": _remove_condition,
}
"""What each word does with a client, a scene and its arguments."""
