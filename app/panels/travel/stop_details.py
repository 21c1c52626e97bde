"""One stop in full: what happened, why, what to try, and where to go from here."""

import html
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.stops import reason_of, stop_place, stop_sentence, stop_text
from stroboscope.app.models.tables.stops import element_of
from stroboscope.app.models.trials import Trial
from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.edit_messages import ElementRef
from stroboscope.debugger_protocol.time_messages import StopInfo
from stroboscope.debugger_protocol.trials import OPEN_LOOP
from stroboscope.debugger_protocol.trials import trial_text as rollout_text
from stroboscope.debugger_protocol.trials import trial_word as rollout_word
from stroboscope.resources.themes import Palette

__all__ = ["StopDetails", "trial_text", "trial_word"]

_ELEMENTS = 8
_CONTROLS = OPEN_LOOP.partition(":")[0]


def trial_word(scene: SceneModel, trial: Trial) -> str:
    """Return what has become of an offer that was tried, in a word or two."""
    if not trial.rollout_id:
        told = scene.history.told
        done = f" {round(100.0 * told.progress)} %" if told is not None and told.busy else ""
        return f"simulating{done}…"
    rollout = scene.trials.rollout(trial)
    return "dropped" if rollout is None else rollout_word(rollout, trial.stop)


def trial_text(scene: SceneModel, trial: Trial) -> str:
    """Return what has become of an offer that was tried."""
    rollout = scene.trials.rollout(trial)
    return trial_word(scene, trial) if rollout is None else rollout_text(rollout, trial.stop)


class StopDetails(QScrollArea):
    """Shows one stop of a scene; ``go_to`` moves the view to a row, ``select`` an element."""

    def __init__(
        self,
        palette: Palette,
        *,
        go_to: Callable[[SceneModel, int], None],
        select: Callable[[ElementRef], None],
        tell: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._palette = palette
        self._go_to = go_to
        self._select = select
        self._tell = tell
        self._shown: object = None
        self.stop: StopInfo | None = None
        self.offers: dict[str, QPushButton] = {}
        self.outcomes: dict[str, ElidedLabel] = {}
        self.go_button: QPushButton | None = None
        self.links: QLabel | None = None
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._shown = None

    def show_stop(self, scene: SceneModel | None, stop: StopInfo | None) -> None:
        """Show a stop, or that none is chosen."""
        key = (scene, stop)
        if key != self._shown:
            self._shown = key
            self._build(scene, stop)
        self.stop = stop
        if scene is not None and stop is not None:
            self._refresh(scene, stop)

    def _build(self, scene: SceneModel | None, stop: StopInfo | None) -> None:
        self.offers, self.outcomes, self.go_button, self.links = {}, {}, None, None
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        column.setSpacing(METRICS.grid)
        if scene is None or stop is None:
            column.addWidget(label("Choose a stop: here it says why, and what to try.", "muted"))
        else:
            self._fill(column, scene, stop)
        column.addStretch(1)
        self.setWidget(body)

    def _fill(self, column: QVBoxLayout, scene: SceneModel, stop: StopInfo) -> None:
        column.addLayout(self._head(stop))
        column.addWidget(label(stop_place(stop), "small"))
        column.addWidget(_text(stop_sentence(stop)))
        if stop.culprit:
            column.addWidget(_text(stop.culprit[:1].upper() + stop.culprit[1:]))
        if stop.advice:
            column.addWidget(_text(stop.advice, "muted"))
        if stop.elements:
            self.links = self._links(stop.elements)
            column.addWidget(self.links)
        for name, edits in stop.what_if:
            row = QHBoxLayout()
            row.setSpacing(METRICS.gap)
            button = QPushButton(f"Try {name}")
            tip = "; ".join(f"{e.name or e.kind}[{e.index}] = {e.values}" for e in edits)
            button.setProperty(
                "ownTip",
                "Simulate what led to this once more with it, beside the scene: a ghost in the "
                f"picture, a curve in the plots.\n{tip}",
            )
            _make_compact(button)
            button.clicked.connect(lambda _=False, n=name: self._try(scene, stop, n))
            outcome = ElidedLabel()
            outcome.setProperty("role", "small")
            self.offers[name], self.outcomes[name] = button, outcome
            row.addWidget(button)
            row.addWidget(outcome, 1)
            column.addLayout(row)

    def _head(self, stop: StopInfo) -> QHBoxLayout:
        reason, p = reason_of(stop), self._palette
        head = QHBoxLayout()
        head.setSpacing(METRICS.gap)
        mark = QLabel()
        which, color = (
            (Icon.ERROR, p.stop) if reason.is_grave and stop.held else (Icon.WARNING, p.warn)
        )
        ratio = self.devicePixelRatioF()
        mark.setPixmap(pixmap(which, METRICS.large_icon, color, ratio=ratio))
        title = label(reason.title, "heading")
        title.setToolTip(reason.what)
        head.addWidget(mark)
        head.addWidget(title)
        if not stop.held:
            head.addWidget(label("marked, not stopped", "small"))
        head.addStretch(1)
        self.go_button = QPushButton("Go there")
        self.go_button.setProperty("ownTip", "Look at the state just before it.")
        _make_compact(self.go_button)
        self.go_button.clicked.connect(lambda _=False: self._go(stop))
        copy = icon_button(Icon.COPY, p, "Copy everything that is known of it")
        copy.setIcon(icon(Icon.COPY, p))
        copy.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        copy.clicked.connect(lambda _=False: QApplication.clipboard().setText(stop_text(stop)))
        head.addWidget(self.go_button)
        head.addWidget(copy)
        return head

    def _links(self, elements: tuple[ElementRef, ...]) -> QLabel:
        parts = []
        for place, reference in enumerate(elements[:_ELEMENTS]):
            name = html.escape(reference.name or f"{reference.kind} {reference.index}")
            kind = html.escape(reference.kind)
            link = f'<a href="{place}" style="text-decoration: none">{name}</a>'
            known = element_of(reference) is not None
            parts.append(f"{kind} {link if known else name}")
        if len(elements) > _ELEMENTS:
            parts.append(f"+{len(elements) - _ELEMENTS} more")
        links = QLabel("&nbsp;&nbsp; ".join(parts))
        links.setTextFormat(Qt.TextFormat.RichText)
        links.setWordWrap(True)
        links.setProperty("role", "muted")
        links.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        links.linkActivated.connect(lambda place: self._select(elements[int(place)]))
        return links

    def _refresh(self, scene: SceneModel, stop: StopInfo) -> None:
        why_not = why_not_changeable(scene)
        nothing = (
            ""
            if scene.trials.span(stop) is not None
            else ("Nothing from before this stop is kept in the history.")
        )
        for name, button in self.offers.items():
            trial = scene.trials.find(stop.stop_id, name)
            runs = trial is not None and not trial.rollout_id
            self._allow(button, why_not or nothing or ("It is being simulated." if runs else ""))
            text = trial_text(scene, trial) if trial is not None else ""
            outcome, told = self.outcomes[name], text and not runs
            outcome.set_full_text(f"{text}, {_CONTROLS}" if told else text, text)
            outcome.set_hint(f"{OPEN_LOOP[:1].upper()}{OPEN_LOOP[1:]}." if told else "")
        if self.go_button is not None:
            first = scene.history.first
            kept = scene.history.has_rows and stop.axis >= first
            gone = "" if kept else "That row is not kept in the history any more."
            here = scene.history.near == stop.axis and stop.env in (-1, scene.environments.selected)
            self._allow(self.go_button, why_not or gone or ("You are there." if here else ""))

    @staticmethod
    def _allow(button: QPushButton, why_not: str) -> None:
        button.setEnabled(not why_not)
        button.setToolTip(plain_text(why_not or str(button.property("ownTip"))))

    def _try(self, scene: SceneModel, stop: StopInfo, name: str) -> None:
        problem = scene.trials.start(stop, name)
        if problem:
            self._tell(problem)

    def _go(self, stop: StopInfo) -> None:
        scene = self._shown[0] if isinstance(self._shown, tuple) else None
        if isinstance(scene, SceneModel):
            scene.environments.look_at(stop.env)
            self._go_to(scene, stop.axis)


def _make_compact(button: QPushButton) -> None:
    button.setProperty("compact", True)
    button.setFixedHeight(METRICS.compact_height)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)


def _text(text: str, role: str = "") -> QLabel:
    made = label(text, role, wrap=True)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
