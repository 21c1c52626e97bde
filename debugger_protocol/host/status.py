"""SceneStatus: where a scene stands, how fast it runs, and what its owner is doing."""

from collections import deque
from collections.abc import Mapping
from typing import Final

import msgspec

from stroboscope.debugger_protocol.backend import Clock
from stroboscope.debugger_protocol.host.activity import (
    observe_owner,
    owner_location,
    waits_for,
)
from stroboscope.debugger_protocol.host.playback import HoldKind, Playback
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode, SceneStatus

__all__ = ["SceneMeter", "differs", "is_news", "scene_status"]

_WINDOW: Final = 1.0
# A script that waits for real time during less of its time than this is not throttled.
_THROTTLED: Final = 0.05
_NOWHERE: Final = Clock(time=0.0, step_count=0, physics_step_count=0, total_steps=0, axis=0)


class SceneMeter:
    """Measures one scene over the last second; on the server thread."""

    def __init__(self) -> None:
        # (wall time, axis, simulation time, number of replacements, seconds slept)
        self._samples: deque[tuple[float, int, float, int, float]] = deque()
        self._timestep: float | None = None
        self.status_due = 0.0
        """When the next status may be sent [s]."""

    def sample(self, link: SceneLink, *, now: float) -> None:
        """Take note of where the scene stands."""
        clock = link.clock
        if clock is None:
            return
        samples = self._samples
        new = (now, clock.axis, clock.time, link.replacements, link.pacer.slept)
        if samples:
            _, axis, time, replacements, _ = samples[-1]
            if clock.axis > axis and replacements == link.replacements and clock.time > time:
                self._timestep = (clock.time - time) / (clock.axis - axis)
        samples.append(new)
        while len(samples) > 2 and samples[1][0] <= now - _WINDOW:
            samples.popleft()

    @property
    def rtf(self) -> float | None:
        """Simulated per wall time over the last second, None when nothing moved."""
        first, last = self._ends()
        if first is None or last is None or last[1] == first[1]:
            return None
        wall = last[0] - first[0]
        if wall < 0.05:
            return None
        if first[3] == last[3]:
            return max(0.0, last[2] - first[2]) / wall
        # The script has reset the scene meanwhile: count steps instead of subtracting times.
        if self._timestep is None:
            return None
        return (last[1] - first[1]) * self._timestep / wall

    @property
    def throttled(self) -> bool:
        """Whether pacing has slowed the script down within the last second."""
        first, last = self._ends()
        if first is None or last is None:
            return False
        wall = last[0] - first[0]
        return wall > 0.0 and last[4] - first[4] > _THROTTLED * wall

    def _ends(
        self,
    ) -> tuple[
        tuple[float, int, float, int, float] | None, tuple[float, int, float, int, float] | None
    ]:
        if len(self._samples) < 2:
            return None, None
        return self._samples[0], self._samples[-1]


def scene_status(
    link: SceneLink,
    meter: SceneMeter,
    *,
    playback: Playback,
    links: Mapping[int, SceneLink],
    now: float,
) -> SceneStatus:
    """Return the status of a scene as it is now."""
    clock = link.clock or _NOWHERE
    activity, seconds = observe_owner(link, now=now)
    holds = tuple(link.holds.values())
    throttled = meter.throttled and playback.mode is PlaybackMode.PLAYING and not holds
    if throttled and activity is OwnerActivity.STEPPING and seconds == 0.0:
        activity = OwnerActivity.PACING  # caught between two waits
    wants_place = (
        HoldKind.SCRIPT in link.holds
        or activity in (OwnerActivity.USER_CODE, OwnerActivity.PARKED)
        or seconds > 0.0
    )
    return SceneStatus(
        scene_id=link.scene_id,
        mode=PlaybackMode.PAUSED if holds and link.follow else _mode(link, playback),
        held=bool(holds),
        hold_reason="; ".join(holds),
        step_count=clock.step_count,
        physics_step_count=clock.physics_step_count,
        total_steps=clock.total_steps,
        axis=clock.axis,
        time=clock.time,
        rtf=meter.rtf,
        throttled=throttled,
        activity=activity,
        activity_s=round(seconds, 1),
        location=_location(link) if wants_place else "",
        waiting_for=waits_for(link, links.values(), now=now),
    )


_OF_SCRIPT = (HoldKind.SCRIPT, HoldKind.STOP)
"""Holds that may be about a line of the script."""


def _location(link: SceneLink) -> str:
    if link.hold_location and not link.holds.keys().isdisjoint(_OF_SCRIPT):
        return link.hold_location
    return owner_location(link)


def _mode(link: SceneLink, playback: Playback) -> PlaybackMode:
    is_steered = link.follow and playback.attached
    return playback.mode if is_steered else PlaybackMode.FAST_FORWARD


def is_news(link: SceneLink, previous: SceneStatus) -> bool:
    """Return whether a scene has stopped, started or been held since its last status."""
    parked = link.owner.parked_in is not None
    return parked != (previous.activity is OwnerActivity.PARKED) or bool(link.holds) != (
        previous.held
    )


def differs(status: SceneStatus, previous: SceneStatus) -> bool:
    """Return whether there is something to tell; for how long a thread is parked isn't."""
    if status.activity is OwnerActivity.PARKED:
        status = msgspec.structs.replace(status, activity_s=previous.activity_s)
    return status != previous
