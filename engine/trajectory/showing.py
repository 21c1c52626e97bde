"""A recorded run in the debugger: its scenes stand in it as if they had just been simulated.

Runs in a process of its own, which the window asks for whatever it shows: the recorded model never
comes into the window's process, and what is simulated on from a frame is simulated here.
"""

import contextlib
import dataclasses
import os
import shlex
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from stroboscope.debugger_protocol.codec import MAX_SPEED, MIN_SPEED
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.plain_text import plain_text
from stroboscope.debugger_protocol.time_messages import Goto
from stroboscope.engine import debugger
from stroboscope.engine.counted import counted
from stroboscope.engine.errors import EngineError, ModelError, SceneDestroyedError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.outside.compiler import compiler_ahead
from stroboscope.engine.recording.doubts import DOUBT
from stroboscope.engine.recording.recorded_stops import stop_of
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.showing.no_display import require_display
from stroboscope.engine.trajectory.choosing import ALL, Choice
from stroboscope.engine.trajectory.recorded_notes import channel_of, said_text
from stroboscope.engine.trajectory.trajectory import Trajectory, load_chosen, load_trajectory
from stroboscope.engine.trajectory.transforms_shown import show_transforms

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Playing", "show_trajectory", "summary_of"]

# How often a file that is still being recorded is looked at [s].
_FOLLOW_S: Final = 0.25
# How often a view that plays moves [s].
_MOVE_S: Final = 1.0 / 30.0
# Texts of the recorded log that are told again; all of them are in the file.
_TOLD_TEXTS: Final = 200
_LEVELS = {"warning": LogLevel.WARNING, DOUBT: LogLevel.WARNING, "log": LogLevel.INFO}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """How a run is played as soon as it is shown: ``speed`` × real time, once or for ever."""

    speed: float = 1.0
    loop: bool = False


def show_trajectory(
    path: str | os.PathLike[str],
    *,
    launch: bool = True,
    timeout_seconds: float = 5.0,
    playing: Playing | None = None,
    choice: Choice = ALL,
    say: Callable[[str], None] = lambda _: None,
) -> bool:
    """Open a file in the debugger's window and serve it until that has gone; False: no window.

    It opens where the run stopped by itself, else with its first frame; of several scenes, or
    environments, it opens with the one that did, or the ``choice``, and ``say`` is told which.
    Of each other scene one environment is there, too. ``launch=False`` opens no window and waits
    for any client. Where the model can't be built, the transforms that were recorded for other
    tools are shown. Raises FileError and its kinds; NotShownError without a display for a window.
    """
    with load_chosen(path, choice, say=say) as first:
        if launch:
            require_display(first.path)
        # Nothing is stepped here until somebody continues it.
        debugger.the_session().paused_text = plain_text(f"showing {first.path.name}")
        try:
            shown = [_Shown(first)]
        except (ModelError, FileError) as error:
            return show_transforms(
                first.path,
                error,
                first=first.record.index,
                launch=launch,
                timeout_seconds=timeout_seconds,
            )
        for scene, name in first.to_show().items():
            if scene != first.scene_name:
                shown.append(_OnItsThread(path, name))
        try:
            for each in shown:
                each.wait_until_built()
            compiler_ahead().close()  # nobody asks it any more
            if not debugger.attach(timeout_seconds, launch=launch):
                if launch:
                    require_display(first.path, asks=True)
                return False
            if playing is not None and current_runtime().host.playback.plays_views:
                _set_speed(playing.speed, say)
            for each in shown:
                each.begin(playing)
            shown[0].serve()
        finally:
            for each in shown:
                each.end()
    return True


def _set_speed(speed: float, say: Callable[[str], None]) -> None:
    """Have the session's speed be the one that is asked for, or the nearest there is."""
    nearest = min(max(speed, MIN_SPEED), MAX_SPEED)
    if nearest != speed:
        say(f"the window plays at {nearest:g} x real time, as near as it can to {speed:g}")
    with contextlib.suppress(CommandError):  # it has just gone
        current_runtime().host.set_speed(nearest)


class _NobodyLooksError(Exception):
    """Ends a step that nobody has asked for."""


class _Shown:
    """One recorded scene in the debugger; on the thread that made it."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        trajectory.seek(trajectory.last_whole)  # its past is all that was recorded
        self._scene = trajectory.scene
        self._over = threading.Event()

    def wait_until_built(self) -> None:
        """Return when the scene is there."""

    def begin(self, playing: Playing | None) -> None:
        """Show where it stopped, else where it began, and play from there; any thread."""
        link = self._scene.link
        _say_what_it_is(self._trajectory, link)
        _retell(self._trajectory, self._scene)
        stops = link.past.stops.stops.stops
        first, last = self._trajectory.axes
        asked = self._look(stops[-1].axis if stops and playing is None else first)
        if playing is not None and current_runtime().host.playback.plays_views:
            # One player: who has keys and buttons for it. It goes where it has come first.
            with contextlib.suppress(CommandError):
                ask = partial(link.past.ask_to_play, loop=playing.loop)
                current_runtime().host.ask(link, "asking to play", ask)
        elif playing is not None:
            self._start(lambda: self._play(playing, first, last, asked))
        if not self._trajectory.complete:
            self._start(self._follow)

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="stroboscope-replay", daemon=True).start()

    def _look(self, axis: int) -> Ticket | None:
        """Ask for a row; None: nobody is there to look at it."""
        goto = Goto(id=0, scene_id=self._scene.link.scene_id, axis=axis)
        with contextlib.suppress(CommandError):
            return current_runtime().host.travel(goto)
        return None

    def _play(self, playing: Playing, first: int, last: int, asked: Ticket | None) -> None:
        """Move the view to the end, until somebody else moves it; it was ``asked`` to begin."""
        link, trajectory = self._scene.link, self._trajectory
        own: tuple[int | None, ...] = (None, first)
        began = time.monotonic()
        while not self._over.wait(_MOVE_S):
            has_come = asked is None or asked.settled
            view = link.past.view
            if view not in own:
                return
            if not has_come:
                continue  # where it was before is where it still is
            frame = trajectory.frame_played((time.monotonic() - began) * playing.speed)
            # Only where there is a frame: elsewhere the view would come to another row.
            target = trajectory.axis(frame)
            if target >= last and not playing.loop:
                self._look(last)
                return
            if target >= last:
                began, target = time.monotonic(), first
            if target != own[-1]:
                own = (view, target)
                asked = self._look(target)

    def serve(self) -> None:
        """Let the debugger look, and step when it has the scene continue; until it has gone."""
        scene = self._scene
        with contextlib.suppress(SceneDestroyedError):
            while debugger.is_attached():
                if not scene.link.active:
                    self._over.wait(_MOVE_S)
                    continue
                # Who waits before a step is let go when the last client leaves: not to simulate.
                scene.history.call_soon(self._check_somebody_looks)
                with contextlib.suppress(_NobodyLooksError):
                    scene.step()

    def _check_somebody_looks(self) -> None:
        if not self._scene.link.active:
            raise _NobodyLooksError

    def end(self) -> None:
        """Stop following the file; any thread."""
        self._over.set()

    def _follow(self) -> None:
        """Have the owner look at the file now and then."""
        link = self._scene.link
        while not self._over.wait(_FOLLOW_S):
            with contextlib.suppress(CommandError):
                current_runtime().host.ask(link, "following the file", self._take_in)

    def _take_in(self) -> None:
        """Take in what was recorded since; on the owner's thread."""
        trajectory = self._trajectory
        try:
            if trajectory.refresh():
                link = self._scene.link
                link.refresh_clock()
                link.past.refresh()
                link.selection_changed()  # what stands at the end is another state
                link.tell_news()
            if trajectory.complete:
                self._over.set()
        except FileError as error:
            self._over.set()
            self._scene.link.log_text(LogLevel.WARNING, f"it is not followed any more: {error}")


class _OnItsThread(_Shown):
    """A further scene, which has an owner thread of its own."""

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        self._built = threading.Event()
        self._begun = threading.Event()
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(path, name), name=f"scene {name}", daemon=True
        )
        self._thread.start()

    def _run(self, path: str | os.PathLike[str], name: str) -> None:
        try:
            with load_trajectory(path, scene=name) as trajectory:
                _Shown.__init__(self, trajectory)
                self._built.set()
                self._begun.wait()
                if not self._over.is_set():
                    self.serve()
        except EngineError as error:
            self._error = error
        finally:
            self._built.set()

    def wait_until_built(self) -> None:
        """Return when the scene is there; raises what kept it from being built."""
        self._built.wait()
        if self._error is not None:
            raise self._error

    def begin(self, playing: Playing | None) -> None:
        """Show where it stopped, and let its thread go on."""
        super().begin(playing)
        self._begun.set()

    def end(self) -> None:
        """Let its thread end."""
        super().end()
        self._begun.set()


def _say_what_it_is(trajectory: Trajectory, link: SceneLink) -> None:
    """Say what was opened, and what is wrong with it."""
    name = trajectory.path.name
    for damage in trajectory.damage:
        link.log_text(LogLevel.WARNING, f"{name}: {damage}")
    if trajectory.damage or not trajectory.complete:
        lost = "some of it is damaged" if trajectory.damage else "its writer has not closed it"
        link.log_text(
            LogLevel.WARNING,
            f"{name} is not complete: {lost}. What is whole is shown, and what is still written is "
            f"followed; if nothing is: stroboscope repair {shlex.quote(str(trajectory.path))}",
        )
    link.log_text(LogLevel.INFO, summary_of(trajectory))


def summary_of(trajectory: Trajectory) -> str:
    """Return what a file is, in one line: "rec.mcap: 3 001 frames, exact, recorded …, complete"."""
    manifest, record = trajectory.manifest, trajectory.record
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(manifest.created))
    thinned = f", every {record.every}. step" if record.every > 1 else ""
    platform = f" on {manifest.platform}" if manifest.platform else ""
    return (
        f"{trajectory.path.name}: {counted(len(trajectory), 'frame')}, {record.mode}{thinned}, "
        f"recorded {made}{platform} with {manifest.engine} {manifest.engine_version}, "
        f"{'complete' if trajectory.complete else 'not complete'}"
    )


def _retell(trajectory: Trajectory, scene: "Scene") -> None:
    """Tell of what stopped the recorded run, and what was said in it."""
    stops, texts = [], []
    link, world = scene.link, scene.world
    for event in trajectory.events:
        if event.kind == "stop":
            stops.append(stop_of(event, model=world.model, adapter=world.adapter))
        elif event.text and event.kind in _LEVELS:
            texts.append(event)
    for name, signal in trajectory.signals.items():
        if len(signal.axes):
            # So that the channel is known; its past is read from the file.
            link.log(
                name, np.atleast_1d(signal.values[-1]), names=trajectory.signal_names(name) or None
            )
    link.past.stops.recall([stop for stop in stops if stop is not None])
    host = current_runtime().host
    if len(texts) > _TOLD_TEXTS:
        host.log(LogLevel.INFO, f"+{len(texts) - _TOLD_TEXTS} texts before these", link=link)
    for event in texts[-_TOLD_TEXTS:]:
        host.log(
            _LEVELS[event.kind],
            said_text(event),
            link=link,
            at=(event.axis, event.time),
            channel=channel_of(event),
        )
