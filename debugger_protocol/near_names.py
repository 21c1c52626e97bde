"""Names that somebody may have meant who has written one that there isn't."""

import difflib
from collections.abc import Iterable

__all__ = ["suggestion"]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …?" with the closest known words, or what there is if it is little."""
    names = list(dict.fromkeys(known))
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), folded, n=3, cutoff=0.6)
    if close:
        quoted = " or ".join(repr(folded[each]) for each in close)
        return f"; did you mean {quoted}?"
    if 0 < len(names) <= 8:
        return f"; there is {', '.join(repr(name) for name in names)}"
    return ""
