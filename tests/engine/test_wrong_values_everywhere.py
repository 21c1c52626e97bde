"""Every function that scripts call refuses what it can't use in words, and nothing has changed.

A wrong value goes into every place of every public function. What comes out is either right for
that place or an error that we raise on purpose, which shows the value; never one that NumPy, MuJoCo
or Python happen to raise somewhere inside.
"""

import ast
import copy
import functools
import linecache
import math
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import few

import stroboscope.debugger_protocol
import stroboscope.engine as physics
from stroboscope.engine.creation import create_scene

N_ENVS = 3
OURS = tuple(
    str(Path(package.__file__ or "").parent) for package in (physics, stroboscope.debugger_protocol)
)


class Thing:
    """An object that is nothing we know."""

    def __repr__(self) -> str:
        return "a thing"


def _function() -> None:
    """Do nothing: no value for anything."""


POOL: dict[str, Any] = {
    "None": None,
    "true": True,
    "text": "xyz",
    "no text": "",
    "half a character": "a\ud800",
    "bytes": b"xyz",
    "half": 1.5,
    "minus": -1,
    "nan": math.nan,
    "infinite": math.inf,
    "huge": 10**400,
    "large": 10**30,
    "complex": 1j,
    "list": [1.0, "a", None],
    "ragged": [[1.0], [1.0, 2.0]],
    "empty": [],
    "dict": {"a": 1},
    "array": np.zeros((2, 5)),
    "texts": np.array(["a", "b"]),
    "objects": np.array([None, Thing()], dtype=object),
    "thing": Thing(),
    "class": int,
    "function": _function,
}
FLAGS = {"true"}
TEXTS = {"text", "no text", "half a character"}
ANYTHING = set(POOL)


class Subject:
    """One scene of each kind, and what there is of it."""

    def __init__(self, model: Path) -> None:
        self.path = model
        self.scene = physics.create_scene("Arm", model)
        self.batch = physics.create_scene("Arms", model, n_envs=N_ENVS)
        for _ in range(3):
            self.scene.step()
            self.batch.step()
        self.checkpoint = self.scene.checkpoint()
        self.batched = self.batch.checkpoint()
        self.rollouts = physics.rollout(self.checkpoint, self.controls())
        self.condition = self.scene.break_when("time > 1e9")
        self.arm = self.scene.get_articulation("base")
        self.draw = self.scene.debug_draw

    @functools.cached_property
    def saved(self) -> Path:
        """A checkpoint in a file."""
        return self.scene.save_checkpoint("saved")

    def controls(self) -> Any:
        return np.zeros((2, 3, self.scene.model.nu))

    def rollout(self, **arguments: Any) -> object:
        return physics.rollout(
            **{"checkpoint": self.checkpoint, "ctrl": self.controls(), **arguments}
        )

    def standing(self) -> tuple[Any, ...]:
        """Return all that a refused call must leave alone."""
        scene, batch = self.scene, self.batch
        return (
            scene.checkpoint().to_bytes(),
            batch.checkpoint().to_bytes(),
            tuple(each.info for each in scene.conditions),
            tuple(each.info for each in batch.conditions),
            (scene.raise_on_stop, batch.raise_on_stop, batch.selected_env),
            (scene.owner, batch.owner),
            tuple(scene.states.script.registered),
            scene.history.max_bytes,
            batch.batch_history.max_bytes,
            {name: array.tobytes() for name, array in self.draw.at(-2).items()},
        )


@pytest.fixture
def subject(model_path: Callable[[str], Path]) -> Subject:
    return Subject(model_path("arm"))


Call = Callable[[Subject, Any], object]
CALLS: dict[str, tuple[Call, set[str]]] = {}


def call(name: str, *, right: set[str] = frozenset()) -> Callable[[Call], Call]:  # type: ignore[assignment]
    """Add a call; ``right`` names the values of the pool that may go into this place."""

    def add(function: Call) -> Call:
        CALLS[name] = function, set(right)
        return function

    return add


def _set(thing: Any, name: str, value: Any) -> None:
    setattr(thing, name, value)


def _state_with(scene: Any, field: str, value: Any) -> Any:
    state = scene.get_state()
    setattr(state, field, value)
    return state


TABLE: dict[str, tuple[Call, set[str]]] = {
    # steps
    "step": (lambda s, v: s.scene.step(v), {"None"}),
    "step nstep": (lambda s, v: s.scene.step(nstep=v), set()),
    "batch step nstep": (lambda s, v: s.batch.step(nstep=v), set()),
    # states
    "reset": (lambda s, v: s.scene.reset(v), {"None"}),
    "reset keyframe": (lambda s, v: s.scene.reset(keyframe=v), {"None"}),
    "reset envs_idx": (lambda s, v: s.scene.reset(envs_idx=v), {"None"}),
    "reset as_initial": (
        lambda s, v: s.scene.reset(s.scene.get_state(), as_initial=v), FLAGS),
    "reset zero_time": (lambda s, v: s.scene.reset(zero_time=v), FLAGS),
    "batch reset": (lambda s, v: s.batch.reset(v), {"None"}),
    "batch reset keyframe": (lambda s, v: s.batch.reset(keyframe=v), {"None"}),
    "batch reset envs_idx": (lambda s, v: s.batch.reset(envs_idx=v), {"None", "empty", "minus"}),
    "batch reset as_initial": (
        lambda s, v: s.batch.reset(s.batch.get_state(), as_initial=v), FLAGS),
    "batch reset zero_time": (lambda s, v: s.batch.reset(zero_time=v), FLAGS),
    "reset qpos": (lambda s, v: s.scene.reset(_state_with(s.scene, "qpos", v)), set()),
    "reset ctrl": (lambda s, v: s.scene.reset(_state_with(s.scene, "ctrl", v)), set()),
    "reset qacc": (lambda s, v: s.scene.reset(_state_with(s.scene, "qacc", v)), set()),
    "reset eq_active": (lambda s, v: s.scene.reset(_state_with(s.scene, "eq_active", v)), set()),
    "batch reset qpos": (lambda s, v: s.batch.reset(_state_with(s.batch, "qpos", v)), set()),
    "state differences": (lambda s, v: s.scene.get_state().differences(v), set()),
    "state names": (lambda s, v: s.scene.get_state().names(v), set()),
    # checkpoints
    "checkpoint": (lambda s, v: s.scene.checkpoint(v), {"None", "text", "half a character"}),
    "checkpoint note": (lambda s, v: s.scene.checkpoint("a", note=v), TEXTS),
    "checkpoint envs_idx": (lambda s, v: s.scene.checkpoint(envs_idx=v), {"None"}),
    "batch checkpoint": (
        lambda s, v: s.batch.checkpoint(v), {"None", "text", "half a character"}),
    "batch checkpoint note": (lambda s, v: s.batch.checkpoint("a", note=v), TEXTS),
    "batch checkpoint envs_idx": (lambda s, v: s.batch.checkpoint(envs_idx=v), {"None", "minus"}),
    "restore": (lambda s, v: s.scene.restore(v), set()),
    "restore envs_idx": (lambda s, v: s.scene.restore(s.checkpoint, envs_idx=v), {"None"}),
    "restore with_model": (lambda s, v: s.scene.restore(s.checkpoint, with_model=v), FLAGS),
    "batch restore": (lambda s, v: s.batch.restore(v), set()),
    "batch restore envs_idx": (
        lambda s, v: s.batch.restore(s.checkpoint, envs_idx=v), {"None", "minus", "empty"}),
    "batch restore with_model": (lambda s, v: s.batch.restore(s.batched, with_model=v), FLAGS),
    "restore_state_from_bytes": (lambda s, v: s.scene.restore_state_from_bytes(v), set()),
    "capture_state_to_bytes": (lambda s, v: s.scene.capture_state_to_bytes(v), set()),
    "restore_state": (lambda s, v: s.scene.restore_state(v), set()),
    "restore_state release": (
        lambda s, v: s.scene.restore_state(s.scene.capture_state(), release_immediately=v), FLAGS),
    "release_state": (lambda s, v: s.scene.release_state(v), set()),
    "is_equal_state": (lambda s, v: s.scene.is_equal_state(s.checkpoint, v), set()),
    "capture_state_to_file": (
        lambda s, v: s.scene.capture_state_to_file(v), {"text"}),
    "register_state name": (
        lambda s, v: s.scene.register_state(v, _function, _function)(),
        {"text", "half a character"}),
    "register_state get": (
        lambda s, v: s.scene.register_state("a", v, _function)(), {"function", "class"}),
    "register_state set": (
        lambda s, v: s.scene.register_state("a", _function, v)(), {"function", "class"}),
    "checkpoint is_equal": (lambda s, v: s.checkpoint.is_equal(v), set()),
    "checkpoint from_bytes": (lambda s, v: physics.Checkpoint.from_bytes(v), set()),
    "batch checkpoint from_bytes": (lambda s, v: physics.BatchCheckpoint.from_bytes(v), set()),
    "batch checkpoint env": (lambda s, v: s.batched.env(v), set()),
    "setstate": (lambda s, v: s.scene.__setstate__(v), set()),
    "setstate new": (lambda s, v: physics.Scene.__new__(physics.Scene).__setstate__(v), set()),
    "batch setstate": (lambda s, v: s.batch.__setstate__(v), set()),
    "batch setstate new": (
        lambda s, v: physics.BatchScene.__new__(physics.BatchScene).__setstate__(v), set()),
    # environments
    "fork source": (lambda s, v: s.batch.fork(v, [1]), {"minus"}),
    "fork targets": (lambda s, v: s.batch.fork(0, v), {"None", "minus", "empty"}),
    "select": (lambda s, v: s.batch.select_environment(v), {"minus"}),
    "select shown": (lambda s, v: s.batch.select_environment(0, v), {"None", "minus"}),
    "bind": (lambda s, v: s.batch.bind(v), set()),
    "expand": (lambda s, v: s.batch.expand(v), set()),
    "set_const": (lambda s, v: s.batch.set_const(envs_idx=v), {"None", "minus", "empty"}),
    "get_data": (lambda s, v: s.batch.get_data(v), {"minus"}),
    "get_model": (lambda s, v: s.batch.get_model(v), {"minus"}),
    # callbacks
    "pre step": (lambda s, v: s.scene.register_pre_step_callback(v)(), {"function", "class"}),
    "on_stop": (lambda s, v: s.scene.on_stop(v)(), {"function", "class"}),
    # what the script tells
    "log name": (
        lambda s, v: s.scene.log(v, None if isinstance(v, dict) else 1.0),
        {"text", "half a character", "dict"}),
    "log value": (
        lambda s, v: s.scene.log("a", v),
        {"true", *TEXTS, "half", "minus", "nan", "infinite", "large"}),
    "log names": (lambda s, v: s.scene.log("a", [1.0, 2.0], names=v), {"None", "texts"}),
    "log mapping": (
        lambda s, v: s.scene.log({"a": v}),
        {"true", *TEXTS, "half", "minus", "nan", "infinite", "large"}),
    "transfer_to": (lambda s, v: s.scene.transfer_to(v), set()),
    # history and stops
    "keep_history": (lambda s, v: s.scene.keep_history(v), FLAGS),
    "keep_history max_bytes": (lambda s, v: s.scene.keep_history(max_bytes=v), {"None"}),
    "batch keep_history": (lambda s, v: s.batch.keep_history(v), FLAGS),
    "batch keep_history max_bytes": (lambda s, v: s.batch.keep_history(max_bytes=v), {"None"}),
    "raise_on_stop": (lambda s, v: _set(s.scene, "raise_on_stop", v), FLAGS),
    "batch raise_on_stop": (lambda s, v: _set(s.batch, "raise_on_stop", v), FLAGS),
    # A name that the script may log later is waited for.
    "break_when": (lambda s, v: s.scene.break_when(v), {"text"}),
    "break_when name": (lambda s, v: s.scene.break_when("time > 1e9", name=v), TEXTS),
    "break_when hits": (lambda s, v: s.scene.break_when("time > 1e9", hits=v), set()),
    "break_when once": (lambda s, v: s.scene.break_when("time > 1e9", once=v), FLAGS),
    "break_when log_only": (lambda s, v: s.scene.break_when("time > 1e9", log_only=v), FLAGS),
    "batch break_when": (lambda s, v: s.batch.break_when(v), set()),
    "batch break_when envs_idx": (
        lambda s, v: s.batch.break_when("time > 1e9", envs_idx=v), {"None", "minus"}),
    "batch break_when hits": (lambda s, v: s.batch.break_when("time > 1e9", hits=v), set()),
    "condition enabled": (lambda s, v: _set(s.condition, "enabled", v), FLAGS),
    "ready_made": (lambda s, v: physics.ready_made(v), set()),
    "ready_made number": (
        lambda s, v: physics.ready_made("penetration", depth=v),
        {"half", "minus", "large"}),
    # rollouts
    "rollout checkpoint": (lambda s, v: s.rollout(checkpoint=v), set()),
    "rollout ctrl": (lambda s, v: s.rollout(ctrl=v), set()),
    "rollout nstep": (lambda s, v: s.rollout(nstep=v), set()),
    "rollout threads": (lambda s, v: s.rollout(threads=v), {"None"}),
    "rollout name": (lambda s, v: s.rollout(name=v), {"None", *TEXTS}),
    "rollout names": (lambda s, v: s.rollout(names=v), {"None", "texts"}),
    "rollout scene": (lambda s, v: s.rollout(scene=v), {"None"}),
    "rollouts checkpoint": (lambda s, v: s.rollouts.checkpoint(v), {"minus"}),
    "rollouts checkpoint step": (lambda s, v: s.rollouts.checkpoint(0, v), {"None"}),
    "rollouts note": (lambda s, v: s.rollouts.note(v, [1.0, 2.0]), TEXTS),
    "rollouts note values": (lambda s, v: s.rollouts.note("a", v), set()),
    # scenes
    "get_articulation": (lambda s, v: s.scene.get_articulation(v), set()),
    "rebind": (lambda s, v: s.scene.rebind(v, v), set()),
    "create_scene name": (lambda s, v: create_scene(v), {"text", "half a character"}),
    "create_scene model": (lambda s, v: create_scene("a", v), {"None"}),
    "create_scene data": (lambda s, v: create_scene("a", s.scene.model, data=v), {"None"}),
    "create_scene n_envs": (lambda s, v: create_scene("a", s.path, n_envs=v), {"None"}),
    "create_scene options": (lambda s, v: create_scene("a", s.path, options=v), {"None"}),
    "create_scene playback": (lambda s, v: create_scene("a", s.path, playback=v), {"None"}),
    "create_scene source": (
        lambda s, v: create_scene("a", s.path, source=v), {"None", *TEXTS}),
    "destroy_scene": (lambda s, v: physics.destroy_scene(v), set()),
    "initialize": (lambda s, v: physics.initialize(v), {"minus"}),
    # the debugger
    "attach timeout": (lambda s, v: physics.debugger.attach(v, launch=False), {"infinite"}),
    "attach launch": (lambda s, v: physics.debugger.attach(0.0, launch=v), FLAGS),
    "attach mode": (lambda s, v: physics.debugger.attach(0.0, launch=False, mode=v), set()),
    "attach on_disconnect": (
        lambda s, v: physics.debugger.attach(0.0, launch=False, on_disconnect=v), set()),
    "listen": (lambda s, v: physics.debugger.listen(v), set()),
    "server start": (lambda s, v: physics.debugger.get_debug_server().start(v), set()),
    "watch": (lambda s, v: physics.debugger.watch(v), set()),
    "watch data": (
        lambda s, v: physics.debugger.watch(v if v is None else s.scene.model, v), set()),
    "watch name": (
        lambda s, v: physics.debugger.watch(s.scene.model, s.scene.data, v),
        {"None", "text", "half a character"}),
    # files
    "export": (lambda s, v: s.scene.export(v), {"text"}),
    "save_checkpoint": (lambda s, v: s.scene.save_checkpoint(v), {"text"}),
    "save_history": (lambda s, v: s.scene.save_history(v), {"text"}),
    "start_recording": (
        lambda s, v: (s.scene.start_recording(v), s.scene.stop_recording()), {"text"}),
    "scene load_checkpoint": (lambda s, v: s.scene.load_checkpoint(v), set()),
    "scene load_checkpoint frame": (
        lambda s, v: s.scene.load_checkpoint(s.saved, frame=v), {"minus"}),
    "scene load_checkpoint model": (
        lambda s, v: s.scene.load_checkpoint(s.saved, with_model=v), FLAGS),
    "start_recording scenes": (
        lambda s, v: physics.start_recording("several", scenes=v).stop(), {"None"}),
    "load_scene": (lambda s, v: physics.load_scene(v), set()),
    "load_scene name": (
        lambda s, v: physics.load_scene(s.path, name=v), {"None", "text", "half a character"}),
    "load_scene n_envs": (lambda s, v: physics.load_scene(s.path, n_envs=v), {"None"}),
    "load_scene options": (lambda s, v: physics.load_scene(s.path, options=v), {"None"}),
    "load_scene playback": (lambda s, v: physics.load_scene(s.path, playback=v), {"None"}),
    "load_scene content": (lambda s, v: physics.load_scene(s.path, content=v), {"None"}),
    "load_scene show": (lambda s, v: physics.load_scene(s.path, show=v), set()),
    "load_checkpoint": (lambda s, v: physics.load_checkpoint(v), set()),
    "load_checkpoint frame": (lambda s, v: physics.load_checkpoint(s.saved, frame=v), {"minus"}),
    "load_checkpoint show": (lambda s, v: physics.load_checkpoint(s.saved, show=v), set()),
    "load_trajectory": (lambda s, v: physics.load_trajectory(v), set()),
    "load_trajectory scene": (
        lambda s, v: physics.load_trajectory(s.saved, scene=v).close(), {"None"}),
    "load_trajectory show": (lambda s, v: physics.load_trajectory(s.saved, show=v), set()),
    "trust_folder": (lambda s, v: physics.trust_folder(v), set()),
    # drawing
    "arrow start": (lambda s, v: s.draw.arrow(v, (0, 0, 1), persistent=True), set()),
    "line end": (lambda s, v: s.draw.line((0, 0, 1), v, persistent=True), set()),
    "line color": (lambda s, v: s.draw.line((0, 0, 1), (0, 0, 0), color=v, persistent=True), set()),
    "line width": (
        lambda s, v: s.draw.line((0, 0, 1), (0, 0, 0), width=v, persistent=True), {"half", "true"}),
    "line persistent": (lambda s, v: s.draw.line((0, 0, 1), (0, 0, 0), persistent=v), FLAGS),
    "sphere radius": (lambda s, v: s.draw.sphere((0, 0, 1), v, persistent=True), {"half", "true"}),
    "box half_sizes": (lambda s, v: s.draw.box((0, 0, 1), v, persistent=True), set()),
    "box quat": (lambda s, v: s.draw.box((0, 0, 1), (1, 1, 1), quat=v, persistent=True), set()),
    "frame length": (
        lambda s, v: s.draw.frame((0, 0, 1), length=v, persistent=True), {"half", "true"}),
    "text text": (lambda s, v: s.draw.text((0, 0, 1), v, persistent=True), {"text"}),
    "points": (lambda s, v: s.draw.point_cloud(v, persistent=True), set()),
    "points color": (
        lambda s, v: s.draw.point_cloud(np.zeros((2, 3)), color=v, persistent=True), set()),
    "points size": (
        lambda s, v: s.draw.point_cloud(np.zeros((2, 3)), size=v, persistent=True),
        {"half", "true"}),
    # articulations
    "controller": (lambda s, v: s.arm.add_articulated_pose_controller(v), set()),
    "pose": (lambda s, v: s.arm.set_articulated_pose_from_joints(pose=v), set()),
    "velocities": (lambda s, v: s.arm.set_articulated_joint_velocities(velocities=v), set()),
    "stiffness": (
        lambda s, v: physics.PoseControllerParams(stiffness=v).stiffness_of(["a", "b"]), {"half"}),
    # bytes
    "resize": (lambda s, v: physics.DynamicArrayUint8().resize(v), set()),
    "resize value": (lambda s, v: physics.DynamicArrayUint8().resize(3, v), set()),
}  # fmt: skip


WHOLE = {"iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations"}
WHOLE |= {"sdf_initpoints"}
SETS = {"disable", "enable", "disabled_actuator_groups"}
WORDS = {"integrator", "solver", "cone", "jacobian", "playback"}
VECTORS = {"gravity", "wind", "magnetic", "o_solref", "o_solimp", "o_friction"}


def _option_calls() -> dict[str, tuple[Call, set[str]]]:
    calls: dict[str, tuple[Call, set[str]]] = {}
    for field in physics.SceneOptions.__dataclass_fields__:
        right = {"None", "empty"} if field in SETS else {"None"}
        if field == "o_margin":
            right |= {"half", "minus", "large"}
        elif field not in WHOLE | SETS | WORDS | VECTORS | {"timestep"}:
            right |= {"half", "large"}
        calls[f"option {field}"] = (
            lambda s, v, field=field: create_scene(  # type: ignore[misc]
                "a", s.path, options=physics.SceneOptions(**{field: v})
            ),
            right,
        )
    return calls


TOO_LONG = {("attach timeout", name) for name in ("true", "half", "large", "huge", "infinite")} | {
    (place, "true")
    for place in (
        "attach launch",
        "load_scene show",
        "load_checkpoint show",
        "load_trajectory show",
    )
}
"""What would wait for somebody, or open a window."""

CALLS |= TABLE | _option_calls()


def _innermost(error: BaseException) -> tuple[types.CodeType, int]:
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return frame.f_code, line


@functools.cache
def _raises(file: str) -> frozenset[int]:
    tree = ast.parse("".join(linecache.getlines(file)))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def is_on_purpose(error: BaseException) -> bool:
    """Return whether one of our ``raise`` statements has raised it."""
    code, line = _innermost(error)
    return code.co_filename.startswith(OURS) and line in _raises(code.co_filename)


def _shows(message: str, value: Any) -> bool:
    """Return whether a message lets people see what they have given."""
    seen = {type(value).__name__}
    if isinstance(value, np.ndarray):
        seen |= {str(value.shape), "bytes", repr(value.flat[0])}
    elif value == []:
        seen |= {"(0,)", "no environment", "[]", "not 0"}
    elif isinstance(value, list | bytes):
        seen |= {repr(value)[:8], repr(value[0])}
    elif isinstance(value, str):
        seen |= {
            f"{value or 'no'}: ",
            repr(value),
            repr(value.encode("utf-8", "backslashreplace").decode()),
            "'.'",
            "^",
        }
    else:
        # A number where an array is needed, None where something is needed.
        seen |= {repr(value)[:8], "shape ()", "not ()", "needs"}
    return any(each in message for each in seen)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", few(CALLS, 60))
def test_a_wrong_value_is_refused_in_words_and_nothing_changes(
    subject: Subject, place: str
) -> None:
    function, right = CALLS[place]
    wrong: list[str] = []
    for name, value in POOL.items():
        if (place, name) in TOO_LONG:
            continue
        before = subject.standing()
        try:
            function(subject, copy.copy(value))
        except Exception as error:  # noqa: BLE001 - all of them are looked at
            if not is_on_purpose(error):
                code, line = _innermost(error)
                wrong.append(f"{name}: {type(error).__name__}: {error} ({code.co_filename}:{line})")
            elif not _shows(str(error), value):
                wrong.append(f"{name}: does not show the value: {error}")
            if subject.standing() != before:
                wrong.append(f"{name}: refused, but something has changed")
        else:
            if name not in right:
                wrong.append(f"{name}: was accepted")
    assert not wrong, "\n".join(wrong)
