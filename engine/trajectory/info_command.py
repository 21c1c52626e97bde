"""``stroboscope info FILE``: what is in a recorded run, or in a scene, without building it."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from stroboscope.engine.counted import counted
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.in_use import writer_of
from stroboscope.engine.files.kinds import FileKind, kind_of_file
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names, simulated_seconds
from stroboscope.engine.trajectory.alike import alike, family, names_together
from stroboscope.engine.trajectory.output import say, say_lines, short_name
from stroboscope.engine.trajectory.scene_told import scene_lines, scene_told

__all__ = ["info", "info_arguments", "recorded_by"]

# Events that are told of one by one.
_TOLD_EVENTS = 12


def info_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--events", action="store_true", help="all events, not only the first")


def info(options: argparse.Namespace) -> int:
    """Say what is in a recorded run, or in a scene; return the exit code."""
    match kind := kind_of_file(options.file):
        case FileKind.SCENE:
            scene = scene_told(Path(options.file))
            if options.json:
                say_lines(json.dumps(scene, indent=2, ensure_ascii=False))
                return 0
            for line in scene_lines(scene):
                if line.startswith("\n"):
                    say("")
                say(line.removeprefix("\n"))
            return 0
        case FileKind.MJCF | FileKind.URDF | FileKind.MJZ | FileKind.MJB:
            raise FileFormatError(
                options.file,
                f"is a model ({kind.value.upper()}), no recorded run and no scene",
                f"look at it with stroboscope open {options.file}",
            )
        case _:
            return _info_of_run(options)


def _info_of_run(options: argparse.Namespace) -> int:
    with TrajectoryReader(options.file) as reader:
        writer = recorded_by(reader)
        told = _told(reader, writer)
        # Flight recorders write them in another order.
        events = [
            event for index in reader.scenes for event in sorted(reader.events(index), key=_place)
        ]
        if options.json:
            told["events"] = [_event_fields(event) for event in events]
            say_lines(json.dumps(told, indent=2, ensure_ascii=False))
            return 0
        manifest = reader.manifest
        made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(manifest.created))
        say(f"{reader.path}  {_size(reader.nbytes)}, recorded {made}")
        say(
            f"Stroboscope {manifest.stroboscope}, {manifest.engine} {manifest.engine_version}, "
            f"{manifest.platform}"
        )
        say(_state(reader, events, writer))
        for group in alike(told["scenes"], _kind):
            scene, each = group[0], " each" if len(group) > 1 else ""
            name = names_together([short_name(one["name"]) for one in group])
            nbytes = sum(one["bytes_per_frame"] for one in group) / len(group)
            say("")
            say(
                f"{name}: {counted(scene['frames'], 'frame')}{each}, {scene['simulated']:g} s "
                f"simulated in steps of {scene['timestep']:g} s, {scene['mode']}, "
                f"{nbytes:,.0f} bytes per frame"
            )
            if scene["frames"]:
                say(
                    f"  from t {scene['first_time']:g} s (step {scene['first_step']:,}) to "
                    f"t {scene['last_time']:g} s (step {scene['last_step']:,})"
                )
            if scene["signals"]:
                say(f"  signals: {', '.join(map(short_name, scene['signals']))}")
            if not scene["carries_model"]:
                say("  without its scene: make the scene, then scene.load_checkpoint(path)")
        names = {number: short_name(name) for number, name in scene_names(reader).items()}
        _tell_events(events, names, everything=options.events)
        damages = _damages(reader, writer)
        for damage in damages:
            say(f"DAMAGE {damage.told(names)}")
        if damages or not (reader.complete or writer):
            say(f"What is whole can be read as it is; stroboscope repair {options.file}")
    return 0


def _place(event: FileEvent) -> tuple[int, int]:
    """Return where on the axis an event stands: a reset is behind what came before it."""
    return event.axis, event.episode


def recorded_by(reader: TrajectoryReader) -> str:
    """Return who is recording into a file, "process 123"; empty when nobody is known to."""
    return "" if reader.complete else writer_of(reader.path)


def _damages(reader: TrajectoryReader, writer: str) -> list[Damage]:
    """Return what is damaged: a missing end is no damage while there is a writer."""
    return [each for each in reader.damage if not (writer and each.is_cut_off)]


def _state(reader: TrajectoryReader, events: list[FileEvent], writer: str) -> str:
    """Return whether a file is closed, and whether it has all that there was."""
    if writer:
        return f"still being recorded, by {writer}: this is what there is so far"
    if not reader.complete:
        return "CUT OFF: its writer did not close it"
    gaps, note = sum(event.kind == "gap" for event in events), reader.manifest.note
    closed = f"closed, with {counted(gaps, 'gap')} where something is lost" if gaps else "complete"
    return f"{closed} ({note})" if note else closed


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.1f} MB" if nbytes >= 1e5 else f"{nbytes / 1e3:,.1f} kB"


def _kind(scene: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of a scene but for its number and size."""
    own = {"name": family(scene["name"]), "bytes_per_frame": 0.0}
    return scene | own


def _told(reader: TrajectoryReader, writer: str) -> dict[str, Any]:
    scenes, names = [], scene_names(reader)
    for number in reader.scenes:
        record, index = reader.scene(number), reader.index(number)
        frames = index.total
        scenes.append(
            {
                "name": names[number],
                "frames": frames,
                **_reach(reader, number),
                "simulated": simulated_seconds(reader, number),
                "timestep": record.timestep,
                "mode": str(record.mode),
                "every": record.every,
                "bytes_per_frame": float(index.nbytes.sum()) / max(frames, 1),
                "signals": list(reader.signals(number)),
                "model_digest": record.model_digest,
                "carries_model": bool(record.model),
                "exactness": record.exactness or "exact",
            }
        )
    manifest = reader.manifest
    return {
        "file": str(reader.path),
        "bytes": reader.nbytes,
        "complete": reader.complete,
        "recorded_by": writer,
        "damage": [str(each) for each in _damages(reader, writer)],
        "format": manifest.format,
        "stroboscope": manifest.stroboscope,
        "engine": f"{manifest.engine} {manifest.engine_version}",
        "platform": manifest.platform,
        "created": manifest.created,
        "note": manifest.note,
        "scenes": scenes,
    }


def _reach(reader: TrajectoryReader, scene: int) -> dict[str, Any]:
    """Return where the frames of a scene begin and end: physics steps ever taken, and times [s].

    A part that was cut out of a run, or recorded from its middle on, does not begin with step 0.
    """
    index = reader.index(scene)
    if not len(index):
        return {}
    return {
        "first_step": int(index.first_axis[0]),
        "last_step": int(index.last_axis[-1]),
        "first_time": float(index.first_time[0]),
        "last_time": float(index.last_time[-1]),
    }


def _event_fields(event: FileEvent) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "scene": event.scene,
        "axis": event.axis,
        "episode": event.episode,
        "physics_step": event.physics_step,
        "time": event.time,
        "text": event.text,
        "data": event.data,
    }


def _tell_events(events: list[FileEvent], names: dict[int, str], *, everything: bool) -> None:
    if not events:
        return
    say("")
    groups = [[event] for event in events] if everything else _together(events, names)
    shown = groups if everything else _most_telling(groups)
    are_several = len({event.scene for event in events}) > 1
    for group in shown:
        event = group[0]
        whose = names_together([names.get(one.scene, "") for one in group])
        text = ": ".join(
            filter(None, (whose if are_several else "", _place_in(event), _words(event)))
        )
        say(f"  step {event.axis:>9,}  {event.time:>10.4f} s  {event.kind:<10} {text}")
        if culprit := event.data.get("culprit"):
            say(f"{'':<40}culprit: {culprit}")
    left = len(events) - sum(map(len, shown))
    if left or len(shown) < len(events):
        say(f"  +{left:,} more: --events" if left else "  each by itself: --events")


def _place_in(event: FileEvent) -> str:
    """Return the episode and the step within it, where that is not the number of all steps."""
    if not event.episode and event.physics_step in (0, event.axis):
        return ""
    return f"episode {event.episode:,}, step {event.physics_step:,}"


def _words(event: FileEvent) -> str:
    # Flight recorders and what was remembered have none: they don't begin where a script says.
    return event.text or ("what was kept begins here" if event.kind == "begin" else "")


def _together(events: list[FileEvent], names: dict[int, str]) -> list[list[FileEvent]]:
    """Return events in groups: the same, at the same step, of neighbouring environments."""
    places = {scene: place for place, scene in enumerate(names)}
    groups: list[list[FileEvent]] = []
    newest: dict[object, list[FileEvent]] = {}
    for event in events:
        # As text, for NaN is not itself.
        time, culprit = repr(event.time), str(event.data.get("culprit", ""))
        name = family(names.get(event.scene, ""))
        key = (name, event.kind, event.axis, time, event.text, culprit)
        group = newest.get(key)
        place = places.get(event.scene, -1)
        if group is None or places.get(group[-1].scene, -1) != place - 1:
            group = newest[key] = []
            groups.append(group)
        group.append(event)
    return groups


def _most_telling(groups: list[list[FileEvent]]) -> list[list[FileEvent]]:
    """Return few of many events, in their order: of a thousand environments one may stop."""
    ranks = {"stop": 0, "gap": 0, "begin": 2}
    places = sorted(range(len(groups)), key=lambda place: ranks.get(groups[place][0].kind, 1))
    return [groups[place] for place in sorted(places[:_TOLD_EVENTS])]
