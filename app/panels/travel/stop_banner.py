"""Says over the picture that the scene is held by a stop: what, where, why, and what Play does."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.stops import reason_of, stop_headline, stop_place
from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import ClampedLabel, ElidedLabel, icon_button
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.app.panels.travel.corner_frame import MARGIN, CornerFrame
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.app.panels.travel.stop_details import trial_word
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.debugger_protocol.trials import OPEN_LOOP
from stroboscope.resources.themes import Palette

__all__ = ["StopBanner"]

_WIDEST, _NARROWEST = 880, 360
_SPACING = 2
_TEXT_LINES, _CAUSE_LINES = 2, 4
# What has blown up is likely in the middle of the picture.
_MOST_OF_PICTURE = 0.2
_LEAST_TEXT = 200


class StopBanner(CornerFrame):
    """Lies over the upper edge of ``area`` while the shown scene is held by a stop.

    Or while that is looked at where a recorded run has stopped.

    ``why`` shows everything that is known of it; ``shown`` is called with each stop that appears
    here, so that nobody else says the same; ``room`` [px] is what is taken at the top left,
    ``right`` at the top right. Where the picture is low it says everything when somebody asks.
    """

    def __init__(
        self,
        area: QWidget,
        sessions: SessionsModel,
        palette: Palette,
        *,
        why: Callable[[int], None],
        shown: Callable[[StopInfo], None],
        tell: Callable[[str], None],
        room: Callable[[], int],
        right: Callable[[], int],
    ) -> None:
        super().__init__(area)
        self._palette = palette
        self._why = why
        self._on_shown = shown
        self._tell = tell
        self._room = room
        self._right = right
        self._dismissed: tuple[SceneModel | None, int] | None = None
        self.stop: StopInfo | None = None
        self._opened: tuple[SceneModel | None, int] | None = None
        self.setObjectName("banner")
        self.setProperty("overPicture", "true")
        self._icon = QLabel()
        self.text = ClampedLabel(lines=_TEXT_LINES)
        self.cause = ClampedLabel(lines=_CAUSE_LINES)
        self.where = ElidedLabel()
        self.where.setProperty("role", "small")
        self.try_button = self._button("Try", self._try)
        self.why_button = self._button("Why", self._on_why)
        self.why_button.setToolTip("What is known of it, and what to try.")
        self.more_button = self._button("More", self._toggle)
        self._buttons = (self.try_button, self.why_button, self.more_button)
        self._close = icon_button(Icon.CLOSE, palette, "Hide this; the Stops panel keeps it")
        self._close.setProperty("compact", True)
        self._close.setFixedSize(METRICS.control_height, METRICS.compact_height)
        self._close.clicked.connect(self.dismiss)
        outer, column = QHBoxLayout(self), QVBoxLayout()
        outer.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.gap, METRICS.grid)
        outer.setSpacing(METRICS.gap)
        outer.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        outer.addLayout(column, 1)
        column.setSpacing(_SPACING)
        upper, lower = self._upper, self._lower = QHBoxLayout(), QHBoxLayout()
        for row in (upper, lower):
            row.setSpacing(METRICS.gap)
        column.addLayout(upper)
        column.addWidget(self.cause)
        column.addLayout(lower)
        upper.addWidget(self.text, 1)
        upper.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        lower.addWidget(self.where, 1)
        for button in self._buttons:
            lower.addWidget(button)
        self.follower = SceneFollower(
            self, sessions, signals=_signals, refresh=self.refresh, always=True
        )
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self.follower.close()
        self.close_frame()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._close.setIcon(icon(Icon.CLOSE, palette))
        self.refresh()

    def _button(self, text: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(text)
        button.setProperty("compact", True)
        button.setFixedHeight(METRICS.compact_height)
        button.clicked.connect(lambda _=False: act())
        return button

    def refresh(self) -> None:
        """Show the stop that holds the scene, or nothing."""
        scene = self.follower.scene
        stop = scene.stops.in_view if scene is not None else None
        self.stop = stop
        hidden = scene is None or stop is None or self._dismissed == (scene, stop.stop_id)
        if hidden or scene is None or stop is None:
            self.hide()
            return
        reason, p = reason_of(stop), self._palette
        level = "stop" if reason.is_grave else "warn"
        set_property(self, "level", level)
        which, color = (Icon.ERROR, p.stop) if reason.is_grave else (Icon.WARNING, p.warn)
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(which, METRICS.large_icon, color, ratio=ratio))
        self.text.setText(stop_headline(stop))
        self.cause.setText(stop.culprit[:1].upper() + stop.culprit[1:])
        # What a condition has found is behind the scene; the others were taken back.
        goes_on = (
            "Play goes on"
            if stop.reason is StopReason.CONDITION
            else "Play runs this step unguarded"
        )
        place = stop_place(stop)
        if scene.history.is_away or scene.history.is_replay:
            # Play moves the view then, and the scene stays where it is.
            self.where.set_full_text(place)
        else:
            short = f"step {stop.step} · {goes_on}"
            self.where.set_full_text(f"{place} · {goes_on}", short, goes_on)
        self.where.set_hint(place)
        self._show_offer(scene, stop)
        self.show()
        self.place()
        self._on_shown(stop)

    def _show_offer(self, scene: SceneModel, stop: StopInfo) -> None:
        if not stop.what_if:
            return
        name = stop.what_if[0][0]
        trial = scene.trials.find(stop.stop_id, name)
        # What came of it is to be read, not pressed.
        set_property(self.try_button, "result", "true" if trial is not None else "")
        why_not = why_not_changeable(scene)
        if trial is not None:
            self.try_button.setText(f"{name}: {trial_word(scene, trial)}")
            tried = f"It was tried {OPEN_LOOP}.\nSee the ghost and the Rollouts panel."
            why_not = why_not or tried
        else:
            self.try_button.setText(f"Try {name}")
            if scene.trials.span(stop) is None:
                why_not = why_not or "Nothing from before this stop is kept in the history."
        self.try_button.setEnabled(not why_not)
        tip = "Simulate what led to this once more with it, as a ghost and in the plots."
        self.try_button.setToolTip(plain_text(why_not or tip))

    def _toggle(self) -> None:
        """Say everything about this stop, or as little as before."""
        self._opened = self._key if self._opened != self._key else None
        self.place()

    def dismiss(self) -> None:
        """Hide it for this stop."""
        self._dismissed = self._key
        self.hide()

    def _on_why(self) -> None:
        if self.stop is not None:
            self._why(self.stop.stop_id)

    def _try(self) -> None:
        scene, stop = self.follower.scene, self.stop
        if scene is not None and stop is not None and stop.what_if:
            problem = scene.trials.start(stop, stop.what_if[0][0])
            if problem:
                self._tell(problem)

    def place(self) -> None:
        """Lie over the upper edge, between what is in the corners, or below them."""
        width = self.area.width() - 3 * MARGIN - self._right()
        top = MARGIN + self._room()
        if width < _NARROWEST:
            width = self.area.width() - 2 * MARGIN
            top = max(top, 2 * MARGIN + METRICS.control_height + 6)
        width = max(min(width, _WIDEST), 0)
        most = round(_MOST_OF_PICTURE * self.area.height()) - top
        within = width - METRICS.padding - 2 * METRICS.gap - METRICS.large_icon
        whole = self._opened == self._key or self._whole_height(within) <= most
        height = self._show_whole(within) if whole else self._show_little(within, most)
        self.more_button.setVisible(height > most or not whole)
        self.resize(width, height)
        self.move(MARGIN, top)
        self.raise_()

    def _whole_height(self, within: int) -> int:
        """Return how high it is when it says everything in that width [px]."""
        height = self._text_height(within) + METRICS.compact_height + _SPACING
        if self._has_cause:
            height += self._cause_height(within) + _SPACING
        return height + 2 * METRICS.grid

    def _text_height(self, within: int) -> int:
        room = within - METRICS.gap - METRICS.control_height
        lines = max(len(self.text.shown_lines(room, _TEXT_LINES)), 1)
        return max(lines * self.text.fontMetrics().lineSpacing(), METRICS.compact_height)

    def _cause_height(self, within: int) -> int:
        lines = max(len(self.cause.shown_lines(within, _CAUSE_LINES)), 1)
        return lines * self.cause.fontMetrics().lineSpacing()

    def _show_whole(self, within: int) -> int:
        self._lay_buttons(self._lower)
        self.text.set_lines(_TEXT_LINES)
        self.cause.set_lines(_CAUSE_LINES)
        self.text.setFixedHeight(self._text_height(within))
        self.cause.setFixedHeight(self._cause_height(within))
        self.cause.setVisible(self._has_cause)
        self.where.show()
        self.try_button.setVisible(self._has_offer)
        self.more_button.setText("Less")
        self.more_button.setToolTip("Out of the way of the picture.")
        return self._whole_height(within)

    def _show_little(self, within: int, most: int) -> int:
        """Show a line of what has happened, and one of why where both fit into ``most`` [px]."""
        self._lay_buttons(self._upper)
        self.text.set_lines(1)
        self.cause.set_lines(1)
        upper, line = METRICS.compact_height, self.cause.fontMetrics().lineSpacing()
        self.text.setFixedHeight(upper)
        self.cause.setFixedHeight(line)
        height = upper + 2 * METRICS.grid
        has_cause = self._has_cause and height + line + _SPACING <= most
        self.cause.setVisible(has_cause)
        self.where.hide()
        self.more_button.setText("More")
        self.more_button.setToolTip(plain_text(f"All of it.\n{self.where.full_text}"))
        room = within - METRICS.gap - METRICS.control_height
        room -= sum(button.sizeHint().width() + METRICS.gap for button in self._buttons)
        # Where there is no room for both, the Stops panel offers it.
        self.try_button.setVisible(self._has_offer and room >= _LEAST_TEXT)
        return height + (line + _SPACING if has_cause else 0)

    @property
    def _key(self) -> tuple[SceneModel | None, int]:
        return self.follower.scene, self.stop.stop_id if self.stop is not None else 0

    @property
    def _has_cause(self) -> bool:
        return self.stop is not None and bool(self.stop.culprit)

    @property
    def _has_offer(self) -> bool:
        return self.stop is not None and bool(self.stop.what_if)

    def _lay_buttons(self, row: QHBoxLayout) -> None:
        """Put the buttons behind the text of a line, where they are not yet."""
        other = self._upper if row is self._lower else self._lower
        for place, button in enumerate(self._buttons, start=1):
            if row.indexOf(button) < 0:
                other.removeWidget(button)
                row.insertWidget(place, button)


def _signals(scene: SceneModel) -> tuple[Signal[[]], ...]:
    return (
        scene.stops.changed,
        scene.trials.changed,
        scene.rollouts.changed,
        scene.history.changed,
    )
