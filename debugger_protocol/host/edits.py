"""Edits of one scene by clients: done by its owner, told to everybody, and undone.

Consecutive edits of the same thing by the same client, as a dragged slider makes them, are one
edit: undoing it leads to what was before the drag, and the log has one line about it.
"""

import dataclasses
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from stroboscope.debugger_protocol.backend import Stayed
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.checkpoints import Checkpoints, MadeByScript
from stroboscope.debugger_protocol.host.edit_texts import (
    change_text,
    option_stayed,
    option_text,
    override_text,
    state_text,
)
from stroboscope.debugger_protocol.host.interventions import Interventions
from stroboscope.debugger_protocol.messages import (
    Command,
    DropCheckpoint,
    EditField,
    EditOption,
    EditState,
    LabelCheckpoint,
    Lint,
    LoadKeyframe,
    LogLevel,
    OverrideControl,
    Perturb,
    ReleasePerturb,
    RestoreCheckpoint,
    RevertEdit,
    SaveCheckpoint,
    SetControlNoise,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_changes import SceneChanges
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.debugger_protocol.limits import Limits

_Old = TypeVar("_Old")

__all__ = ["AT_REST_FIELDS", "COALESCE_S", "EDIT_WORDS", "Edit", "SceneEditor"]

AT_REST_FIELDS = frozenset({EditField.QPOS, EditField.QVEL, EditField.ACT})
"""What may only be edited while the scene stands still."""

COALESCE_S = 1.0
"""An edit of the same thing within this time [s] goes on with the one before."""

# What a restore leaves as it is, and says so.
_MOST_STAYED = 3

# A Python float, and its place in a tuple.
_BYTES_PER_NUMBER = 32

EDIT_WORDS: dict[type[Command], str] = {
    EditState: "edit",
    Perturb: "perturb",
    ReleasePerturb: "release",
    OverrideControl: "override",
    SetControlNoise: "control noise",
    EditOption: "edit",
    LoadKeyframe: "load keyframe",
    SaveCheckpoint: "save checkpoint",
    RestoreCheckpoint: "restore",
    DropCheckpoint: "drop checkpoint",
    LabelCheckpoint: "label checkpoint",
    RevertEdit: "undo",
    Lint: "look over",
}
"""The commands that a :class:`SceneEditor` performs, and what they are called."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit as it is told. ``changed`` [s, monotonic] is when it went on last."""

    edit_id: int
    text: str
    axis: int
    time: float
    wall_time: float
    changed: float
    reverted: bool = False
    may_go_on: bool = False
    """Whether the next edit may still be a part of it."""


@dataclasses.dataclass(slots=True)
class _Undo:
    """How to undo an edit. ``run`` returns why the state was replaced, empty when it wasn't."""

    run: Callable[[], str]
    bytes_kept: int = 0
    at_rest: bool = False
    option: tuple[str, tuple[float, ...]] | None = None
    """Which option, and its values before."""


@dataclasses.dataclass(slots=True)
class _Drag:
    """What the newest edit is about, and what was before it."""

    key: Hashable
    before: object
    edit_id: int
    changed: float


class SceneEditor:
    """Performs the edit commands on one scene; owner thread only.

    ``edits`` is replaced by reference: any thread may read it.
    """

    def __init__(self, link: "SceneLink", changes: "SceneChanges", limits: "Limits") -> None:
        self.edits: tuple[Edit, ...] = ()
        self.interventions = Interventions(link.backend, link.scene_id)
        self.checkpoints = Checkpoints(link.backend, limits)
        self._link = link
        self._changes = changes
        self._backend = link.backend
        self._limits = limits
        self._undo: dict[int, _Undo] = {}
        self._drag: _Drag | None = None
        self._next_id = 1
        # Options as clients have left them, by name; and as they were at the initial state.
        self._options: dict[str, tuple[float, ...]] = {}
        self._options_at_first: dict[str, tuple[float, ...]] = {}

    def perform(self, command: Command, client: int) -> str:
        """Do what ``command`` says, all of it or nothing; raises CommandError.

        Returns why the state was replaced by another one, empty when it wasn't.
        """
        match command:
            case EditState():
                self._edit_state(command, client)
            case Perturb() | ReleasePerturb():
                self._perturb(command)
            case OverrideControl():
                self._override(command, client)
            case SetControlNoise():
                self._set_noise(command, client)
            case EditOption():
                self._edit_option(command, client)
            case LoadKeyframe():
                return self._load_keyframe(command.index)
            case SaveCheckpoint():
                self._save_checkpoint(command)
            case RestoreCheckpoint():
                return self._restore_checkpoint(command)
            case LabelCheckpoint():
                self.checkpoints.label(command.checkpoint_id, command.name, command.note)
            case DropCheckpoint():
                kept = self.checkpoints.drop(command.checkpoint_id)
                also = ", the script keeps its own" if kept.is_of_script else ""
                self._log(f"checkpoint {kept.info.name!r} dropped{also}")
            case RevertEdit():
                return self._revert(command.edit_id)
            case Lint():
                self._changes.look_over()
        return ""

    def restore_initial(self, state: bytes) -> None:
        """Put the scene back to its first state; raises CommandError."""
        before = self._backend.capture_initial()
        self._backend.restore_initial(state)
        stayed = self._stayed(state, self._options_at_first)
        self.record_replacement(f"the initial state was restored{stayed}", before)

    def release(self, reason: str, *, everything: bool) -> None:
        """End what clients do beside the script, or only the perturbation: ``reason`` says why."""
        interventions = self.interventions
        if not interventions.are_active:
            return
        if everything:
            said = interventions.release()
        else:
            said = "the perturbation" if interventions.told.perturbed_body >= 0 else ""
            if said:
                interventions.perturb(None)
        self._inputs_changed()
        if said:
            self._log(f"{said} ended: {reason}")

    def model_replaced(self) -> None:
        """Forget what is about the model that is gone."""
        ended = self.interventions.forget()
        dropped = self.checkpoints.clear()
        self._undo = {}
        self._drag = None
        self._options = {}
        self._options_at_first = {}
        if ended:
            self._link.log_text(LogLevel.WARNING, f"{ended} ended: the model was replaced")
        if dropped:
            text = f"{dropped} checkpoints were dropped: they are of the model that was replaced"
            self._link.log_text(LogLevel.WARNING, text)

    def forget(self) -> None:
        """Begin anew with another session; while no owner runs an edit. Lock held."""
        self.checkpoints.begin_session()
        self._undo, self._drag, self.edits = {}, None, ()
        self._options_at_first = {}

    def list_made(self, made: MadeByScript, *, approximate: str) -> None:
        """List a checkpoint that the script has just made."""
        link, before = self._link, self.checkpoints.made_room
        axis = self._backend.clock().axis
        with link.playback_lock:
            self.checkpoints.add_made(
                made, axis=axis, approximate=approximate, options=self._options
            )
        if link.active and not link.closed:
            if self.checkpoints.made_room and not before:
                self._log(
                    "the script makes more named checkpoints than are listed: the oldest of them "
                    "leave the list, the script keeps its own"
                )
            link.tell_news()

    def end_drag(self) -> None:
        """The state was replaced: what follows is an edit of its own."""
        self._drag = None

    # --- the commands

    def _edit_state(self, command: EditState, client: int) -> None:
        field, index, values = command.field, command.index, command.values
        at_rest = field in AT_REST_FIELDS
        if at_rest:
            self._check_at_rest()
        backend = self._backend
        old = backend.state_values(field, index, len(values))
        backend.edit_state(field, index, values)
        new = backend.state_values(field, index, len(values))
        key = (client, field, index, len(values), backend.clock().axis if at_rest else None)
        before = self._before(key, old)
        text = state_text(backend, field, index, old=before, new=new)
        if at_rest:
            goes_on = self._drag is not None and self._drag.key == key
            self._changes.state_edited(f"{field.value} was edited", goes_on=goes_on)
        else:
            self._inputs_changed()
        undo = _Undo(
            partial(self._write_state, field, index, before),
            bytes_kept=_BYTES_PER_NUMBER * len(before),
            at_rest=at_rest,
        )
        self._record(text, undo, key=key, before=before)

    def _write_state(self, field: EditField, index: int, values: tuple[float, ...]) -> str:
        self._backend.edit_state(field, index, values)
        if field in AT_REST_FIELDS:
            self._changes.state_edited(f"an edit of {field.value} was undone", goes_on=False)
        else:
            self._inputs_changed()
        return ""

    def _perturb(self, command: Perturb | ReleasePerturb) -> None:
        interventions = self.interventions
        previous = interventions.told.perturbed_body
        wanted = command if isinstance(command, Perturb) else None
        interventions.perturb(wanted)
        self._inputs_changed()
        if wanted is not None and wanted.body != previous:
            self._log(f"{self._backend.label('body', wanted.body)[0]} is pulled by hand")

    def _override(self, command: OverrideControl, client: int) -> None:
        index = command.index
        old = self.interventions.override_of(index)
        self._write_override(index, command.value)
        if old is None and command.value is None:
            return
        # Giving a control back is an edit of its own, however soon after the last drag.
        key = None if command.value is None else (client, OverrideControl, index)
        before = self._before(key, old)
        name, unit = self._backend.label(EditField.CTRL.value, index)
        text = override_text(name, unit, old=before, new=command.value)
        undo = _Undo(partial(self._write_override, index, before))
        self._record(text, undo, key=key, before=before)

    def _write_override(self, index: int, value: float | None) -> str:
        self.interventions.override(index, value)
        self._inputs_changed()
        return ""

    def _set_noise(self, command: SetControlNoise, client: int) -> None:
        told = self.interventions.told
        old = (told.noise_std, told.noise_rate)
        self._write_noise(command.std, command.rate)
        key = (client, SetControlNoise)
        before = self._before(key, old)
        change = change_text(before[:1], (command.std,), "of the range")
        text = f"control noise: {change}, correlated over {command.rate:g} s"
        self._record(text, _Undo(partial(self._write_noise, *before)), key=key, before=before)

    def _write_noise(self, std: float, rate: float) -> str:
        self.interventions.set_noise(std, rate)
        self._inputs_changed()
        return ""

    def _edit_option(self, command: EditOption, client: int) -> None:
        name = command.option
        info = self._backend.option_info(name)
        old = self._backend.option(name)
        self._write_option(name, command.values)
        new = self._backend.option(name)
        key = (client, EditOption, name)
        before = self._before(key, old)
        undo = _Undo(partial(self._write_option, name, before), option=(name, before))
        self._record(option_text(info, before, new), undo, key=key, before=before)

    def _write_option(self, name: str, values: tuple[float, ...]) -> str:
        old = self._backend.option(name)
        self._backend.edit_option(name, values)
        self._options_at_first.setdefault(name, old)
        for kept in self.checkpoints.kept():
            kept.options.setdefault(name, old)
        self._options[name] = self._backend.option(name)
        self._changes.options_edited()
        return ""

    def _load_keyframe(self, index: int) -> str:
        name, _ = self._backend.label("keyframe", index)
        before = self._backend.capture_initial()
        self._backend.load_keyframe(index)
        reason = f"keyframe {name} was loaded"
        self.record_replacement(reason, before)
        return reason

    def _save_checkpoint(self, command: SaveCheckpoint) -> None:
        # What is kept is what is looked at.
        past = self._link.past.state_in_view()
        clock, state = past if past is not None else (self._link.refresh_clock(), None)
        info = self.checkpoints.save(
            command.name, note=command.note, clock=clock, options=self._options, state=state
        )
        approximate = f"; only approximate: {info.approximate}" if info.approximate else ""
        self._log(f"checkpoint {info.name!r} taken{approximate}")

    def _restore_checkpoint(self, command: RestoreCheckpoint) -> str:
        source = command.source_scene_id
        if source is not None and source != self._link.scene_id:
            return self._restore_from(source, command.checkpoint_id)
        kept = self.checkpoints.find(command.checkpoint_id)
        before = self._backend.capture_initial()
        self._backend.restore_initial(kept.state)
        reason = f"checkpoint {kept.info.name!r} was restored"
        stayed = self._stayed(kept.state, kept.options)
        self.record_replacement(f"{reason}{stayed}", before)
        return reason

    def _restore_from(self, source: int, checkpoint_id: int) -> str:
        """Restore a checkpoint that another scene keeps: the engine refuses one that can't fit."""
        link = self._changes.other_scene(source)
        kept = link.changes.editor.checkpoints.find(checkpoint_id)
        before = self._backend.capture_initial()
        self._backend.restore_initial(kept.state)
        reason = f"checkpoint {kept.info.name!r} of {link.name!r} was restored"
        self.record_replacement(f"{reason}{self._stayed(kept.state, kept.options)}", before)
        return reason

    def _stayed(self, state: bytes, options: Mapping[str, tuple[float, ...]]) -> str:
        """Return what a restore of ``state`` has left as it is, to be said behind another sentence.

        ``options`` are those of then that clients have edited, for an engine that does not compare.
        """
        backend = self._backend
        found = backend.stayed(state)
        if found is None:
            found = tuple(
                option_stayed(backend.option_info(name), then=then, now=now)
                for name, then in options.items()
                if (now := backend.option(name)) != then
            )
        texts = [each.text + self._way_back(each) for each in found[:_MOST_STAYED]]
        texts += [f"+{len(found) - _MOST_STAYED} more"] * (len(found) > _MOST_STAYED)
        return "".join(f"; {text}" for text in texts)

    def _way_back(self, stayed: Stayed) -> str:
        """Return how to have the values of then in one go, where an edit leads there."""
        wanted = (stayed.option, stayed.then)
        found = [
            edit.edit_id
            for edit in self.edits
            if not edit.reverted
            and (undo := self._undo.get(edit.edit_id)) is not None
            and undo.option == wanted
        ]
        return f" (undo edit {found[-1]} to have that again)" if found else ""

    def _restore_bytes(self, state: bytes, reason: str) -> str:
        self._backend.restore_initial(state)
        return reason

    def _revert(self, edit_id: int) -> str:
        edit = next((edit for edit in self.edits if edit.edit_id == edit_id), None)
        undo = self._undo.get(edit_id)
        if edit is not None and edit.reverted:
            raise CommandError(f"“{edit.text}” was undone already")
        if undo is None or edit is None:
            raise CommandError(
                f"edit {edit_id} can't be undone: it is too old, of a model that was replaced, or "
                "there never was one; restore a checkpoint instead"
            )
        if undo.at_rest:
            self._check_at_rest()
        replaced = undo.run()
        del self._undo[edit_id]
        self._drag = None
        self.edits = tuple(
            dataclasses.replace(
                each, reverted=True, may_go_on=False, changed=self._link.monotonic()
            )
            if each is edit
            else each
            for each in self.edits
        )
        return replaced

    # --- what was done

    def _before(self, key: Hashable, old: _Old) -> _Old:
        """Return what was before the drag that ``key`` goes on with, else ``old``."""
        drag = self._drag
        if drag is None or key is None or drag.key != key:
            return old
        if self._link.monotonic() - drag.changed > COALESCE_S:
            self._drag = None
            return old
        return cast("_Old", drag.before)

    def _record(self, text: str, undo: _Undo, *, key: Hashable, before: object) -> None:
        """Note an edit, or that the newest one went on."""
        link, drag = self._link, self._drag
        clock, now = link.refresh_clock(), link.monotonic()
        goes_on = drag is not None and key is not None and drag.key == key
        edit_id = drag.edit_id if goes_on and drag is not None else self._next_id
        edit = Edit(
            edit_id=edit_id,
            text=text,
            axis=clock.axis,
            time=clock.time,
            wall_time=time.time(),
            changed=now,
            may_go_on=key is not None,
        )
        if goes_on:
            self.edits = (*self.edits[:-1], edit)
        else:
            self._next_id += 1
            self.edits = (*self.edits, edit)[-self._limits.edits :]
        self._undo[edit_id] = undo
        self._drag = None if key is None else _Drag(key, before, edit_id, now)
        self._forget_oldest()
        link.tell_news()

    def record_replacement(self, reason: str, before: bytes) -> None:
        """Note an edit that has put the scene somewhere else; ``before`` leads back."""
        if before:
            undo = _Undo(
                partial(self._restore_bytes, before, f"undone: {reason}"), bytes_kept=len(before)
            )
            self._record(reason, undo, key=None, before=None)
        else:
            self._log(reason)

    def _forget_oldest(self) -> None:
        undo, limits = self._undo, self._limits
        total = sum(each.bytes_kept for each in undo.values())
        while len(undo) > 1 and (len(undo) > limits.edits or total > limits.edit_bytes):
            total -= undo.pop(next(iter(undo))).bytes_kept

    def _check_at_rest(self) -> None:
        with self._link.playback_lock:
            self._link.check_at_rest()

    def _inputs_changed(self) -> None:
        self._changes.inputs_edited()

    def _log(self, text: str) -> None:
        self._link.log_text(LogLevel.INFO, text)
        self._link.tell_news()
