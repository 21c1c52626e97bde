"""Films: frames chosen by time, files that play, and sentences when there is no film."""

import threading
from pathlib import Path

import numpy as np
import pytest

from stroboscope.app.models.film import (
    FilmClock,
    FilmFormat,
    FilmSpec,
    Shares,
    even_size,
    format_of,
)
from stroboscope.app.models.film_writer import FilmWriter

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

SIZE = (64, 48)


def picture(left: int) -> bytes:
    """A white square 16 px wide at ``left``, on black."""
    pixels = np.zeros((SIZE[1], SIZE[0], 4), dtype=np.uint8)
    pixels[16:32, left : left + 16] = 255
    return pixels.tobytes()


def frames_of(times: list[float], *, fps: float, speed: float = 1.0) -> list[float]:
    """What a film shows of pictures taken at ``times``: the time of each frame's picture."""
    clock, shown, last = FilmClock(fps=fps, speed=speed), [], 0.0
    for time in times:
        shares = clock.look(time)
        shown += [last] * shares.before + [time] * shares.now
        if shares.now:
            last = time
    return shown


def test_more_pictures_than_frames_leave_those_at_the_frames_instants():
    shown = frames_of([0.002 * n for n in range(501)], fps=50)
    assert shown == pytest.approx([0.02 * k for k in range(51)], abs=2.1e-3)


def test_fewer_pictures_than_frames_keep_the_pace():
    """Fast forward: a picture every 0.25 s of the simulation, and not evenly."""
    times = [0.0, 0.25, 0.4, 0.9, 1.0]
    shown = frames_of(times, fps=20)
    assert len(shown) == 21
    for k, time in enumerate(shown):
        nearest = min(abs(t - k / 20) for t in times)
        assert abs(time - k / 20) <= nearest + 1 / 20 + 1e-9


def test_slow_motion_makes_more_frames_of_the_same_time():
    assert len(frames_of([0.001 * n for n in range(1001)], fps=60, speed=0.1)) == 601


def test_a_film_goes_on_from_a_restored_state():
    clock = FilmClock(fps=10)
    assert [clock.look(t) for t in (3.0, 3.1, 0.0, 0.1)] == [Shares(0, 1)] * 4
    assert clock.frames == 4


def test_steps_that_add_up_inexactly_lose_no_frame():
    time, shown = 0.0, []
    clock = FilmClock(fps=100)
    for _ in range(1001):
        shown.append(clock.look(time))
        time += 0.01
    assert shown == [Shares(0, 1)] * 1001


def test_paused_time_adds_nothing():
    clock = FilmClock(fps=60)
    clock.look(1.0)
    assert [clock.look(1.0) for _ in range(5)] == [Shares(0, 0)] * 5


def test_names_say_what_is_written():
    assert format_of(Path("a.MP4")) is FilmFormat.MP4
    assert format_of(Path("a.gif")) is FilmFormat.GIF
    assert format_of(Path("frames")) is FilmFormat.PNG
    assert even_size(811, 533.5) == (810, 532)


def test_a_film_plays_with_every_frame_in_its_place(tmp_path, decode):
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE, fps=30))
    for n in range(12):
        writer.add(picture(4 * n))
        assert writer.frames == n + 1
        # The encoder keeps up: this is not about dropping.
        while writer.waiting > 2 and not writer.is_over:
            threading.Event().wait(0.005)
    writer.repeat(3)
    writer.finish()
    assert writer.wait(60)
    assert writer.error == ""
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]
    facts, frames = decode(tmp_path / "a.mp4")
    assert facts["size"] == SIZE
    assert facts["fps"] == 30
    assert facts["codec"] == "h264"
    assert len(frames) == 15
    for n, frame in enumerate(frames):
        columns = np.flatnonzero(frame[24, :, 0] > 128)
        left = 4 * min(n, 11)
        assert abs(columns.min() - left) <= 1
    assert abs(int(frames[0][24, 8, 0]) - 255) < 8


def test_colours_stay_what_they_were(tmp_path, decode):
    pixels = np.zeros((SIZE[1], SIZE[0], 4), dtype=np.uint8)
    pixels[:] = (40, 90, 200, 0)  # blue, green, red
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    writer.add(pixels.tobytes(), 3)
    writer.finish()
    assert writer.wait(60)
    _, frames = decode(tmp_path / "a.mp4")
    assert np.abs(frames[1].astype(int) - (200, 90, 40)).max() < 8


def test_a_gif_and_a_folder_of_pictures(tmp_path, decode):
    for name in ("a.gif", "pictures"):
        writer = FilmWriter(FilmSpec(path=tmp_path / name, size=SIZE, fps=20))
        writer.add(picture(0), 2)
        writer.add(picture(40))
        writer.finish()
        assert writer.wait(60)
        assert writer.error == ""
    assert len(decode(tmp_path / "a.gif")[1]) == 3
    names = sorted(p.name for p in (tmp_path / "pictures").iterdir())
    assert names == ["000001.png", "000002.png", "000003.png"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.gif", "pictures"]


def test_cancelling_leaves_nothing(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"the film of before")
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    writer.add(picture(0), 50)
    writer.cancel()
    assert writer.wait(60)
    assert writer.error == ""
    assert (tmp_path / "a.mp4").read_bytes() == b"the film of before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]


def test_a_film_of_nothing_is_no_file(tmp_path):
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    writer.finish()
    assert writer.wait(60)
    assert list(tmp_path.iterdir()) == []


def test_an_encoder_that_is_behind_costs_pictures_and_not_length(tmp_path, decode):
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=(640, 360)))
    pixels = np.random.default_rng(0).integers(0, 255, (360, 640, 4), np.uint8).tobytes()
    added = 0
    while writer.dropped == 0 and added < 500:
        writer.add(pixels)
        added += 1
    assert writer.dropped > 0
    assert writer.frames == added
    writer.finish()
    assert writer.wait(60)
    assert len(decode(tmp_path / "a.mp4")[1]) == added


def test_a_picture_of_another_size_is_refused(tmp_path):
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    with pytest.raises(ValueError, match="bytes"):
        writer.add(b"1234")
    writer.cancel()
    assert writer.wait(60)


def test_what_goes_wrong_is_a_sentence(tmp_path, monkeypatch):
    gone = FilmWriter(FilmSpec(path=tmp_path / "no" / "a.mp4", size=SIZE))
    gone.add(picture(0))
    assert gone.wait(60)
    assert gone.error == (
        f"The film {tmp_path / 'no' / 'a.mp4'} can't be written: "
        f"there is no folder {tmp_path / 'no'}."
    )

    def no_ffmpeg():
        raise RuntimeError("No ffmpeg exe could be found.")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", no_ffmpeg)
    without = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    assert without.wait(60)
    assert without.error.startswith("Films need ffmpeg")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_a_sentence(tmp_path):
    (tmp_path / "a.mp4.part").symlink_to("/dev/full")
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    writer.add(picture(0), 5)
    writer.finish()
    assert writer.wait(60)
    assert "the disk is full" in writer.error


def test_an_encoder_that_dies_is_a_sentence(tmp_path):
    writer = FilmWriter(FilmSpec(path=tmp_path / "a.mp4", size=SIZE))
    writer.add(picture(0), 5)
    while writer._process is None and not writer.is_over:
        threading.Event().wait(0.005)
    writer._process.kill()
    while not writer.is_over:
        writer.add(picture(8))
        threading.Event().wait(0.005)
    assert "can't be written" in writer.error
