"""Writes a film: ffmpeg in a process of its own, fed by a thread; whoever adds never waits."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import IO

from stroboscope.app.models.film import FilmFormat, FilmSpec

__all__ = ["FilmWriter"]

# Memory for pictures that wait for the encoder.
_WAITING_BYTES = 128 << 20
_MOST_WAITING, _LEAST_WAITING = 16, 2
_BYTES_PER_PIXEL = 4
_NICE = 10
_END_TIMEOUT_S = 60.0

_SENTENCES = (
    ("No space left", "the disk is full"),
    ("Permission denied", "writing there is not allowed"),
    ("No such file or directory", "its folder is gone"),
    ("Read-only file system", "the disk is read-only"),
)


class _Item:
    """A picture and how many frames of the film still show it."""

    __slots__ = ("count", "pixels")

    def __init__(self, pixels: bytes, count: int) -> None:
        self.pixels = pixels
        self.count = count


class FilmWriter:
    """One film in the making. ``add``, ``repeat``, ``finish`` and ``cancel`` never wait.

    The file appears under its name when it is whole; until then it is ``name.part`` beside it. A
    film that fails keeps that file when there is something in it. Used by one thread.
    """

    def __init__(self, spec: FilmSpec) -> None:
        self.spec = spec
        self.part = spec.path.with_name(spec.path.name + ".part")
        width, height = spec.size
        self._bytes = width * height * _BYTES_PER_PIXEL
        room = _WAITING_BYTES // max(self._bytes, 1)
        self._room = min(max(room, _LEAST_WAITING), _MOST_WAITING)
        self._queue: deque[_Item] = deque()
        self._changed = threading.Condition()
        self._finishing = False
        self._cancelled = False
        self._written = 0
        self._added = 0
        self._dropped = 0
        self._error = ""
        self._process: subprocess.Popen[bytes] | None = None
        # Not the thread's join(), which takes it for ended when Ctrl+C interrupts the waiting.
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="film", daemon=True)
        self._thread.start()

    # --- what is known of it

    @property
    def frames(self) -> int:
        """How many frames the film has, those included that wait for the encoder."""
        return self._added

    @property
    def waiting(self) -> int:
        """How many frames wait for the encoder."""
        return self._added - self._written

    @property
    def dropped(self) -> int:
        """How many frames show an older picture because the encoder was behind."""
        return self._dropped

    @property
    def error(self) -> str:
        """Why there is no film, as a sentence; "" while all is well."""
        return self._error

    @property
    def is_over(self) -> bool:
        """Whether nothing is written any more."""
        return self._over.is_set()

    @property
    def was_cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self._cancelled

    # --- what to do

    def add(self, pixels: bytes, count: int = 1) -> bool:
        """Show ``pixels`` for ``count`` frames: height · width · 4 bytes (blue, green, red, any).

        While the encoder is behind, the picture of before is shown instead: the film keeps its
        length. Returns False then. Raises ValueError for a picture of another size.
        """
        if len(pixels) != self._bytes:
            raise ValueError(f"a picture of {len(pixels)} bytes in a film of {self._bytes}")
        with self._changed:
            self._added += count
            full = len(self._queue) >= self._room
            if full:
                self._queue[-1].count += count
                self._dropped += count
            else:
                self._queue.append(_Item(pixels, count))
            self._changed.notify()
        return not full

    def repeat(self, count: int) -> None:
        """Show the last picture for ``count`` frames more; without one, nothing happens."""
        with self._changed:
            if self._queue and count > 0:
                self._queue[-1].count += count
                self._added += count
                self._changed.notify()

    def finish(self) -> None:
        """Add no more; the file is done when :attr:`is_over`."""
        with self._changed:
            self._finishing = True
            self._changed.notify()

    def cancel(self) -> None:
        """Write no more, and remove what there is."""
        with self._changed:
            self._cancelled = True
            self._changed.notify()
        process = self._process
        if process is not None:  # it may be what the thread waits for
            with contextlib.suppress(OSError):
                process.kill()

    def wait(self, timeout: float) -> bool:
        """Wait until the film is over; return whether it is."""
        return self._over.wait(timeout)

    # --- in the thread

    def _run(self) -> None:
        try:
            self._make()
        finally:
            self._over.set()

    def _make(self) -> None:
        with tempfile.TemporaryFile() as complaints:
            try:
                self._encode(complaints)
            except (OSError, subprocess.SubprocessError) as error:
                said = _last_words(complaints)
                self._fail(said or str(error))
            finally:
                self._end_process()
        if self._cancelled or not self._written:
            self._remove()

    def _encode(self, complaints: IO[bytes]) -> None:
        try:
            import imageio_ffmpeg

            program = imageio_ffmpeg.get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            self._error = (
                "Films need ffmpeg, and there is none. Install imageio-ffmpeg, which brings it "
                "(python -m pip install imageio-ffmpeg), and record again."
            )
            return
        if not self.spec.path.parent.is_dir():
            self._fail(f"there is no folder {self.spec.path.parent}")
            return
        if self.spec.format is FilmFormat.PNG:
            self.part.mkdir(exist_ok=True)
        command = _command(program, self.spec, self.part)
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints
        )
        self._process = process
        if hasattr(os, "setpriority"):  # the simulation comes first
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        pipe = process.stdin
        while pipe is not None and (pixels := self._next()) is not None:
            pipe.write(pixels)
            self._written += 1
        if self._cancelled:
            return
        if pipe is not None:
            pipe.close()
        code = process.wait(_END_TIMEOUT_S)
        if code != 0:
            self._fail(_last_words(complaints) or f"ffmpeg ended with {code}")
        elif self._written:
            self._rename()

    def _next(self) -> bytes | None:
        """Wait for the next frame; None when there are no more."""
        with self._changed:
            while not self._cancelled:
                # The last picture stays, so that it can be repeated.
                while len(self._queue) > 1 and self._queue[0].count == 0:
                    self._queue.popleft()
                if self._queue and self._queue[0].count > 0:
                    self._queue[0].count -= 1
                    return self._queue[0].pixels
                if self._finishing:
                    return None
                self._changed.wait()
        return None

    def _rename(self) -> None:
        path = self.spec.path
        if self.spec.format is FilmFormat.PNG and path.is_dir():
            shutil.rmtree(path)
        self.part.replace(path)

    def _fail(self, reason: str) -> None:
        if self._cancelled:
            return
        why = next((said for word, said in _SENTENCES if word in reason), reason)
        kept = ""
        if self._written and self.part.is_file() and self.part.stat().st_size:
            kept = f" What there is of it is in {self.part}."
        self._error = f"The film {self.spec.path} can't be written: {why}.{kept}"

    def _end_process(self) -> None:
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if process.poll() is None:
            process.kill()
        process.wait()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            if self.part.is_dir() and not self.part.is_symlink():
                shutil.rmtree(self.part)
            else:
                self.part.unlink(missing_ok=True)


def _command(program: str, spec: FilmSpec, part: Path) -> list[str]:
    width, height = spec.size
    begin = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "bgr0"]
    begin += ["-s", f"{width}x{height}", "-framerate", f"{spec.fps:g}", "-i", "pipe:0", "-an"]
    match spec.format:
        case FilmFormat.MP4:
            threads = max(min((os.cpu_count() or 2) // 2, 4), 1)
            # Players take untagged films of this size for BT.709; then they shall be.
            colors = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
            return [
                *begin,
                *("-vf", "scale=out_color_matrix=bt709:out_range=tv"),
                *("-c:v", "libx264", "-preset", "veryfast", "-crf", "18"),
                *("-pix_fmt", "yuv420p", "-threads", str(threads), *colors),
                *("-movflags", "+faststart", "-f", "mp4", str(part)),
            ]
        case FilmFormat.GIF:
            own_colors = "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"
            return [*begin, "-filter_complex", own_colors, "-loop", "0", "-f", "gif", str(part)]
        case _:
            return [*begin, "-f", "image2", str(part / "%06d.png")]


def _last_words(complaints: IO[bytes]) -> str:
    """Return the last line of what ffmpeg said, or the one that names a cause."""
    complaints.seek(0)
    text = complaints.read(64 << 10).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word, _ in _SENTENCES)]
    return (telling or lines or [""])[-1]
