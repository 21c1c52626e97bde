"""``stroboscope ctl``: look at and control a running session from a terminal.

Commands are relayed: whoever controls the session (the window, usually) keeps control. When nobody
does, ctl takes control itself. A session that its only controller leaves runs on freely, so a
``pause`` then stays in the foreground and holds the session until Ctrl+C.
"""

import argparse
import math
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TextIO, cast

from stroboscope.debugger_protocol import (
    ctl_checkpoints,
    ctl_comparing,
    ctl_edits,
    ctl_environments,
    ctl_record,
    ctl_rollouts,
    ctl_rows,
    ctl_stops,
    ctl_time,
    ctl_wait,
)
from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.connection_file import (
    ConnectionInfo,
    find_session,
    list_sessions,
)
from stroboscope.debugger_protocol.ctl_json import add_json, write_json
from stroboscope.debugger_protocol.ctl_sessions import chosen_session
from stroboscope.debugger_protocol.ctl_words import WordsOfOneKind, find_scene
from stroboscope.debugger_protocol.exceptions import ConnectionLost, ProtocolError
from stroboscope.debugger_protocol.messages import PlaybackMode, SessionStatus
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.plain_text import (
    PlainTextOut,
    plain_line,
    plain_text,
    short_name,
)

__all__ = ["main"]

# In the order in which help lists them.
_WORDS: Final[tuple[WordsOfOneKind, ...]] = (
    ctl_edits,
    ctl_checkpoints,
    ctl_time,
    ctl_rollouts,
    ctl_comparing,
    ctl_rows,
    ctl_stops,
    ctl_environments,
    ctl_record,
)
_NOBODY_HOLDS: Final = (
    "stroboscope ctl: nobody holds the session now, so it runs on whatever happens: stops are off. "
    "To be stopped, leave `stroboscope ctl pause` running in a terminal, and play from another\n"
)
_ONE_SCENE: Final = "name or id; not needed when there is one scene"
_REFRESH_S: Final = 0.2
_HOLD_CHECK_S: Final = 0.5
# What shells say of a program that a broken pipe has ended.
_NOBODY_READS: Final = 141


def main(argv: Sequence[str]) -> int:
    """Run one ``ctl`` command line (without ``ctl``); return the exit code.

    0: done; 1: refused, lost or nothing to connect to (the reason is on standard error);
    2: wrong arguments (raised as SystemExit by argparse); 3 to 5: see :mod:`ctl_wait`; 130: Ctrl+C;
    141: nobody reads what is written.
    """
    arguments = _parsed(argv)
    try:
        code = int(arguments.run(arguments, cast("TextIO", PlainTextOut(sys.stdout))))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read it has had enough, as in `ctl rollouts | head`. What is left is written
        # once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except ProtocolError as error:
        PlainTextOut(sys.stderr).write(f"stroboscope ctl: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return what a command line says; raises SystemExit."""
    parser, commands = _parser()
    words = iter(argv)
    for word in words:
        if word == "--session":
            next(words, None)
        elif not word.startswith("-"):
            if word not in commands:
                parser.exit(
                    2,
                    f"{parser.prog}: there is no command {word!r}{suggestion(word, commands)} "
                    f"({parser.prog} --help lists them all)\n",
                )
            break
    arguments = parser.parse_args(argv)
    # Some commands take the scene as a word, all of them as an option.
    named = getattr(arguments, "named", None)
    if named is not None:
        if arguments.scene not in (None, named):
            parser.exit(
                2, f"{parser.prog}: name one scene, not {arguments.scene!r} and {named!r}\n"
            )
        arguments.scene = named
    return arguments


def _parser() -> tuple[argparse.ArgumentParser, Iterable[str]]:
    """Return what reads command lines, and the commands that it knows."""
    parser = argparse.ArgumentParser(
        prog="stroboscope ctl", description="Look at and control a running session."
    )
    parser.add_argument(
        "--session",
        metavar="ID|PID|NAME|FILE",
        default="",
        help="session id (or its beginning), process id, name of the script, or connection "
        "file; not needed when only one session is running",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[..., int], help_text: str) -> argparse.ArgumentParser:
        # Half an option is another one elsewhere: --step is where goto goes, and would be the
        # --steps of resimulate.
        command = commands.add_parser(
            name, help=help_text, description=help_text, allow_abbrev=False
        )
        command.set_defaults(run=run)
        return command

    def add_scene(command: argparse.ArgumentParser, help_text: str) -> None:
        command.add_argument("scene", nargs="?", help=help_text)
        command.add_argument("--scene", dest="named", metavar="SCENE", help="the same")

    add_json(add("list", _list, "list sessions and their scenes"))
    for name, run, text in (
        ("play", _play, "play all scenes, or one"),
        ("pause", _pause, "pause all scenes, or hold one"),
        ("ff", _fast_forward, "run all scenes, or one, without a throttle"),
    ):
        add_scene(add(name, run, text), "name or id; all when left out")
    speed = add("speed", _speed, "set simulated seconds per wall second, 1/64 to 64")
    speed.add_argument("value", type=_positive, help="0.5, 2, 1/4, …")
    step = add("step", _step, "pause all, and complete exactly N steps of one scene")
    add_scene(step, _ONE_SCENE)
    step.add_argument("-n", "--count", type=_count, default=1, help="how many (default 1)")
    step.add_argument("--physics", action="store_true", help="physics steps instead of steps")
    restore = add("restore", _restore, "put one scene back to its initial state")
    add_scene(restore, _ONE_SCENE)

    def add_edit(words: WordsOfOneKind, name: str, help_text: str) -> argparse.ArgumentParser:
        command = add(name, partial(_edit, words, name), help_text)
        command.add_argument("--scene", help=_ONE_SCENE, default=None)
        return command

    for words in _WORDS:
        words.add_arguments(partial(add_edit, words))
    wait = add("wait", ctl_wait.wait, "wait until a scene stops, or comes to a step, or ends")
    add_scene(wait, "name or id; any when left out")
    ctl_wait.add_arguments(wait)
    watch = add("watch", _watch, "follow all scenes until Ctrl+C")
    watch.add_argument("--once", action="store_true", help="print one table and end")
    return parser, commands.choices


def _positive(text: str) -> float:
    numerator, slash, denominator = text.partition("/")
    try:
        value = float(numerator) / (float(denominator) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _count(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count of 1 or more")
    return value


# --- finding things


def _steps_meant(chosen: str | None) -> str:
    """Return how to step so often, where a number stands in the place of a scene."""
    return f"; for {chosen} steps: -n {chosen}" if chosen is not None and chosen.isdecimal() else ""


def _checkpoint_meant(client: DebuggerClient, chosen: str | None) -> str:
    """Return how to go back to a checkpoint, where one stands in the place of a scene."""
    scenes = client.scenes() if chosen is not None else ()
    names = [info.name for scene in scenes for info in client.checkpoints(scene.scene_id)]
    if not names:
        return ""
    meant = chosen if chosen in names else " or ".join(map(repr, dict.fromkeys(names[-5:])))
    return f"; to a checkpoint: back {meant}"


def _scene_id(client: DebuggerClient, chosen: str | None) -> int | None:
    return None if chosen is None else _found_scene(client, chosen).scene_id


def _found_scene(client: DebuggerClient, chosen: str | None, *, hint: str = "") -> SceneInfo:
    """Return the scene that is meant, as :func:`find_scene`; waits for the first one there is.

    Who has just taken control may be what the script has waited for: its scene is still to come,
    and it would run on alone if we left.
    """
    if client.has_control and not client.wait_until(lambda c: bool(c.scenes()), _HOLD_CHECK_S):
        PlainTextOut(sys.stderr).write(
            "stroboscope ctl: there is no scene yet: waiting for the first one; Ctrl+C ends that, "
            "and lets the session run on\n"
        )
        sys.stderr.flush()
        while client.has_control and not client.scenes():
            client.wait_until(lambda c: bool(c.scenes()) or not c.has_control, _HOLD_CHECK_S)
    return find_scene(client, chosen, hint=hint)


class _Control:
    """A connection whose commands are obeyed; ``with`` gives (client, whether we hold control)."""

    def __init__(self, session: str) -> None:
        self._client = DebuggerClient.connect(
            chosen_session(session), relay=True, passing=True, name="ctl"
        )

    def __enter__(self) -> tuple[DebuggerClient, bool]:
        try:
            if self._client.session_status.controller is None:
                self._client.request_control()
        except BaseException:
            self._client.close()
            raise
        return self._client, self._client.has_control

    def __exit__(self, *_: object) -> None:
        self._client.close()


# --- commands


def _list(arguments: argparse.Namespace, out: TextIO) -> int:
    if arguments.session:
        sessions = [chosen_session(arguments.session)]
    else:
        sessions = [info for _, info in list_sessions()]
    if not sessions:
        find_session()  # raises, and says how to start one
    if arguments.json:
        write_json(out, [_told_session(info) for info in sessions])
        return 0
    for info in sessions:
        out.write(f"{_session_line(info)}\n")
        try:
            with DebuggerClient.connect(info, passing=True, name="ctl") as client:
                out.write(_fitting(_overview(client), out))
        except ProtocolError as error:
            out.write(f"  no answer: {error}\n")
    return 0


def _told_session(info: ConnectionInfo) -> dict[str, object]:
    """Return what is known of a session and its scenes, for programs."""
    told: dict[str, object] = {name: getattr(info, name) for name in ("session_id", "pid")}
    told["script"] = info.script
    try:
        with DebuggerClient.connect(info, passing=True, name="ctl") as client:
            return {**told, "status": client.session_status, "scenes": client.scenes()}
    except ProtocolError as error:
        return {**told, "error": str(error)}


def _play(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, holds):
        client.play(scene_id=_scene_id(client, arguments.scene))
    if holds:
        _warn_of_nobody(arguments.session)
    return 0


def _fast_forward(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, holds):
        client.fast_forward(scene_id=_scene_id(client, arguments.scene))
    if holds:
        _warn_of_nobody(arguments.session)
    return 0


def _pause(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, holds):
        client.pause(scene_id=_scene_id(client, arguments.scene))
        if holds:
            _hold(client, "paused", out)
    return 0


def _step(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, holds):
        scene = _found_scene(client, arguments.scene, hint=_steps_meant(arguments.scene))
        step = client.physics_step if arguments.physics else client.step
        step(scene.scene_id, arguments.count)
        after = find_scene(client, str(scene.scene_id))
        physics = f"physics step {after.physics_step_count}, " if arguments.physics else ""
        out.write(
            f"{short_name(after.name)}: {physics}step {after.step_count}, {after.time:.6g} s\n"
        )
        if holds:
            _hold(client, "paused", out)
    return 0


def _restore(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, holds):
        hint = _checkpoint_meant(client, arguments.scene)
        scene_id = _found_scene(client, arguments.scene, hint=hint).scene_id
        client.restore_initial(scene_id)
        ctl_edits.tell_last_edit(client, scene_id, out)
        if holds and _is_paused(client):
            _hold(client, "restored", out)
    return 0


def _edit(words: WordsOfOneKind, name: str, arguments: argparse.Namespace, out: TextIO) -> int:
    run = words.COMMANDS[name]
    if words.only_looks(name, arguments):
        info = chosen_session(arguments.session)
        with DebuggerClient.connect(info, passing=True, name="ctl") as client:
            run(client, _scene_meant(client, arguments), arguments, out)
        return 0
    with _Control(arguments.session) as (client, holds):
        scene_id = _scene_meant(client, arguments)
        run(client, scene_id, arguments, out)
        # What is done beside the script ends with the client that did it.
        if holds and (client.interventions(scene_id).overrides or _is_paused(client)):
            # A document for programs is the only thing on standard output.
            told = getattr(arguments, "json", False)
            _hold(client, "held", cast("TextIO", PlainTextOut(sys.stderr)) if told else out)
    return 0


def _scene_meant(client: DebuggerClient, arguments: argparse.Namespace) -> int:
    """Return the scene's id, as :func:`find_scene`; 0 for scenes that have ended."""
    # They are the session's: how many there still are, or whether any, does not matter.
    if getattr(arguments, "ended", False):
        return 0
    return _found_scene(client, arguments.scene).scene_id


def _is_paused(client: DebuggerClient) -> bool:
    return client.session_status.mode is PlaybackMode.PAUSED


def _speed(arguments: argparse.Namespace, out: TextIO) -> int:
    with _Control(arguments.session) as (client, _):
        client.set_speed(arguments.value)
    return 0


def _watch(arguments: argparse.Namespace, out: TextIO) -> int:
    info = chosen_session(arguments.session)
    redraws = out.isatty() and not arguments.once
    with DebuggerClient.connect(
        info, observe=True, passing=arguments.once, name="ctl watch"
    ) as client:
        while True:
            if redraws:
                sys.stdout.write("\x1b[H\x1b[2J")
            overview = _fitting(_overview(client), out)
            out.write(f"{_session_line(info)}\n{overview}")
            out.flush()
            if arguments.once:
                return 0
            _wait(_REFRESH_S if redraws else 5 * _REFRESH_S)
            if client.closed_reason:
                raise ConnectionLost(f"the session has ended: {client.closed_reason}")


def _hold(client: DebuggerClient, what: str, out: TextIO) -> None:
    """Stay connected until Ctrl+C, the end of the session, or until somebody else has control."""
    try:
        # Whoever has read this may press Ctrl+C at once.
        out.write(f"{what}; Ctrl+C lets the session run on\n")
        out.flush()
        while client.has_control and not client.closed_reason:
            client.wait_until(lambda c: not c.has_control, _HOLD_CHECK_S)
        if not client.closed_reason:
            out.write("another client has taken control: this command holds nothing any more\n")
    except ConnectionLost as error:
        out.write(f"{error}\n")
    except KeyboardInterrupt:
        out.write("\n")


def _warn_of_nobody(chosen: str) -> None:
    """Say on standard error what follows, where nobody holds a session that we have just left."""
    try:
        with DebuggerClient.connect(chosen_session(chosen), passing=True, name="ctl") as client:
            client.wait_until(lambda c: c.session_status.controller is None, _HOLD_CHECK_S)
            status = client.session_status
    except ProtocolError:
        return  # it has come to its end
    is_kept = not status.clients and status.mode is not PlaybackMode.FAST_FORWARD
    if status.controller is None and not is_kept:
        sys.stderr.write(_NOBODY_HOLDS)


def _wait(seconds: float) -> None:
    """Wait, and let Ctrl+C through."""
    threading.Event().wait(seconds)


# --- what is shown


def _session_line(info: ConnectionInfo) -> str:
    return f"{info.session_id}  pid {info.pid}  {plain_line(info.script)}"


def _overview(client: DebuggerClient) -> str:
    status = client.session_status
    is_free = not status.clients and status.mode is PlaybackMode.FAST_FORWARD
    lines = [f"  {_session_state(status)}"]
    if status.free_running_scenes:
        lines.append(f"  +{status.free_running_scenes} more scenes run free, beyond the limit")
    scenes = client.scenes()
    width = max([len(short_name(scene.name)) for scene in scenes], default=0)
    lines += [_row(scene, width, is_free=is_free) for scene in scenes]
    if not scenes:
        lines.append("  no scenes yet")
    return "\n".join(lines) + "\n"


def _fitting(text: str, out: TextIO) -> str:
    """Return ``text`` with lines that fit into the terminal; whole where ``out`` is none."""
    if not out.isatty():
        return text
    columns = max(shutil.get_terminal_size((100, 24)).columns, 40)
    return "\n".join(_ended_at_a_word(line, columns) for line in plain_text(text).split("\n"))


def _ended_at_a_word(line: str, columns: int) -> str:
    """Return ``line`` in so many columns; what is cut off is shown by an ellipsis."""
    if len(line) <= columns:
        return line
    head, _, rest = line[:columns].rpartition(" ")
    # A single word may be longer than what is left of the line.
    is_word_long = len(rest) > columns // 2
    return line[: columns - 1] + "…" if is_word_long else f"{head.rstrip()[: columns - 1]}…"


def _session_state(status: SessionStatus) -> str:
    match status.mode:
        case PlaybackMode.FAST_FORWARD if not status.clients:
            return "running free, nobody attached"
        case PlaybackMode.PLAYING:
            mode = f"playing at {status.speed:g}x"
        case mode_word:
            mode = _word(mode_word)
    if not status.clients:
        return f"{mode}, held for whoever comes back, nobody attached"
    control = "nobody" if status.controller is None else f"client {status.controller}"
    clients = "1 client" if status.clients == 1 else f"{status.clients} clients"
    return f"{mode}, controlled by {control}, {clients} attached"


def _word(mode: PlaybackMode) -> str:
    return mode.value.replace("_", " ")


def _row(scene: SceneInfo, width: int, *, is_free: bool) -> str:
    rate = "" if scene.rtf is None else f"{scene.rtf:.2f}x"
    mode = "running free" if is_free else _word(scene.mode)
    held = f"held: {plain_line(scene.hold_reason)}" if scene.held else mode
    place = plain_line(scene.location)
    where = f"{scene.activity.value} {scene.activity_s:.1f} s {place}".rstrip()
    return (
        f"  {scene.scene_id:>3}  {short_name(scene.name):<{width}}  step {scene.step_count:>9}  "
        f"{scene.time:>10.3f} s  {rate:>7}  {held}  {where}"
    )
