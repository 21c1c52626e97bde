"""Which scene of a recorded run is meant: by name, number and environment, or the one that stopped.

A file holds several scenes, and of a scene of many the environments, each a scene of its own.
"""

import argparse
from collections.abc import Iterable

from stroboscope.engine.arguments import shown
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import group_of, scene_groups, scene_names
from stroboscope.engine.recording.recorded_stops import ends_script
from stroboscope.engine.trajectory.lookup import known_names
from stroboscope.engine.trajectory.output import short_name

__all__ = [
    "ALL",
    "TO_SHOW",
    "Choice",
    "add_choice",
    "choice_of",
    "one_to_show",
    "scene_named",
    "scenes_meant",
    "to_show",
    "told_alike",
    "told_choice",
]

# Scenes that an error lists: a file of environments has thousands.
_NAMED_SCENES = 10

TO_SHOW = "the one that stopped, else the first"
"""Which scene commands take that need one, in the words of their help."""

Choice = tuple[str | int | None, int | None]
"""The name or the number of a scene, and the number of an environment; None: not said."""

ALL: Choice = (None, None)
"""No choice."""


def add_choice(parser: argparse.ArgumentParser, *, default: str) -> None:
    """Let a command line say which scene of a file is meant; ``default``: what is, unless said."""
    parser.add_argument(
        "--scene",
        metavar="NAME|NUMBER",
        default=None,
        help=f"one of several, as in --scene 'Arms[3]' (default: {default})",
    )
    parser.add_argument(
        "--env", metavar="N", type=int, default=None, help="one of many environments, by number"
    )


def choice_of(options: argparse.Namespace) -> Choice:
    """Return what a command line with :func:`add_choice` says."""
    return options.scene, options.env


def scene_named(reader: TrajectoryReader, scene: str | int | None, env: int | None = None) -> int:
    """Return which scene of a file has a name, or a number; None: the first that has frames.

    ``env``: the number of one of its environments, or of the only ones that the file has. Raises
    FileError, which says what there is; TypeError for what is neither name nor number.
    """
    if not reader.scenes:
        raise FileError(reader.path, "holds no scene", "record it again")
    if env is not None:
        return _environment(reader, scene, env)
    if scene is None:
        return next((each for each in reader.scenes if reader.frame_count(each)), reader.scenes[0])
    if isinstance(scene, bool) or not isinstance(scene, str | int):
        raise TypeError(f"scene must be the name or the number of one, not {shown(scene)}")
    names = scene_names(reader)
    found = _meant(reader, scene)
    if len(found) == 1:
        return found[0]
    if found:
        what = f"has {len(found):,} environments of the scene {shown(scene)}"
        first, last = names[found[0]], names[found[-1]]
        raise FileError(reader.path, what, f"name one of them, {first!r} to {last!r}")
    asked = repr(short_name(scene) if isinstance(scene, str) else scene)
    raise FileError(reader.path, f"has no scene {asked}", f"it has {_known(names)}")


def scenes_meant(reader: TrajectoryReader, choice: Choice) -> list[int]:
    """Return all scenes that a choice fits: of the name of many environments all of them.

    Raises FileError, which says what there is.
    """
    scene, env = choice
    scene = _typed(reader, scene)
    if env is None and scene is not None and (found := _meant(reader, scene)):
        return found
    return list(reader.scenes) if choice == ALL else [scene_named(reader, scene, env)]


def to_show(reader: TrajectoryReader) -> dict[str, int]:
    """Return by the name of each scene which environment of it to look at, or the scene itself.

    Of many environments the one that stopped last, or the first: what ends the script ends
    them all. Those of which the file holds no frame are left out.
    """
    found = {}
    for group in scene_groups(reader):
        there = [index for index in group.scenes if reader.frame_count(index)]
        if there:
            stops = {index: _newest_stop(reader, index)[1] for index in there}
            found[group.name] = max(there, key=lambda index: stops[index])  # of several the first
    return found


def one_to_show(reader: TrajectoryReader, choice: Choice = ALL) -> int:
    """Return which scene to look at first: the chosen one, else the one that stopped last.

    Of a choice that fits many environments, the one of them that stopped last, or the first; where
    nothing stopped, the first that has frames. A number may be text, as on a command line. Raises
    FileError, which says what there is.
    """
    scene, env = choice
    scene = _typed(reader, scene)
    shown_of = to_show(reader)
    if env is None and isinstance(scene, str) and len(_meant(reader, scene)) > 1:
        return shown_of.get(scene, _meant(reader, scene)[0])
    if scene is not None or env is not None or not shown_of:
        return scene_named(reader, scene, env)
    stops = {index: _newest_stop(reader, index) for index in shown_of.values()}
    return max(stops, key=lambda index: stops[index])  # of several the first


def told_choice(reader: TrajectoryReader, index: int, choice: Choice) -> str:
    """Return which of several was taken though nobody had named it; empty where somebody had.

    A name that several scenes have names none of them: which they are is said then, too.
    """
    told = [alike] if (alike := told_alike(reader, choice)) else []
    names = {each: name for each, name in scene_names(reader).items() if reader.frame_count(each)}
    scene, env = choice
    fitting = _meant(reader, _typed(reader, scene)) if scene is not None else list(names)
    if env is not None or len(fitting) < 2:
        return "".join(told)
    why = "which stopped" if _newest_stop(reader, index)[1] >= 0 else "the first"
    if set(fitting) <= set(group_of(reader, fitting[0]).scenes):
        numbers = _span([reader.scene(each).env for each in fitting])
        how = f"one of {len(fitting):,} environments: another one with --env ({numbers})"
    else:
        how = f"one of {len(fitting):,} scenes: another one with --scene ({_known(names)})"
    return "; ".join([*told, f"this is {names[index]!r}, {why}, {how}"])


def told_alike(reader: TrajectoryReader, choice: Choice) -> str:
    """Return which scenes have the chosen name, where there are several; the first one is meant."""
    scene = _typed(reader, choice[0])
    alike = [each for each in scene_groups(reader) if each.called == scene]
    if len(alike) < 2:
        return ""
    known = ", ".join(f"{_span(each.scenes)}: {each.name!r}" for each in alike[:_NAMED_SCENES])
    more = f" and {len(alike) - _NAMED_SCENES:,} more" if len(alike) > _NAMED_SCENES else ""
    return (
        f"{len(alike):,} scenes are called {scene!r}, the first of them is meant: each has a "
        f"name and a number of its own for --scene ({known}{more})"
    )


def _newest_stop(reader: TrajectoryReader, index: int) -> tuple[int, int]:
    """Return when a scene stopped by itself, on the clock [ns] and on its axis; -1: it didn't."""
    stops = [
        (event.wall, event.axis)
        for event in reader.events(index)
        if event.kind == "stop" and not ends_script(event)
    ]
    return max(stops, key=lambda each: each[1], default=(-1, -1))


def _typed(reader: TrajectoryReader, scene: str | int | None) -> str | int | None:
    """Return what somebody has typed: a number, unless a scene is called so."""
    if isinstance(scene, str) and scene.isdecimal() and not _meant(reader, scene):
        return int(scene)
    return scene


def _meant(reader: TrajectoryReader, scene: str | int | None) -> list[int]:
    """Return the one that has a name of its own, or that number; else all environments of it."""
    own = [index for index, name in scene_names(reader).items() if scene in (name, index)]
    return own[:1] or next(
        (list(each.scenes) for each in scene_groups(reader) if each.name == scene), []
    )


def _environment(reader: TrajectoryReader, scene: str | int | None, env: int) -> int:
    """Return one of many environments by its number."""
    groups = scene_groups(reader)
    if scene is not None:
        meant = _meant(reader, scene)
        if not meant:
            return scene_named(reader, scene)  # which says what there is
        groups = [each for each in groups if meant[0] in each.scenes]
        is_one = len(meant) == 1 and scene != groups[0].name
        if is_one and reader.scene(meant[0]).env != env:
            what = f"has {scene_names(reader)[meant[0]]!r} at {shown(scene)}, not environment {env}"
            raise FileError(reader.path, what, "name the scene, or the environment, not both")
    numbers = {
        each.name: {reader.scene(index).env: index for index in each.scenes} for each in groups
    }
    there = {name: indexes for name, indexes in numbers.items() if -1 not in indexes}
    found = {name: indexes[env] for name, indexes in there.items() if env in indexes}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        what = f"has several scenes with an environment {env}"
        known = known_names(map(repr, found))
        raise FileError(reader.path, what, f"name one of them as well: {known}")
    what = f"has no environment {env}"
    if not there:
        names = scene_names(reader)
        known = _known({index: names[index] for each in groups for index in each.scenes})
        raise FileError(reader.path, what, f"it holds no scene of many, but {known}")
    known = "; ".join(f"of {name!r} it has {_span(indexes)}" for name, indexes in there.items())
    raise FileError(reader.path, what, known)


def _span(numbers: Iterable[int]) -> str:
    """Return numbers as a message shows them: "0 to 63", or each where some are left out."""
    every = sorted(numbers)
    if len(every) > 1 and every == list(range(every[0], every[-1] + 1)):
        return f"{every[0]} to {every[-1]}"
    return known_names(map(str, every))


def _known(names: dict[int, str]) -> str:
    """Return which scenes there are, with their numbers: all, or how many more."""
    known = ", ".join(f"{index}: {name!r}" for index, name in list(names.items())[:_NAMED_SCENES])
    more = len(names) - _NAMED_SCENES
    return known + (f" and {more:,} more, up to {list(names.values())[-1]!r}" if more > 0 else "")
