"""The process that compiles models of others, started before there is one to compile."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("mujoco")

import stroboscope.engine as physics
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.outside import guard
from stroboscope.engine.outside.answers import GIVEN, Question
from stroboscope.engine.outside.compiler import CompilerProcess, compiler_ahead
from stroboscope.engine.outside.guard import GuardedModel, guarded_model

MODEL = (
    '<mujoco model="ahead"><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
)
STARTS_ONE = """
import sys
from stroboscope.engine.outside.compiler import compiler_ahead
compiler_ahead().start()
print(compiler_ahead()._waiting._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def warm_compilers() -> None:
    """Start them as ever: that is what this is about."""


@pytest.fixture
def waiting() -> Iterator[CompilerProcess]:
    """The compiler that waits in this process; it is ended afterwards."""
    compiler_ahead().start()
    found = compiler_ahead()._waiting
    assert found is not None
    yield found
    compiler_ahead().close()


def _same(one: GuardedModel, other: GuardedModel) -> bool:
    return (one.digest, one.name, one.confined) == (other.digest, other.name, other.confined)


def test_one_that_waited_answers_as_one_that_is_started_then(
    tmp_path: Path, waiting: CompilerProcess
) -> None:
    file = tmp_path / "model.xml"
    file.write_text(MODEL, encoding="utf-8")
    first = guarded_model(file)
    assert not waiting.is_waiting
    assert _same(first, guarded_model(file))
    assert _same(guarded_model("in another.xml", content=MODEL.encode()), first)


def test_one_that_waited_is_kept_from_other_files_too(
    tmp_path: Path, waiting: CompilerProcess
) -> None:
    (tmp_path / "secret.xml").write_text("<mujocoinclude/>", encoding="utf-8")
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "model.xml"
    file.write_text('<mujoco><include file="../secret.xml"/></mujoco>', encoding="utf-8")
    with pytest.raises(Exception, match="lies outside of the folder"):
        guarded_model(file)


def test_only_one_waits(waiting: CompilerProcess) -> None:
    compiler_ahead().start()
    assert compiler_ahead()._waiting is waiting


def test_one_that_was_killed_while_it_waited_is_no_fault_of_the_file(
    tmp_path: Path, waiting: CompilerProcess, wait_until: Callable[..., None]
) -> None:
    os.kill(waiting._process.pid, signal.SIGKILL)
    wait_until(lambda: not waiting.is_waiting)
    file = tmp_path / "model.xml"
    file.write_text(MODEL, encoding="utf-8")
    assert guarded_model(file).name == "ahead"


def test_it_ends_when_whoever_was_to_ask_is_killed(wait_until: Callable[..., None]) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-P", "-c", STARTS_ONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert _runs(pid)
        owner.kill()
    wait_until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    """Whether a process is there, and has not only not been waited for yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_compiled_model_that_was_given_is_not_sent_back_and_loaded_as_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "model.xml"
    file.write_text(MODEL, encoding="utf-8")
    adapter = load_mujoco()
    content = bytes(mjb_of(guarded_model(file).model, adapter=adapter))
    with CompilerProcess() as compiler:
        (tmp_path / GIVEN).write_bytes(content)
        scratch = str(tmp_path)
        question = Question(path="x.mjb", root=scratch, scratch=scratch, with_content=True)
        assert compiler.ask(question) == 0
        compiler.output.seek(0, 2)
        assert compiler.output.tell() < len(content)
    again = guarded_model("x.mjb", content=content)
    assert again.exact
    assert bytes(mjb_of(again.model, adapter=adapter)) == content


def test_one_that_says_it_was_given_what_it_was_not_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from stroboscope.engine.outside.answers import MAGIC;"
        'b = b\'{"built":{"kind":"mjb","name":"x","exact":true,"digest":"\''
        " + b'0' * 64 + b'\",\"is_given\":true}}';"
        "sys.stdout.buffer.write(MAGIC + len(b).to_bytes(8, 'little') + b)"
    )
    monkeypatch.setattr(guard, "_COMMAND", (sys.executable, "-c", code))
    file = tmp_path / "model.xml"
    file.write_text(MODEL, encoding="utf-8")
    with pytest.raises(physics.EngineError, match=r"model\.xml"):
        guarded_model(file)
    with pytest.raises(physics.FileFormatError, match="can't be loaded"):
        guarded_model("no model.mjb", content=b"no model at all")
