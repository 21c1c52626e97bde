"""What is wrong with a file, and what is lost by it."""

import dataclasses

__all__ = ["Damage"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One place of a file that is not as it was written.

    ``what``: in words. ``offset``, ``nbytes``: where in the file. ``scene``, ``frames`` (begin and
    end), ``axes`` (first and last): what is lost, where that is known.
    """

    what: str
    offset: int
    nbytes: int = 0
    scene: int | None = None
    frames: tuple[int, int] | None = None
    axes: tuple[int, int] | None = None

    def __str__(self) -> str:
        text = f"at byte {self.offset:,}: {self.what}"
        if self.frames is not None:
            begin, end = self.frames
            lost = f"frame {begin:,}" if end == begin + 1 else f"frames {begin:,} to {end - 1:,}"
            text += f"; lost: {lost} of scene {self.scene}"
        if self.axes is not None:
            text += f" (physics steps {self.axes[0]:,} to {self.axes[1]:,})"
        return text
