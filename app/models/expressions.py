"""What a person is told about an expression, and which words can complete it."""

from stroboscope.debugger_protocol.expressions import (
    CONTACT_PARTS,
    MAX_BYTES,
    ExpressionError,
    SignalTable,
    compile_expression,
    expression_channel,
)
from stroboscope.debugger_protocol.expressions.arithmetic import FUNCTIONS

__all__ = [
    "completions",
    "contact_channel",
    "expression_problem",
    "fit_problem",
    "position_channel",
    "quoted",
]

_NO_BREAK = "\u00a0"


def expression_problem(text: str, table: SignalTable | None) -> str:
    """Return what is wrong with an expression, with carets under the place; "" when nothing is."""
    if table is None:
        return "No scene is shown that this could be about."
    try:
        compile_expression(text, table)
    except ExpressionError as error:
        return str(error)
    return ""


def fit_problem(problem: str, columns: int) -> str:
    """Return a problem with carets for a narrow place: the part of the text around them.

    ``columns`` letters fit into a line. Nothing in those two lines can be wrapped, or the carets
    would stand somewhere else.
    """
    sentence, *rest = problem.split("\n")
    if len(rest) < 2:
        return problem
    text, carets = (line.removeprefix("    ") for line in rest[:2])
    columns = max(columns, 12)
    if len(text) > columns:
        middle = (carets.index("^") + len(carets)) // 2
        begin = min(max(middle - columns // 2, 0), len(text) - columns)
        part = text[begin : begin + columns]
        if begin:
            part = f"…{part[1:]}"
        if begin + columns < len(text):
            part = f"{part[:-1]}…"
        text, carets = part, carets.ljust(len(text))[begin : begin + columns].rstrip()
    lines = (sentence, text.replace(" ", _NO_BREAK), carets.replace(" ", _NO_BREAK), *rest[2:])
    return "\n".join(lines)


def quoted(name: str) -> str:
    """Return a name as the language takes it, "" when it can't be written."""
    quote = '"' if "'" in name else "'"
    return "" if quote in name or "\\" in name else f"{quote}{name}{quote}"


def position_channel(array: str, name: str) -> str:
    """Return the channel of an element's position, ``= xpos['hand']``; "" when there is none."""
    written = quoted(name)
    channel = expression_channel(f"{array}[{written}]")
    return channel if written and len(channel.encode()) <= MAX_BYTES else ""


def contact_channel(part: str, *names: str) -> str:
    """Return the channel of a part of the contacts between geoms, or "" when there is none."""
    written = [quoted(name) for name in names]
    channel = expression_channel(f"contact[{','.join(written)}].{part}")
    return channel if all(written) and len(channel.encode()) <= MAX_BYTES else ""


def completions(
    text: str, table: SignalTable, *, functions: tuple[str, ...] = ()
) -> tuple[int, list[str]]:
    """Return where the word before the end of ``text`` begins, and what it could become.

    Inside ``name['`` these are the names of its columns, of geoms and bodies for contacts.
    ``functions`` are known beside the usual ones.
    """
    quote = max(text.rfind("'"), text.rfind('"'))
    is_open = quote >= 0 and text.count(text[quote]) % 2 == 1
    if is_open:
        owner, typed = text[:quote], text[quote + 1 :]
        return quote + 1, _matching(typed, _columns_of(owner, table))
    start = len(text)
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    typed = text[start:]
    if start and text[start - 1] == "]" and typed.startswith("."):
        return start + 1, _matching(typed[1:], CONTACT_PARTS)
    words = [*table.names, *(f"{name}(" for name in (*FUNCTIONS, *functions))]
    return start, _matching(typed, words) if typed and not typed[0].isdigit() else []


def _columns_of(owner: str, table: SignalTable) -> list[str]:
    """Return the names that may stand in the brackets at the end of ``owner``."""
    open_at = owner.rfind("[")
    start = open_at
    while start > 0 and (owner[start - 1].isalnum() or owner[start - 1] in "_."):
        start -= 1
    name = owner[start:open_at]
    if name == "contact":
        return list(table.contact_names)
    if name == "user":
        return list(table.names)
    entry = table.find(name)
    if entry is None:
        return []
    elements = (each.rpartition(".")[0] for each in entry.names)
    return list(dict.fromkeys((*filter(None, elements), *entry.names)))


def _matching(typed: str, words: object) -> list[str]:
    low = typed.casefold()
    every = list(words)  # type: ignore[call-overload]
    begin = [word for word in every if word.casefold().startswith(low)]
    return begin + [word for word in every if low in word.casefold() and word not in begin]
