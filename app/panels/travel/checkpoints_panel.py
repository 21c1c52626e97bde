"""The checkpoints of an application: keep a state, come back to it, compare, show as a ghost."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.checkpoints import (
    KeptCheckpoint,
    capture,
    kept_checkpoints,
    restore,
    scenes_to_restore,
)
from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.tables.checkpoints import checkpoints_table
from stroboscope.app.panels.labels import button_row
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.travel.kept_table import KeptTable
from stroboscope.debugger_protocol.messages import (
    CheckpointOrigin,
    DropCheckpoint,
    LabelCheckpoint,
)
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource
from stroboscope.resources.themes import Palette

__all__ = ["CheckpointsPanel"]

_EMPTY = (
    "No checkpoints yet. Shift+K keeps the state that you look at; from here you restore it, also "
    "into another scene of the same model, compare it with others, or show it as a ghost."
)


def _kept_by_script(kept: Sequence[KeptCheckpoint]) -> str:
    """Return what deleting them does not do; empty where the script has made none of them."""
    theirs = [each for each in kept if each.info.origin is CheckpointOrigin.SCRIPT]
    return " The script keeps what it has made itself." if theirs else ""


class _LabelDialog(QDialog):
    """Asks for a name and a note."""

    def __init__(self, kept: KeptCheckpoint, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Checkpoint")
        self.name = QLineEdit(kept.info.name)
        self.note = QLineEdit(kept.info.note)
        self.name.setMinimumWidth(320)
        self.note.setPlaceholderText("What it is good for")
        form = QFormLayout()
        form.setHorizontalSpacing(METRICS.padding)
        form.setVerticalSpacing(METRICS.gap)
        form.addRow("Name", self.name)
        form.addRow("Note", self.note)
        cancel, self.change = QPushButton("Cancel"), QPushButton("Change")
        cancel.clicked.connect(lambda _=False: self.reject())
        self.change.clicked.connect(lambda _=False: self.accept())
        layout = QVBoxLayout(self)
        margin = METRICS.padding + METRICS.grid
        layout.setContentsMargins(margin, margin, margin, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addLayout(form)
        layout.addLayout(button_row(cancel, self.change))
        self.name.textChanged.connect(lambda text: self.change.setEnabled(bool(text.strip())))
        self.name.selectAll()


class CheckpointsPanel(KeptTable):
    """Every checkpoint of the shown scene's application."""

    def __init__(
        self, sessions: SessionsModel, palette: Palette, *, tell: Callable[[str], None]
    ) -> None:
        self._kept: dict[GhostRef, KeptCheckpoint] = {}
        self.dialog: QDialog | None = None
        super().__init__(sessions, palette, tell=tell)
        self.refresh()

    def signals(self, scene: SceneModel) -> Iterable[Signal[[]]]:
        """Follow the checkpoints of all scenes, and the shown one's ghosts."""
        yield scene.ghosts.changed
        for each in scene.session.scenes.values():
            yield each.edits.checkpoints_changed

    def buttons(self) -> Sequence[QPushButton]:
        """Make the buttons of the bar."""
        self.capture_button = self.button(
            "Capture", "Keep the state that is looked at.   Shift+K", self.capture
        )
        self.restore_button = self.button(
            "Restore",
            "Put the checkpoint's own scene there. The future left behind stays in the history.",
            self.restore_chosen,
        )
        self.into_button = self.button(
            "Restore into…", "Put another scene of the same model there.", self._open_into
        )
        self.compare_button = self.button(
            "Compare", "List what differs between two, most different first.", self.compare_chosen
        )
        self.edit_button = self.button("Edit…", "Name and note.   F2", self.edit_chosen)
        self.delete_button = self.button("Delete", "Forget it.   Delete", self.delete_chosen)
        return (
            self.capture_button,
            self.restore_button,
            self.into_button,
            self.compare_button,
            self.edit_button,
            self.delete_button,
        )

    # --- showing

    def refresh(self) -> None:
        """Show what there is."""
        scene = self.scene
        kept = kept_checkpoints(scene.session if scene is not None else None)
        self._kept = {each.ref: each for each in kept}
        ghosts = scene.ghosts if scene is not None else None
        if scene is not None and ghosts is not None:
            for each in scene.session.scenes.values():
                numbers = {info.checkpoint_id for info in each.edits.checkpoints}
                ghosts.keep(GhostSource.CHECKPOINT, numbers, each.scene_id)
        ticked = ghosts.colours if ghosts is not None else {}
        table = checkpoints_table(kept, ticked)
        self.table.show_table(table, empty=_EMPTY if scene is not None else "No scene is shown.")
        total = sum(each.info.nbytes for each in kept)
        text = f"{count_text(len(kept))} kept" if kept else ""
        self.table.total.set_full_text(text)
        self.table.total.set_hint(f"{count_text(total)} bytes in the application" if kept else "")
        self.enable()

    def enable(self) -> None:
        """Let those buttons be used that make sense."""
        refs = self.chosen()
        why_not = why_not_changeable(self.scene)
        one = "" if len(refs) == 1 else "Select one checkpoint."
        kept = self._kept.get(refs[0]) if len(refs) == 1 else None
        self.allow(self.capture_button, why_not)
        self.allow(self.restore_button, why_not or one)
        self.allow(self.edit_button, why_not or one)
        others = bool(kept is not None and scenes_to_restore(kept))
        nowhere = "" if others else "No other scene of this application has the same model."
        self.allow(self.into_button, why_not or one or nowhere)
        self.allow(self.compare_button, "" if len(refs) == 2 else "Select two checkpoints.")
        self.allow(self.delete_button, why_not or ("" if refs else "Select a checkpoint."))

    def label_of(self, ref: GhostRef) -> str:
        """Return a checkpoint's name."""
        kept = self._kept.get(ref)
        return kept.info.name if kept is not None else f"checkpoint {ref.number}"

    def fill_menu(self, menu: QMenu, ref: GhostRef) -> None:
        """Offer what can be done with a checkpoint."""
        kept = self._kept.get(ref)
        if kept is None:
            return
        allowed = not why_not_changeable(self.scene)
        for text, act in (
            ("Restore", partial(self._restore, kept, kept.scene)),
            ("Name and note…", partial(self.edit, kept)),
        ):
            action = menu.addAction(text)
            action.setEnabled(allowed)
            action.triggered.connect(lambda _=False, f=act: f())
        into = menu.addMenu("Restore into")
        self._fill_into(into, kept)
        into.setEnabled(allowed and bool(into.actions()))
        delete = menu.addAction("Delete")
        delete.setEnabled(allowed)
        delete.triggered.connect(lambda _=False: self.delete_chosen())

    # --- what a person does

    def capture(self) -> None:
        """Keep what is looked at."""
        if self.scene is None:
            return
        if why_not := why_not_changeable(self.scene):
            self.tell(why_not)
            return
        name = capture(self.scene)
        if name:
            self.tell(f"Saved as {name}.")

    def restore_chosen(self) -> None:
        """Put the selected checkpoint's scene there."""
        kept = self._one()
        if kept is not None:
            self._restore(kept, kept.scene)

    def _restore(self, kept: KeptCheckpoint, into: SceneModel) -> None:
        restore(kept, into)
        where = "" if into is self.scene else f" in {into.name}"
        self.tell(f"Restoring {kept.info.name}{where}.")

    def _one(self) -> KeptCheckpoint | None:
        refs = self.chosen()
        return self._kept.get(refs[0]) if len(refs) == 1 else None

    def into_menu(self) -> QMenu:
        """Return the menu of scenes that the selected checkpoint may be restored into."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        kept = self._one()
        if kept is not None:
            self._fill_into(menu, kept)
        return menu

    def _fill_into(self, menu: QMenu, kept: KeptCheckpoint) -> None:
        for scene in scenes_to_restore(kept):
            action = menu.addAction(scene.name.replace("&", "&&"))
            action.triggered.connect(lambda _=False, each=scene: self._restore(kept, each))

    def _open_into(self) -> None:
        button = self.into_button
        self.into_menu().popup(button.mapToGlobal(button.rect().bottomLeft()))

    def edit_chosen(self) -> None:
        """Ask for another name and note."""
        kept = self._one()
        if kept is not None:
            self.edit(kept)

    def edit(self, kept: KeptCheckpoint) -> None:
        """Ask for another name and note of a checkpoint."""
        dialog = _LabelDialog(kept, self)

        def accepted() -> None:
            name, note = dialog.name.text(), dialog.note.text()
            scene = kept.scene
            if not scene.is_stale:
                scene.session.send(
                    lambda i: LabelCheckpoint(
                        id=i,
                        scene_id=scene.scene_id,
                        checkpoint_id=kept.info.checkpoint_id,
                        name=name,
                        note=note,
                    )
                )

        dialog.accepted.connect(accepted)
        self._open(dialog)

    def delete_chosen(self) -> None:
        """Forget the selected checkpoints, after asking."""
        kept = [self._kept[ref] for ref in self.chosen() if ref in self._kept]
        if not kept or why_not_changeable(self.scene):
            return
        what = kept[0].info.name if len(kept) == 1 else f"{len(kept)} checkpoints"
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Delete")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"Delete {what}? This can't be undone.{_kept_by_script(kept)}")
        delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(delete)

        def clicked(button: object) -> None:
            if button is delete:
                for each in kept:
                    self._drop(each)

        box.buttonClicked.connect(clicked)
        self._open(box)

    @staticmethod
    def _drop(kept: KeptCheckpoint) -> None:
        scene = kept.scene
        if not scene.is_stale:
            scene.session.send(
                lambda i: DropCheckpoint(
                    id=i, scene_id=scene.scene_id, checkpoint_id=kept.info.checkpoint_id
                )
            )

    def _open(self, dialog: QDialog) -> None:
        # Not exec(): the window goes on, and nothing waits for an answer.
        self.dialog = dialog
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(lambda _result: setattr(self, "dialog", None))
        dialog.open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take F2 and Delete."""
        if event.key() == Qt.Key.Key_F2 and self._one() is not None:
            self.edit_chosen()
        else:
            super().keyPressEvent(event)
