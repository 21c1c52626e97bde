"""The inspector: numbers of what is selected, all of one instant that is stated on top."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.editing import why_not_editable
from stroboscope.app.models.element_values import (
    EditTarget,
    ElementValues,
    ValueRow,
    element_values,
    topics_for,
)
from stroboscope.app.models.elements import optional_topics_for
from stroboscope.app.models.frames import FrameSet, SceneFrame
from stroboscope.app.models.moment import moment_of
from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.scene_values import scene_values
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.icons import Icon, pixmap
from stroboscope.app.panels.inspector_rows import LABEL_WIDTH, RowWidgets
from stroboscope.app.panels.labels import ElidedLabel, label, rule
from stroboscope.app.panels.paced import PacedRefresh
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.resources.themes import Palette

__all__ = ["InspectorPanel"]

# While playing the numbers change this often [Hz]; faster can't be read.
_RATE = 15.0
# Narrower than this [px], rows with a note have no room for the recent past of their number.
_NARROW = 330

_KIND_ICONS = {
    "body": Icon.BODY,
    "geom": Icon.GEOM,
    "joint": Icon.JOINT,
    "site": Icon.SITE,
    "actuator": Icon.ACTUATOR,
    "sensor": Icon.SENSOR,
    "camera": Icon.CAMERA,
    "light": Icon.LIGHT,
    "tendon": Icon.TENDON,
    "equality": Icon.EQUALITY,
    "flex": Icon.FLEX,
    "skin": Icon.SKIN,
    "contact": Icon.CONTACT,
    "scene": Icon.SCENE,
}


class InspectorPanel(QWidget):
    """Follows the selection of the shown scene.

    ``plot``, ``make_mime`` and ``make_spark`` come from the plots.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        plot: Callable[[SceneModel, ValueRow], None] | None = None,
        make_mime: Callable[[SceneModel, ValueRow], QMimeData | None] | None = None,
        make_spark: Callable[[], QWidget] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._make_spark = make_spark
        self._sessions = sessions
        self._view = view
        self._palette = palette
        self._plot = plot
        self._make_mime = make_mime
        self._scene: SceneModel | None = None
        self._shape: tuple[object, ...] = ()
        # Whose numbers stand there, once all of one instant were known.
        self._showing: tuple[object, ...] | None = None
        self._shown_frames: Mapping[Topic, SceneFrame] = {}
        self._standing: tuple[PlaybackMode, bool, Instant | None] | None = None
        self.rows: list[RowWidgets] = []
        self._build()
        self._paced = PacedRefresh(self, sessions.refreshes, refresh=self._refresh, rate=_RATE)
        sessions.shown_changed.connect(self._on_shown)
        sessions.session_changed.connect(self._on_session)
        sessions.selection.changed.connect(self._on_selection)
        view.instant_changed.connect(self._on_instant)
        self._on_shown(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._paced.close()
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._sessions.session_changed.disconnect(self._on_session)
        self._sessions.selection.changed.disconnect(self._on_selection)
        self._view.instant_changed.disconnect(self._on_instant)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._shape = ()
        self._showing = None
        self.refresh()

    def row(self, name: str) -> RowWidgets | None:
        """Return the first row of that label."""
        return next((row for row in self.rows if row.row.label.strip() == name), None)

    # --- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        header = QWidget()
        head = QVBoxLayout(header)
        head.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        head.setSpacing(2)
        line = QHBoxLayout()
        line.setSpacing(METRICS.gap)
        self._icon = QLabel()
        self.title = ElidedLabel()
        self.title.setProperty("role", "heading")
        self._kind = label("", "muted")
        line.addWidget(self._icon)
        line.addWidget(self.title, 1)
        line.addWidget(self._kind)
        head.addLayout(line)
        self.instant = ElidedLabel()
        self.instant.setProperty("role", "small")
        self.moment = ElidedLabel()
        self.moment.setFont(number_font())
        self.moment.setProperty("role", "small")
        head.addWidget(self.instant)
        head.addWidget(self.moment)
        self.notes = label("", "small", wrap=True)
        self.notes.hide()
        head.addWidget(self.notes)
        layout.addWidget(header)
        layout.addWidget(rule())

        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._empty = label("", "muted", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._empty.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, 0)
        host = QWidget()
        self._stack = QStackedLayout(host)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._scroll)
        layout.addWidget(host, 1)

    def _rebuild(self, values: ElementValues) -> None:
        content = QWidget()
        content.setObjectName("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.grid, METRICS.padding)
        column.setSpacing(METRICS.gap)
        grid = QGridLayout()
        grid.setHorizontalSpacing(2)
        grid.setVerticalSpacing(0)
        grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        grid.setColumnStretch(3, 1)
        self.rows = []
        line = 0
        for number, section in enumerate(values.sections):
            title = label(section.title, "section")
            title.setContentsMargins(0, METRICS.gap if number else 0, 0, 2)
            grid.addWidget(title, line, 0, 1, 4)
            line += 1
            for row in section.rows:
                self.rows.append(self._row_widgets(grid, line, row))
                line += 1
        column.addLayout(grid)
        column.addStretch(1)
        self._scroll.setWidget(content)

    def _row_widgets(self, grid: QGridLayout, line: int, row: ValueRow) -> RowWidgets:
        made = RowWidgets(
            grid,
            line,
            row,
            commit=self._commit,
            plot=self._on_plot,
            make_mime=self._mime,
            can_edit=self._why_not_editable,
            make_spark=self._make_spark,
        )
        made.set_narrow(self.width() < _NARROW)
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what there is no room for."""
        super().resizeEvent(event)
        for row in self.rows:
            row.set_narrow(self.width() < _NARROW)

    # --- following

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.frame_arrived.disconnect(self._on_frame)
            self._scene.status_changed.disconnect(self._on_status)
            self._scene.described.disconnect(self._schedule)
            self._scene.want("inspector", ())
        self._scene = scene
        if scene is not None:
            scene.frame_arrived.connect(self._on_frame)
            scene.status_changed.connect(self._on_status)
            scene.described.connect(self._schedule)
        self._subscribe()

    def _subscribe(self) -> None:
        if self._scene is not None:
            element = self._sessions.selection.element
            topics = (*topics_for(element), *optional_topics_for(element))
            if not self.isVisible():
                topics = ()  # behind another tab its numbers are nobody's
            self._scene.want("inspector", topics, rate=_RATE)

    def showEvent(self, event: QShowEvent) -> None:
        """Ask for numbers while somebody can see them."""
        super().showEvent(event)
        self._subscribe()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Ask for none."""
        super().hideEvent(event)
        self._paced.forget()
        self._subscribe()

    def _newest(self, element: Element) -> FrameSet | None:
        """Return the newest instant at which everything that the element's rows show is known."""
        scene = self._scene
        if scene is None:
            return None
        instant = self._view.instant
        # What an engine has sent once at this instant it sends always.
        more = [t for t in optional_topics_for(element) if scene.latest(t, instant) is not None]
        return scene.frame_set((*topics_for(element), *more), instant)

    def _options(self, scene: SceneModel) -> FrameSet | None:
        return scene.frame_set((Topic.OPTIONS,), self._view.instant)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        self.refresh()

    def _on_session(self, _session: object) -> None:
        if self._scene is None:
            self.refresh()

    def _on_selection(self, _element: Element | None) -> None:
        self._subscribe()
        self._shown_frames = {}
        self.refresh()

    def _on_instant(self, _instant: Instant) -> None:
        self.refresh()

    def _on_frame(self, frame: SceneFrame) -> None:
        element = self._sessions.selection.element
        topics = (*topics_for(element), *optional_topics_for(element))
        if frame.topic not in topics:
            return
        if element is None:
            self._schedule()
            return
        frames = self._newest(element)
        if frames is None or all(
            part is self._shown_frames.get(topic) for topic, part in frames.frames.items()
        ):
            return  # the rest of that instant is still to come
        self._schedule()

    def _on_status(self) -> None:
        """The scene's own numbers are in its status; those of elements come with frames."""
        scene = self._scene
        if scene is None:
            return
        standing = (scene.mode, scene.is_stale, scene.instant(self._view.instant))
        paused = scene.mode is PlaybackMode.PAUSED
        if self._sessions.selection.element is None or paused or standing != self._standing:
            self._standing = standing
            self._schedule()

    def _schedule(self) -> None:
        if self.isVisible():
            self._paced.request()

    # --- showing

    def refresh(self) -> None:
        """Show the newest instant at which everything shown is known."""
        self._paced.now()

    def _refresh(self) -> None:
        scene = self._scene
        if scene is None:
            if self._sessions.active_session is None:
                text = "Connect to an application to see its scenes."
            else:
                text = "The application has no scene yet. It appears here when it is created."
            self._show_empty("Nothing is shown.", text)
            return
        if scene.description is None:
            self._show_empty(scene.name, "Waiting for the scene's description.")
            return
        element = self._sessions.selection.element
        if element is None:
            self._show(scene_values(scene, self._options(scene)), None)
            self._show_status(scene)
            self._showing = None
            return
        frames = self._newest(element)
        values = element_values(scene.description, element, frames)
        if values is None:
            self._show_empty("Nothing is selected.", "The model has changed; select again.")
            return
        showing = (scene, element, scene.description)
        if frames is None and showing == self._showing:
            return  # the topics of one instant have not all arrived: keep what is shown
        self._show(values, frames)
        self._showing = showing if frames is not None else None

    def _show(self, values: ElementValues, frames: FrameSet | None) -> None:
        self._stack.setCurrentWidget(self._scroll)
        self.title.set_full_text(values.name)
        self._kind.setText(values.kind)
        shape = self._shape_of(values)
        if shape != self._shape:
            self._shape = shape
            which = _KIND_ICONS.get(values.kind, Icon.INFO)
            ratio = self.devicePixelRatioF()
            self._icon.show()
            self._icon.setPixmap(pixmap(which, METRICS.icon, self._palette.accent, ratio=ratio))
            self._rebuild(values)
        else:
            rows = (row for section in values.sections for row in section.rows)
            for widgets, row in zip(self.rows, rows, strict=True):
                widgets.show_row(row)
        if frames is not None:
            self._shown_frames = frames.frames
            for widgets in self.rows:
                widgets.push(frames.axis)
        self._show_instant(frames)

    def _shape_of(self, values: ElementValues) -> tuple[object, ...]:
        return (
            id(self._scene),
            values.name,
            values.kind,
            *(
                (section.title, row.label, row.value is None and not row.channel)
                for section in values.sections
                for row in section.rows
            ),
        )

    def _show_instant(self, frames: FrameSet | None) -> None:
        scene = self._scene
        moment = moment_of(scene, frames)
        self.instant.set_full_text(moment.word)
        self.moment.set_full_text(moment.text)
        self.notes.setText("\n".join(moment.notes))
        self.notes.setVisible(bool(moment.notes))
        if frames is not None:
            set_property(self.instant, "level", moment.level)

    def _show_status(self, scene: SceneModel) -> None:
        """The table about a scene is of its last status, whatever the picture shows."""
        status = scene.status
        set_property(self.instant, "level", "stop" if scene.is_stale else "")
        words: tuple[str, ...] = ("LAST STATUS · not live" if scene.is_stale else "STATUS",)
        if scene.history.is_away and not scene.is_stale:
            there = "the end of the file" if scene.history.is_replay else "live"
            words = (f"STATUS · {there}, not what is in view", f"STATUS · {there}")
        self.instant.set_full_text(*words)
        moment = "" if status is None else with_unit(number_text(status.time), "s")
        steps = "" if status is None else count_text(status.step_count)
        self.moment.set_full_text(f"t {moment} · step {steps}" if status is not None else "")

    def _show_empty(self, title: str, text: str) -> None:
        self._showing = None
        self._shape = ()
        self.title.set_full_text(title)
        self._kind.setText("")
        self._icon.hide()
        self.instant.set_full_text("")
        self.moment.set_full_text("")
        self.notes.hide()
        self._empty.setText(text)
        self._stack.setCurrentWidget(self._empty)

    # --- editing and plotting

    def _why_not_editable(self) -> str:
        return why_not_editable(self._scene)

    def _commit(self, target: EditTarget, value: float) -> str:
        problem = self._why_not_editable()
        if not problem:
            self._sessions.edit(target.field, target.index, (value,))
        return problem

    def _on_plot(self, row: ValueRow) -> None:
        if self._plot is not None and self._scene is not None:
            self._plot(self._scene, row)

    def _mime(self, row: ValueRow) -> QMimeData | None:
        if self._make_mime is None or self._scene is None:
            return None
        return self._make_mime(self._scene, row)

    @property
    def selected_kind(self) -> ElementKind | None:
        """The kind of what is selected."""
        element = self._sessions.selection.element
        return element.kind if element is not None else None
