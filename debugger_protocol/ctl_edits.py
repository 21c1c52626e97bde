"""The words of ``stroboscope ctl`` that change a scene: options, controls, keyframes, undo."""

import argparse
import math
import time
from collections.abc import Sequence
from typing import Final, TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_items, write_json
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.edit_messages import Finding, SceneEdited
from stroboscope.debugger_protocol.edit_words import control_index
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.plain_text import plain_line
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.debugger_protocol.undone_text import undone_text

__all__ = ["COMMANDS", "add_arguments", "only_looks", "tell_last_edit"]

# How long a listing waits for the values of a scene that steps slowly.
_FRAME_TIMEOUT_S: Final = 5.0


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    option = add(
        "option",
        "set a physics option: timestep 0.001, integrator rk4, disable.contact on; without values: "
        "list them",
    )
    option.add_argument("name", nargs="?", help="timestep, gravity, solver, …")
    option.add_argument("values", nargs="*", help="numbers, a choice's name, or on and off")
    override = add(
        "override",
        "use a value for one control whatever the script writes; without a value: list them",
    )
    override.add_argument("control", nargs="?", help="actuator or index")
    override.add_argument("value", nargs="?", help="a number, or off: give it back to the script")
    keyframe = add("keyframe", "reset a scene to a keyframe of its model")
    keyframe.add_argument("keyframe", help="name or index")
    undo = add("undo", "undo the last edit, or another one")
    undo.add_argument("edit", nargs="?", type=int, help="its number in `ctl edits`")
    edits = add("edits", "list the edits of a scene")
    lint = add("lint", "look for common mistakes in a scene's model and state")
    add_json(option, override, edits, lint)


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    match name:
        case "option":
            return not arguments.values
        case "override":
            return arguments.value is None
    return name == "edits"


def _option(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    options = {option.name: option for option in client.description(scene_id).options}
    info = options.get(arguments.name)
    if info is None and arguments.name is not None:
        near = suggestion(arguments.name, options) or f"; there are {', '.join(options)}"
        raise CommandError(f"there is no option {arguments.name!r}{near}")
    if info is None or not arguments.values:
        _list_options(
            client, scene_id, tuple(options.values()), only=info, json=arguments.json, out=out
        )
        return
    # Lists as resimulate takes them, too: 0,0,-3.
    values = [word for text in arguments.values for word in text.replace(",", " ").split()]
    client.edit_option(scene_id, info.name, *values)
    tell_last_edit(client, scene_id, out, json=arguments.json)


def _list_options(
    client: DebuggerClient,
    scene_id: int,
    options: Sequence[OptionInfo],
    *,
    only: OptionInfo | None,
    json: bool,
    out: TextIO,
) -> None:
    values = _values_now(client, scene_id, Topic.OPTIONS, "values")
    at, told = 0, []
    for info in options:
        own, at = values[at : at + info.width], at + info.width
        if only in (None, info):
            told.append({"name": info.name, "values": own, "unit": info.unit, "kind": info.kind})
            told[-1]["written"] = _option_word(info, own)
        if only in (None, info) and not json:
            unit = f" {info.unit}" if info.unit else ""
            out.write(f"{info.name:<24} {_option_word(info, own)}{unit}\n")
    if json:
        write_json(out, told)
    elif not options:
        out.write("this scene has no options\n")


def _option_word(info: OptionInfo, values: Sequence[float]) -> str:
    """Return values as they are written to set them."""
    if info.kind is OptionKind.FLAG:
        return "on" if any(values) else "off"
    if info.kind is OptionKind.CHOICE and values and 0 <= int(values[0]) < len(info.choices):
        return info.choices[int(values[0])].lower()
    return " ".join(f"{value:.6g}" for value in values)


def _values_now(client: DebuggerClient, scene_id: int, topic: Topic, name: str) -> list[float]:
    """Return an array of a scene as it stands, or as it has last told it."""
    client.subscribe(scene_id, [topic])
    deadline = time.monotonic() + _FRAME_TIMEOUT_S
    while (left := deadline - time.monotonic()) > 0.0:
        frame = client.next_frame(left)
        if frame is not None and frame.topic is topic and name in frame.arrays:
            return [float(value) for value in frame.arrays[name]]
    raise CommandError(
        f"the scene has told no values within {_FRAME_TIMEOUT_S:g} s: it tells them where it is "
        "paused or steps while a debugger is attached; open the window, or `stroboscope ctl pause`"
    )


def _override(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    if arguments.control is None:
        _list_controls(client, scene_id, None, json=arguments.json, out=out)
        return
    index = control_index(client.description(scene_id), arguments.control)
    if arguments.value is None:
        _list_controls(client, scene_id, index, json=arguments.json, out=out)
        return
    client.override_control(scene_id, index, _override_value(arguments.value))
    tell_last_edit(client, scene_id, out, json=arguments.json)


def _override_value(text: str) -> float | None:
    if text.lower() == "off":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CommandError(f"{text!r} is not a number, nor off")
    return value


def _list_controls(
    client: DebuggerClient, scene_id: int, only: int | None, *, json: bool, out: TextIO
) -> None:
    """Write the controls as they stand, one or all, and which of them are overridden."""
    names: dict[int, tuple[str, str]] = {}
    for index, actuator in enumerate(client.description(scene_id).actuators):
        first = actuator.ctrl if actuator.ctrl >= 0 else index
        for offset in range(actuator.nctrl):
            name = actuator.name if actuator.nctrl == 1 else f"{actuator.name}[{offset}]"
            names[first + offset] = (name, actuator.ctrl_unit)
    if only is not None and only not in names:
        raise CommandError(f"there is no control {only}; there are {len(names)}")
    if not names and not json:
        out.write("this scene has no controls\n")
        return
    values = _values_now(client, scene_id, Topic.STATE, "ctrl") if names else []
    overrides = dict(client.interventions(scene_id).overrides)
    if json:
        told = [
            {
                "index": index,
                "name": name,
                "value": overrides.get(index, values[index]),
                "unit": unit,
                "overridden": index in overrides,
            }
            for index, (name, unit) in sorted(names.items())
            if only in (None, index)
        ]
        write_json(out, told)
        return
    for index, (name, unit) in sorted(names.items()):
        if only in (None, index):
            word = f"{overrides.get(index, values[index]):.6g}{f' {unit}' if unit else ''}"
            own = "overridden" if index in overrides else "by the script"
            out.write(f"{index:>4}  {name:<24} {word}  ({own})\n")


def _keyframe(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    names = [keyframe.name for keyframe in client.description(scene_id).keyframes]
    chosen = arguments.keyframe
    is_index = chosen.isdecimal() and chosen not in names
    client.load_keyframe(scene_id, int(chosen) if is_index else chosen)
    tell_last_edit(client, scene_id, out)


def _undo(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    edit_id = arguments.edit
    if edit_id is None:
        open_edits = [edit for edit in client.edits(scene_id) if not edit.reverted]
        if not open_edits:
            raise CommandError("there is no edit to undo")
        edit_id = open_edits[-1].edit_id
    client.revert_edit(scene_id, edit_id)
    texts = {edit.edit_id: edit.text for edit in client.edits(scene_id)}
    text = texts.get(edit_id)
    out.write(f"{undone_text(text) if text is not None else f'undone: {edit_id}'}\n")


def _edits(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.edits(scene_id), _edit_line, empty="no edits yet")


def _edit_line(edit: SceneEdited) -> str:
    undone = "  (undone)" if edit.reverted else ""
    return f"{edit.edit_id:>4}  {edit.time:10.3f} s  {plain_line(edit.text)}{undone}\n"


def _lint(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.lint(scene_id), _finding_lines, empty="nothing found")


def _finding_lines(finding: Finding) -> str:
    advice = f"      {finding.advice}\n" if finding.advice else ""
    return f"{finding.level.value}: {finding.text}\n{advice}"


def tell_last_edit(
    client: DebuggerClient, scene_id: int, out: TextIO, *, json: bool = False
) -> None:
    """Write what the newest edit of a scene has done."""
    edits = client.edits(scene_id)
    if json:
        write_json(out, edits[-1] if edits else None)
    elif edits:
        out.write(f"{edits[-1].text}\n")


COMMANDS: dict[str, Command] = {
    "option": _option,
    "override": _override,
    "keyframe": _keyframe,
    "undo": _undo,
    "edits": _edits,
    "lint": _lint,
}
"""What each word does with a client, a scene and its arguments."""
