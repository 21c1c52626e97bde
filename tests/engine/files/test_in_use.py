"""Who opens a file that is not complete knows whether it still becomes longer, or was given up."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from recordings import block_of, manifest_of

from stroboscope.engine.files.in_use import is_being_written
from stroboscope.engine.files.writer import TrajectoryWriter

_WRITER = Path(__file__).with_name("killed_writer.py")
_LONG_AGO = 1_000_000.0

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="locks keep readers out there")


def _is_written(path: Path) -> bool:
    """Ask as if it had changed long ago: what counts is who has it."""
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    return is_being_written(path)


@needs_locks
def test_a_file_is_being_written_until_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with subprocess.Popen(
        [sys.executable, str(_WRITER), str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(process.stdout)
        while_it_runs = is_being_written(path)
        process.kill()
    assert while_it_runs
    assert not _is_written(path)


@needs_locks
def test_a_writer_that_waits_still_has_its_file_until_it_closes_it(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    writer = TrajectoryWriter(path, manifest_of(), attachments={"model.mjb": b"model"})
    writer.write_block(block_of(0, 10))
    assert _is_written(path)
    assert _is_written(path)  # to ask takes nothing away
    writer.close()
    assert not _is_written(path)


def test_what_has_changed_just_now_may_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(b"by somebody else")
    assert is_being_written(path)
    assert not _is_written(path)
    with pytest.raises(FileNotFoundError):
        is_being_written(tmp_path / "nothing")


FORKED = """
    import os
    import sys
    import warnings
    import stroboscope.engine as physics

    warnings.simplefilter("ignore")
    scene = physics.create_scene("scene")
    scene.start_recording(sys.argv[1])
    for _ in range(100):
        scene.step()
    begun, told = os.pipe()
    child = os.fork()
    if not child:
        os.write(told, b"!")
        sys.stdin.readline()
        os._exit(0)
    os.read(begun, 1)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_that_lives_on_does_not_write_it(tmp_path: Path) -> None:

    path = tmp_path / "run.mcap"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(FORKED), str(path)], stdin=subprocess.PIPE
    ) as process:
        process.wait(60)  # the child waits for a line
        assert path.stat().st_size > 0
        assert not _is_written(path)
