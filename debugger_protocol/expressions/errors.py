"""What is wrong with an expression, and where."""

from stroboscope.debugger_protocol.exceptions import ProtocolError

__all__ = ["ExpressionError"]


class ExpressionError(ProtocolError):
    """An expression can't be evaluated; the message shows its text with carets under the place.

    ``problem`` is the sentence alone, ``text`` the expression, ``start`` and ``end`` the place in
    it, in characters.
    """

    def __init__(self, problem: str, *, text: str, start: int, end: int | None = None) -> None:
        self.problem = problem
        self.text = text
        self.start = min(max(start, 0), len(text))
        self.end = max(self.start + 1, min(end if end is not None else 0, len(text)))
        super().__init__(f"{problem}\n{self.marked}")

    @property
    def marked(self) -> str:
        """The text and, in a second line, carets under the place."""
        # Tabs and the like would put the carets elsewhere.
        shown = "".join(each if each.isprintable() else " " for each in self.text)
        return f"    {shown}\n    {' ' * self.start}{'^' * (self.end - self.start)}"
