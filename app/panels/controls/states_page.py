"""Keyframes of the model: load one, copy the state as one; checkpoints are a panel of their own."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QPushButton,
    QWidget,
)

from stroboscope.app.models.keyframe_xml import keyframe_xml
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.page import ControlsPage, name_of
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["StatesPage"]


class StatesPage(ControlsPage):
    """Load a keyframe, copy the state as MJCF. ``show_checkpoints`` brings that panel to front."""

    name = "states"

    def __init__(self, *arguments: object) -> None:
        self.show_checkpoints: Callable[[], None] = lambda: None
        self._buttons: list[QWidget] = []
        self.loads: list[QPushButton] = []
        self.copied: QPushButton | None = None
        self.checkpoints: QPushButton | None = None
        super().__init__(*arguments)  # type: ignore[arg-type]

    def topics(self, scene: SceneModel) -> Topics:
        """Return what the state is copied from."""
        return (Topic.STATE,), ()

    def forget(self) -> None:
        """Drop the rows of before."""
        self._buttons, self.loads = [], []
        self.copied = self.checkpoints = None

    def build(self, scene: SceneModel) -> None:
        """Make a line per keyframe."""
        description = scene.description
        if description is None:
            return
        self.add_heading("This state")
        self.copied = QPushButton("Copy as MJCF <key>")
        self.copied.setToolTip("qpos, qvel, act, ctrl and mocap poses with every digit.")
        self.copied.clicked.connect(self._copy)
        self.checkpoints = QPushButton("Checkpoints…")
        self.checkpoints.setToolTip("Keep the state (Shift+K), restore one, compare them.")
        self.checkpoints.clicked.connect(lambda _=False: self.show_checkpoints())
        self.add_buttons(self.copied, self.checkpoints)
        heading = self.add_heading("Keyframes of the model")
        if not description.keyframes:
            self.add_whole(label("This model has none.", "small"), heading=heading)
        for index, key in enumerate(description.keyframes):
            name = name_of(key.name, "keyframe", index)
            load = QPushButton("Load")
            load.setToolTip(plain_text(f"Reset the scene to {name}."))
            load.clicked.connect(partial(self._load, index))
            self.loads.append(load)
            self._add_state(name, with_unit(number_text(key.time), "s"), heading, load)

    def _add_state(self, name: str, text: str, heading: QWidget, *buttons: QWidget) -> None:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 1, 0, 1)
        row.setSpacing(METRICS.grid)
        title = ElidedLabel(name)
        row.addWidget(title, 1)
        row.addWidget(label(text, "small"))
        for button in buttons:
            button.setFixedHeight(METRICS.compact_height)
            button.setProperty("compact", True)
            row.addWidget(button)
            self._buttons.append(button)
        self.add_whole(line, words=name, heading=heading)

    def fill(self, scene: SceneModel) -> None:
        """Follow who may use them, and whether the state is known."""
        why_not = self.why_not()
        for button in self._buttons:
            self.allow(button, why_not)
        if self.copied is not None:
            self.copied.setEnabled(self.values(Topic.STATE, "qpos") is not None)

    def _load(self, index: int) -> None:
        if self.scene is not None:
            self.scene.edits.load_keyframe(index)

    def _copy(self) -> None:
        frame = self.frame(Topic.STATE)
        if frame is not None:
            text = keyframe_xml("state", time=frame.time, state=frame.arrays)
            QApplication.clipboard().setText(text)
