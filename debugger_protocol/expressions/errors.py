"""What is wrong with an expression, and where."""

from stroboscope.debugger_protocol.exceptions import ProtocolError

__all__ = ["ExpressionError", "UnknownSignal"]


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


class UnknownSignal(ExpressionError):
    """It speaks of a signal that there is not.

    ``may_be_logged``: whether a script may log one of that ``name`` later, so that it is right
    then; what is close to a signal that there is was mistyped.
    """

    def __init__(self, error: ExpressionError, *, name: str, may_be_logged: bool) -> None:
        super().__init__(error.problem, text=error.text, start=error.start, end=error.end)
        self.name = name
        self.may_be_logged = may_be_logged

    def with_advice(self, advice: str) -> ExpressionError:
        """Return the same error with something to do about it."""
        return ExpressionError(
            f"{self.problem}; {advice}", text=self.text, start=self.start, end=self.end
        )
