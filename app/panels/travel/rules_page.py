"""Which rules stop the shown scene, and what a stop does."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.stops import REASONS
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.messages import HoldAtEnd
from stroboscope.debugger_protocol.time_messages import StopReason

__all__ = ["RulesPage"]

_COLUMNS = 2


class RulesPage(QScrollArea):
    """A tick per rule; the shown scene's. GUI thread only."""

    def __init__(self) -> None:
        super().__init__()
        self._scene: SceneModel | None = None
        self.rules: dict[StopReason, QCheckBox] = {}
        self.stop_all = self._box(
            "A stop stops all scenes", "Else the others run on; this is for all of the application."
        )
        self.mark_only = self._box(
            "Only mark stops, never hold", "They are listed and on the timeline, and it goes on."
        )
        self.hold_at_end = self._box(
            "Hold its last scene until Play",
            "To look back at what has happened; else the script ends, and its history with it.",
        )
        self.hold_at_end.clicked.connect(self._on_hold_at_end)
        self.stop_all.clicked.connect(self._on_stop_all)
        self.mark_only.clicked.connect(self._on_mark_only)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        column.setSpacing(METRICS.grid)
        column.addWidget(label("Stop this scene for", "section"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(METRICS.grid)
        for number, (reason, words) in enumerate(REASONS.items()):
            box = self._box(words.title, words.what)
            box.clicked.connect(lambda on, each=reason: self._switch(each, on=on))
            self.rules[reason] = box
            grid.addWidget(box, number // _COLUMNS, number % _COLUMNS)
        grid.setColumnStretch(_COLUMNS, 1)
        column.addLayout(grid)
        column.addSpacing(METRICS.gap)
        column.addWidget(label("When it stops", "section"))
        column.addWidget(self.stop_all)
        column.addWidget(self.mark_only)
        column.addSpacing(METRICS.gap)
        column.addWidget(label("When the script is over", "section"))
        column.addWidget(self.hold_at_end)
        self.resets = label("", "small")
        column.addWidget(self.resets)
        column.addStretch(1)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(body)

    @staticmethod
    def _box(text: str, tip: str) -> QCheckBox:
        box = QCheckBox(text)
        box.setProperty("ownTip", tip)
        box.setToolTip(tip)
        box.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return box

    def show_scene(self, scene: SceneModel | None) -> None:
        """Show a scene's rules as they are."""
        self._scene = scene
        why_not = why_not_changeable(scene)
        if not why_not and scene is not None and not scene.stops.is_known:
            why_not = "The engine of this scene watches for nothing."
        boxes = (*self.rules.values(), self.stop_all, self.mark_only)
        for box in boxes:
            box.setEnabled(not why_not)
            box.setToolTip(plain_text(why_not or str(box.property("ownTip"))))
        # For all of the application, whatever its engine watches for.
        why_not_end = why_not_changeable(scene)
        self.hold_at_end.setEnabled(not why_not_end)
        self.hold_at_end.setToolTip(
            plain_text(why_not_end or str(self.hold_at_end.property("ownTip")))
        )
        status = scene.session.status if scene is not None else None
        self.hold_at_end.setChecked(status is not None and status.hold_at_end)
        rules = scene.stops.rules if scene is not None else None
        for reason, box in self.rules.items():
            box.setChecked(rules is not None and reason not in rules.off)
        self.stop_all.setChecked(rules is not None and rules.stop_all)
        self.mark_only.setChecked(rules is not None and rules.mark_only)
        resets = scene.stops.told.resets if scene is not None else 0
        self.resets.setText(f"The engine has reset this scene by itself {resets} times.")
        self.resets.setVisible(resets > 0)

    def _switch(self, reason: StopReason, *, on: bool) -> None:
        if self._scene is not None:
            self._scene.stops.switch(reason, on=on)

    def _on_hold_at_end(self, on: bool) -> None:
        if self._scene is not None:
            self._scene.session.send(lambda i: HoldAtEnd(id=i, hold=on))

    def _on_stop_all(self, on: bool) -> None:
        if self._scene is not None:
            self._scene.stops.set_rules(stop_all=on)

    def _on_mark_only(self, on: bool) -> None:
        if self._scene is not None:
            self._scene.stops.set_rules(mark_only=on)
