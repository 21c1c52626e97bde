"""From text to a syntax tree that holds only what the language knows. Nothing is ever run.

Python's own parser reads the text; before that every token is looked at, so that nothing reaches
it that is no part of the language.
"""

import ast
import re
from keyword import iskeyword
from typing import Final

from stroboscope.debugger_protocol.expressions.errors import ExpressionError

__all__ = ["MAX_BYTES", "SyntaxPlace", "parse"]

MAX_BYTES: Final = 253
"""The longest expression [bytes of UTF-8]: with "= " in front it is a channel's name."""
_MAX_DEPTH: Final = 24
_TOKEN: Final = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<text>'[^'\\]*'|\"[^\"\\]*\")"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<operator>\*\*|<=|>=|==|!=|[-+*/%<>()\[\],.:])"
)
_WORDS_IN_A_ROW: Final = re.compile(r"[^\W\d]\w*(?: +[^\W\d]\w*)+")
_HINTS: Final = {
    "^": "powers are written **",
    "&": "write 'and'",
    "|": "write 'or', or abs(x)",
    "!": "write 'not'",
    "=": "comparing is written ==",
    "'": "this text has no end",
    '"': "this text has no end",
    "\\": "there are no backslashes",
}
_NODES: Final = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Subscript, ast.Attribute,
    ast.Name, ast.Constant, ast.Slice, ast.Tuple,
)  # fmt: skip
_WORDS: Final = {
    ast.IfExp: "write where(condition, a, b)",
    ast.Lambda: "there are no functions of one's own",
    ast.ListComp: "there are no comprehensions",
    ast.GeneratorExp: "there are no comprehensions",
    ast.NamedExpr: "nothing can be assigned",
    ast.List: "there are no lists",
    ast.Starred: "there is no unpacking",
}


class SyntaxPlace:
    """Where the nodes of one text stand in it, in characters."""

    def __init__(self, text: str, source: str, shift: int) -> None:
        self.text = text
        self._bytes = source.encode(errors="replace")
        self._shift = shift

    def error(self, problem: str, node: ast.AST) -> ExpressionError:
        """Return the error about a node."""
        return ExpressionError(problem, text=self.text, **self._span(node))

    def error_at_end(self, problem: str, node: ast.AST, length: int) -> ExpressionError:
        """Return the error about the last letters of a node."""
        end = self._span(node)["end"]
        return ExpressionError(problem, text=self.text, start=end - length, end=end)

    def source(self, node: ast.AST) -> str:
        """Return what is written there."""
        span = self._span(node)
        return self.text[span["start"] : span["end"]]

    def _span(self, node: ast.AST) -> dict[str, int]:
        start = self._characters(getattr(node, "col_offset", 0))
        end = self._characters(getattr(node, "end_col_offset", None) or 0)
        return {"start": start, "end": end}

    def _characters(self, offset: int) -> int:
        return self._shift + len(self._bytes[:offset].decode(errors="replace"))


def parse(text: str) -> tuple[ast.expr, SyntaxPlace]:
    """Return the tree of an expression; raises ExpressionError."""
    source = text.strip()
    shift = len(text) - len(text.lstrip())
    if not source:
        raise ExpressionError("an expression is needed", text=text, start=0)
    size = len(source.encode(errors="replace"))
    if size > MAX_BYTES:
        raise ExpressionError(
            f"the expression has {size} bytes, {MAX_BYTES} are allowed: shorten it",
            text=text,
            start=shift + MAX_BYTES - 1,
        )
    _check_tokens(text, shift, shift + len(source))
    place = SyntaxPlace(text, source, shift)
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        at = shift + max((error.offset or 1) - 1, 0)
        reason = error.msg.removeprefix("invalid syntax. ")
        hint = reason if reason != "invalid syntax" else _unreadable(text, at)
        raise ExpressionError(hint, text=text, start=at) from None
    except (ValueError, RecursionError, MemoryError):
        problem = "this is nested too deeply, or no text"
        raise ExpressionError(problem, text=text, start=shift) from None
    _check_tree(tree, place)
    return tree, place


def _unreadable(text: str, at: int) -> str:
    """Return what to say of text that is no expression from ``at`` on."""
    for words in _WORDS_IN_A_ROW.finditer(text):
        if words.start() < at < words.end() and not any(map(iskeyword, words[0].split())):
            return f"this can't be read; a name of several words is written user['{words[0]}']"
    return "this can't be read"


def _check_tokens(text: str, start: int, end: int) -> None:
    at, before = start, ""
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            hint = _HINTS.get(text[at])
            because = f": {hint}" if hint else ""
            raise ExpressionError(f"{text[at]!r} can't stand here{because}", text=text, start=at)
        kind = str(match.lastgroup)
        joined = (before, kind)
        if joined in (("number", "name"), ("name", "text"), ("text", "name"), ("number", "text")):
            problem = "something is missing between these two"
            raise ExpressionError(problem, text=text, start=at, end=match.end())
        if kind == "text" and before.startswith("text"):
            problem = "two texts stand side by side"
            raise ExpressionError(problem, text=text, start=at, end=match.end())
        # A space between texts does not part them for Python.
        before = "text " if kind == "space" and before.startswith("text") else kind
        at = match.end()


def _check_tree(tree: ast.expr, place: SyntaxPlace) -> None:
    """Walk without recursion: depth is what is being checked."""
    level: list[ast.AST] = [tree]
    for _ in range(_MAX_DEPTH):
        below: list[ast.AST] = []
        for node in level:
            if not isinstance(node, _NODES):
                hint = _WORDS.get(type(node), "that is no part of this language")
                raise place.error(f"this can't be used here: {hint}", node)
            below += [
                each
                for each in ast.iter_child_nodes(node)
                if isinstance(each, ast.expr | ast.Slice | ast.keyword)
            ]
        level = below
        if not level:
            return
    raise place.error(f"this is nested more than {_MAX_DEPTH} levels deep", level[0])
