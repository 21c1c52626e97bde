"""A widget refreshes soon after it was asked to, not more often than can be read, never unseen."""

import pytest
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from stroboscope.app.models.refreshes import Refreshes
from stroboscope.app.panels.paced import PacedRefresh


class Panel:
    """A widget that counts its refreshes."""

    def __init__(self) -> None:
        self.refreshes = Refreshes()
        self.widget = QWidget()
        self.field = QLineEdit()
        QVBoxLayout(self.widget).addWidget(self.field)
        self.count = 0
        self.paced = PacedRefresh(self.widget, self.refreshes, refresh=self._refresh, rate=10.0)

    def _refresh(self) -> None:
        self.count += 1


@pytest.fixture
def panel(qapp):
    panel = Panel()
    yield panel
    panel.paced.close()
    panel.widget.close()
    panel.widget.deleteLater()


def test_the_first_news_are_shown_at_once_and_of_many_more_the_last(panel, wait_until):
    panel.paced.request()
    assert panel.count == 1
    for _ in range(20):
        panel.paced.request()
    assert panel.count == 1
    assert panel.paced.is_waiting
    wait_until(lambda: not panel.paced.is_waiting)
    assert panel.count == 2


def test_what_somebody_asks_for_does_not_wait_and_answers_what_was_due(panel):
    panel.paced.request()
    panel.paced.request()
    panel.paced.now()
    assert panel.count == 2
    assert not panel.paced.is_waiting


def test_a_panel_that_was_hidden_meanwhile_does_not_refresh(panel, wait_until):
    panel.paced.request()
    panel.paced.request()
    panel.paced.forget()
    other = Panel()
    other.paced.request()
    other.paced.request()
    wait_until(lambda: other.count == 2)
    assert panel.count == 1
    other.paced.close()
    other.widget.deleteLater()


def test_a_last_look_comes_by_itself_and_keeps_no_news_waiting(panel, wait_until):
    panel.paced.later(0.2)
    assert not panel.paced.is_waiting
    panel.paced.request()
    assert panel.count == 1
    panel.paced.later(0.05)
    wait_until(lambda: panel.count == 2)


def test_the_panel_with_the_focus_is_favoured(panel, wait_until):
    assert not panel.paced._is_favoured()
    panel.widget.show()
    panel.widget.activateWindow()
    panel.field.setFocus()
    wait_until(lambda: panel.field.hasFocus())
    assert panel.paced._is_favoured()
