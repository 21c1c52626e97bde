"""What a flipped bit costs of a file that was kept in memory first: a quarter of a second."""

from collections.abc import Callable
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.reader import TrajectoryReader

Make = Callable[..., physics.Scene]
ModelPath = Callable[[str], Path]
SECONDS = {"exact": 0.25, "minimal": 1.0}


def flight_record(scene: physics.Scene, path: Path, mode: str) -> Path:
    scene.start_recording(physics.TrajectoryFile(path, keep_last=2.0, mode=mode))
    scene.step(nstep=1)
    for _ in range(round(2.5 / scene.model.opt.timestep)):
        scene.step()
    return scene.stop_recording()


def saved_history(scene: physics.Scene, path: Path, mode: str) -> Path:
    scene.keep_history()
    for _ in range(round(2.0 / scene.model.opt.timestep)):
        scene.step()
    return scene.save_history(path)


def flip_a_bit(path: Path, place: float) -> None:
    """Flip one in the block that is so far on, 0 to 1."""
    with TrajectoryReader(path) as reader:
        index = reader.index(0)
        at = int(place * (len(index) - 1))
        offset = int(index.offset[at] + index.nbytes[at]) - 5
    data = bytearray(path.read_bytes())
    data[offset] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make_file", "mode"),
    [(flight_record, "exact"), (flight_record, "minimal"), (saved_history, "exact")],
)
@pytest.mark.parametrize("timestep", [0.002, 0.01])
def test_a_flipped_bit_costs_a_quarter_of_a_second_and_a_second_of_what_is_simulated_again(
    make_scene: Make,
    tmp_path: Path,
    make_file: Callable[[physics.Scene, Path, str], Path],
    mode: str,
    timestep: float,
) -> None:
    scene = make_scene("arm")
    scene.model.opt.timestep = timestep
    path = make_file(scene, tmp_path / "kept", mode)
    flip_a_bit(path, 0.5)
    with TrajectoryReader(path) as reader:
        ((begin, end),) = {each.frames for each in reader.check() if each.frames}
        assert 0 < end - begin <= round(SECONDS[mode] / timestep)


def test_slow_steps_have_blocks_that_are_no_waste(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene("arm")
    scene.model.opt.timestep = 0.1
    path = saved_history(scene, tmp_path / "slow", "exact")
    with TrajectoryReader(path) as reader:
        assert reader.index(0).count.tolist() == [16, 4, 1]


def test_blocks_are_as_large_as_was_asked_for(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene("arm")
    wanted = physics.TrajectoryFile(tmp_path / "kept", keep_last=0.2, chunk_size=40)
    scene.start_recording(wanted)
    scene.step(nstep=1)
    for _ in range(200):
        scene.step()
    with TrajectoryReader(scene.stop_recording()) as reader:
        assert reader.index(0).count.tolist() == [40, 40, 20, 1]


def test_blocks_of_environments_are_no_larger(model_path: ModelPath, tmp_path: Path) -> None:
    pytest.importorskip("mujoco.batch")
    scene = physics.create_scene("batch", model_path("arm"), n_envs=3)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "kept", keep_last=1.0, envs=[0, 2]))
    for _ in range(500):
        scene.step()
    with TrajectoryReader(scene.stop_recording()) as reader:
        for index in (0, 1):
            assert reader.index(index).count.tolist() == [125, 125, 125, 125, 1]
