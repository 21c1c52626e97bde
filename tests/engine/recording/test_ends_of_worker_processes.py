"""Processes of multiprocessing, which end without Python's exit functions: files are complete."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import few

Read = Callable[..., Any]
Run = Callable[..., tuple[int, str]]

WORKER = """
import multiprocessing, sys
import stroboscope.engine as physics

def work(path, model, options, fails):
    scene = physics.create_scene("worker", model=model)
    scene.start_recording(physics.TrajectoryFile(path, **options))
    for _ in range(120):
        scene.step()
    if fails:
        raise ArithmeticError("the policy has failed")

if __name__ == "__main__":
    method, folder, model, records, keep_last, fails = sys.argv[1:]
    options = {"keep_last": float(keep_last), "save_on_stop": True} if keep_last else {}
    if records:
        scene = physics.create_scene("parent", model=model)
        scene.start_recording(folder + "/parent")
        for _ in range(40):
            scene.step()
    process = multiprocessing.get_context(method).Process(
        target=work, args=(folder + "/run", model, options, bool(fails))
    )
    process.start()
    process.join()
    if records:
        for _ in range(40):
            scene.step()
    sys.exit(process.exitcode)
"""


@pytest.fixture
def run(start_warm: Callable[..., Any], tmp_path: Path, model_path: Callable[[str], Path]) -> Run:
    def end_of(
        method: str, *, records: bool = False, keep_last: str = "", fails: bool = False
    ) -> tuple[int, str]:
        arguments = [method, str(tmp_path), str(model_path("arm"))]
        arguments += ["yes" if records else "", keep_last, "yes" if fails else ""]
        code, _, errors = start_warm(WORKER, *arguments).end()
        return code, errors

    return end_of


@pytest.mark.parametrize("records", few([True, False], 1))
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_what_a_worker_process_records_is_complete_when_its_function_returns(
    run: Run, read: Read, tmp_path: Path, method: str, records: bool
) -> None:
    assert run(method, records=records)[0] == 0
    recorded = read(tmp_path / "run.mcap")
    assert recorded.complete
    assert recorded.has_final
    assert recorded.axes == list(range(121))
    if records:
        parent = read(tmp_path / "parent.mcap")
        assert parent.complete
        assert parent.axes == list(range(81))


@pytest.mark.parametrize("keep_last", ["", "0.1"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_exception_in_a_worker_process_is_in_its_recording(
    run: Run, read: Read, tmp_path: Path, method: str, keep_last: str
) -> None:
    code, errors = run(method, keep_last=keep_last, fails=True)
    assert code == 1
    assert "the policy has failed" in errors
    recorded = read(tmp_path / "run.mcap")
    assert recorded.complete
    assert recorded.axes[-1] == 120
    assert "the policy has failed" in recorded.events[-1].text


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_flight_recorder_for_stops_writes_nothing_when_a_worker_just_ends(
    run: Run, tmp_path: Path, method: str
) -> None:
    assert run(method, keep_last="0.1")[0] == 0
    assert not list(tmp_path.glob("*.mcap"))
