"""Recorded runs that are damaged, or were never closed: says so, and repairs them on request.

A file is checked once somebody looks at it, by a process of its own, as is what repairs it: the
window only waits. What is still being recorded is not damaged, and is checked when that has ended.
"""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from stroboscope.app.main.trajectory_jobs import TrajectoryJob
from stroboscope.app.models.file_health import CheckedFile, LostFrames, RepairedFile
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session import SessionModel
from stroboscope.app.panels.file_notice import FileNotice
from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["DamagedFiles", "copy_name"]

_SUFFIX: Final = ".mcap"
_MOST_NUMBER: Final = 1000


@dataclasses.dataclass(slots=True)
class _File:
    """A file that somebody has looked at, and what is known of it and done with it."""

    path: Path
    check: TrajectoryJob | None = None
    found: CheckedFile | None = None
    lost: dict[str, tuple[LostFrames, ...]] = dataclasses.field(default_factory=dict)
    dismissed: bool = False
    repair: TrajectoryJob | None = None
    target: Path | None = None
    part: float = 0.0
    made: RepairedFile | None = None


class DamagedFiles(QObject):
    """Has ``notice``, the line across the window; GUI thread only. ``close`` ends all work."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self._sessions = window.sessions
        self._files: dict[Path, _File] = {}
        # The file that each session shows, None where it shows none of this machine.
        self._paths: dict[int, Path | None] = {}
        self._scene: SceneModel | None = None
        # Copies that are to be shown as soon as they are there.
        self._awaited: set[Path] = set()
        self.notice = FileNotice(
            window.palette_tokens,
            repair=self.ask_for_repair,
            cancel=self._cancel,
            open_copy=self._open_copy,
            details=window.show_log,
            dismiss=self._dismiss,
        )
        self._sessions.shown_changed.connect(self._follow)
        self._sessions.scene_added.connect(self._on_scene)
        self._sessions.session_removed.connect(self._on_removed)

    def close(self) -> None:
        """Stop listening, and whatever is under way: nothing of it is left."""
        self._sessions.shown_changed.disconnect(self._follow)
        self._sessions.scene_added.disconnect(self._on_scene)
        self._sessions.session_removed.disconnect(self._on_removed)
        self._unfollow()
        for file in self._files.values():
            for job in (file.check, file.repair):
                if job is not None:
                    job.cancel()
        self._files.clear()

    # --- what is looked at

    def _follow(self, scene: SceneModel | None) -> None:
        self._unfollow()
        self._scene = scene
        if scene is not None:
            scene.history.changed.connect(self._look)
            self._look()
        self.refresh()

    def _unfollow(self) -> None:
        if self._scene is not None:
            self._scene.history.changed.disconnect(self._look)
        self._scene = None

    def _look(self) -> None:
        """Check the file of the shown scene, once it is known that there is one."""
        path = self._path_of(self._scene)
        if path is None:
            return
        if path in self._files:
            self._mark(self._files[path])
            return
        self._files[path] = file = _File(path)
        file.check = TrajectoryJob(
            "check",
            str(path),
            done=lambda found: self._on_checked(file, found),
            failed=lambda why: self._on_failed(file, f"{path.name} can't be checked", why),
            parent=self,
        )

    def _mark(self, file: _File) -> None:
        """Have the timeline of the shown scene, which is of this file, say what is lost of it."""
        scene, found = self._scene, file.found
        if scene is None or found is None or scene.history.told is None:
            return
        # Of a scene without its model, of which only poses are shown, the axis counts those.
        is_same_axis = found.last.get(scene.name) == scene.history.told.recording_end
        scene.history.set_lost(file.lost.get(scene.name, ()) if is_same_axis else ())

    def _path_of(self, scene: SceneModel | None) -> Path | None:
        """Return the file that a scene is looked at in, where it is one of this machine."""
        if scene is None or not scene.history.recording:
            return None
        session = scene.session
        if session.key not in self._paths:  # asked once: disks may be slow
            # What shows a file calls itself after it; scripts that open files have other names.
            path = _real(session.identity)
            is_it = Path(session.identity).name == scene.history.recording and path.is_file()
            self._paths[session.key] = path if is_it else None
        return self._paths[session.key]

    def _on_checked(self, file: _File, found: bytes) -> None:
        file.check = None
        file.found = msgspec.json.decode(found, type=CheckedFile)
        file.lost = {name: file.found.lost_steps(name) for name in file.found.frames}
        if self._path_of(self._scene) == file.path:
            self._mark(file)
        if not file.found.is_whole:
            details = file.found.details(file.path.name)
            self._window.sessions.log.add(LogLevel.WARNING, details, source=file.path.name)
        self.refresh()

    def _on_failed(self, file: _File, what: str, why: str) -> None:
        file.check = file.repair = None
        text = why if str(file.path) in why else f"{what}: {why}"
        self._window.sessions.log.add(LogLevel.ERROR, text, source=file.path.name)
        self.refresh()

    def _on_removed(self, session: SessionModel) -> None:
        """Forget a file that nobody looks at, as it may be another when it is opened again."""
        self._paths.pop(session.key, None)
        for path in [path for path in self._files if path not in self._paths.values()]:
            file = self._files[path]
            if file.check is not None:
                file.check.cancel()
            if file.repair is None:
                del self._files[path]
        self.refresh()

    # --- what is said

    @property
    def _told(self) -> _File | None:
        """The file that the notice is about: the shown one, or any that is being repaired."""
        path = self._path_of(self._scene)
        shown = self._files.get(path) if path is not None else None
        if shown is not None and (shown.repair is not None or _has_news(shown)):
            return shown
        return next((each for each in self._files.values() if each.repair is not None), None)

    def refresh(self) -> None:
        """Show what there is to say, or nothing."""
        file, notice = self._told, self.notice
        if file is None or file.found is None:
            notice.hide()
        elif file.repair is not None and file.target is not None:
            text = f"Repairing {file.path.name} into {file.target.name}"
            notice.show_progress(text, file.part)
        elif file.made is not None:
            copy = Path(file.made.path).name
            notice.show_repaired(f"{copy} has what is whole of this file: {file.made.summary()}.")
        else:
            notice.show_damage(file.found.headline(file.path.name))

    def _dismiss(self) -> None:
        if (file := self._told) is not None:
            file.dismissed = True
        self.refresh()

    # --- repairing

    def ask_for_repair(self) -> None:
        """Ask for the name of the copy of the shown file, and write it."""
        path = self._path_of(self._scene)
        # Also of a file whose message was closed: the timeline offers it where frames are lost.
        file = self._files.get(path) if path is not None else None
        if file is None or file.found is None or file.repair is not None:
            return
        suggested = str(copy_name(file.path))
        chosen, _ = QFileDialog.getSaveFileName(
            self._window, f"Repair {file.path.name}: save the copy", suggested, f"(*{_SUFFIX})"
        )
        if not chosen:
            return
        target = Path(chosen) if Path(chosen).suffix else Path(chosen + _SUFFIX)
        if _real(str(target)) == file.path:
            self._window.sessions.log.add(
                LogLevel.ERROR,
                f"{target.name} is the damaged file itself, which a repair never changes: choose "
                f"another name, for instance {Path(suggested).name}",
            )
            return
        self._repair(file, target)

    def _repair(self, file: _File, target: Path) -> None:
        file.target, file.part, file.dismissed = target, 0.0, False
        what = f"{file.path.name} can't be repaired"
        file.repair = TrajectoryJob(
            "repair",
            str(file.path),
            str(target),
            done=lambda found: self._on_repaired(file, found),
            failed=lambda why: self._on_failed(file, what, why),
            progress=lambda part: self._on_progress(file, part),
            parent=self,
        )
        self.refresh()

    def _on_progress(self, file: _File, part: float) -> None:
        file.part = part
        self.refresh()

    def _on_repaired(self, file: _File, found: bytes) -> None:
        file.repair = None
        file.made = made = msgspec.json.decode(found, type=RepairedFile)
        self._window.sessions.log.add(
            LogLevel.INFO,
            f"Repaired {file.path.name}: {made.path} has {made.summary()}",
            source=file.path.name,
            file=made.path,
        )
        self.refresh()
        self._show(Path(made.path))

    def _cancel(self) -> None:
        file = self._told
        if file is not None and file.repair is not None:
            file.repair.cancel()
            file.repair = None
            self._window.status.showMessage(f"{file.path.name} was not repaired.", 4000)
        self.refresh()

    # --- the copy

    def _open_copy(self) -> None:
        file = self._told
        if file is not None and file.made is not None:
            self._show(Path(file.made.path))

    def _show(self, path: Path) -> None:
        """Show the scene of a file: the one that is open, else as soon as it has been opened."""
        for scene in self._sessions.all_scenes():
            if not scene.is_stale and _real(scene.session.identity) == _real(str(path)):
                self._sessions.show(scene)
                return
        self._awaited.add(_real(str(path)))
        self._window.open_file(str(path))

    def _on_scene(self, scene: SceneModel) -> None:
        path = _real(scene.session.identity)
        if path in self._awaited:
            self._awaited.discard(path)
            self._sessions.show(scene)


def copy_name(path: Path) -> Path:
    """Return a name beside ``path`` for its repaired copy, of a file that is not there yet."""
    for number in range(1, _MOST_NUMBER):
        numbered = f"-{number}" if number > 1 else ""
        copy = path.with_name(f"{path.stem}.repaired{numbered}{path.suffix}")
        if not copy.exists():
            return copy
    return path.with_name(f"{path.stem}.repaired{path.suffix}")


def _has_news(file: _File) -> bool:
    return file.found is not None and not file.found.is_whole and not file.dismissed


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))
