"""The part of every scene that is about scene files: export and load."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from stroboscope.engine.arguments import checked_path
from stroboscope.engine.scene_files import export_scene

if TYPE_CHECKING:
    from stroboscope.engine.checkpoint import Exactness
    from stroboscope.engine.scene import Scene

__all__ = ["SceneFileMethods"]

_Kind = TypeVar("_Kind", bound="SceneFileMethods")


class SceneFileMethods:
    """Methods of every scene, of one world or of many."""

    _guard: Callable[[], None]

    def export(self, path: str | os.PathLike[str], *, allow_missing: Collection[str] = ()) -> Path:
        """Write everything that is needed to rebuild this scene where none of its assets are.

        Before or after the first step; the state is no part of it (``save_checkpoint``). The file
        (``.strobe``) holds the compiled model, exactly, and its source with all assets where that
        is known, which other versions of MuJoCo compile. It holds no code, no folder, no user's
        and no computer's name, and the same scene makes the same file. Returns its path.

        What can't travel and changes the physics is refused by its name (EngineError): Python
        callbacks of MuJoCo (``mjcb_control``, …), plugins that MuJoCo does not bring along.
        ``allow_missing=["mjcb_control"]`` leaves it behind. What only observes is logged. Raises
        StateError where an asset was written into, FileWriteError when the file can't be written.
        """
        self._guard()
        return export_scene(
            cast("Scene", self), checked_path(path, "path"), allow_missing=allow_missing
        )

    @classmethod
    def load(cls: type[_Kind], path: str | os.PathLike[str], **overrides: Any) -> _Kind:
        """Build the scene in a file; see :func:`~stroboscope.engine.load_scene`.

        ``Scene.load`` makes one world whatever the file says, ``BatchScene.load`` as many
        environments as it says, or ``n_envs``. Raises TypeError when that are none.
        """
        from stroboscope.engine.scene import Scene
        from stroboscope.engine.scene_loading import load_scene

        if issubclass(cls, Scene):
            overrides.setdefault("n_envs", None)
        scene = load_scene(path, **overrides)
        if not isinstance(scene, cls):
            scene.destroy()
            raise TypeError(
                f"{os.fspath(path)} holds a {type(scene).__name__}, no {cls.__name__}: give n_envs "
                "for environments, or use load_scene"
            )
        return scene

    def load_checkpoint(
        self, path: str | os.PathLike[str], *, frame: int = -1, with_model: bool = False
    ) -> "Exactness":
        """Put the state in a checkpoint file into this scene, all of it or nothing.

        Step and time are part of it. Also takes any trajectory: ``frame`` says which of its frames
        (the last unless said; negative numbers count from the end). ``with_model=True``: also what
        was written into its model by then. Returns how the scene goes on: ``exact``, or why not.
        Raises FileError and its kinds, NoSuchFrameError, StateMismatchError, which says what
        differs, for the state of another model; the scene is bit-identical then.
        """
        return self._load_checkpoint(path, frame=frame, with_model=with_model)

    def _load_checkpoint(self, path: str | os.PathLike[str], **which: Any) -> "Exactness":
        self._guard()
        from stroboscope.engine.trajectory.checkpoint_files import restore_checkpoint_file

        return restore_checkpoint_file(cast("Scene", self), path, **which)
