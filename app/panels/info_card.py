"""Numbers about the shown scene over the picture, as MuJoCo's viewer has them under F2."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.moment import moment_of
from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.shown_state import rate_text
from stroboscope.app.models.tables.profile import duration_text
from stroboscope.app.models.tables.solver_words import solver_summary
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tables.follower import FrameFollower
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["InfoCard"]

_MARGIN = 8
_RATE = 5.0  # [Hz]: numbers that people read at a glance
_TOPICS = (
    Topic.SOLVER,
    Topic.OPTIONS,
    Topic.ENERGY,
    Topic.TIMING,
    Topic.CONTACTS,
    Topic.CONSTRAINTS,
)
_ROWS = ("speed", "step", "contacts", "constraints", "solver", "gradient", "energy", "picture")
_NOTHING = "—"


class InfoCard(QFrame):
    """Lies over the top left corner of ``area`` and takes no mouse; asks for values while shown.

    ``picture`` says how the picture is drawn, ``room`` how many pixels above it are taken.
    """

    def __init__(
        self,
        area: QWidget,
        sessions: SessionsModel,
        view: ViewState,
        *,
        picture: Callable[[], str],
        room: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(area)
        self._area = area
        self._picture = picture
        self._room = room
        self.setObjectName("viewButtons")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        grid = QGridLayout(self)
        grid.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(1)
        self.instant = label("", "small")
        self.instant.setFont(number_font())
        grid.addWidget(self.instant, 0, 0, 1, 2)
        self.values: dict[str, QLabel] = {}
        for line, name in enumerate(_ROWS, start=1):
            value = label("", "")
            value.setFont(number_font())
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(label(name, "muted"), line, 0)
            grid.addWidget(value, line, 1)
            self.values[name] = value
        self._width = 0
        self.hide()
        self._follower = FrameFollower(
            self,
            sessions,
            view,
            who="info",
            topics=lambda _scene: ((), _TOPICS),
            refresh=self.refresh,
            rate=_RATE,
        )
        area.installEventFilter(self)

    def close_panel(self) -> None:
        """Stop listening."""
        self._area.removeEventFilter(self)
        self._follower.close()

    def set_on(self, shown: bool) -> None:
        """Show it, or put it away."""
        if shown == self.isHidden():
            self._width = 0
            self.setVisible(shown)
            self.refresh()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the corner."""
        if watched is self._area and event.type() is QEvent.Type.Resize:
            self._place()
        return False

    def refresh(self) -> None:
        """Show the newest values, all of one instant."""
        if self.isHidden():
            return
        scene = self._follower.scene
        frames = self._follower.frames() if scene is not None else None
        moment = moment_of(scene, frames)
        self.instant.setText(moment.line or "No scene is shown.")
        set_property(self.instant, "level", moment.level)
        d = scene.description if scene is not None else None
        texts = _texts(scene, d, frames) if scene is not None and d is not None else {}
        texts["picture"] = self._picture()
        for name, value in self.values.items():
            value.setText(texts.get(name) or _NOTHING)
        self._place()

    def _place(self) -> None:
        # Never narrower while it is there: it would jump with the length of its numbers.
        self._width = max(self._width, self.sizeHint().width())
        self.resize(self._width, self.sizeHint().height())
        self.move(_MARGIN, _MARGIN + self._room())
        self.raise_()


def _texts(scene: SceneModel, d: SceneDescription, frames: FrameSet | None) -> dict[str, str]:
    texts = {"speed": "" if scene.is_stale else rate_text(scene)}
    if frames is None:
        return texts
    duration = frames.array(Topic.TIMING, "duration")
    if duration is not None and "step" in d.timer_stages[: duration.size]:
        seconds = float(duration[d.timer_stages.index("step")])
        texts["step"] = duration_text(seconds) if seconds > 0.0 else ""
    for name, topic, array in (
        ("contacts", Topic.CONTACTS, "dist"),
        ("constraints", Topic.CONSTRAINTS, "pos"),
    ):
        values = frames.array(topic, array)
        if values is not None:
            texts[name] = count_text(len(values))
    solver = solver_summary(d, frames)
    if solver is not None:
        limit = f" of {solver.limit}" if solver.limit is not None else ""
        texts["solver"] = f"{solver.iterations}{limit} iterations"
        if solver.gradient is not None:
            texts["gradient"] = f"{solver.gradient:.1e}".replace("-", "−")
    parts = [frames.array(Topic.ENERGY, name) for name in ("potential", "kinetic")]
    energies = [float(part[0]) for part in parts if part is not None and part.size]
    if len(energies) == 2:
        texts["energy"] = with_unit(number_text(sum(energies)), "J")
    return texts
