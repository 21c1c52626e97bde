"""The wrapped ``mujoco`` of this process, and the scenes that it makes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stroboscope.engine.creation import adopt_scene
from stroboscope.engine.instrument.adopted_scenes import AdoptedScenes
from stroboscope.engine.instrument.model_files import ModelFiles, scene_name
from stroboscope.engine.instrument.wrapping import Gate, Wrapping
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.runtime import forget_scenes, watch_scenes

if TYPE_CHECKING:
    from stroboscope.engine.recording.registry import RecordingRegistry
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.scene_life import SceneLife

__all__ = ["Instrumentation"]


class Instrumentation:
    """At most one per process, because there is one ``mujoco`` module; any thread.

    While no session is open, and nothing recorded, the wrapped functions call MuJoCo's own and
    nothing else.
    """

    def __init__(self) -> None:
        """Prepare; raises MujocoUnavailableError."""
        adapter = load_mujoco()
        self._gate = Gate()
        self._session_open = False
        self._waits_for_first = False
        self._recordings: RecordingRegistry | None = None
        self._records_all = False
        self._files = ModelFiles(adapter.module)
        self.scenes = AdoptedScenes(self._make_scene, gate=self._gate, adapter=adapter)
        self._wrapping = Wrapping(adapter.module, self._gate, self.scenes)

    def install(self, *, adopt_unknown: bool) -> None:
        """Wrap the functions; with ``adopt_unknown`` every data that is stepped becomes a scene."""
        self.scenes.adopt_unknown = self.scenes.adopt_unknown or adopt_unknown
        self._files.install()
        self._wrapping.install()

    def watch(self, model: Any, data: Any, *, name: str | None) -> "Scene":
        """Return the scene of ``data``, which wrapped calls step; made anew for another name."""
        known = self.scenes.scene_of(data)
        if known is not None and name in (None, known.name):
            return known
        file = self._files.file_of(model)
        if known is not None:
            self.scenes.end(data, reason="it is watched under another name")
        scene = adopt_scene(
            name or scene_name(model, file=file), model, data, source=file, keep_alive=False
        )
        self.scenes.add(data, scene)
        self._follow_recordings(scene)
        return scene

    def _follow_recordings(self, scene: "Scene") -> None:
        """Have wrapped calls step scenes while something is recorded, too."""
        self._recordings = scene.runtime.recordings
        self._recordings.on_change = self._update_gate

    def remove(self) -> None:
        """Put MuJoCo's own functions back, wherever ours stand."""
        self._wrapping.remove()
        self._files.remove()

    def before_first_scene(self, action: Callable[[], None]) -> None:
        """Call ``action`` before the first step of any scene; it may open a session.

        Scenes that the script makes itself are stepped without us: each of them asks.
        """

        def act() -> None:
            try:
                action()
            finally:
                self._waits_for_first = False
                forget_scenes(ask)
                self._update_gate()

        def ask(scene: "SceneLife") -> None:
            scene.call_before_first_step(self.scenes.open_first)

        self._waits_for_first = True
        self.scenes.before_first = act
        watch_scenes(ask)
        self._update_gate()

    def session_opened(self) -> None:
        """Let wrapped calls make, step and refresh scenes."""
        self._session_open = True
        self._update_gate()

    def session_closed(self) -> None:
        """Let wrapped calls be MuJoCo's own again."""
        self._session_open = False
        self._update_gate()

    def record_all(self, *, on: bool) -> None:
        """Have wrapped calls make scenes, and step them, whether a session is open or not."""
        self._records_all = on
        self._update_gate()

    def forget_parent(self) -> None:
        """In a forked child: start detached."""
        self.scenes.forget_parent()
        self._session_open = self._waits_for_first = self._records_all = False
        self._update_gate()

    def _update_gate(self) -> None:
        records = self._records_all or (
            self._recordings is not None and bool(self._recordings.recordings)
        )
        self._gate.idle = not (self._session_open or self._waits_for_first or records)

    def _make_scene(self, model: Any, data: Any) -> "Scene":
        file = self._files.file_of(model)
        name = scene_name(model, file=file)
        scene = adopt_scene(name, model, data, source=file, keep_alive=False)
        self._follow_recordings(scene)
        return scene
