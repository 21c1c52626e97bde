"""``stroboscope info|verify|repair|cut|export|replay FILE``: recorded runs from a terminal."""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stroboscope.debugger_protocol.plain_text import plain_text
from stroboscope.engine.counted import counted
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names
from stroboscope.engine.files.suffixes import RECORDED, SCENE, found_file, with_suffix
from stroboscope.engine.late_imports import import_for_command
from stroboscope.engine.showing.no_display import EXIT_NO_DISPLAY, NotShownError
from stroboscope.engine.trajectory.alike import family, names_together
from stroboscope.engine.trajectory.choosing import (
    ALL,
    TO_SHOW,
    add_choice,
    choice_of,
    scenes_meant,
    told_alike,
)
from stroboscope.engine.trajectory.info_command import info, info_arguments, recorded_by
from stroboscope.engine.trajectory.output import (
    OutputError,
    drop_output,
    flush,
    note_of,
    say,
    say_lines,
    short_name,
)
from stroboscope.engine.trajectory.part import add_times, episodes_of, frames_meant, has_times

__all__ = ["COMMANDS", "main", "progress_bar"]

COMMANDS = ("info", "verify", "repair", "cut", "export", "replay")
_EXIT_UNREADABLE = 4
_PROGRESS_EVERY_S = 10.0


def main(command: str, argv: Sequence[str]) -> int:
    """Run one of :data:`COMMANDS`; returns the exit code.

    0: all is well. ``verify``: 1 it differs, 2 it is damaged, 3 it can't be verified. 4: the file
    can't be read, or written. ``replay``: 1 no window came, 2 there is no display for one.
    """
    parser = argparse.ArgumentParser(prog=f"stroboscope {command}", description=_HELP[command])
    parser.add_argument("file", help=_FILE_HELP.get(command, "a recorded run (.mcap)"))
    _ARGUMENTS[command](parser)
    options = parser.parse_args(list(argv))
    options.file = os.fspath(found_file(Path(options.file), RECORDED, SCENE))
    try:
        code = _RUN[command](options)
        flush()
        return code
    except NotShownError as error:
        note_of(command)(str(error))
        return EXIT_NO_DISPLAY
    except (EngineError, ValueError, IndexError) as error:
        note_of(command)(str(error))
        return _EXIT_UNREADABLE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read this (head, less) has seen enough.
        drop_output()
        return 128 + 13
    except OutputError as error:
        drop_output()
        note_of(command)(f"standard output can't be written ({error}): nobody has what was found")
        return _EXIT_UNREADABLE


@contextmanager
def progress_bar(
    what: str, *, every_s: float = _PROGRESS_EVERY_S
) -> Iterator[Callable[[float], None]]:
    """Show progress, 0 to 1, in a terminal; in a file or a pipe a line every so often."""
    tqdm = needed("tqdm").tqdm
    form = "{desc}: {percentage:3.0f} %|{bar}| {elapsed} of about {elapsed}+{remaining}"
    if sys.stderr is None or not sys.stderr.isatty():
        yield _told_in_lines(what, every_s)
        return
    with tqdm(total=1.0, desc=what, bar_format=form, file=sys.stderr) as bar:

        def show(done: float) -> None:
            bar.update(max(0.0, done - bar.n))

        yield show


def _told_in_lines(what: str, every_s: float) -> Callable[[float], None]:
    due = time.monotonic() + every_s

    def show(done: float) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due and done < 1.0 and sys.stderr is not None:
            due = now + every_s
            sys.stderr.write(f"{what}: {100.0 * done:.0f} %\n")
            sys.stderr.flush()

    return show


# --- verify


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=None, help="threads (default: all cores)")
    add_choice(parser, default="all")


def _verify(options: argparse.Namespace) -> int:
    if options.jobs is not None and options.jobs < 1:
        raise ValueError(f"--jobs must be 1 or more, not {options.jobs}")
    choice = choice_of(options)
    with TrajectoryReader(options.file) as reader:
        meant = scenes_meant(reader, choice)
        if told := told_alike(reader, choice):
            note_of("verify")(told)
        with progress_bar("comparing checksums") as show:
            damage = reader.check(show)
        damaged, writer = [each for each in damage if not each.is_cut_off], recorded_by(reader)
        for each in damaged:
            say(f"DAMAGED {each}")
        ends = [each.offset for each in damage if each.is_cut_off]
        worst = 2 if damaged else 0
    try:
        worst = max(worst, _verify_scenes(options, meant, writer=writer, ends=ends))
    except FileDamagedError as error:  # its model, for example
        if not damaged:
            raise
        note_of("verify")(str(error))
    return worst


def _verify_scenes(
    options: argparse.Namespace, meant: Collection[int], *, writer: str, ends: Sequence[int]
) -> int:
    import_for_command("trajectory.trajectory")
    from stroboscope.engine.trajectory.trajectory import load_trajectory

    choice, worst = choice_of(options), 0
    with load_trajectory(options.file, scene=min(meant) if choice != ALL else None) as first:
        chosen = {name: each for name, each in first.others().items() if each.record.index in meant}
        same: dict[str, str] = {}
        try:
            for name, trajectory in chosen.items():
                with progress_bar(f"verifying {plain_text(short_name(name))}") as show:
                    found = trajectory.verify(jobs=options.jobs, progress=show)
                trajectory.release()  # of thousands of environments not all at once
                if not _goes_on(same, name, str(found)):
                    _say_of(same)
                    same = {}
                same[name] = str(found)
                worst = max(worst, found.exit_code)
        finally:  # Ctrl+C takes nothing away from what was found
            _say_of(same)
        if not first.complete:
            where = f" at byte {ends[0]:,}" if ends else ""
            state = f"is still being recorded, by {writer}" if writer else f"was cut off{where}"
            say(f"the file {state}: what is whole was verified")
    return worst


def _goes_on(same: dict[str, str], name: str, found: str) -> bool:
    """Return whether of a scene the same was found as of the environments before it."""
    return all(family(name) == family(other) and found == same[other] for other in same)


def _say_of(same: dict[str, str]) -> None:
    if same:
        say_lines(f"{names_together(list(map(short_name, same)))}: {next(iter(same.values()))}")


# --- repair and cut


def _repair_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default=None, help="(default: NAME.repaired.mcap beside it)"
    )


def _repair(options: argparse.Namespace) -> int:
    from stroboscope.engine.files.repair import repair

    target = None if options.output is None else with_suffix(Path(options.output), RECORDED)
    with progress_bar("repairing") as show:
        made = repair(options.file, target, progress=show)
    for line in made.told():
        say(line)
    return 0


def _cut_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("begin", type=int, nargs="?", help="the first frame")
    parser.add_argument(
        "end", type=int, nargs="?", help="the frame behind the last one; -1: to the end"
    )
    add_times(parser, "--to")
    add_choice(parser, default=TO_SHOW)
    parser.add_argument("-o", "--output", required=True, help="the new file")


def _cut(options: argparse.Namespace) -> int:
    from stroboscope.engine.files.cut import cut

    begin, end, number, episodes = _part(options)
    target = with_suffix(Path(options.output), RECORDED)
    with progress_bar("cutting") as show:
        made = cut(options.file, target, begin=begin, end=end, scene=number, progress=show)
    with TrajectoryReader(options.file) as reader:
        names = scene_names(reader)
        if told := told_alike(reader, choice_of(options)):
            note_of("cut")(told)
        for scene, (begin, behind) in made.frames.items():
            which = f"frames {begin:,} to {behind - 1:,}" if begin < behind else "no frame"
            of_episode = f" ({episodes})" if scene == number else ""
            say(f"{made.path}: {which} of {short_name(names[scene])!r}{of_episode}")
    return 0


def _part(options: argparse.Namespace) -> tuple[int, int, int, str]:
    """Return which frames are wanted, begin and end, of which scene, and their episodes in words.

    Raises ValueError for frames that are not there.
    """
    import_for_command("trajectory.trajectory")
    from stroboscope.engine.trajectory.trajectory import load_chosen

    by_time = has_times(options)
    by_number = options.begin is not None or options.end is not None
    if by_time == by_number or (by_number and options.end is None):
        raise ValueError("name the part by two frame numbers, BEGIN END, or by --from and --to")
    # The others are cut where these are.
    with load_chosen(options.file, choice_of(options)) as trajectory:
        frames = frames_meant(trajectory, options)
        if by_number:
            end = options.end + 1 + len(trajectory) if options.end < 0 else options.end
            frames = range(options.begin, end)
        episodes = episodes_of(trajectory, frames)
        return frames.start, frames.stop, trajectory.record.index, episodes


# --- export


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", required=True, choices=(*sorted(_EXPORTS), *_FILMS), help=_EXPORT_KINDS
    )
    parser.add_argument("-o", "--output", default=None, help="(default: beside it)")
    parser.add_argument(
        "--units", action="store_true", help="csv: a second line with the unit of each column"
    )
    add_times(parser)
    add_choice(parser, default=TO_SHOW)


def _export(options: argparse.Namespace) -> int:
    import_for_command("trajectory.trajectory")
    from stroboscope.engine.trajectory.trajectory import load_chosen

    if options.to in _FILMS:
        raise ValueError(
            f"{options.to} is a film, which the window's parts make: pip install 'stroboscope[app]'"
        )
    suffix, function = _EXPORTS[options.to]
    source = Path(options.file)
    if not source.name:
        raise FileFormatError(source, "it is a folder", "name a file")
    target = Path(options.output or source.with_name(source.stem + suffix))
    if os.path.exists(target) and target.samefile(source):
        raise ValueError(f"{target} is the file itself: name another one with --output")
    more = {"units": True} if options.units else {}
    if more and options.to != "csv":
        raise ValueError(f"--units is for csv, not {options.to}: leave it out")
    module = importlib.import_module(f"stroboscope.engine.trajectory.export.{function[0]}")
    with (
        load_chosen(source, choice_of(options), say=note_of("export")) as trajectory,
        progress_bar("exporting") as show,
    ):
        frames = frames_meant(trajectory, options)
        write = getattr(module, function[1])
        made = write(trajectory, target, frames=frames, progress=show, **more)
        told = f"{made}: {counted(len(frames), 'frame')}"
        if len(trajectory.manifest.scenes) > 1:
            told += f" of {short_name(trajectory.name)!r}"
        if len(frames) < len(trajectory):
            told += f" ({episodes_of(trajectory, frames)})"
    say(told)
    return 0


_EXPORTS = {
    "csv": (".csv", ("tables", "write_table")),
    "npz": (".npz", ("tables", "write_arrays")),
    "foxglove": (".foxglove.mcap", ("foxglove", "write_foxglove")),
}
# Made by the app, which takes these command lines over where it is installed.
_FILMS = ("mp4", "gif")
_EXPORT_KINDS = (
    "csv: a table; npz: NumPy arrays; foxglove: for Foxglove and PlotJuggler; mp4 or gif: a film "
    "(needs stroboscope[app]), see stroboscope export FILE --to mp4 --help"
)


# --- replay


def _replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--speed", type=float, default=1.0, help="times real time (default: 1)")
    parser.add_argument("--loop", action="store_true", help="again and again")
    add_choice(parser, default=TO_SHOW)


def _replay(options: argparse.Namespace) -> int:
    import_for_command("trajectory.showing")
    from stroboscope.engine.trajectory.showing import Playing, show_trajectory

    if not options.speed > 0.0:
        raise ValueError(f"--speed must be above 0, not {options.speed:g}")
    # What the window calls this application, and where it finds the file.
    sys.argv[:] = [str(Path(options.file).absolute())]
    playing = Playing(speed=options.speed, loop=options.loop)
    shown = show_trajectory(
        options.file, playing=playing, choice=choice_of(options), say=note_of("replay")
    )
    return 0 if shown else 1


_FILE_HELP = {"info": "a recorded run (.mcap), or a scene (.strobe)"}
_HELP = {
    "info": "Say what is in a recorded run, a checkpoint or a scene file.",
    "verify": "Take every recorded step again and compare: does the file say what physics does?",
    "repair": "Rewrite a file that was cut off or damaged into a complete one; the old one stays.",
    "export": "Write a recorded run as a file of another kind.",
    "cut": "Write some frames of a recorded run, of all scenes, into a file of their own.",
    "replay": "Open a recorded run in the window and play it.",
}
_ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "info": info_arguments,
    "verify": _verify_arguments,
    "repair": _repair_arguments,
    "cut": _cut_arguments,
    "export": _export_arguments,
    "replay": _replay_arguments,
}
_RUN: dict[str, Callable[[argparse.Namespace], int]] = {
    "info": info,
    "verify": _verify,
    "repair": _repair,
    "cut": _cut,
    "export": _export,
    "replay": _replay,
}
