"""Files that are dropped onto the window are opened."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

__all__ = ["DroppedFiles"]


class DroppedFiles(QObject):
    """Takes local files that are dropped onto ``window`` where no panel takes them itself.

    ``is_coming`` is called when files are dragged into it.
    """

    def __init__(
        self, window: QWidget, open_file: Callable[[str], None], *, is_coming: Callable[[], None]
    ) -> None:
        super().__init__(window)
        self._open_file = open_file
        self._is_coming = is_coming
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept drags with files, and open what is dropped."""
        kinds = (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop)
        if event.type() not in kinds or not isinstance(event, QDropEvent):
            return super().eventFilter(watched, event)
        files = _local_files(event.mimeData())
        if not files:
            return super().eventFilter(watched, event)
        event.acceptProposedAction()
        if event.type() == QEvent.Type.DragEnter:
            self._is_coming()
        if event.type() == QEvent.Type.Drop:
            for file in files:
                self._open_file(file)
        return True


def _local_files(data: QMimeData) -> list[str]:
    paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if Path(path).is_file()]
