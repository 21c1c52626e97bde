"""News about one scene that clients must hear of, found by looking at it; server thread only."""

import dataclasses
from collections.abc import Iterator

import msgspec

from stroboscope.debugger_protocol.host.edits import COALESCE_S, Edit
from stroboscope.debugger_protocol.host.past_news import PastNews
from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.host.user_channels import channel_info
from stroboscope.debugger_protocol.messages import (
    LogEntry,
    LogLevel,
    SceneChannels,
    SceneCheckpoints,
    SceneEdited,
    SceneInterventions,
)
from stroboscope.debugger_protocol.undone_text import undone_text

__all__ = ["SceneNews"]

# An edit that goes on is told again at most this often [s].
_EDIT_INTERVAL = 0.2


@dataclasses.dataclass(slots=True)
class _Told:
    """An edit as clients know it, since when [s], and whether the log has it."""

    edit: Edit
    at: float
    logged: bool


class SceneNews:
    """How much of a scene the clients have been told."""

    def __init__(self, link: SceneLink) -> None:
        self.is_waiting = False
        """Whether something was put off: look again soon."""
        self._edits_wait = False
        changes = link.changes
        self._link = link
        self._restores = link.restored.count
        self._channels = 0
        self._edits = {e.edit_id: _Told(e, 0.0, logged=True) for e in changes.editor.edits}
        self._seen = changes.editor.edits
        self._interventions = changes.editor.interventions.told
        self._checkpoints = changes.editor.checkpoints.told
        self._findings = changes.findings
        self._past = PastNews(link)

    def history_is_due(self) -> None:
        """Tell what is remembered, and looked at, with the next news: somebody waits for it."""
        self._past.is_due = True

    def snapshot(self) -> Iterator[msgspec.Struct]:
        """Return what a new client has to know beside the scene's status."""
        link, changes = self._link, self._link.changes
        channels = tuple(channel_info(each) for each in tuple(link.user_channels.values()))
        if channels:
            yield SceneChannels(scene_id=link.scene_id, channels=channels)
        interventions = changes.editor.interventions.told
        if interventions != SceneInterventions(scene_id=link.scene_id):
            yield interventions
        if changes.editor.checkpoints.told:
            yield self._checkpoints_message()
        if changes.findings is not None:
            yield changes.findings
        yield from self._past.snapshot()
        for edit in changes.editor.edits:
            yield self._edited(edit)

    def take(self, now: float, *, ends: bool = False) -> Iterator[msgspec.Struct]:
        """Return what happened since the last call, at ``now`` [s, monotonic].

        What grows is not put off when the session is ending: there may be no next time.
        """
        link, changes = self._link, self._link.changes
        restored = link.restored
        if restored.count != self._restores:
            count, self._restores = restored.count - self._restores, restored.count
            yield msgspec.structs.replace(restored, count=count)
        if len(link.user_channels) != self._channels:
            channels = tuple(link.user_channels.values())[self._channels :]
            self._channels += len(channels)
            infos = tuple(channel_info(channel) for channel in channels)
            yield SceneChannels(scene_id=link.scene_id, channels=infos)
        editor = changes.editor
        if editor.interventions.told is not self._interventions:
            before, self._interventions = self._interventions, editor.interventions.told
            if before != self._interventions:
                yield self._interventions
        if editor.checkpoints.told is not self._checkpoints:
            self._checkpoints = editor.checkpoints.told
            yield self._checkpoints_message()
        if changes.findings is not None and changes.findings is not self._findings:
            self._findings = changes.findings
            yield self._findings
        self.is_waiting = False
        if editor.edits is not self._seen or self._edits_wait:
            yield from self._edit_news(now)
        yield from self._past.take(now, ends=ends)
        self.is_waiting = self._edits_wait or self._past.is_waiting

    def _edit_news(self, now: float) -> Iterator[msgspec.Struct]:
        edits = self._seen = self._link.changes.editor.edits
        self._edits_wait = False
        newest = edits[-1].edit_id if edits else -1
        known = {edit.edit_id for edit in edits}
        for gone in [edit_id for edit_id in self._edits if edit_id not in known]:
            del self._edits[gone]
        for edit in edits:
            told = self._edits.get(edit.edit_id)
            if told is None:
                told = self._edits[edit.edit_id] = _Told(edit, now, logged=False)
                yield self._edited(edit)
            elif told.edit is not edit:
                if now - told.at < _EDIT_INTERVAL and not edit.reverted:
                    self._edits_wait = True
                    continue
                if edit.reverted and not told.edit.reverted:
                    if not told.logged:
                        yield self._logged(told.edit)
                    yield self._logged(edit)
                    told.logged = True
                told.edit, told.at = edit, now
                yield self._edited(edit)
            if not told.logged:
                goes_on = edit.may_go_on and edit.edit_id == newest
                if goes_on and now - edit.changed < COALESCE_S:
                    self._edits_wait = True
                    continue
                told.logged = True
                yield self._logged(edit)

    def _edited(self, edit: Edit) -> SceneEdited:
        return SceneEdited(
            scene_id=self._link.scene_id,
            edit_id=edit.edit_id,
            text=edit.text,
            axis=edit.axis,
            time=edit.time,
            reverted=edit.reverted,
        )

    def _logged(self, edit: Edit) -> LogEntry:
        return LogEntry(
            level=LogLevel.INFO,
            text=undone_text(edit.text) if edit.reverted else edit.text,
            wall_time=edit.wall_time,
            scene_id=self._link.scene_id,
            axis=edit.axis,
            time=edit.time,
        )

    def _checkpoints_message(self) -> SceneCheckpoints:
        return SceneCheckpoints(
            scene_id=self._link.scene_id, checkpoints=self._link.changes.editor.checkpoints.told
        )
