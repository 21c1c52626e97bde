"""``stroboscope ctl wait``: end when something has happened to a scene, with a telling exit code.

It only looks: it takes no control, pauses nothing, and is no debugger that a script waits for.
Every message of the session is looked at as it arrives, so that nothing is missed in between.
"""

import argparse
import contextlib
import dataclasses
import enum
import itertools
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO, cast

from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.connection_file import ConnectionInfo
from stroboscope.debugger_protocol.ctl_json import add_json, write_json
from stroboscope.debugger_protocol.ctl_sessions import wait_for_session
from stroboscope.debugger_protocol.exceptions import (
    ConnectionLost,
    HandshakeError,
    NoSessionError,
)
from stroboscope.debugger_protocol.plain_text import PlainTextOut, plain_line, short_name
from stroboscope.debugger_protocol.playback_messages import (
    HELD_AT_END,
    HOLDS_OF_CLIENTS,
    PlaybackMode,
    SessionStatus,
)
from stroboscope.debugger_protocol.step_words import has_episodes, segment_at, words_in_episode
from stroboscope.debugger_protocol.time_messages import Segment, StopInfo

__all__ = ["Outcome", "WaitCode", "Wanted", "add_arguments", "wait"]

_BEGIN_S: Final = 30.0
# So that Ctrl+C ends it where waiting can't be interrupted.
_SLICE_S: Final = 1.0
# A connection may break while the session lives: a computer that slept, for instance.
_MOST_RECONNECTIONS: Final = 3
_TOLD_SCENES: Final = 3
_NOBODY_CONTROLS: Final = (
    "nobody controls this session: nothing holds it where it stops until somebody does (a window, "
    "or `stroboscope ctl pause` in another terminal)"
)


class WaitCode(enum.IntEnum):
    """How ``ctl wait`` ends, besides the exit codes of all commands."""

    CAME = 0
    STOPPED = 3
    TIMEOUT = 4
    ENDED = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is waited for; ``time`` in s. ``scene``: its name or id, None: any."""

    stop: bool = False
    step: int | None = None
    axis: int | None = None
    time: float | None = None
    ended: bool = False
    scene: str | None = None

    def in_words(self) -> str:
        """Return "a stop, or step 300"."""
        words = ["a stop"] * self.stop
        words += [f"physics step {self.step}"] * (self.step is not None)
        words += [f"axis {self.axis}"] * (self.axis is not None)
        words += [f"{self.time} s"] * (self.time is not None)
        words += ["the end"] * self.ended
        return ", or ".join(words)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What has happened: ``what`` is stop, step, axis, time, ended or timeout."""

    exit_code: WaitCode
    what: str
    text: str
    scene: SceneInfo | None = None
    stop: StopInfo | None = None


# --- the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--stop", action="store_true", help="a stop; the default")
    parser.add_argument(
        "--step", type=_number(int), metavar="N", help="physics step of the episode, as in goto"
    )
    parser.add_argument(
        "--axis", type=_number(int), metavar="N", help="physics steps ever taken, over all episodes"
    )
    parser.add_argument(
        "--time", type=_number(float), metavar="T", help="simulation time of the episode [s]"
    )
    parser.add_argument(
        "--ended", action="store_true", help="the scene is destroyed, or its program gone"
    )
    parser.add_argument(
        "--timeout", type=_number(float), metavar="SECONDS", default=math.inf, help="no longer"
    )
    parser.add_argument(
        "--begin",
        type=_number(float),
        metavar="SECONDS",
        default=_BEGIN_S,
        help="how long a session may take to begin where none is running yet "
        f"(default {_BEGIN_S:g})",
    )
    add_json(parser)
    parser.epilog = (
        "exit codes: 0 it came, 3 a stop came first, 4 timeout, 5 the scene or its program ended "
        "first; 1 no session, 2 wrong arguments"
    )


def _number(kind: type[int] | type[float]) -> Any:
    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not value >= 0:  # nan, too
            what = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"{text!r} is no {what} of 0 or more")
        return value

    return read


def wait(arguments: argparse.Namespace, out: TextIO) -> int:
    """Run the command; return its exit code."""
    deadline = time.monotonic() + arguments.timeout
    is_anything_named = arguments.ended or not (
        arguments.step is arguments.axis is arguments.time is None
    )
    watch = _Watch(
        Wanted(
            stop=arguments.stop or not is_anything_named,
            step=arguments.step,
            axis=arguments.axis,
            time=arguments.time,
            ended=arguments.ended,
            scene=arguments.scene,
        )
    )
    try:
        info = wait_for_session(
            arguments.session, min(arguments.begin, arguments.timeout), tell=_note
        )
    except NoSessionError as error:
        if time.monotonic() < deadline:
            raise
        # Its first line says it, the others list what runs.
        what = str(error).partition("\n")[0]
        outcome = Outcome(exit_code=WaitCode.TIMEOUT, what="timeout", text=plain_line(what))
    else:
        outcome = _waited(info, watch, deadline, arguments.timeout)
    if arguments.json:
        told = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
        write_json(out, told)
    else:
        out.write(f"{plain_line(outcome.text)}\n")
    return outcome.exit_code


def _waited(info: ConnectionInfo, watch: "_Watch", deadline: float, timeout: float) -> Outcome:
    for _ in range(_MOST_RECONNECTIONS):
        try:
            client = _WaitingClient(info, watch)
        except (ConnectionLost, HandshakeError) as error:
            if isinstance(error, HandshakeError) and not watch.lost:
                raise  # it may be of another version
            return watch.over(watch.lost or str(error), info)
        with client:
            outcome = _wait_with(client, watch, deadline, timeout)
        if outcome is not None:
            return outcome
        watch.lost = client.closed_reason
    raise ConnectionLost(f"the connection breaks again and again: {watch.lost}")


def _wait_with(
    client: "_WaitingClient", watch: "_Watch", deadline: float, timeout: float
) -> Outcome | None:
    """Return what has happened; None where the connection has ended."""
    while watch.outcome is None:
        if note := watch.take_note(client):
            _note(note)
        left = deadline - time.monotonic()
        if left <= 0.0:
            return watch.late(client, timeout)
        try:
            client.wait_until(lambda _: watch.has_news, min(left, _SLICE_S))
        except ConnectionLost:
            break
    found = watch.outcome
    if found is None or found.scene is None or found.stop is None or not found.stop.held:
        return found
    # The stop is told before the thread has come to rest there.
    scene_id = found.scene.scene_id
    with contextlib.suppress(ConnectionLost):
        client.wait_until(lambda c: _standing(c, scene_id) is not None, _SLICE_S)
    return dataclasses.replace(found, scene=_standing(client, scene_id) or found.scene)


def _standing(client: "_WaitingClient", scene_id: int) -> SceneInfo | None:
    if client.closed_reason:
        return None
    scenes = (each for each in client.scenes() if each.scene_id == scene_id)
    return next((s for s in scenes if s.held and s.activity is wire.OwnerActivity.PARKED), None)


def _note(text: str) -> None:
    PlainTextOut(cast("TextIO", sys.stderr)).write(f"stroboscope ctl wait: {text}\n")
    sys.stderr.flush()


class _WaitingClient(DebuggerClient):
    """A client that looks at every message when it has arrived."""

    def __init__(self, info: ConnectionInfo, watch: "_Watch") -> None:
        self._watch = watch
        super().__init__(info, passing=True, name="ctl wait")

    @property
    def newest_status(self) -> SessionStatus | None:
        """How the session stands; None while not everything of it was told."""
        return self._session_status

    def _take(self, message: Any) -> None:
        # Nobody who waits goes on before both are done.
        with self._changed:
            if isinstance(message, wire.SceneRemoved):
                self._watch.goes(self, message.scene_id)
            super()._take(message)
            self._watch.look(self)


# --- what is looked for


@dataclasses.dataclass(slots=True)
class _Seen:
    """What is known of a scene since it was first looked at."""

    stops: int
    """The number of the newest stop that does not count: of before."""
    axis: int
    """Where it stood; all that has ended before has been looked at."""
    newest: SceneInfo


class _Watch:
    """Looks for what is wanted, on the thread that messages come on, until there is an outcome."""

    def __init__(self, wanted: Wanted) -> None:
        self.outcome: Outcome | None = None
        self.lost = ""
        """Why the last connection has ended."""
        self._wanted = wanted
        self._seen: dict[int, _Seen] = {}
        self._has_begun = False
        self._note = ""
        self._told: set[str] = set()

    # --- notes for whoever waits, on standard error

    @property
    def has_news(self) -> bool:
        """Whether there is something to say: an outcome, or a note meanwhile."""
        return self.outcome is not None or bool(self._note)

    def take_note(self, client: DebuggerClient) -> str:
        """Return what is to be said meanwhile, once; "" for nothing."""
        if "waiting" not in self._told:
            self._told.add("waiting")
            session = client.session
            of = f" of {session.script} (pid {session.pid})" if session is not None else ""
            which = "any scene" if self._wanted.scene is None else repr(self._wanted.scene)
            return f"waiting for {self._wanted.in_words()} of {which}{of}"
        note, self._note = self._note, ""
        return note

    def _say_once(self, note: str) -> None:
        if note not in self._told:
            self._told.add(note)
            self._note = f"{self._note}; {note}" if self._note else note

    # --- looking, with the client's lock held

    def look(self, client: "_WaitingClient") -> None:
        """Look whether what is wanted has happened."""
        status = client.newest_status
        if self.outcome is not None or status is None or client.closed_reason:
            return
        scenes = [scene for scene in client.scenes() if self._is_meant(scene, client)]
        for scene in scenes:
            if found := self._look_at(client, scene):
                self.outcome = found
                return
        self._has_begun = True
        is_kept = not status.clients and status.mode is not PlaybackMode.FAST_FORWARD
        if self._wanted.stop and status.controller is None and not is_kept:
            self._say_once(_NOBODY_CONTROLS)
        if not scenes and not self._seen:
            others = ", ".join(repr(short_name(scene.name)) for scene in client.scenes())
            if self._wanted.scene is None:
                self._say_once("there is no scene yet: waiting for one")
            elif others:
                self._say_once(
                    f"there is no scene {self._wanted.scene!r} yet, only {others}: waiting for it"
                )

    def goes(self, client: DebuggerClient, scene_id: int) -> None:
        """Take note of a scene that is destroyed, while it is still known."""
        if self.outcome is not None or client.closed_reason:
            return
        scenes = {scene.scene_id: scene for scene in client.scenes()}
        scene = scenes.get(scene_id)
        if scene is None or not self._is_meant(scene, client):
            return
        # Of any scene: where others are left, one of them may still do what is waited for.
        if not self._wanted.ended and self._wanted.scene is None and len(scenes) > 1:
            self._seen.pop(scene_id, None)
            return
        text = (
            f"{short_name(scene.name)}: it was destroyed, last seen at {_place_of(client, scene)}"
        )
        self.outcome = self._ended(scene, text)

    def over(self, reason: str, info: ConnectionInfo) -> Outcome:
        """Return what the end of the session means, ``reason``."""
        if self.outcome is not None:
            return self.outcome
        known = [seen.newest for seen in self._seen.values()]
        scene = known[0] if len(known) == 1 else None
        where = f"; {short_name(scene.name)} was last seen at {_numbers(scene)}" if scene else ""
        name = Path(info.script).name or f"pid {info.pid}"
        who = "" if name in reason else f"{name}: "
        return self._ended(scene, f"{who}{reason}{where}")

    def late(self, client: DebuggerClient, timeout: float) -> Outcome:
        """Return what is told when the time is over."""
        scenes = [scene for scene in client.scenes() if self._is_meant(scene, client)]
        told = [
            f"{short_name(scene.name)} is at {_place_of(client, scene)}"
            f" ({scene.hold_reason or scene.mode.value.replace('_', ' ')})"
            for scene in scenes[:_TOLD_SCENES]
        ]
        told += [f"+{len(scenes) - _TOLD_SCENES} more"] * (len(scenes) > _TOLD_SCENES)
        return Outcome(
            exit_code=WaitCode.TIMEOUT,
            what="timeout",
            text=f"{self._wanted.in_words()} did not come within {timeout:g} s: "
            f"{'; '.join(told) or 'there is no such scene'}",
            scene=scenes[0] if len(scenes) == 1 else None,
        )

    # --- inside

    def _is_meant(self, scene: SceneInfo, client: DebuggerClient) -> bool:
        wanted = self._wanted.scene
        if wanted is None or scene.name == wanted:
            return True
        return str(scene.scene_id) == wanted and all(
            other.name != wanted for other in client.scenes()
        )

    def _look_at(self, client: DebuggerClient, scene: SceneInfo) -> Outcome | None:
        told = client.stop_rules(scene.scene_id)
        seen = self._seen.get(scene.scene_id)
        if seen is None:
            # What has stopped a scene that was there before us is over, unless it holds it.
            before = told.count if not self._has_begun else 0
            seen = self._seen[scene.scene_id] = _Seen(before, scene.axis, scene)
        seen.newest = scene
        new = [stop for stop in told.stops if stop.stop_id > seen.stops]
        standing = told.stops[-1] if told.stops and _is_held_by(scene, told.stops[-1]) else None
        stop = next((each for each in new if each.held or self._wanted.stop), standing)
        if found := self._reached(client, scene, seen, stop):
            return found
        if stop is not None:
            return self._stopped(scene, _stop_text(stop), stop=stop)
        if scene.held and HELD_AT_END in scene.hold_reason:
            text = f"{short_name(scene.name)}: {_place_of(client, scene)}: {scene.hold_reason}"
            return self._ended(scene, text)
        if scene.held and scene.hold_reason not in HOLDS_OF_CLIENTS:
            at = f" at {scene.location}" if scene.location else ""
            text = f"held{at}, {_place_of(client, scene)}: {scene.hold_reason}"
            return self._stopped(scene, text)
        return None

    def _reached(
        self, client: DebuggerClient, scene: SceneInfo, seen: _Seen, stop: StopInfo | None
    ) -> Outcome | None:
        """Look whether the scene has come as far as is wanted, before ``stop`` if there is one."""
        wanted = self._wanted
        # The stop may be told before where it stands.
        axis = max(scene.axis, stop.axis if stop is not None else 0)
        if wanted.axis is not None and axis >= wanted.axis:
            return self._came(client, scene, "axis", f"axis {wanted.axis} was reached")
        steps, times = [scene.physics_step_count], [scene.time]
        if stop is not None:
            steps.append(stop.physics_step)
            times.append(stop.time)
        history = client.history(scene.scene_id)
        segments = history.segments if history is not None else ()
        # Episodes may be shorter than the time between two messages.
        for step, at in _ends(segments, scene, since=seen.axis):
            steps.append(step)
            times.append(at)
        if segments and not math.isnan(times[-1]):
            seen.axis = segments[-1].begin
        if wanted.step is not None and max(steps) >= wanted.step:
            return self._came(client, scene, "step", f"physics step {wanted.step} was reached")
        # Times that were summed up from timesteps miss theirs by rounding.
        if wanted.time is not None and any(at >= wanted.time * (1.0 - 1e-9) for at in times):
            return self._came(client, scene, "time", f"{wanted.time:g} s was reached")
        return None

    def _came(self, client: DebuggerClient, scene: SceneInfo, what: str, text: str) -> Outcome:
        return Outcome(
            exit_code=WaitCode.CAME,
            what=what,
            text=f"{short_name(scene.name)}: {text}, it is at {_place_of(client, scene)}",
            scene=scene,
        )

    def _stopped(self, scene: SceneInfo, text: str, *, stop: StopInfo | None = None) -> Outcome:
        return Outcome(
            exit_code=WaitCode.CAME if self._wanted.stop else WaitCode.STOPPED,
            what="stop",
            text=f"{short_name(scene.name)}: {text}",
            scene=scene,
            stop=stop,
        )

    def _ended(self, scene: SceneInfo | None, text: str) -> Outcome:
        code = WaitCode.CAME if self._wanted.ended else WaitCode.ENDED
        return Outcome(exit_code=code, what="ended", text=text, scene=scene)


def _is_held_by(scene: SceneInfo, stop: StopInfo) -> bool:
    return scene.held and stop.held and stop.message in scene.hold_reason


def _ends(
    segments: Sequence[Segment], scene: SceneInfo, *, since: int
) -> Iterator[tuple[int, float]]:
    """Yield physics step and time [s] that each segment has come to that has ended after ``since``.

    Times are of steps that are as long as those of the segment that the scene was last seen in, nan
    where it has not moved there.
    """
    seen = segment_at(segments, scene.axis)
    timestep = math.nan
    if seen is not None and scene.axis > seen.begin:
        timestep = (scene.time - seen.time) / (scene.axis - seen.begin)
    for after, each in itertools.pairwise(reversed(segments)):
        if after.begin <= since:
            return
        length = after.begin - each.begin
        yield each.physics_step + length, each.time + length * timestep


def _place_of(client: DebuggerClient, scene: SceneInfo) -> str:
    """Return "episode 3, step 20 (physics step 80), 0.16 s": where a scene stands."""
    history = client.history(scene.scene_id)
    segments = history.segments if history is not None else ()
    episode = segments[-1].episode if has_episodes(segments) else None
    return _numbers(scene, episode)


def _numbers(scene: SceneInfo, episode: int | None = None) -> str:
    place = words_in_episode(scene.step_count, physics=scene.physics_step_count, episode=episode)
    return f"{place}, {scene.time:.6g} s"


def _stop_text(stop: StopInfo) -> str:
    place = words_in_episode(stop.step, physics=stop.physics_step, episode=stop.episode)
    env = f", environment {stop.env}" if stop.env >= 0 else ""
    held = "" if stop.held else " (only marked)"
    return f"stopped{held}, {place}, {stop.time:.6g} s{env}: {stop.message}"
