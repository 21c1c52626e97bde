"""Words of scripts and models in places where Qt looks for markup."""

import re

__all__ = ["plain_text"]

_WORD_JOINER = "\N{WORD JOINER}"
_LOOKS_LIKE_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|&(?=lt;)")


def plain_text(text: str) -> str:
    """Return ``text`` so that a tooltip shows it as it is, and not as the HTML it looks like.

    Tooltips have no text format. A character without width after the bracket is no tag any more.
    """
    return _LOOKS_LIKE_MARKUP.sub(lambda found: found.group() + _WORD_JOINER, text)
