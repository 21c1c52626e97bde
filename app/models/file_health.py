"""What is wrong with a recorded run, and what a repair has made of it, in words."""

import msgspec

from stroboscope.app.models.numbers import count_text

__all__ = ["CheckedFile", "LostFrames", "RepairedFile"]

# Places with losses that a headline names.
_NAMED = 2


class LostFrames(msgspec.Struct, frozen=True):
    """Frames ``begin`` to ``end`` - 1 of a scene, and the physics steps ``first`` to ``last``.

    Physics steps are those ever taken, as the axis of the timeline counts them. -1 where one of the
    two is not known.
    """

    scene: str
    begin: int
    end: int
    first: int
    last: int

    @property
    def is_one(self) -> bool:
        """Whether it is a single one."""
        return self.end - self.begin == 1 if self.begin >= 0 else self.first == self.last

    @property
    def place(self) -> str:
        """Which frames; which physics steps, where these are not known or have other numbers."""
        steps = _span("physics step", self.first, self.last)
        if self.begin < 0:
            return steps
        frames = _span("frame", self.begin, self.end - 1)
        is_same = (self.begin, self.end - 1) == (self.first, self.last)
        return frames if is_same or self.first < 0 else f"{frames} ({steps})"

    def __str__(self) -> str:
        if self.begin >= 0:
            return f"{_span('frame', self.begin, self.end - 1)} of {self.scene}"
        return f"{_span('physics step', self.first, self.last)} of {self.scene}"


class CheckedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a file: ``frames`` that are whole per scene, ``damage`` in words.

    ``closed``: its writer has closed it, and its index is whole. ``everything``: all checksums were
    compared. ``last``: the physics step of each scene's last frame that can be read.
    """

    closed: bool
    everything: bool
    frames: dict[str, int]
    last: dict[str, int] = {}
    lost: tuple[LostFrames, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to repair."""
        return self.closed and not self.damage

    def lost_steps(self, scene: str) -> tuple[LostFrames, ...]:
        """Return what is lost of a scene where it is known which physics steps that are, rising."""
        mine = {each for each in self.lost if each.scene == scene and each.first >= 0}
        return tuple(sorted(mine, key=lambda each: (each.first, each.last)))

    def headline(self, name: str) -> str:
        """Return what is wrong with the file called ``name``, and what is left, in a sentence."""
        count = sum(self.frames.values())
        left = _frames(count)
        if self.closed:
            text = f"{name} is damaged: "
        else:
            text = f"{name} was never closed: its recorder was killed, or its machine went down. "
        if self.lost:
            places = [str(each) for each in self.lost[:_NAMED]]
            more = len(self.lost) - len(places)
            if more > 0:
                places.append(f"more at {count_text(more)} other place{'' if more == 1 else 's'}")
            are = "is" if len(self.lost) == 1 and self.lost[0].is_one else "are"
            text += _sentence(f"{_and(places)} {are} lost, {left} can be read.", after=text)
        elif self.closed or self.damage:
            text += _sentence(f"no frame is lost, {left} can be read.", after=text)
        else:
            text += f"All that was written can be read: {left}."
        return text

    def details(self, name: str) -> str:
        """Return all that is known, a line for each."""
        lines = [self.headline(name), *self.damage]
        lines += [f"lost: {each}" for each in self.lost[_NAMED:]]
        if not self.everything:
            lines.append(
                "It is too large to compare all of its checksums while it is opened: "
                f"stroboscope verify {name} does"
            )
        return "\n".join(lines)


class RepairedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair has made: the new file, its ``frames`` per scene, and what else is lost."""

    path: str
    frames: dict[str, int]
    lost: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return what is in the new file."""
        scenes = [f"{_frames(count)} of {name}" for name, count in self.frames.items()]
        lost = f"; lost: {', '.join(self.lost)}" if self.lost else ""
        return f"{_and(scenes) or 'no frames'}{lost}"


def _frames(count: int) -> str:
    return f"{count_text(count)} frame{'' if count == 1 else 's'}"


def _span(what: str, first: int, last: int) -> str:
    if first == last:
        return f"{what} {count_text(first)}"
    return f"{what}s {count_text(first)} to {count_text(last)}"


def _sentence(text: str, *, after: str) -> str:
    return text if after.endswith(": ") else text[0].upper() + text[1:]


def _and(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
