"""What a condition that stays false costs per physics step, above the same step without one.

One thread, attached in fast forward, nobody subscribed: scenes of one model that differ only in
their condition take turns, with a bare ``mj_step`` loop among them. It is processor time that
counts, not the clock: other processes must not.
"""

import os
import tempfile
import time
from collections.abc import Callable

import mujoco
from harness import Measured, Row, Settings, interleave, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import HostListener
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.runtime import current_runtime

_BEFORE, _STEPS = 10, 100

# What is watched; whether the target holds for it.
CONDITIONS = {
    "qpos['abdomen_z'] > 100": True,
    "time > 1e6": True,
    "ctrl['abdomen_z'] > 5 and abs(qvel['abdomen_z']) > 1e5": True,
    "contact.count > 1000": False,
    "contact.penetration > 1": False,
    "min(joint.margin) < -100": False,
    "max(abs(qvel)) > 1e9": False,
    "abs(change(qvel['abdomen_z'])) > 1e9": False,
    "energy.total > 1e12": False,
}
MANY = "1,000 limits"
_MANY = [f"{('qpos', 'qvel')[k % 2]}[{k % 27}] > {1e6 + k}" for k in range(1000)]


def _arms() -> dict[str, Callable[[], float]]:
    model = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    data = mujoco.MjData(model)

    def of(expression: str) -> Callable[[], float]:
        scene = physics.create_scene(expression or "without", humanoid_path())
        scene.link.backend.time_machine().set_history(keep=False, max_bytes=None)
        for each in _MANY if expression == MANY else filter(None, (expression,)):
            scene.break_when(each)

        def run() -> float:
            scene.reset()
            for _ in range(_BEFORE):
                scene.step()
            begin = time.thread_time()
            for _ in range(_STEPS):
                scene.step()
            seconds = time.thread_time() - begin
            if scene.last_stop is not None:
                raise SystemExit(f"{expression} became true: {scene.last_stop.message}")
            return seconds / _STEPS

        return run

    def bare() -> float:
        mujoco.mj_resetData(model, data)
        for _ in range(_BEFORE):
            mujoco.mj_step(model, data)
        begin = time.thread_time()
        for _ in range(_STEPS):
            mujoco.mj_step(model, data)
        return (time.thread_time() - begin) / _STEPS

    return {"bare": bare, "": of(""), **{text: of(text) for text in (*CONDITIONS, MANY)}}


def measure(settings: Settings) -> list[Row]:
    """Attach without a client, in fast forward, and let the arms take turns."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    host.attach(PlaybackMode.FAST_FORWARD)
    seconds = interleave(_arms(), rounds=20 * settings.rounds)
    host.detach("measured")
    physics.shutdown()
    bare = Measured.of([1e6 * each for each in seconds["bare"]])
    rows = []
    for text, has_target in (CONDITIONS | {MANY: False}).items():
        above = Measured.of(
            [1e6 * (a - b) for a, b in zip(seconds[text], seconds[""], strict=True)]
        )
        rows.append(
            Row(
                number="§4",
                what=f"a step with the false condition {text}, above one without",
                measured=above,
                unit="µs",
                target="≤ 2" if has_target else "",
                reached=above.median <= 2.0 if has_target else None,
                note=f"humanoid, {bare.median:.1f} µs per bare step",
            )
        )
    return rows


if __name__ == "__main__":
    run_alone(measure)
