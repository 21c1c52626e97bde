"""Attach when the script steps a simulation for the first time (``stroboscope run``)."""

import sys
from typing import TYPE_CHECKING

from stroboscope.engine import debugger
from stroboscope.engine.recording.run_recording import RunRecording
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.instrument.run import RunOptions

__all__ = ["attach_at_first_step"]


def attach_at_first_step(options: "RunOptions") -> None:
    """Wrap MuJoCo's functions, and open the session that ``options`` ask for at the first step.

    What it is to record begins, too. Raises MujocoUnavailableError when this MuJoCo can't be used;
    nothing is wrapped then.
    """
    session = debugger.the_session()
    instrumentation = session.instrumentation
    instrumentation.install(adopt_unknown=True)
    if options.detached:
        return
    if options.record is not None:
        wanted = TrajectoryFile(
            options.record,
            keep_last=options.keep_last,
            save_on_stop=options.save_on_stop,
            # A file that is full must not raise anything in a script that knows nothing of it.
            rotate=True,
        )
        RunRecording(wanted, tell=_tell, over=lambda: instrumentation.record_all(on=False))
        instrumentation.record_all(on=True)
    # The first step may be a worker thread's, which can't take the descriptor any more.
    session.watch_signals()
    session.holds_at_end = options.hold_at_end
    instrumentation.before_first_scene(lambda: _open_session(options))


def _open_session(options: "RunOptions") -> None:
    if debugger.the_session().is_offered:
        return  # the script has attached by itself; one that only listens waits for nobody
    if not options.window and options.wait is None:
        debugger.listen()
        return
    attached = debugger.attach(
        options.timeout if options.wait is None else options.wait,
        launch=options.window,
        mode=options.mode,
        on_disconnect=options.on_disconnect,
    )
    if not attached:
        _tell("the script runs on without the debugger")


def _tell(text: str) -> None:
    sys.stderr.write(f"stroboscope: {text}\n")
