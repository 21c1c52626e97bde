"""Which instant a panel's values belong to, in words: what stands above every table."""

import dataclasses

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import MINUS, count_text, number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant

__all__ = ["Moment", "moment_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """``word`` names the instant, ``text`` says when it was; ``level`` is a label's level."""

    word: str
    text: str = ""
    level: str = ""
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The same, then shorter ones for less room."""
        first, _, rest = self.text.partition(" · ")
        short = self.word.partition(" · ")[0]
        if not rest:
            return (self.line, short)
        return (self.line, f"{self.word} · {first}", f"{short} · {first}", short)

    @property
    def line(self) -> str:
        """Both in one line."""
        return f"{self.word} · {self.text}" if self.text else self.word


def moment_of(scene: SceneModel | None, frames: FrameSet | None) -> Moment:
    """Return what to say about the instant of ``frames``."""
    if scene is None:
        return Moment("")
    if frames is None:
        return Moment("LAST STATE · not live" if scene.is_stale else "waiting for values…")
    running = scene.mode is not PlaybackMode.PAUSED and not scene.is_stale
    if scene.is_stale:
        word = "LAST STATE · not live"
    elif frames.instant is Instant.PAST:
        history = scene.history.told
        back = history.view_back if history is not None and history.view == frames.axis else 0
        word = f"PAST {MINUS}{count_text(back)} · this step, exact" if back else "PAST"
        if back and (frame := scene.history.frame_text):
            word = f"REPLAY · {frame}"
    elif frames.instant is Instant.EXECUTED:
        word = "EXECUTED" if running else "EXECUTED · the last step, exact"
    else:
        word = "NOW · forces predicted"
    when = with_unit(number_text(frames.time), "s")
    return Moment(
        word,
        f"t {when} · step {count_text(frames.step)}",
        "stop" if scene.is_stale else "",
        frames.notes,
    )
