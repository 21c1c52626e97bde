"""Keyframes of the model and checkpoints of the session: save a state, come back to it, copy it."""

from functools import partial

from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from stroboscope.app.models.keyframe_xml import keyframe_xml
from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.page import ControlsPage, name_of
from stroboscope.app.panels.icons import Icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.debugger_protocol.messages import CheckpointInfo
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["StatesPage"]


class StatesPage(ControlsPage):
    """Load a keyframe, keep the state as a checkpoint, restore one, copy the state as MJCF."""

    name = "states"

    def __init__(self, *arguments: object) -> None:
        self._built: tuple[CheckpointInfo, ...] = ()
        self._buttons: list[QWidget] = []
        self.loads: list[QPushButton] = []
        self.restores: dict[int, QPushButton] = {}
        self.drops: dict[int, QToolButton] = {}
        self.copied: QPushButton | None = None
        self.save_name = QLineEdit()
        self.save = QPushButton("Save")
        super().__init__(*arguments)  # type: ignore[arg-type]

    def topics(self, scene: SceneModel) -> Topics:
        """Return what the state is copied from."""
        return (Topic.STATE,), ()

    def forget(self) -> None:
        """Drop the rows of before."""
        self._buttons, self.loads, self.restores, self.drops = [], [], {}, {}
        self.copied = None

    def build(self, scene: SceneModel) -> None:
        """Make a line per keyframe and checkpoint."""
        description = scene.description
        if description is None:
            return
        self._built = scene.edits.checkpoints
        self.add_heading("This state")
        typed = self.save_name.text() if self._alive(self.save_name) else ""
        self.save_name = QLineEdit(typed)
        self.save_name.setPlaceholderText("Name of a checkpoint")
        self.save_name.returnPressed.connect(self._save)
        self.save = QPushButton("Save")
        self.save.setToolTip("Keep the state as it stands, for as long as the session lasts.")
        self.save.clicked.connect(self._save)
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, METRICS.grid)
        row.setSpacing(METRICS.grid)
        row.addWidget(self.save_name, 1)
        row.addWidget(self.save)
        self.add_whole(line)
        self.copied = QPushButton("Copy as MJCF <key>")
        self.copied.setToolTip("qpos, qvel, act, ctrl and mocap poses with every digit.")
        self.copied.clicked.connect(self._copy)
        self.add_buttons(self.copied)
        heading = self.add_heading("Checkpoints")
        if not self._built:
            self.add_whole(label("None yet.", "small"), heading=heading)
        for checkpoint in reversed(self._built):
            self._add_checkpoint(checkpoint, heading)
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

    def _add_checkpoint(self, checkpoint: CheckpointInfo, heading: QWidget) -> None:
        restore = QPushButton("Restore")
        restore.setToolTip(
            plain_text(checkpoint.approximate or "Continues from there bit for bit.")
        )
        restore.clicked.connect(partial(self._restore, checkpoint.checkpoint_id))
        drop = icon_button(Icon.CLOSE, self.colors, f"Forget {checkpoint.name}")
        drop.clicked.connect(partial(self._drop, checkpoint.checkpoint_id))
        self.restores[checkpoint.checkpoint_id] = restore
        self.drops[checkpoint.checkpoint_id] = drop
        when = with_unit(number_text(checkpoint.time), "s")
        text = f"{when} · step {count_text(checkpoint.step_count)}"
        if checkpoint.approximate:
            text += " · approximate"
        self._add_state(checkpoint.name, text, heading, restore, drop)

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
        """Follow the list of checkpoints, and who may use them."""
        if scene.edits.checkpoints != self._built:
            self.rebuild()
            return
        why_not = self.why_not()
        for button in (self.save, *self._buttons):
            self.allow(button, why_not)
        if self.copied is not None:
            self.copied.setEnabled(self.values(Topic.STATE, "qpos") is not None)

    @staticmethod
    def _alive(widget: QWidget) -> bool:
        import shiboken6

        return shiboken6.isValid(widget)

    def _save(self) -> None:
        scene = self.scene
        if scene is None or self.why_not():
            return
        names = {each.name for each in scene.edits.checkpoints}
        number = len(names) + 1
        while f"state {number}" in names:
            number += 1
        scene.edits.save_checkpoint(self.save_name.text().strip() or f"state {number}")
        self.save_name.clear()

    def _load(self, index: int) -> None:
        if self.scene is not None:
            self.scene.edits.load_keyframe(index)

    def _restore(self, checkpoint_id: int) -> None:
        if self.scene is not None:
            self.scene.edits.restore_checkpoint(checkpoint_id)

    def _drop(self, checkpoint_id: int) -> None:
        if self.scene is not None:
            self.scene.edits.drop_checkpoint(checkpoint_id)

    def _copy(self) -> None:
        frame = self.frame(Topic.STATE)
        if frame is not None:
            name = self.save_name.text().strip() or "state"
            text = keyframe_xml(name, time=frame.time, state=frame.arrays)
            QApplication.clipboard().setText(text)
