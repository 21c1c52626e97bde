"""How many there are, in words."""

__all__ = ["counted"]


def counted(count: int, what: str) -> str:
    """Return "1 frame" or "1,200 frames"."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")
