"""What people typed and applications sent is shown in tips as it is, never as HTML."""

import ast
from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip, QWidget

import stroboscope.app
from stroboscope.app.panels.controls.number_fields import NumberFields
from stroboscope.app.panels.controls.value_bar import ValueBar
from stroboscope.app.panels.tables.cell_editor import CellEditor
from stroboscope.app.plots.plot_toolbar import PlotToolbar
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind
from stroboscope.resources.themes import DARK

RUDE = "<b>1</b>"


def _tip(wait_until) -> str:
    wait_until(lambda: QToolTip.text() != "")
    return QToolTip.text()


def _shown(widget: QWidget) -> QWidget:
    widget.resize(300, 40)
    widget.show()
    QTest.qWaitForWindowExposed(widget, 10_000)
    return widget


def test_a_cell_names_what_was_typed_as_it_was_typed(qapp, wait_until):
    around = _shown(QWidget())
    editor = CellEditor(around, 1.0, place=QRect(0, 0, 100, 24), commit=lambda _value: "")
    editor.setText(RUDE)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert "<b>" not in _tip(wait_until)
    QToolTip.hideText()
    around.close()


def test_a_bar_names_what_was_typed_as_it_was_typed(qapp, wait_until):
    bar = _shown(ValueBar(DARK, name="ctrl", low=-1.0, high=1.0))
    bar.set_value(0.5)
    bar.edit()
    bar.field.setText(RUDE)
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    assert "<b>" not in _tip(wait_until)
    QToolTip.hideText()
    bar.close()


def test_an_option_is_named_as_the_engine_names_it(qapp, wait_until):
    option = OptionInfo(name="<b>gravity</b>", kind=OptionKind.NUMBER, minimum=0.0)
    fields = _shown(NumberFields(option, commit=lambda _values: None))
    fields.set_values((1.0,))
    (field,) = fields.fields
    field.selectAll()
    QTest.keyClicks(field, "-1")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert "<b>" not in _tip(wait_until)
    QToolTip.hideText()
    field.setModified(False)
    fields.close()


def test_the_plots_toolbar_names_files_and_signals_as_they_are(qapp):
    toolbar = PlotToolbar(DARK)
    toolbar.show_note("cut", f"{RUDE} lost rows")
    toolbar.show_progress(f"Saved /tmp/{RUDE}.csv")
    assert "<b>" not in toolbar.note.toolTip() + toolbar.progress.toolTip()


def test_every_tip_that_is_made_while_the_window_runs_is_plain():
    shown = []
    for path in Path(stroboscope.app.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "QToolTip.showText":
                text = node.args[1]
                plain = isinstance(text, ast.Call) and ast.unparse(text.func) == "plain_text"
                shown.append(plain or isinstance(text, ast.Constant) or f"{path}:{node.lineno}")
    assert len(shown) > 3
    assert [each for each in shown if each is not True] == []
