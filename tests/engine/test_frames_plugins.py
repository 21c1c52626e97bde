"""What plugins draw belongs to the frame's instant, and asking them never changes the run."""

from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import DrawKind, Topic
from stroboscope.engine.frames import plugin_drawings

SOLIDS = """<mujoco><extension><plugin plugin="mujoco.sdf.bowl"><instance name="bowl"/></plugin>
<plugin plugin="mujoco.sdf.nut"><instance name="nut"/></plugin></extension>
<option sdf_initpoints="8" integrator="{integrator}"/>
<asset><mesh name="bowl"><plugin instance="bowl"/></mesh>
<mesh name="nut"><plugin instance="nut"/></mesh></asset>
<worldbody><body pos=".1 0 .3"><freejoint/>
<geom type="sdf" mesh="bowl"><plugin instance="bowl"/></geom></body>
<body euler="20 0 0"><freejoint/><geom type="sdf" mesh="nut"><plugin instance="nut"/></geom></body>
</worldbody></mujoco>"""
PLUGINS = frozenset({Topic.POSE, Topic.PLUGINS})


def scene_of(integrator: str = "Euler") -> Any:
    scene = physics.create_scene("solids", SOLIDS.format(integrator=integrator))
    for _ in range(3):
        scene.step()
    return scene


def now(scene: Any) -> Any:
    return scene.link.backend.frame_now(PLUGINS).arrays.get(Topic.PLUGINS)


def executed(scene: Any) -> Any:
    scene.link.backend.begin_frame(PLUGINS)
    scene.step()
    return scene.link.backend.end_frame(PLUGINS).arrays.get(Topic.PLUGINS)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_now_draws_what_the_next_step_executes(integrator: str) -> None:
    scene = scene_of(integrator)
    before, after = now(scene), executed(scene)
    assert len(before["kind"]) > 50
    assert set(before) == set(after)
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values, name)
    moved = now(scene)
    assert moved["pos"].shape != before["pos"].shape or (moved["pos"] != before["pos"]).any()


def test_descents_are_of_balls_and_lines_and_marked_as_iterations() -> None:
    drawn = now(scene_of())
    kinds = [list(DrawKind)[kind] for kind in np.unique(drawn["kind"])]
    assert kinds == [DrawKind.LINE, DrawKind.SPHERE]
    assert drawn["iteration"].all()
    assert drawn["left_out"].tolist() == [0]
    lines = drawn["kind"] == list(DrawKind).index(DrawKind.LINE)
    assert (drawn["width"][lines] > 0.0).all()
    assert np.isfinite(drawn["size"]).all()


def test_a_run_with_plugins_asked_at_every_step_is_the_run_without() -> None:
    rows = []
    for asked in (False, True):
        scene = scene_of()
        for _ in range(20):
            if asked:
                executed(scene)
                now(scene)
            else:
                scene.step()
        rows.append((scene.data.qpos.tobytes(), scene.data.qvel.tobytes()))
        physics.shutdown()
    assert rows[0] == rows[1]


def test_options_that_a_script_raises_find_room(
    capfd: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    """MuJoCo writes a warning into a file where a scene for its viewer is too small."""
    monkeypatch.chdir(tmp_path)
    scene = scene_of()
    now(scene)
    room = scene.world.frames._plugins._scene.maxgeom
    scene.model.opt.sdf_initpoints, scene.model.opt.sdf_iterations = 90, 60
    assert len(now(scene)["kind"]) > room
    assert not list(tmp_path.iterdir())
    assert "WARNING" not in capfd.readouterr().err


def test_a_model_without_plugins_makes_no_data_of_its_own(monkeypatch: Any) -> None:
    monkeypatch.setattr(plugin_drawings, "evaluate", None)  # it must not come to that
    scene = physics.create_scene("plain", "<mujoco><worldbody/></mujoco>")
    assert now(scene) is None


def test_callbacks_of_the_script_are_not_called(monkeypatch: Any) -> None:
    scene = scene_of()
    calls = []
    try:
        mujoco.set_mjcb_contactfilter(lambda *_: calls.append(1) or 0)
        assert now(scene) is None
    finally:
        mujoco.set_mjcb_contactfilter(None)
    assert calls == []
    assert now(scene) is not None
