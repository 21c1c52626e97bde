"""Rollouts of the shown scene: what became of each, two of them compared, their ghosts."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog, QMenu, QPushButton

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.ghosts import rollout_title
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.rollouts import OFFERED_NUMBERS, DerivedNumber, rollout_ref
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.tables.rollouts import rollouts_table
from stroboscope.app.panels.travel.kept_table import KeptTable
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, RolloutInfo
from stroboscope.resources.themes import Palette

__all__ = ["RolloutsPanel"]

_EMPTY = (
    "No rollouts yet. Try… simulates what was recorded with another gain, option or input from any "
    "step, and a stop offers some from before it; physics.rollout() in a script puts its "
    "candidates here; and what a scene that has ended leaves behind."
)


class RolloutsPanel(KeptTable):
    """Rollouts of the shown scene, and below them what is left of scenes that have ended.

    ``tell`` says a sentence in the status bar, ``try_else`` asks what to simulate; ``scene_menu``
    lists the other scenes, to be ghosts.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        *,
        tell: Callable[[str], None],
        try_else: Callable[[], None],
        scene_menu: Callable[[], QMenu],
    ) -> None:
        self._try_else = try_else
        self._scene_menu = scene_menu
        self._known: dict[GhostRef, RolloutInfo] = {}
        self._pair: frozenset[GhostRef] = frozenset()
        self.dialog: QInputDialog | None = None
        super().__init__(sessions, palette, tell=tell)
        self.refresh()

    def signals(self, scene: SceneModel) -> Iterable[Signal[[]]]:
        """Follow the rollouts, and which of them are ghosts."""
        return (scene.rollouts.changed, scene.ghosts.changed, scene.session.finished_changed)

    def buttons(self) -> Sequence[QPushButton]:
        """Make the buttons of the bar."""
        self.try_button = self.button(
            "Try…",
            "Try something else from the step that is looked at: another gain, option or input.",
            lambda: self._try_else(),
        )
        self.ghost_button = self.button(
            "Ghost", "Show the selected ones in the picture and in the plots.", self._ghost_chosen
        )
        self.scene_button = self.button(
            "Scene…",
            "Show another scene, or another recorded run, as a ghost at the same time.",
            self._open_scenes,
        )
        self.compare_button = self.button(
            "Compare",
            "List what differs between two, most different first, and since which step.",
            self.compare_chosen,
        )
        self.number_button = self.button(
            "Number…",
            "Compute another number of every rollout: a column to sort by.",
            self._open_numbers,
        )
        self.drop_button = self.button("Drop", "Forget it.   Delete", self.delete_chosen)
        return (
            self.try_button,
            self.ghost_button,
            self.scene_button,
            self.compare_button,
            self.number_button,
            self.drop_button,
        )

    # --- showing

    def refresh(self) -> None:
        """Show what there is."""
        scene = self.scene
        rows: list[tuple[GhostRef, RolloutInfo]] = []
        if scene is not None:
            finished = scene.session.finished.rollouts
            rows += [(rollout_ref(0, each.rollout_id), each) for each in finished]
            mine = scene.rollouts.rollouts
            rows += [(rollout_ref(scene.scene_id, each.rollout_id), each) for each in mine]
            for scene_id, infos in ((0, finished), (scene.scene_id, mine)):
                numbers = {each.rollout_id for each in infos}
                scene.ghosts.keep(GhostSource.ROLLOUT, numbers, scene_id)
        self._known = dict(rows)
        ticked = scene.ghosts.colours if scene is not None else {}
        table = rollouts_table(rows, ticked)
        self.table.show_table(table, empty=_EMPTY if scene is not None else "No scene is shown.")
        self.table.total.set_full_text(self._total(scene))
        self._compare_ticked(scene)
        self.enable()

    def _total(self, scene: SceneModel | None) -> str:
        if scene is None:
            return ""
        told = scene.history.told
        if scene.rollouts.running:
            part = f" {round(100.0 * told.progress)} %" if told is not None and told.busy else ""
            return f"Simulating {scene.rollouts.running}{part}…"
        dropped = scene.rollouts.told.dropped
        parts = [f"{count_text(len(self._known))} kept"] if self._known else []
        if dropped:
            parts.append(f"{count_text(dropped)} older ones made room")
        return " · ".join(parts)

    def _compare_ticked(self, scene: SceneModel | None) -> None:
        """Compare the two that are ghosts, as soon as there are exactly two."""
        if scene is None:
            return
        ticked = [
            entry.ref for entry in scene.ghosts.entries if entry.ref.source is GhostSource.ROLLOUT
        ]
        pair = frozenset(ticked)
        if pair == self._pair:
            return
        self._pair = pair
        if len(ticked) == 2:
            self.compare(*ticked)

    def enable(self) -> None:
        """Let those buttons be used that make sense."""
        refs = self.chosen()
        why_not = why_not_changeable(self.scene)
        self.allow(self.try_button, why_not)
        self.allow(self.ghost_button, "" if refs else "Select a rollout.")
        alone = len(self.sessions.all_scenes()) < 2
        self.allow(self.scene_button, "No other scene is open." if alone else "")
        self.allow(self.compare_button, "" if len(refs) == 2 else "Select two rollouts.")
        none = "" if self._known else "There are no rollouts yet."
        self.allow(self.number_button, why_not or none)
        mine = [ref for ref in refs if ref.scene_id]
        nothing = "" if mine else "Select a rollout; those of ended scenes make room by themselves."
        self.allow(self.drop_button, why_not or nothing)

    def label_of(self, ref: GhostRef) -> str:
        """Return a rollout's name."""
        info = self._known.get(ref)
        return rollout_title(info) if info is not None else f"rollout {ref.number}"

    def fill_menu(self, menu: QMenu, ref: GhostRef) -> None:
        """Offer what can be done with a rollout."""
        drop = menu.addAction("Drop")
        drop.setEnabled(bool(ref.scene_id) and not why_not_changeable(self.scene))
        drop.triggered.connect(lambda _=False: self.delete_chosen())

    # --- what a person does

    def _open_scenes(self) -> None:
        menu, button = self._scene_menu(), self.scene_button
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _ghost_chosen(self) -> None:
        for ref in self.chosen():
            self.toggle_ghost(ref)

    def number_menu(self) -> QMenu:
        """Return the menu of numbers that can be computed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        known = {name for info in self._known.values() for name, _ in info.numbers}
        for number in OFFERED_NUMBERS:
            action = menu.addAction(number.title)
            every = all(number.name in dict(info.numbers) for info in self._known.values())
            action.setEnabled(number.name not in known or not every)
            action.triggered.connect(lambda _=False, each=number: self.derive(each))
        menu.addSeparator()
        menu.addAction("Of an expression…").triggered.connect(lambda _=False: self._ask_number())
        return menu

    def _open_numbers(self) -> None:
        button = self.number_button
        self.number_menu().popup(button.mapToGlobal(button.rect().bottomLeft()))

    def derive(self, number: DerivedNumber) -> None:
        """Have a number computed; it appears row by row."""
        if self.scene is not None:
            self.scene.rollouts.derive(number)
            self.tell(f"Computing {number.name}.")

    def _ask_number(self) -> None:
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Number of every rollout")
        dialog.setLabelText(
            "The largest value over all steps of an expression, as in max(abs(qvel)) or "
            "contact.depth"
        )
        dialog.textValueSelected.connect(self._derive_text)
        self.dialog = dialog
        dialog.finished.connect(lambda _result: setattr(self, "dialog", None))
        dialog.open()

    def _derive_text(self, text: str) -> None:
        text = text.strip()
        if text:
            self.derive(DerivedNumber(text, f"max {text}", text))

    def delete_chosen(self) -> None:
        """Forget the selected rollouts: they can be simulated again."""
        scene = self.scene
        if scene is None or why_not_changeable(scene):
            return
        for ref in self.chosen():
            if ref.scene_id:
                scene.rollouts.drop(ref.number)
