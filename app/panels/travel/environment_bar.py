"""Which environment of a batched scene is looked at, and how many are drawn side by side."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSpinBox, QToolButton, QWidget

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.environments import GRID_SIZES, EnvironmentsModel
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.style import METRICS, keep_clear, number_font
from stroboscope.app.panels.travel.corner_frame import MARGIN, CornerFrame
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.resources.themes import Palette

__all__ = ["EnvironmentBar"]

_FAILED = -1
"""What the choice of a grid is while it holds those that failed."""
# So many of those that are drawn are named.
_NAMED = 16


class EnvironmentBar(CornerFrame):
    """Lies over the lower edge of ``area`` while the shown scene has environments.

    ``covers`` is told how much of that edge it takes [px].
    """

    def __init__(
        self,
        area: QWidget,
        sessions: SessionsModel,
        palette: Palette,
        *,
        covers: Callable[[int], None],
    ) -> None:
        super().__init__(area)
        self._palette = palette
        self._covers = covers
        self.number = QSpinBox()
        self.number.setFont(number_font())
        self.number.setKeyboardTracking(False)
        self.number.setFixedWidth(72)
        keep_clear(self.number)
        self.number.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.number.setAccessibleName("environment")
        self.number.valueChanged.connect(self._on_number)
        self.total = label("", "muted")
        self.previous = self._tool(Icon.PREVIOUS, "Previous environment")
        self.next = self._tool(Icon.NEXT, "Next environment")
        self.previous.clicked.connect(lambda _=False: self._move(-1))
        self.next.clicked.connect(lambda _=False: self._move(1))
        self.failed = QToolButton()
        self.failed.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.failed.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.failed.setAutoRaise(True)
        self.failed.clicked.connect(lambda _=False: self._next_failed())
        self.grid = QComboBox()
        self.grid.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.grid.setProperty("compact", True)
        for size in GRID_SIZES:
            self.grid.addItem("one" if size == 1 else f"{size} side by side", size)
        self.grid.addItem("those that failed", _FAILED)
        self.grid.activated.connect(lambda _index: self._on_grid())
        row = QHBoxLayout(self)
        row.setContentsMargins(METRICS.gap, 2, METRICS.grid, 2)
        row.setSpacing(METRICS.grid)
        row.addWidget(label("Environment", "muted"))
        for widget in (
            self.previous,
            self.number,
            self.total,
            self.next,
            self.failed,
            self.grid,
        ):
            row.addWidget(widget)
        self.follower = SceneFollower(
            self,
            sessions,
            signals=lambda scene: (scene.environments.changed,),
            refresh=self.refresh,
            always=True,
        )
        self.set_theme(palette)

    def close_panel(self) -> None:
        """Stop listening."""
        self.follower.close()
        self.close_frame()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.previous.setIcon(icon(Icon.PREVIOUS, palette))
        self.next.setIcon(icon(Icon.NEXT, palette))
        self.failed.setIcon(icon(Icon.WARNING, palette, color=palette.warn))
        self.refresh()

    def _tool(self, which: Icon, tip: str) -> QToolButton:
        button = icon_button(which, self._palette, tip)
        button.setProperty("ownTip", tip)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return button

    def refresh(self) -> None:
        """Show which one is looked at."""
        scene = self.follower.scene
        model = scene.environments if scene is not None else None
        if model is None or not model.count:
            self.hide()
            self._covers(0)
            return
        self.number.blockSignals(True)
        self.number.setRange(0, model.count - 1)
        if not self.number.hasFocus():
            self.number.setValue(model.selected)
        self.number.blockSignals(False)
        self.total.setText(f"of {count_text(model.count)}")
        failed = model.told.failed_count
        self.failed.setVisible(failed > 0)
        self.failed.setText(f"{count_text(failed)} failed")
        self._show_grid(model)
        why_not = why_not_changeable(scene)
        for widget in (self.number, self.previous, self.next, self.failed, self.grid):
            widget.setEnabled(not why_not)
        self.previous.setToolTip(plain_text(why_not or str(self.previous.property("ownTip"))))
        self.next.setToolTip(plain_text(why_not or str(self.next.property("ownTip"))))
        self.failed.setToolTip(plain_text(why_not or "Look at the next one that failed."))
        self.show()
        self.place()

    def _show_grid(self, model: EnvironmentsModel) -> None:
        """Say how many are drawn, also those that somebody else has chosen."""
        drawn = model.drawn
        as_chosen = drawn == min(model.size, model.count)
        which = _FAILED if model.draws_failed else model.size if as_chosen else drawn
        # Shown where none of what is offered is what is drawn.
        self.grid.setPlaceholderText(f"{drawn} side by side")
        self.grid.setCurrentIndex(self.grid.findData(which))
        shown = [str(number) for number in model.shown[:_NAMED]]
        shown += [f"+{drawn - _NAMED} more"] * (drawn > _NAMED)
        self.grid.setToolTip(f"How many are drawn at once; now: {', '.join(shown)}.")

    def _on_number(self, number: int) -> None:
        if self.follower.scene is not None:
            self.follower.scene.environments.select(number)

    def _move(self, offset: int) -> None:
        if self.follower.scene is not None:
            self.follower.scene.environments.move(offset)

    def _next_failed(self) -> None:
        if self.follower.scene is not None:
            self.follower.scene.environments.select_failed(1)

    def _on_grid(self) -> None:
        scene, size = self.follower.scene, self.grid.currentData()
        if scene is None:
            return
        if size == _FAILED:
            scene.environments.show_grid(GRID_SIZES[-1], only_failed=True)
        else:
            scene.environments.show_grid(size)

    def place(self) -> None:
        """Lie in the lower right corner."""
        self.adjustSize()
        self.move(
            self.area.width() - self.width() - MARGIN, self.area.height() - self.height() - MARGIN
        )
        self.raise_()
        if not self.isHidden():
            self._covers(self.height() + MARGIN)
