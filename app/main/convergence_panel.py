"""The Convergence panel: how the solver got along in the step that is shown."""

import numpy as np
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.moment import moment_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.tables.options import option_value
from stroboscope.app.models.tables.solver_words import solver_summary
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.labels import ElidedLabel, label, rule
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tables.follower import FrameFollower
from stroboscope.app.plots.convergence_plot import Convergence, ConvergencePlot
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["ConvergencePanel", "convergence_of"]


class ConvergencePanel(QWidget):
    """Improvement and gradient per iteration of the slowest island, at the instant shown."""

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.padding, METRICS.grid)
        head.setSpacing(METRICS.gap)
        self.summary = ElidedLabel()
        self.summary.setFont(number_font())
        self.summary.setProperty("role", "small")
        self._improvement = label("● improvement", "small")
        self._gradient = label("● gradient", "small")
        head.addWidget(self.summary, 1)
        head.addWidget(self._improvement)
        head.addWidget(self._gradient)
        self.warning = label("", "small", wrap=True)
        self.warning.setContentsMargins(METRICS.padding, 0, METRICS.padding, METRICS.grid)
        set_property(self.warning, "level", "warn")
        self.warning.hide()
        column.addLayout(head)
        column.addWidget(self.warning)
        column.addWidget(rule())
        self.plot = ConvergencePlot(palette)
        column.addWidget(self.plot, 1)
        self.set_theme(palette)
        self._follower = FrameFollower(
            self,
            sessions,
            view,
            who="convergence",
            topics=_topics,
            refresh=self._refresh,
        )

    def close_panel(self) -> None:
        """Stop listening."""
        self._follower.close()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.plot.set_theme(palette)
        # The words are the legend: they wear the colours of their lines.
        self._improvement.setStyleSheet(f"color: {palette.plot[0]};")
        self._gradient.setStyleSheet(f"color: {palette.plot[1]};")

    def _refresh(self) -> None:
        scene = self._follower.scene
        frames = self._follower.frames()
        description = scene.description if scene is not None else None
        summary = solver_summary(description, frames) if description is not None else None
        if description is None or summary is None or frames is None:
            self.summary.set_full_text("The solver's work at this instant is not known yet.")
            self.warning.hide()
            self.plot.show_convergence(None)
            return
        word, _, _ = moment_of(scene, frames).word.partition(" · ")
        self.summary.set_full_text(f"{word} · {summary.text}")
        self.warning.setText(summary.warning)
        self.warning.setVisible(bool(summary.warning))
        self.plot.show_convergence(convergence_of(description, frames))


def _topics(_scene: SceneModel) -> tuple[tuple[Topic, ...], tuple[Topic, ...]]:
    return (Topic.SOLVER,), (Topic.OPTIONS,)


def convergence_of(description: SceneDescription, frames: FrameSet) -> Convergence | None:
    """Return the slowest island of an instant; None when there was nothing to solve."""
    niter = frames.array(Topic.SOLVER, "niter")
    improvement = frames.array(Topic.SOLVER, "improvement")
    gradient = frames.array(Topic.SOLVER, "gradient")
    if niter is None or improvement is None or gradient is None or not niter.size:
        return None
    island = int(np.argmax(niter))
    count = int(niter[island])
    limit = option_value(description, frames, "iterations")
    return Convergence(
        tuple(improvement.reshape(niter.size, -1)[island, :count].tolist()),
        tuple(gradient.reshape(niter.size, -1)[island, :count].tolist()),
        None if limit is None else int(limit),
        option_value(description, frames, "tolerance"),
    )
