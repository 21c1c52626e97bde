"""An error in an override of a Qt method is told in the window's log; the window stays.

Without the guard Python 3.11 crashes in PySide for errors that C code raises.
"""

import subprocess
import sys

import pytest
from PySide6.QtCore import QSize
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

import stroboscope.app.panels  # noqa: F401 - guards overrides
from stroboscope.app.main.application import DesktopApplication

FAULTS = {
    "an index out of range": lambda: [][1],
    "a division by zero": lambda: 1 // 0,
    "a wrong type": lambda: len(3),
    "a value that is no number": lambda: int("z"),
    "an error of our own": lambda: (_ for _ in ()).throw(RuntimeError("ours")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_in_an_override_comes_out_with_the_name_of_the_method(qapp, fault):
    class Faulty(QWidget):
        def sizeHint(self) -> QSize:
            FAULTS[fault]()
            return QSize(10, 10)

    widget = Faulty()
    with pytest.raises((ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)) as told:
        widget.adjustSize()
    assert "sizeHint" in str(told.value)
    widget.deleteLater()


def test_an_error_while_a_widget_paints_is_in_the_log_and_the_window_lives(
    desktop: DesktopApplication, wait_until, capsys
):
    class Faulty(QWidget):
        painted = False

        def paintEvent(self, event) -> None:
            if not self.painted:
                self.painted = True
                ((), ())[len(FAULTS)]

    widget = Faulty(desktop.window)
    widget.resize(50, 50)
    widget.show()
    wait_until(lambda: any("tuple index out of range" in line.text for line in desktop.log.lines))
    widget.deleteLater()
    QTest.qWait(1)
    assert desktop.window.isVisible()
    assert "tuple index out of range" in capsys.readouterr().err


def test_what_others_make_of_qt_is_guarded_too_and_their_slots_keep_their_parameters(display):
    text = """
import stroboscope.app.plots
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QDialog
import pyqtgraph
app = QApplication([])
class Item(pyqtgraph.GraphicsObject):
    def boundingRect(self):
        return [][1]
class Dialog(QDialog):
    told = Signal(bool)
    def accept(self):
        self.taken = True
dialog = Dialog()
dialog.told.connect(dialog.accept)
dialog.told.emit(True)
assert dialog.taken
item = Item()
scene = pyqtgraph.GraphicsScene()
try:
    scene.addItem(item)
    scene.itemsBoundingRect()
except IndexError as error:
    print("told:", error)
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "boundingRect" in run.stdout + run.stderr


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons need no guard")
def test_every_override_of_the_window_is_guarded(display):
    text = """
import importlib, inspect, pkgutil
import stroboscope.app
for module in pkgutil.walk_packages(stroboscope.app.__path__, "stroboscope.app."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from shiboken6 import Shiboken
from stroboscope.app import overrides
def below(base):
    for each in base.__subclasses__():
        yield each
        yield from below(each)
found = set()
for each in below(Shiboken.Object):
    if each.__module__.startswith(("stroboscope.", "pyqtgraph.")):
        qt = [b for b in each.__mro__ if b.__module__.startswith("PySide6")]
        slots = overrides._slots(qt)
        for name, method in vars(each).items():
            if inspect.isfunction(method) and not name.startswith("__") and name not in slots:
                if any(name in vars(b) for b in qt) and not hasattr(method, "__wrapped__"):
                    print(each.__module__, each.__qualname__, name)
                found.add(each)
assert len(found) > 50, len(found)
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
