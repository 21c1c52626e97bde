"""How an expression travels: as the name of a channel of SIGNALS that begins with "="."""

__all__ = ["expression_channel", "expression_text", "is_expression"]


def is_expression(channel: str) -> bool:
    """Return whether a channel's name is an expression."""
    return channel.startswith("=")


def expression_channel(text: str) -> str:
    """Return the channel that carries an expression's values."""
    return f"= {text.strip()}"


def expression_text(channel: str) -> str:
    """Return the expression of a channel's name."""
    return channel.removeprefix("=").strip()
