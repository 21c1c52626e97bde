"""The words of ``stroboscope ctl`` that look back: views, the history, branches."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.ctl_json import add_json, write_item, write_items, write_json
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.plain_text import plain_line, short_name
from stroboscope.debugger_protocol.step_words import (
    has_episodes,
    physics_step_at,
    segment_at,
    step_words,
    words_in_episode,
)
from stroboscope.debugger_protocol.time_messages import SceneHistory, Segment

__all__ = ["COMMANDS", "add_arguments", "only_looks"]

_MOST_MIB = 1 << 40


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    for name, text in (
        ("step-back", "look one step back, or several; the scene is paused, and stays where it is"),
        ("step-forward", "look one step forward, or several, to the live state at most"),
    ):
        parser = add(name, text)
        parser.add_argument("-n", "--count", type=int, default=1, help="how many (default 1)")
        parser.add_argument("--physics", action="store_true", help="physics steps, not steps")
        add_json(parser)
    goto = add("goto", "look at a step, a time or an episode of the past")
    where = goto.add_mutually_exclusive_group()
    where.add_argument("bare_step", nargs="?", type=_bare_step, metavar="STEP", help="as --step")
    where.add_argument(
        "--step", type=int, help="physics step of the episode, or else of the one in view"
    )
    where.add_argument("--time", type=float, help="simulation time [s]")
    where.add_argument("--axis", type=int, help="physics steps ever taken, over all episodes")
    goto.add_argument("--episode", type=int, help="alone: its beginning")
    live = add("live", "look at where the scene stands; ends what is being re-simulated")
    end = add("hold-at-end", "when the script is over, hold its last scene until play, or not")
    end.add_argument("hold", nargs="?", choices=("on", "off"), default="on")
    history = add("history", "tell what is remembered, or keep it or not")
    history.add_argument("keep", nargs="?", choices=("on", "off"))
    history.add_argument("--max-mib", type=float, help="in at most so many MiB")
    parser = add("continue", "move the scene to the step that is looked at: a branch begins")
    parser.add_argument(
        "--recorded-inputs",
        action="store_true",
        help="simulate the recorded inputs again; the script goes on after that",
    )
    branches = add("branches", "list where a scene has continued from its past")
    add_json(goto, live, history, parser, branches)


def _bare_step(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a step: write a whole number, or --time 0.3, --episode 2"
        ) from None


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "branches" or (name == "history" and arguments.keep is None)


def _hold_at_end(client: DebuggerClient, _: int, a: argparse.Namespace, out: TextIO) -> None:
    client.hold_at_end(a.hold == "on")
    out.write(f"holding at the end of the script: {a.hold}\n")


def _step_back(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.step_back(scene_id, a.count, physics=a.physics)
    _tell_view(client, scene_id, a, out)


def _step_forward(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.step_forward(scene_id, a.count, physics=a.physics)
    _tell_view(client, scene_id, a, out)


def _goto(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    step = a.bare_step if a.step is None else a.step
    history = client.history(scene_id)
    episode = a.episode
    if step is not None and episode is None and history is not None:
        # As everything that is listed counts: within the episode.
        episode = _episode_in_view(history)
    if history is not None:  # else the engine remembers nothing, and says so
        scene = next(scene for scene in client.scenes() if scene.scene_id == scene_id)
        _refuse_the_future(scene, history, a, step=step, episode=episode)
    client.goto(scene_id, step=step, time=a.time, axis=a.axis, episode=episode)
    _tell_view(client, scene_id, a, out)


def _episode_in_view(history: SceneHistory) -> int | None:
    segments = history.segments
    newest = segments[-1] if segments else None
    segment = newest if history.view is None else segment_at(segments, history.view)
    return None if segment is None else segment.episode


def _refuse_the_future(
    scene: SceneInfo,
    history: SceneHistory,
    a: argparse.Namespace,
    *,
    step: int | None,
    episode: int | None,
) -> None:
    """Refuse what was not simulated yet: ``Goto`` would show the live state instead."""
    segments = history.segments
    newest = segments[-1].episode if segments else episode
    where = f" of episode {newest}" if has_episodes(segments) else ""
    ahead = stands = ""
    if a.axis is not None and a.axis > scene.axis:
        ahead, stands = f"axis {a.axis}", f"axis {scene.axis}"
    elif step is not None and episode == newest:
        # What a branch has left behind may have come further.
        ends = [*(each.begin for each in segments[1:]), scene.axis][: len(segments)]
        reached = max(
            (
                each.physics_step + end - each.begin
                for each, end in zip(segments, ends, strict=True)
                if each.episode == newest
            ),
            default=scene.physics_step_count,
        )
        if step > reached:
            ahead, stands = f"physics step {step}", f"physics step {reached}{where}"
    elif a.time is not None and a.time > scene.time:
        ahead, stands = f"{a.time:.6g} s", f"{scene.time:.6g} s{where}"
        wanted = _episode_in_view(history) if episode is None else episode
        if wanted != newest or ahead == f"{scene.time:.6g} s":
            return
    if ahead:
        raise CommandError(
            f"{ahead} lies ahead: {short_name(scene.name)!r} has been simulated to {stands}; go to "
            "an earlier place, or play or step on until there"
        )


def _live(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.go_live(scene_id)
    _tell_view(client, scene_id, a, out)


def _tell_view(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    scene = next(scene for scene in client.scenes() if scene.scene_id == scene_id)
    history = client.history(scene_id)
    if a.json:
        write_json(out, _view(scene, history))
        return
    notes = (history.view_note, history.invalid) if history is not None else ()
    note = "".join(f" ({plain_line(each)})" for each in notes if each)
    if history is None or history.view is None:
        where = _place(history, scene.step_count, physics=scene.physics_step_count)
        out.write(f"{short_name(scene.name)}: live, {where}, {scene.time:.6g} s{note}\n")
        return
    physics = physics_step_at(history.segments, history.view)
    where = _place(history, history.view_step, physics=physics)
    out.write(
        f"{short_name(scene.name)}: looking at {where}, {history.view_time:.6g} s, "
        f"{history.view_back} before live; row {history.view}{note}\n"
    )


def _view(scene: SceneInfo, history: SceneHistory | None) -> dict[str, object]:
    """Return what is looked at, for programs."""
    is_live = history is None or history.view is None
    if is_live or history is None or history.view is None:
        steps = (scene.step_count, scene.physics_step_count, scene.time, scene.axis, 0)
    else:
        physics = physics_step_at(history.segments, history.view)
        steps = (
            history.view_step, physics, history.view_time, history.view, history.view_back
        )  # fmt: skip
    names = ("step_count", "physics_step_count", "time", "axis", "steps_before_live")
    return {
        "scene_id": scene.scene_id,
        "name": scene.name,
        "is_live": is_live,
        "episode": None if history is None else _episode_in_view(history),
        **dict(zip(names, steps, strict=True)),
        "note": "" if history is None else history.view_note,
        "invalid": "" if history is None else history.invalid,
    }


def _place(history: SceneHistory | None, step: int, *, physics: int) -> str:
    """Return "episode 3, step 20 (physics step 80)", as far as there are several of both."""
    several = history is not None and has_episodes(history.segments)
    episode = _episode_in_view(history) if several and history is not None else None
    return words_in_episode(step, physics=physics, episode=episode)


def _history(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    if a.keep is not None:
        if a.max_mib is not None and not 0.0 < a.max_mib < _MOST_MIB:
            raise CommandError(
                f"--max-mib is a size above 0 and below {_MOST_MIB}, not {a.max_mib}"
            )
        limit = None if a.max_mib is None else round(a.max_mib * (1 << 20))
        client.set_history(scene_id, keep=a.keep == "on", max_bytes=limit)
    history = client.history(scene_id)
    if a.json:
        write_json(out, history)
        return
    if history is None:
        out.write("nothing is remembered: the engine of this scene keeps no history\n")
        return
    kept = "new ones are kept" if history.keeps else "new ones are not kept"
    thinned = (
        "all of them"
        if history.dense <= history.first
        else f"all from {history.dense} on, some of those before"
    )
    out.write(
        f"{history.rows} rows from {history.first} on, {thinned}; "
        f"{history.used_bytes / (1 << 20):.1f} of {history.max_bytes / (1 << 20):.1f} MiB, {kept}\n"
    )
    if history.older_segments:
        out.write(f"+{history.older_segments} older segments\n")
    for segment in history.segments:
        out.write(_segment(segment))


def _segment(segment: Segment) -> str:
    parent = f", from axis {segment.parent_axis}" if segment.parent_axis >= 0 else ""
    text = f"  {plain_line(segment.text)}" if segment.text else ""
    return (
        f"{segment.segment_id:>4}  {step_words(segment.physics_step, segment.begin):<24}  "
        f"{segment.time:10.3f} s  "
        f"episode {segment.episode}, {segment.kind.value}{parent}{text}\n"
    )


def _continue(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    branch = client.continue_from_here(scene_id, with_script=not a.recorded_inputs)
    write_item(a, out, branch, lambda each: f"branch {_segment(each).strip()}\n")


def _branches(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.branches(scene_id), _segment, empty="no branches yet")


COMMANDS: dict[str, Command] = {
    "hold-at-end": _hold_at_end,
    "step-back": _step_back,
    "step-forward": _step_forward,
    "goto": _goto,
    "live": _live,
    "history": _history,
    "continue": _continue,
    "branches": _branches,
}
"""What each word does with a client, a scene and its arguments."""
