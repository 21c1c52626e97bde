"""What the actions for pictures and films do: ask, draw, save, copy, record."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QStandardPaths
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QApplication, QFileDialog

from stroboscope.app.main.film_recorder import FilmRecorder
from stroboscope.app.main.in_turns import in_thread, in_turns
from stroboscope.app.models.film import FilmFormat, FilmSpec, even_size
from stroboscope.app.models.film_writer import FilmWriter
from stroboscope.app.models.picture_choice import FilmChoice, PictureChoice, PictureOf, file_stem
from stroboscope.app.models.view_options import RenderMode
from stroboscope.app.panels.film_dialog import FilmDialog
from stroboscope.app.panels.picture_dialog import PictureDialog, PictureWish
from stroboscope.app.panels.recording_bar import RecordingBar, length_text
from stroboscope.app.view3d.drawing import PictureLost
from stroboscope.app.view3d.still import Still
from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["PictureCommands", "npz_bytes", "png_bytes"]

_SHORT_MS = 4000
_FILTERS = {
    FilmFormat.MP4: "MP4 (*.mp4)",
    FilmFormat.GIF: "GIF (*.gif)",
    FilmFormat.PNG: "Folder of PNG pictures (*)",
}


class PictureCommands:
    """Handlers by name of action; ``build`` once the window has its 3D view."""

    recorder: FilmRecorder
    bar: RecordingBar

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self._is_drawing = False

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        return {
            "picture": self.picture,
            "copy_picture": self.copy_picture,
            "film": self.toggle_film,
            "cancel_film": self.cancel_film,
        }

    def build(self) -> None:
        """Make the recorder and what shows how it does."""
        w = self._window
        self.recorder = FilmRecorder(w.scene_view, w)
        self.bar = RecordingBar(
            w.scene_view, w.palette_tokens, stop=self.toggle_film, cancel=self.cancel_film
        )
        self.recorder.changed.connect(self._show_film)
        self.recorder.ended.connect(self._on_film)

    def refresh(self) -> None:
        """Say whether a film is recorded."""
        a, recorder = self._window.actions_by_name, self.recorder
        a["film"].setText("Stop recording" if recorder.is_recording else "Record film…")
        idle = recorder.writer is None
        can_start = idle and self._window.scene_view.drawn_scene is not None
        a["film"].setEnabled(recorder.is_recording or can_start)
        a["cancel_film"].setEnabled(not idle)

    # --- pictures

    def picture(self) -> None:
        """Ask how the picture is wanted; save or copy it."""
        w = self._window
        ratio = w.devicePixelRatioF()
        dialog = PictureDialog(
            PictureChoice.from_dict(w.settings.pictures),
            view=w.scene_view.viewport.pixels,
            window=(round(w.width() * ratio), round(w.height() * ratio)),
            parent=w,
        )
        accepted = dialog.exec()
        choice, wish = dialog.choice, dialog.wish
        dialog.deleteLater()
        if not accepted:
            return
        w.settings.pictures = choice.to_dict()
        # Before a file is asked for: what was on show when the button was pressed.
        stem = self._stem()
        image = self._draw(choice)
        if image is None:
            return
        if wish is PictureWish.COPY:
            self._copy(image)
        else:
            self._save(image, choice, stem, numbers=self._measure(choice))

    def copy_picture(self) -> None:
        """Copy the active view as it is."""
        image = self._draw(PictureChoice())
        if image is not None:
            self._copy(image)

    def _draw(self, choice: PictureChoice) -> QImage | None:
        """Return the picture; None when it can't be, which the log says."""
        w = self._window
        view = w.scene_view.viewport
        if choice.of is PictureOf.WINDOW:
            shown = w.width(), w.height()
            return w.picture(scale=choice.pixels(shown)[0] / shown[0])
        still = Still(
            size=choice.pixels(view.pixels),
            transparent=choice.transparent,
            overlays=choice.overlays,
            labels=choice.labels,
            legend=choice.legend,
        )
        if self._is_drawing:
            self._say("A picture is being drawn already.")
            return None
        width, height = still.size or view.pixels
        self._is_drawing = True
        try:
            image = in_turns(
                view.still_in_bands(still),
                text=f"Drawing a picture of {width} × {height} pixels.\n"
                "The view stands still until it is done; the simulation goes on.",
                parent=w,
            )
        except (ValueError, MemoryError) as error:
            self._complain(f"The picture can't be drawn: {error}.")
            return None
        except PictureLost as lost:
            self._say_lost(f"No picture was taken: {lost}. Take it again.")
            return None
        finally:
            self._is_drawing = False
        if image is None:
            self._say("The picture was cancelled.")
            return None
        if image.isNull():
            self._complain("The picture can't be drawn: there is no 3D view to draw it.")
            return None
        return image

    def _measure(self, choice: PictureChoice) -> dict[str, NDArray[np.generic]]:
        """Return the numbers behind a picture of ids or depths, {} where there are none."""
        view = self._window.scene_view.viewport
        if view.options.render is RenderMode.PICTURE or choice.of is PictureOf.WINDOW:
            return {}
        try:
            return view.measure(choice.pixels(view.pixels))
        except (ValueError, MemoryError) as error:
            self._complain(f"Only the picture can be saved, not its numbers: {error}.")
            return {}

    def _copy(self, image: QImage) -> None:
        QApplication.clipboard().setImage(image)
        self._say(f"Copied a picture of {image.width()} × {image.height()} pixels.")

    def _save(
        self,
        image: QImage,
        choice: PictureChoice,
        stem: str,
        *,
        numbers: dict[str, NDArray[np.generic]],
    ) -> None:
        start = self._folder(choice.folder) / f"{stem}.png"
        filters = "PNG (*.png);;NumPy: ids and depths (*.npz)" if numbers else "PNG (*.png)"
        name, chosen = QFileDialog.getSaveFileName(
            self._window, "Save the picture", str(start), filters
        )
        if not name:
            return
        suffix = ".npz" if "npz" in chosen and numbers else ".png"
        path = Path(name)
        if numbers and path.suffix.lower() == ".npz":
            suffix = ".npz"
        elif path.suffix.lower() == ".png" and suffix == ".npz":
            path = path.with_suffix(suffix)
        path = path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)
        self._window.settings.pictures["folder"] = str(path.parent)
        size = f"{image.width()} × {image.height()}"
        try:
            data = in_turns(
                in_thread(lambda: npz_bytes(numbers) if suffix == ".npz" else png_bytes(image)),
                text=f"Packing a picture of {size} pixels for {path.name}",
                parent=self._window,
            )
            if data is None:
                self._say("The picture was cancelled; nothing was written.")
                return
            path.write_bytes(data)
        except OSError as error:
            self._complain(f"The picture can't be written: {error}")
        else:
            self._window.sessions.log.add(LogLevel.INFO, f"Saved {path}")
            self._say(f"Saved {path}")

    # --- films

    def toggle_film(self) -> None:
        """Ask how the film is wanted and begin it; while one is recorded, stop it."""
        if self.recorder.is_recording:
            self.recorder.stop()
            return
        w = self._window
        if self.recorder.writer is not None or w.scene_view.drawn_scene is None:
            return
        dialog = FilmDialog(
            FilmChoice.from_dict(w.settings.films), view=w.scene_view.viewport.pixels, parent=w
        )
        accepted, choice = dialog.exec(), dialog.choice
        dialog.deleteLater()
        if not accepted:
            return
        w.settings.films = choice.to_dict()
        path = self._film_path(choice)
        if path is not None:
            self._begin(choice, path)

    def cancel_film(self) -> None:
        """End the film and remove it."""
        self.recorder.cancel()

    def _film_path(self, choice: FilmChoice) -> Path | None:
        start = self._folder(choice.folder) / f"{self._stem()}{choice.suffix}"
        name, _ = QFileDialog.getSaveFileName(
            self._window, "Save the film", str(start), _FILTERS[FilmFormat(choice.suffix)]
        )
        if not name:
            return None
        path = Path(name)
        if choice.suffix and path.suffix.lower() != choice.suffix:
            path = path.with_name(path.name + choice.suffix)
        self._window.settings.films["folder"] = str(path.parent)
        return path

    def _begin(self, choice: FilmChoice, path: Path) -> None:
        size = even_size(*choice.pixels(self._window.scene_view.viewport.pixels))
        still = Still(
            size=size,
            overlays=choice.overlays,
            labels=choice.labels,
            legend=choice.legend,
            fine=False,
        )
        spec = FilmSpec(path=path, size=size, fps=choice.fps, base=choice.base, speed=choice.speed)
        try:
            self.recorder.start(spec, still)
        except (ValueError, MemoryError) as error:
            self.recorder.cancel()
            self._complain(f"The film can't be drawn: {error}.")

    def _show_film(self) -> None:
        recorder, writer = self.recorder, self.recorder.writer
        badge = self._window.status.recording
        if writer is None:
            self.bar.hide()
            badge.hide()
        elif recorder.is_recording:
            self.bar.show_progress(
                seconds=recorder.seconds, frames=writer.frames, dropped=recorder.dropped
            )
            badge.setText(f"● recording {length_text(recorder.seconds)}")
            badge.show()
        else:
            self.bar.show_writing(
                seconds=recorder.seconds, frames=writer.frames, waiting=writer.waiting
            )
            badge.setText("● writing the film")
            badge.show()
        self.refresh()

    def _on_film(self, writer: FilmWriter) -> None:
        if writer.was_cancelled:
            self._say("The film was cancelled; nothing of it is left.")
        elif writer.error:
            self._complain(writer.error)
        elif not writer.frames:
            self._say("The film had no frames: nothing was shown. No file was written.")
        else:
            length = length_text(writer.frames / writer.spec.fps)
            dropped = self.recorder.dropped
            text = f"Saved {writer.spec.path}: {length}, {writer.frames} frames"
            if dropped:
                text += f", {dropped} of them repeat a picture because drawing was too slow"
            self._window.sessions.log.add(LogLevel.INFO, text)
            self._say(text)

    # --- words and places

    def _stem(self) -> str:
        scene, pose = self._window.scene_view.drawn_scene, self._window.scene_view.drawn_pose
        if scene is None:
            return file_stem("", None)
        return file_stem(scene.name, pose.time if pose is not None else None)

    def _folder(self, last: str) -> Path:
        if last and Path(last).is_dir():
            return Path(last)
        pictures = QStandardPaths.StandardLocation.PicturesLocation
        return Path(QStandardPaths.writableLocation(pictures) or ".")

    def _say(self, text: str) -> None:
        self._window.status.showMessage(text, _SHORT_MS)

    def _say_lost(self, text: str) -> None:
        self._window.sessions.log.add(LogLevel.WARNING, text)
        self._say(text)

    def _complain(self, text: str) -> None:
        self._window.sessions.log.add(LogLevel.ERROR, text)


def npz_bytes(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return ``arrays`` as a compressed NumPy file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def png_bytes(image: QImage) -> bytes:
    """Return ``image`` as a PNG file. Raises OSError when it can't be made."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(b"png"))
    if not writer.write(image):
        raise OSError(writer.errorString())
    return bytes(buffer.data().data())
