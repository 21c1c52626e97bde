"""Names that somebody may have meant who has written one that there isn't."""

import difflib
from collections.abc import Iterable

__all__ = ["near_names", "suggestion"]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" with the closest known words, or what there is if it is little."""
    names = list(dict.fromkeys(known))
    close = near_names(word, names)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if 0 < len(names) <= 8:
        return f"; there is {', '.join(repr(name) for name in names)}"
    return ""


def near_names(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the closest known words, at most three; empty where none is close."""
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=3, cutoff=0.6)
    return tuple(folded[each] for each in close)
