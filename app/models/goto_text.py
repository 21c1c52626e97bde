"""Where somebody wants to go, as it is typed: a step, a time, or an episode with either."""

import dataclasses
import math
import re

__all__ = ["GotoPlace", "GotoTextError", "parse_goto"]

_HOW = "Type a step (1200), a time (3.2 s), or an episode with either (e3 120, e3 0.5 s)."
_EPISODE = re.compile(
    r"(?:e|ep|episode)\s*\.?\s*(\d+)\b(?!\s*[.,]\d)\s*[·,]?\s*(.*)", re.IGNORECASE
)
_STEP = re.compile(r"step\s+([\d \u2009\u00a0\u202f'_]*\d)", re.IGNORECASE)
_TIME = re.compile(
    r"(?:t\s*=?\s*)?([-\u2212+]?[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?)\s*(s|ms|min)?", re.IGNORECASE
)
_SPACES = re.compile(r"(?<=\d)[ \u2009\u00a0\u202f'_](?=\d{3}(?!\d))")
_SECONDS = {"s": 1.0, "ms": 1e-3, "min": 60.0}
_LIVE = frozenset({"live", "now", "end"})


class GotoTextError(ValueError):
    """What was typed is no place; the message says what is."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GotoPlace:
    """A place on the time axis: as in Goto, or ``live``."""

    step: int | None = None
    time: float | None = None
    episode: int | None = None
    live: bool = False


def parse_goto(text: str) -> GotoPlace:
    """Return the place that ``text`` names; GotoTextError when it names none."""
    rest = text.strip()
    if not rest:
        raise GotoTextError(_HOW)
    if rest.lower() in _LIVE:
        return GotoPlace(live=True)
    episode: int | None = None
    if found := _EPISODE.fullmatch(rest):
        episode, rest = int(found[1]), found[2].strip()
        if not rest:
            return GotoPlace(episode=episode)
    if found := _STEP.fullmatch(rest):
        rest = found[1]
    # Digits in groups of three, as steps are written here.
    found = _TIME.fullmatch(_SPACES.sub("", rest))
    if found is None:
        raise GotoTextError(f"“{text.strip()}” is no place on the time axis. {_HOW}")
    number, unit = found[1].replace("\u2212", "-").replace(",", "."), found[2]
    is_time = unit is not None or rest.lower().startswith("t")
    if is_time:
        return GotoPlace(time=_seconds(text, number, unit), episode=episode)
    if not number.lstrip("+-").isdigit():
        raise GotoTextError(
            f"Is “{rest}” a time? Write {number} s. Steps are whole numbers. {_HOW}"
        )
    step = int(number)
    if step < 0:
        raise GotoTextError(f"Steps are counted from 0, not {step}.")
    return GotoPlace(step=step, episode=episode)


def _seconds(text: str, number: str, unit: str | None) -> float:
    try:
        seconds = float(number) * _SECONDS[(unit or "s").lower()]
    except ValueError:
        raise GotoTextError(f"“{text.strip()}” is no time. Write 3.2 s.") from None
    if not math.isfinite(seconds):
        raise GotoTextError(f"“{text.strip()}” is no time that can be reached.")
    return seconds
