"""Keeps conditions and stop rules per script and scene, and brings them back with it."""

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.settings import SavedRules, Settings
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.time_messages import StopReason

__all__ = ["ConditionKeeper"]


class ConditionKeeper:
    """Follows every scene. ``changed``: there is something else to write. GUI thread only.

    A scene that comes is sent what was chosen for the one of its name in an earlier run of the
    script, as soon as this window controls the application and the engine can watch.
    """

    def __init__(self, sessions: SessionsModel, settings: Settings) -> None:
        self.changed: Signal[[]] = Signal()
        self._sessions = sessions
        self._settings = settings
        self._restored: set[SceneModel] = set()
        sessions.scene_added.connect(self._on_scene)
        sessions.scene_removed.connect(self._restored.discard)
        sessions.session_changed.connect(self._on_session)

    def close(self) -> None:
        """Stop listening."""
        self._sessions.scene_added.disconnect(self._on_scene)
        self._sessions.scene_removed.disconnect(self._restored.discard)
        self._sessions.session_changed.disconnect(self._on_session)

    def _on_scene(self, scene: SceneModel) -> None:
        scene.history.changed.connect(lambda: self._restore(scene))
        scene.conditions.mine_changed.connect(lambda: self._keep_conditions(scene))
        scene.stops.rules_chosen.connect(lambda: self._keep_rules(scene))
        self._restore(scene)

    def _on_session(self, _session: object) -> None:
        for scene in self._sessions.all_scenes():
            if scene not in self._restored:
                self._restore(scene)

    def _restore(self, scene: SceneModel) -> None:
        if scene in self._restored or scene.is_stale or not scene.session.has_control:
            return
        memory = self._settings.scripts.get(scene.session.identity)
        if not scene.conditions.is_known:
            return
        self._restored.add(scene)
        if memory is None or not scene.session.identity:
            return
        scene.conditions.restore(tuple(memory.conditions.get(scene.name, ())))
        rules = memory.stop_rules.get(scene.name)
        if rules is not None:
            known = {reason.value for reason in StopReason}
            scene.stops.set_rules(
                off=tuple(StopReason(name) for name in rules.off if name in known),
                stop_all=rules.stop_all,
                mark_only=rules.mark_only,
            )

    def _keep_conditions(self, scene: SceneModel) -> None:
        if scene.session.identity and scene in self._restored and not scene.is_stale:
            memory = self._settings.script(scene.session.identity)
            memory.conditions[scene.name] = list(scene.conditions.mine)
            if not memory.conditions[scene.name]:
                del memory.conditions[scene.name]
            self.changed.emit()

    def _keep_rules(self, scene: SceneModel) -> None:
        if scene.session.identity and scene in self._restored:
            rules = scene.stops.rules
            saved = SavedRules(
                off=[reason.value for reason in rules.off],
                stop_all=rules.stop_all,
                mark_only=rules.mark_only,
            )
            kept = self._settings.script(scene.session.identity).stop_rules
            if saved == SavedRules():
                kept.pop(scene.name, None)
            else:
                kept[scene.name] = saved
            self.changed.emit()
