"""What a wrapped ``mj_step`` costs a script that doesn't know us, per call."""

import os
import tempfile
import time

import mujoco
from harness import Measured, Row, Settings, interleave, run_alone

import stroboscope.engine as physics

# Next to nothing to simulate: what remains is the call.
TINY = "<mujoco><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>"


def measure(settings: Settings) -> list[Row]:
    """Call ``mj_step`` bare, wrapped with no session, and wrapped with a session nobody joined."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    model = mujoco.MjModel.from_xml_string(TINY)
    data = mujoco.MjData(model)
    instrumentation = physics.debugger.the_session().instrumentation
    calls = settings.scaled(100_000)

    def microseconds() -> float:
        step = mujoco.mj_step
        begun = time.perf_counter()
        for _ in range(calls):
            step(model, data)
        return 1e6 * (time.perf_counter() - begun) / calls

    def bare() -> float:
        instrumentation.remove()
        return microseconds()

    def detached() -> float:
        instrumentation.install(adopt_unknown=True)
        return microseconds()

    def listening() -> float:
        instrumentation.install(adopt_unknown=True)
        physics.debugger.listen()
        try:
            return microseconds()
        finally:
            physics.debugger.detach()

    times = interleave(
        {"bare": bare, "detached": detached, "listening": listening}, rounds=settings.rounds
    )
    instrumentation.remove()
    physics.shutdown()
    return [
        _row("detached", times["detached"], times["bare"], limit=1.0),
        _row("a session open, nobody joined", times["listening"], times["bare"], limit=None),
    ]


def _row(what: str, above: list[float], below: list[float], *, limit: float | None) -> Row:
    measured = Measured.of([a - b for a, b in zip(above, below, strict=True)])
    return Row(
        number="–",
        what=f"a wrapped mj_step call costs more, {what}",
        measured=measured,
        unit="µs",
        target="" if limit is None else f"≤ {limit:g} µs",
        reached=None if limit is None else measured.median <= limit,
    )


if __name__ == "__main__":
    run_alone(measure)
