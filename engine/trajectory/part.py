"""Which frames of a recorded run a command line means: by number, or by times in an episode."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["add_times", "axes_meant", "episodes_of", "frames_meant", "has_times"]


def add_times(parser: argparse.ArgumentParser, *until: str) -> None:
    """Let a command line name a part by times; ``until``: what else ``--until`` is called."""
    parser.add_argument("--from", type=_seconds, dest="first", help="simulation time [s], as 1.4s")
    parser.add_argument(
        *until,
        "--until",
        type=_seconds,
        dest="last",
        help="to the frame at that time, this one included",
    )
    parser.add_argument(
        "--episode",
        type=int,
        default=None,
        help="whose times these are (default: that of the last stop, else the first one)",
    )


def has_times(options: argparse.Namespace) -> bool:
    """Return whether a command line with :func:`add_times` names a time."""
    return options.first is not None or options.last is not None


def frames_meant(trajectory: "Trajectory", options: argparse.Namespace) -> range:
    """Return the frames that a command line with :func:`add_times` means; all without times.

    An episode alone is all of it. Raises ValueError for what is not there.
    """
    begin, end = 0, len(trajectory)
    episode: int | None = options.episode
    if not has_times(options):
        return range(begin, end) if episode is None else _frames_of(trajectory, episode)
    if episode is None:
        episode = _stopped_episode(trajectory)
    if options.first is not None:
        begin = _frame_at(trajectory, options.first, episode)
    if options.last is not None:
        end = _frame_at(trajectory, options.last, episode) + 1
    if begin >= end:
        raise ValueError(
            f"{trajectory.path} has no frame from {options.first:g} s to {options.last:g} s: "
            "the end is to be behind the begin"
        )
    return range(begin, end)


def axes_meant(trajectory: "Trajectory", frames: range) -> tuple[int, int]:
    """Return the axis of the first and the last step of a part; of all frames, of all there is."""
    if len(frames) == len(trajectory):
        return -1, sys.maxsize
    return trajectory.axis(frames[0]), trajectory.axis(frames[-1])


def episodes_of(trajectory: "Trajectory", frames: range) -> str:
    """Return the episodes of some frames in words; empty for frames that are not there."""
    if not 0 <= frames.start < frames.stop <= len(trajectory):
        return ""
    first, last = trajectory.episode(frames.start), trajectory.episode(frames.stop - 1)
    return f"episode {first:,}" if first == last else f"episodes {first:,} to {last:,}"


def _frames_of(trajectory: "Trajectory", episode: int) -> range:
    """Return all frames of an episode; they stand together."""
    frames = [at for at in range(len(trajectory)) if trajectory.episode(at) == episode]
    if not frames:
        first, last = trajectory.episode(0), trajectory.episode(len(trajectory) - 1)
        raise ValueError(
            f"{trajectory.path} has no frame of episode {episode:,}: it has {first:,} to {last:,}"
        )
    return range(frames[0], frames[-1] + 1)


def _stopped_episode(trajectory: "Trajectory") -> int | None:
    """Return the episode whose stop is the last one; None where nothing stopped."""
    stops = [event for event in trajectory.events if event.kind == "stop"]
    return max(stops, key=lambda event: event.axis).episode if stops else None


def _frame_at(trajectory: "Trajectory", seconds: float, episode: int | None) -> int:
    """Return the frame at a time [s]; raises ValueError behind the end of the episode."""
    frame = trajectory.find(time=seconds, episode=episode)
    reached = trajectory.time(frame)
    if seconds - reached > 1.5 * trajectory.record.every * trajectory.timestep:
        raise ValueError(
            f"{trajectory.path} has no frame at {seconds:g} s: the episode ends at {reached:g} s; "
            "name another one with --episode, or frames by number"
        )
    return frame


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))
