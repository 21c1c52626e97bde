"""What is wrong with a file, and what is lost by it."""

import dataclasses

__all__ = ["Damage"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One place of a file that is not as it was written.

    ``what``: in words. ``offset``, ``nbytes``: where in the file. ``scene``, ``frames`` (begin and
    end), ``axes`` (first and last): what is lost, where that is known. ``is_cut_off``: there the
    file ends before it was complete; what it has is as it was written.
    """

    what: str
    offset: int
    nbytes: int = 0
    scene: int | None = None
    frames: tuple[int, int] | None = None
    axes: tuple[int, int] | None = None
    is_cut_off: bool = False

    def __str__(self) -> str:
        text = f"at byte {self.offset:,}: {self.what}"
        steps = "" if self.axes is None else f"physics steps {_span(*self.axes)}"
        if self.frames is not None:
            begin, end = self.frames
            text += f"; lost: frames {_span(begin, end - 1)} of scene {self.scene}"
            text += f" ({steps})" if steps else ""
        elif steps:
            text += f"; lost: {steps} of scene {self.scene}"
        return text


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
