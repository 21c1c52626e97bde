"""What the window shows while nothing is attached: how to begin."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.session_list import SessionList
from stroboscope.app.panels.strobe_art import StrobeArt
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["WelcomePage"]

_COMMAND = "stroboscope run train.py"
_SCRIPT = "import stroboscope.engine as physics\nphysics.debugger.attach()"
_MAX_WIDTH = 1120
_MAX_RECENT = 6


class WelcomePage(QWidget):
    """Four cards: running applications, your script, demos, recent scripts."""

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        *,
        demos: tuple[tuple[str, str], ...] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.start_demo: Signal[[str]] = Signal()
        self.start_script: Signal[[str]] = Signal()
        self._palette = palette
        self._demos = demos
        self.demo_buttons: dict[str, QPushButton] = {}
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        outer.addWidget(scroll)
        page = QWidget()
        page.setObjectName("welcome")
        scroll.setWidget(page)
        layout = QHBoxLayout(page)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.addStretch(1)
        body = QWidget()
        body.setMaximumWidth(_MAX_WIDTH)
        layout.addWidget(body, 100)
        layout.addStretch(1)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(METRICS.padding)
        column.addStretch(1)
        self._build_title(column)
        self.sessions = SessionList(sessions)
        self.sessions.setMinimumHeight(76)
        self.sessions.connect_to.connect(sessions.open)
        self._icons: list[tuple[QLabel, Icon]] = []
        self._recent = QVBoxLayout()
        self._recent.setSpacing(METRICS.grid)
        self._recent.setContentsMargins(0, 0, 0, 0)
        recent = QWidget()
        recent.setLayout(self._recent)
        self._recent_card = self._card(Icon.RECENT, "Recent", recent)
        left = QVBoxLayout()
        left.setSpacing(METRICS.padding)
        left.addWidget(self._card(Icon.CONNECT, "Running applications", self.sessions), 1)
        left.addWidget(self._card(Icon.CODE, "Your script", self._script_card()))
        left.addWidget(self._recent_card)
        cards = QHBoxLayout()
        cards.setSpacing(METRICS.padding)
        cards.addLayout(left, 1)
        cards.addWidget(self._card(Icon.DEMO, "Demos", self._demo_card()), 1)
        column.addLayout(cards)
        column.addStretch(2)
        self.set_recent(())
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        ratio = self.devicePixelRatioF()
        for holder, which in self._icons:
            holder.setPixmap(pixmap(which, METRICS.large_icon, palette.accent, ratio=ratio))
        self._art.set_theme(palette)
        for started in self.demo_buttons.values():
            started.setIcon(icon(Icon.PLAY, palette, color=palette.accent))
        for button in self._copy_buttons:
            button.setIcon(icon(Icon.COPY, palette))

    def set_recent(self, scripts: tuple[str, ...]) -> None:
        """Show the scripts that were attached lately."""
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        for script in scripts[:_MAX_RECENT]:
            exists = Path(script).is_file()
            button = QPushButton(Path(script).name)
            button.setProperty("flat", "true")
            button.setStyleSheet("text-align: left;")
            button.setEnabled(exists)
            missing = "" if exists else "\nThe file is not there any more."
            button.setToolTip(plain_text(f"Run {script} with the debugger{missing}"))
            button.clicked.connect(lambda _=False, s=script: self.start_script.emit(s))
            self._recent.addWidget(button)
        self._recent_card.setVisible(bool(scripts))
        if len(scripts) > _MAX_RECENT:
            self._recent.addWidget(label(f"+{len(scripts) - _MAX_RECENT} more", "small"))
        self._recent.addStretch(1)

    def _build_title(self, column: QVBoxLayout) -> None:
        words = QVBoxLayout()
        words.setSpacing(METRICS.gap)
        words.addStretch(1)
        words.addWidget(label("Stroboscope", "display"))
        words.addWidget(
            label("Stop a running simulation, look at it, and go on.", "muted", wrap=True)
        )
        words.addStretch(1)
        line = QHBoxLayout()
        line.setSpacing(METRICS.padding)
        line.addLayout(words, 1)
        self._art = StrobeArt(self._palette)
        line.addWidget(self._art, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(line)

    def _card(self, which: Icon, title: str, content: QWidget) -> QFrame:
        card = QFrame()
        card.setObjectName("card")
        layout = QVBoxLayout(card)
        layout.setContentsMargins(16, METRICS.padding, 16, METRICS.padding)
        layout.setSpacing(METRICS.gap)
        head = QHBoxLayout()
        head.setSpacing(METRICS.gap)
        picture = QLabel()
        self._icons.append((picture, which))
        head.addWidget(picture)
        head.addWidget(label(title, "heading"))
        head.addStretch(1)
        layout.addLayout(head)
        layout.addWidget(content, 1)
        return card

    def _script_card(self) -> QWidget:
        host = QWidget()
        layout = QVBoxLayout(host)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(METRICS.grid)
        self._copy_buttons: list[QToolButton] = []
        for intro, code in (
            ("Put two words in front of your command:", _COMMAND),
            ("… or attach from inside the script:", _SCRIPT),
        ):
            if layout.count():
                layout.addSpacing(METRICS.gap)
            layout.addWidget(label(intro, "muted"))
            layout.addWidget(self._code(code))
        layout.addStretch(1)
        return host

    def _code(self, code: str) -> QFrame:
        frame = QFrame()
        frame.setObjectName("code")
        row = QHBoxLayout(frame)
        row.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.grid, METRICS.gap)
        text = label(code)
        text.setObjectName("codeText")
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        copy = icon_button(Icon.COPY, self._palette, "Copy")
        copy.clicked.connect(lambda _=False: QApplication.clipboard().setText(code))
        self._copy_buttons.append(copy)
        row.addWidget(text, 1)
        row.addWidget(copy, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _demo_card(self) -> QWidget:
        host = QWidget()
        layout = QVBoxLayout(host)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(METRICS.grid)
        grid = QGridLayout()
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(METRICS.padding)
        grid.setColumnStretch(1, 1)
        layout.addLayout(grid)
        for line, (name, about) in enumerate(self._demos):
            button = QPushButton(name)
            button.setIcon(icon(Icon.PLAY, self._palette, color=self._palette.accent))
            button.setProperty("row", "true")
            button.setToolTip(f"Run the demo: stroboscope demo {name}")
            button.clicked.connect(lambda _=False, n=name: self.start_demo.emit(n))
            self.demo_buttons[name] = button
            text = label(about, "muted", wrap=True)
            grid.addWidget(button, line, 0)
            grid.addWidget(text, line, 1, Qt.AlignmentFlag.AlignVCenter)
        if not self._demos:
            layout.addWidget(label("No demos are installed.", "muted"))
        layout.addStretch(1)
        return host
