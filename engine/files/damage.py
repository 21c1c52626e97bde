"""What is wrong with a file, and what is lost by it."""

import dataclasses
from collections.abc import Mapping

from stroboscope.engine.files.lost_messages import LostMessages, lost_in_words

__all__ = ["Damage"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One place of a file that is not as it was written.

    ``what``: in words. ``offset``, ``nbytes``: where in the file. ``scene``, ``frames`` (begin and
    end), ``axes`` (first and last), ``messages`` (events, values, what is for other tools): what is
    lost, where that is known. ``is_cut_off``: there the file ends before it was complete; what it
    has is as it was written.
    """

    what: str
    offset: int
    nbytes: int = 0
    scene: int | None = None
    frames: tuple[int, int] | None = None
    axes: tuple[int, int] | None = None
    messages: tuple[LostMessages, ...] = ()
    is_cut_off: bool = False

    def __str__(self) -> str:
        return self.told({})

    def told(self, names: Mapping[int, str]) -> str:
        """Return it in words; scenes by their ``names``, else by their numbers."""
        text = f"at byte {self.offset:,}: {self.what}"
        scene = names.get(self.scene if self.scene is not None else -1, f"scene {self.scene}")
        steps = "" if self.axes is None else f"physics steps {_span(*self.axes)}"
        if self.frames is not None:
            begin, end = self.frames
            text += f"; lost: frames {_span(begin, end - 1)} of {scene}"
            text += f" ({steps})" if steps else ""
        elif steps:
            text += f"; lost: {steps} of {scene}"
        elif self.messages:
            text += f"; lost: {lost_in_words(self.messages, names)}"
        return text


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"
