"""What usually is a mistake in a model and its state: said with names, numbers and what to try."""

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import EmptyText, icon_button, label, rule
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.edit_messages import ElementRef, Finding, LogLevel
from stroboscope.resources.themes import Palette

__all__ = ["FindingsPanel", "finding_element"]

_SHOWN_AT_FIRST = 50
_ELEMENTS = 8
_RANKS = {LogLevel.ERROR: 0, LogLevel.WARNING: 1, LogLevel.INFO: 2}
_WORDS = {
    LogLevel.ERROR: ("error", "errors"),
    LogLevel.WARNING: ("warning", "warnings"),
    LogLevel.INFO: ("hint", "hints"),
}


def finding_element(reference: ElementRef) -> Element | None:
    """Return what can be selected, None for kinds that can't."""
    try:
        return Element(ElementKind(reference.kind), reference.index)
    except ValueError:
        return None


class FindingsPanel(QWidget):
    """Findings of the shown scene by severity; a click on a name selects it."""

    def __init__(self, sessions: SessionsModel, view: ViewState, palette: Palette) -> None:
        super().__init__()
        self.setObjectName("panel")
        self._sessions = sessions
        self._palette = palette
        self._scene: SceneModel | None = None
        self._shown: tuple[Finding, ...] | None = None
        self._all = False
        self.cards: list[QWidget] = []
        self._build()
        sessions.shown_changed.connect(self._on_shown)
        sessions.session_changed.connect(self._on_session)
        self._on_shown(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._sessions.session_changed.disconnect(self._on_session)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.copy_button.setIcon(icon(Icon.COPY, palette))
        self._shown = None
        self.refresh()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        bar = QHBoxLayout()
        bar.setContentsMargins(METRICS.padding, 3, METRICS.gap, 3)
        bar.setSpacing(METRICS.gap)
        self.counts = label("")
        self.again = QPushButton("Check again")
        self.again.setFixedHeight(METRICS.compact_height)
        self.again.setProperty("compact", True)
        self.again.clicked.connect(self._look_again)
        self.copy_button = icon_button(Icon.COPY, self._palette, "Copy all findings")
        self.copy_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.copy_button.setFixedSize(METRICS.compact_height, METRICS.compact_height)
        self.copy_button.setProperty("compact", True)
        self.copy_button.clicked.connect(self._copy)
        bar.addWidget(self.counts, 1)
        bar.addWidget(self.again)
        bar.addWidget(self.copy_button)
        layout.addLayout(bar)
        layout.addWidget(rule())
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sentence = EmptyText()
        host = QWidget()
        self._stack = QStackedLayout(host)
        self._stack.addWidget(self.sentence)
        self._stack.addWidget(self._scroll)
        layout.addWidget(host, 1)

    # --- following

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.edits.findings_changed.disconnect(self.refresh)
        self._scene = scene
        if scene is not None:
            scene.edits.findings_changed.connect(self.refresh)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        self._shown, self._all = None, False
        self.refresh()

    def _on_session(self, _session: object) -> None:
        self._enable()

    def _enable(self) -> None:
        live = self._scene is not None and not self._scene.is_stale
        self.again.setEnabled(live)
        self.again.setToolTip(
            "Look over the model and the state as they are now."
            if live
            else "The scene is not live."
        )

    # --- showing

    def refresh(self) -> None:
        """Show what was found last."""
        self._enable()
        scene = self._scene
        findings = scene.edits.findings if scene is not None else None
        if not findings:
            self._shown = None
            self.cards = []
            self.counts.setText("")
            self.sentence.setText(self._why_nothing(findings))
            self._stack.setCurrentWidget(self.sentence)
            return
        if findings == self._shown:
            return
        self._shown = findings
        self.counts.setText(_counts_text(findings))
        content = QWidget()
        content.setObjectName("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.padding)
        column.setSpacing(METRICS.gap)
        ranked = sorted(findings, key=lambda finding: _RANKS[finding.level])
        shown = ranked if self._all else ranked[:_SHOWN_AT_FIRST]
        self.cards = [self._card(finding) for finding in shown]
        for card in self.cards:
            column.addWidget(card)
        if len(shown) < len(ranked):
            more = QPushButton(f"+{len(ranked) - len(shown)} more")
            more.setProperty("flat", "true")
            more.clicked.connect(self._show_all)
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        self._scroll.setWidget(content)
        self._stack.setCurrentWidget(self._scroll)

    def _why_nothing(self, findings: tuple[Finding, ...] | None) -> str:
        if self._scene is None:
            return "Connect to an application to have its scenes looked over."
        if findings is None:
            return "This scene has not been looked over yet."
        return (
            "Nothing suspicious found in this model and state. Check again after the state has "
            "changed."
        )

    def _card(self, finding: Finding) -> QWidget:
        p = self._palette
        looks = {
            LogLevel.ERROR: (Icon.ERROR, p.stop),
            LogLevel.WARNING: (Icon.WARNING, p.warn),
            LogLevel.INFO: (Icon.INFO, p.muted),
        }
        which, color = looks[finding.level]
        card = QFrame()
        row = QHBoxLayout(card)
        row.setContentsMargins(0, 0, 0, METRICS.grid)
        row.setSpacing(METRICS.gap)
        mark = QLabel()
        mark.setPixmap(pixmap(which, METRICS.icon, color, ratio=self.devicePixelRatioF()))
        mark.setToolTip(plain_text(f"{_WORDS[finding.level][0]}: {finding.rule}"))
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(2)
        text = label(finding.text, wrap=True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(text)
        if finding.advice:
            advice = label(finding.advice, "muted", wrap=True)
            advice.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(advice)
        if finding.elements:
            column.addWidget(self._links(finding.elements))
        row.addLayout(column, 1)
        return card

    def _links(self, elements: tuple[ElementRef, ...]) -> QLabel:
        """Return the names of elements; those that can be selected are links."""
        parts = []
        for place, reference in enumerate(elements[:_ELEMENTS]):
            name = html.escape(reference.name or f"{reference.kind} {reference.index}")
            known = finding_element(reference) is not None
            link = f'<a href="{place}" style="text-decoration: none">{name}</a>'
            parts.append(link if known else name)
        if len(elements) > _ELEMENTS:
            parts.append(f"+{len(elements) - _ELEMENTS} more")
        links = QLabel("&nbsp;&nbsp; ".join(parts))
        links.setTextFormat(Qt.TextFormat.RichText)
        links.setWordWrap(True)
        links.setProperty("role", "muted")
        links.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        links.linkActivated.connect(lambda place: self._select(elements[int(place)]))
        return links

    # --- what a person does

    def _select(self, reference: ElementRef) -> None:
        element = finding_element(reference)
        if element is not None:
            self._sessions.selection.select(element)

    def _look_again(self) -> None:
        if self._scene is not None:
            self._scene.edits.look_over()

    def _show_all(self) -> None:
        self._all = True
        self._shown = None
        self.refresh()

    def as_text(self) -> str:
        """Return all findings as text."""
        findings = (self._scene.edits.findings if self._scene is not None else None) or ()
        return "\n".join(f"{f.level.value}\t{f.rule}\t{f.text} {f.advice}" for f in findings)

    def _copy(self) -> None:
        QApplication.clipboard().setText(self.as_text())


def _counts_text(findings: tuple[Finding, ...]) -> str:
    parts = []
    for level in _RANKS:
        count = sum(1 for finding in findings if finding.level is level)
        if count:
            parts.append(f"{count} {_WORDS[level][count != 1]}")
    return ", ".join(parts)
