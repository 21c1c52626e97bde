"""A line to type an expression: completes names, and says what is wrong while it is typed."""

from collections.abc import Callable

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QCompleter, QLabel, QLineEdit, QListView, QVBoxLayout, QWidget

from stroboscope.app.models.expressions import completions, expression_problem, fit_problem
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.expressions import SignalTable

__all__ = ["ExpressionField", "columns_of", "fixed_font"]

_SHOWN_COMPLETIONS = 12


def fixed_font() -> QFont:
    """Return the font in which carets stand under their place."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(METRICS.small_font_px)
    return font


_COMPLETER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab, Qt.Key.Key_Escape)


class _Line(QLineEdit):
    cancelled = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.is_completing: Callable[[], bool] = lambda: False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _COMPLETER_KEYS and self.is_completing():
            event.ignore()  # the completer, which has asked us first, takes it then
        elif event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.left.emit()


class _Popup(QListView):
    """Hands the focus on to the line it belongs to only while it is seen.

    Without a window manager a display may give it the focus after it was hidden: the line would
    take the keys of somebody who has long been elsewhere.
    """

    def __init__(self, line: QLineEdit) -> None:
        super().__init__()
        self._line = line

    def showEvent(self, event: QShowEvent) -> None:
        self.setFocusProxy(self._line)
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.setFocusProxy(None)  # type: ignore[arg-type]  # Qt takes none


class ExpressionField(QWidget):
    """``entered`` carries a text that is right, or one that was entered twice although it is not;
    when ``strict`` only right ones.

    ``get_table`` returns what may be named, None while there is no scene. ``problem`` says what is
    wrong with a text, ``functions`` are more of them than expressions have. ``cancelled``: Escape;
    ``left_empty``: Return with nothing typed.
    """

    entered = Signal(str)
    cancelled = Signal()
    left = Signal()
    left_empty = Signal()

    def __init__(
        self,
        get_table: Callable[[], SignalTable | None],
        *,
        placeholder: str = "",
        problem: Callable[[str, SignalTable | None], str] = expression_problem,
        functions: tuple[str, ...] = (),
        strict: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._get_table = get_table
        self._problem_of = problem
        self._functions = functions
        self._strict = strict
        self._refused = ""
        self.line = _Line()
        self.line.setPlaceholderText(placeholder)
        self.line.setAccessibleName("expression")
        self.line.setFont(fixed_font())
        self.line.textEdited.connect(self._on_edited)
        self.line.returnPressed.connect(self._on_return)
        self.line.cancelled.connect(self.cancelled)
        self.line.left.connect(self.left)
        self.problem: QLabel = label("", "small", wrap=True)
        self.problem.setFont(fixed_font())
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        self.problem.setProperty("level", "warn")
        self.problem.setMinimumWidth(0)
        self.problem.hide()
        self._words = QStringListModel(self)
        self._begin = 0
        completer = QCompleter(self._words, self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        completer.setMaxVisibleItems(_SHOWN_COMPLETIONS)
        completer.setWidget(self.line)
        popup = _Popup(self.line)
        completer.setPopup(popup)
        self._completer, self._popup = completer, popup
        self.line.is_completing = popup.isVisible
        # Not the line's own: that one would replace the whole text.
        completer.activated.connect(self._complete)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.line)
        column.addWidget(self.problem)
        self.setFocusProxy(self.line)

    def set_text(self, text: str) -> None:
        """Begin with a text."""
        self.line.setText(text)
        self._refused = ""
        self._show_problem("")

    def offered(self) -> list[str]:
        """Return the completions that are listed."""
        return self._words.stringList() if self._popup.isVisible() else []

    def _on_edited(self, text: str) -> None:
        self._refused = ""
        table = self._get_table()
        if table is None:
            return
        before = text[: self.line.cursorPosition()]
        self._begin, words = completions(before, table, functions=self._functions)
        typed = before[self._begin :]
        popup = self._popup
        if not words or typed in words[:1]:
            popup.hide()
        else:
            self._words.setStringList(words[:200])
            self._completer.complete()
            popup.setCurrentIndex(self._words.index(0) if typed else self._words.index(-1))
        problem = self._problem_of(text, table) if text.strip() else ""
        # While a word is being typed what is missing behind it is no mistake yet.
        self._show_problem(problem if not popup.isVisible() else "")

    def _complete(self, word: str) -> None:
        text, at = self.line.text(), self.line.cursorPosition()
        end = text[at:]
        before = text[: self._begin]
        quote = before[-1:] if before[-1:] in ("'", '"') else ""
        if quote:
            word += "" if end.startswith(quote) else quote
            # The bracket closes itself, but between two names of a pair of contacts.
            pair = before[before.rfind("contact[") :] if "contact[" in before else "]"
            if not end and ("," in pair or "]" in pair):
                word += "]"
        self.line.setText(before + word + end)
        self.line.setCursorPosition(len(before + word))
        self._on_completed()

    def _on_completed(self) -> None:
        text, table = self.line.text(), self._get_table()
        self._refused = ""
        self._show_problem(self._problem_of(text, table) if table is not None else "")

    def enter(self) -> None:
        """Do what Return does."""
        self._on_return()

    def show_problem(self, problem: str) -> None:
        """Say below the line why what was entered can't be had."""
        self._show_problem(problem)

    def _on_return(self) -> None:
        text = self.line.text().strip()
        if not text:
            self.left_empty.emit()
            return
        table = self._get_table()
        problem = self._problem_of(text, table) if table is not None else ""
        if problem and (self._strict or self._refused != text):
            self._refused = text
            anyway = "" if self._strict else "\nEnter once more keeps it anyway."
            self._show_problem(f"{problem}{anyway}")
            return
        self._show_problem("")
        self.entered.emit(text)

    def _show_problem(self, problem: str) -> None:
        self.problem.setText(fit_problem(problem, columns_of(self)))
        self.problem.setVisible(bool(problem))


def columns_of(widget: QWidget) -> int:
    """Return how many letters of the fixed font fit into a line of a widget."""
    letter = QFontMetrics(fixed_font()).horizontalAdvance("0")
    return (widget.width() - 2 * METRICS.padding) // max(letter, 1)
