"""The status bar: who is attached, how the window does, and how many problems there were."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QStatusBar, QStyle, QStyleOption, QToolButton, QWidget

from stroboscope.app.main.status_button import StatusButton
from stroboscope.app.main.status_notes import (
    findings_note,
    findings_signals,
    interventions_note,
    interventions_signals,
    recordings_note,
    recordings_signals,
)
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.recording import RecordedFile
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.resources.themes import Palette

__all__ = ["StatusLine"]


class StatusLine(QStatusBar):
    """One line: "attached to train.py (pid 4711) · 3 scenes · view 60 fps · 0 dropped" and the log.

    "Dropped" are rows of plotted signals that never came: evidence that is missing. Pictures that
    newer ones replaced are no loss; how many there were stands in the tooltip. ``view`` tells which
    view's pictures are counted; ``stop_recording`` and ``show_findings`` are what buttons ask for,
    ``panels_below`` opens and folds the panels above the bar.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        log: LogModel,
        view: Callable[[], Viewport],
        palette: Palette,
        *,
        stop_recording: Callable[[tuple[RecordedFile, ...]], object],
        show_findings: Callable[[], object],
        panels_below: QAction,
    ) -> None:
        super().__init__()
        self._sessions = sessions
        self._log = log
        self._view = view
        self._viewport: Viewport | None = None
        self._palette = palette
        self._frames = 0
        self._fps = 0
        self.setSizeGripEnabled(False)
        self.setFixedHeight(METRICS.compact_height + 2)
        self.text = ElidedLabel()
        self.addWidget(self.text, 1)
        self.lost = QLabel()
        self.lost.setToolTip(
            "Rows of plotted signals that never arrived: there were more than could be sent.\n"
            "The plots show gaps there. Plot fewer signals, or slow the simulation down."
        )
        set_property(self.lost, "level", "warn")
        self.lost.hide()
        self.addPermanentWidget(self.lost)
        self.recording = QLabel()
        self.recording.setToolTip("A film of the 3D view is recorded.")
        set_property(self.recording, "level", "stop")
        self.recording.hide()
        self.addPermanentWidget(self.recording)
        self.recorded = StatusButton(
            sessions,
            palette,
            say=lambda models: recordings_note(models, stop_recording),
            signals=recordings_signals,
            is_offer=True,
        )
        self.addPermanentWidget(self.recorded)
        self.interventions = StatusButton(
            sessions,
            palette,
            say=interventions_note,
            signals=interventions_signals,
            is_offer=True,
        )
        self.addPermanentWidget(self.interventions)
        self.joined = QToolButton()
        self.joined.setProperty("hint", "true")
        self.joined.setToolTip("The scene that is shown stays until you choose another.")
        self.joined.clicked.connect(self._show_newcomer)
        self.joined.hide()
        self.addPermanentWidget(self.joined)
        self.findings = StatusButton(
            sessions,
            palette,
            say=lambda models: findings_note(models, show_findings),
            signals=findings_signals,
        )
        self.addPermanentWidget(self.findings)
        self.counter = QToolButton()
        self.counter.setToolTip("Warnings and errors. Click to see the log.")
        self.addPermanentWidget(self.counter)
        self._below = panels_below
        self.opener = icon_button(Icon.OPEN, palette, panels_below.toolTip())
        self.opener.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.opener.clicked.connect(lambda _=False: panels_below.trigger())
        self.addPermanentWidget(self.opener)
        panels_below.changed.connect(self._refresh_opener)
        self._shown: tuple[str, int, int] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(1000)
        self._timer.timeout.connect(self.refresh)
        self._timer.start()
        sessions.session_changed.connect(self._on_session)
        sessions.session_removed.connect(self._on_session)
        sessions.shown_changed.connect(self._on_session)
        log.changed.connect(self._refresh_counter)
        self.refresh()
        self._refresh_counter()
        self._refresh_opener()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Write a message where the text stood that it replaces, as much of it as there is room."""
        message = self.currentMessage()
        if not message:
            super().paintEvent(event)
            return
        option = QStyleOption()
        option.initFrom(self)
        painter = QPainter(self)
        panel = QStyle.PrimitiveElement.PE_PanelStatusBar
        self.style().drawPrimitive(panel, option, painter, self)
        place = self.rect().adjusted(METRICS.padding, 0, 0, 0)
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        shown = [each for each in self.findChildren(QWidget, options=direct) if each.isVisible()]
        place.setRight(min((each.x() for each in shown), default=self.width()) - METRICS.gap)
        painter.setPen(QColor(self._palette.muted))
        text = painter.fontMetrics().elidedText(message, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()

    def close_panel(self) -> None:
        """Stop listening."""
        self._timer.stop()
        self.recorded.close_panel()
        self.interventions.close_panel()
        self.findings.close_panel()
        self._sessions.session_changed.disconnect(self._on_session)
        self._sessions.session_removed.disconnect(self._on_session)
        self._sessions.shown_changed.disconnect(self._on_session)
        self._log.changed.disconnect(self._refresh_counter)
        self._below.changed.disconnect(self._refresh_opener)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.recorded.set_theme(palette)
        self.interventions.set_theme(palette)
        self.findings.set_theme(palette)
        self._refresh_counter()
        self._refresh_opener()

    def _on_session(self, _session: object) -> None:
        self._refresh_text(fps=None)
        self._refresh_joined()

    def refresh(self) -> None:
        """Show what a second has brought."""
        view = self._view()
        stats = view.stats
        fps = max(0, stats.frames - self._frames) if view is self._viewport else None
        self._viewport, self._frames = view, stats.frames
        self._refresh_text(fps=fps)

    def _refresh_text(self, *, fps: int | None) -> None:
        connected = [s for s in self._sessions.sessions if s.is_connected]
        parts = []
        if not connected:
            parts.append("not attached to any application")
        elif len(connected) == 1 and connected[0].info is not None:
            parts.append(f"attached to {connected[0].name} (pid {connected[0].info.pid})")
        else:
            parts.append(f"attached to {len(connected)} applications")
        scenes = sum(len(session.scenes) for session in connected)
        if connected:
            parts.append(f"{scenes} scene" if scenes == 1 else f"{scenes} scenes")
            free = sum(s.status.free_running_scenes for s in connected if s.status)
            if free:
                parts.append(f"{free} more {'runs' if free == 1 else 'run'} free")
            self._fps = self._fps if fps is None else fps
            if self._fps:  # nothing is drawn while nothing changes
                parts.append(f"view {self._fps} fps")
            if not self._sessions.lost_rows:
                parts.append("0 dropped")
            waiting = self._sessions.assets.waiting
            if waiting:
                parts.append(f"loading {waiting} meshes")
        shown = (" · ".join(parts), self._sessions.lost_rows, self._sessions.replaced_frames)
        if shown == self._shown:
            return  # laying the bar out again every second would be all that an idle window does
        self._shown = shown
        self.text.set_full_text(shown[0])
        self._refresh_losses(connected=bool(connected))

    def _refresh_joined(self) -> None:
        """Name an application that joined behind what is shown, and offer to show it."""
        newcomers = self._sessions.newcomers
        if newcomers:
            first = newcomers[0]
            waits = first.mode is PlaybackMode.PAUSED
            does = "has joined and waits, paused" if waits else "has joined"
            does = "is open, too" if first.is_replay else does
            more = f" (+{len(newcomers) - 1} more)" if len(newcomers) > 1 else ""
            self.joined.setText(f"{first.name} {does}{more} — show it")
        self.joined.setVisible(bool(newcomers))

    def _show_newcomer(self) -> None:
        newcomers = self._sessions.newcomers
        if newcomers:
            self._sessions.show(next(iter(newcomers[0].scenes.values())))

    def _refresh_losses(self, *, connected: bool) -> None:
        lost, replaced = self._sessions.lost_rows, self._sessions.replaced_frames
        self.lost.setText(f"{count_text(lost)} signal rows lost")
        self.lost.setVisible(lost > 0)
        hint = "" if lost else "Every row of every plotted signal has arrived."
        if replaced:
            hint += (
                f"\n{count_text(replaced)} frames were skipped because newer ones were there"
                " already: the view shows the newest state, not every one."
            )
        self.text.set_hint(hint.strip() if connected else "")

    def _refresh_opener(self) -> None:
        opened = self._below.isChecked()
        self.opener.setIcon(icon(Icon.FOLD if opened else Icon.OPEN, self._palette))
        self.opener.setToolTip(self._below.toolTip())
        self.opener.setVisible(self._below.isVisible())

    def _refresh_counter(self) -> None:
        errors = self._log.counts[LogLevel.ERROR]
        warnings = self._log.counts[LogLevel.WARNING]
        p = self._palette
        which, color = Icon.INFO, p.muted
        if errors:
            which, color = Icon.ERROR, p.stop
        elif warnings:
            which, color = Icon.WARNING, p.warn
        self.counter.setIcon(icon(which, p, color=color))
        self.counter.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.counter.setText(f"Log  {errors + warnings}" if errors or warnings else "Log")
