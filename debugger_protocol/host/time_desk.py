"""Time travel of one scene: who looks where, branches, comparing, reading.

Looking is not moving: while the *view* stands at a row of the history, the scene stands where it
stood. Everything here runs on the owner thread; what is told is replaced by reference.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.environment_desk import EnvironmentDesk
from stroboscope.debugger_protocol.host.ghosts import Ghosts
from stroboscope.debugger_protocol.host.note_desk import NoteDesk
from stroboscope.debugger_protocol.host.owners import interrupted
from stroboscope.debugger_protocol.host.playback import Ticket, step_count
from stroboscope.debugger_protocol.host.recording_desk import RECORDING_WORDS, RecordingDesk
from stroboscope.debugger_protocol.host.rollout_desk import RolloutDesk
from stroboscope.debugger_protocol.host.row_pieces import rows_of
from stroboscope.debugger_protocol.host.stop_desk import StopDesk
from stroboscope.debugger_protocol.host.works import Work, Works
from stroboscope.debugger_protocol.message_base import Command
from stroboscope.debugger_protocol.recording_messages import (
    SaveHistory,
    StartRecording,
    StopRecording,
)
from stroboscope.debugger_protocol.signal_handlers import goes_to_script, is_of_handler
from stroboscope.debugger_protocol.time_machine import HistoryState, TimeMachine
from stroboscope.debugger_protocol.time_messages import (
    BreakWhen,
    CompareStates,
    ContinueFromHere,
    DeriveNumber,
    DropRollout,
    EditCondition,
    Fork,
    GhostRef,
    GhostSource,
    GoLive,
    Goto,
    ReadRows,
    RemoveCondition,
    Resimulate,
    SceneHistory,
    Segment,
    SelectEnvironments,
    SetHistory,
    SetStopRules,
    ShowGhosts,
    StatesCompared,
    StepBack,
    StepForward,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.backend import Clock
    from stroboscope.debugger_protocol.host.host import Host
    from stroboscope.debugger_protocol.host.scene_link import SceneLink

__all__ = ["PAUSING", "TIME_WORDS", "TimeDesk"]

TIME_WORDS: dict[type[Command], str] = {
    Goto: "goto",
    StepBack: "step back",
    StepForward: "step forward",
    GoLive: "go live",
    SetHistory: "history",
    ContinueFromHere: "continue from here",
    Resimulate: "re-simulation",
    DropRollout: "drop rollout",
    DeriveNumber: "derive number",
    ShowGhosts: "ghosts",
    CompareStates: "compare",
    ReadRows: "reading rows",
    SetStopRules: "stop rules",
    BreakWhen: "break when",
    EditCondition: "condition",
    RemoveCondition: "remove condition",
    SelectEnvironments: "environments",
    Fork: "fork",
    **RECORDING_WORDS,
}
"""The commands that a :class:`TimeDesk` performs, and what they are called."""

PAUSING = (Goto, StepBack)
"""These pause a scene that runs."""

_TOLD_SEGMENTS: Final = 128


class TimeDesk:
    """The past of one scene as clients see it; owner thread only.

    ``history`` is what clients are told of it (None: nothing yet), replaced by reference: any
    thread may read it. What goes with it, for clients too, has desks of its own.
    """

    def __init__(self, link: "SceneLink", host: "Host") -> None:
        self.view: int | None = None
        """The axis that is looked at; None: live. Any thread may read it."""
        self.history: SceneHistory | None = None
        self.segments: tuple[Segment, ...] = ()
        """All that are remembered; ``history`` tells the newest."""
        self.ghosts = Ghosts(self, link.scene_id)
        self.stops = StopDesk(link, host)
        self.recording = RecordingDesk(link.scene_id)
        self.notes = NoteDesk(link.scene_id)
        self.rollouts = RolloutDesk(link, host)
        self.environments = EnvironmentDesk(link)
        self.works = Works(link)
        self._link = link
        self._host = host
        self._known: TimeMachine | None = None
        self._shown: int | None = None
        self._shown_clock: Clock | None = None
        self._note = ""
        self._looking: list[Ticket] = []
        self._state: HistoryState | None = None
        self._back = self._left_for_edits = 0
        self._asks_play = self._asks_loop = False

    # --- what there is

    def machine(self) -> TimeMachine:
        """Return what remembers this scene; CommandError when its engine doesn't."""
        machine = self._link.backend.time_machine()
        if machine is None:
            raise CommandError(
                f"{self._link.name!r} remembers nothing: its engine keeps no history, so it can't "
                "go back, branch, or stop on conditions; checkpoints may do"
            )
        if machine is not self._known:
            machine.keeper = self._host.keeper
            self._known = machine
        return machine

    @property
    def is_away(self) -> bool:
        """Whether the view stands in the past, or something is re-simulated."""
        return self.view is not None or self.works.hold_the_scene

    @property
    def wants_look(self) -> bool:
        """Whether what is looked at has to be published, or somebody waits for that. Lock held."""
        if self._looking:
            return True
        return self.view is not None and self._link.publisher.has_stale_past()

    def refresh(self) -> None:
        """Note what the scene remembers; costs little, for ten times a second."""
        try:
            self._link.changes.editor.checkpoints.refresh()
            machine = self._link.backend.time_machine()
            if machine is not None:
                self._refresh(machine)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            self._link.report_failure(f"reading the history failed: {error!r}")

    def refresh_recordings(self) -> None:
        """Note what records the scene; for any thread, while nobody is attached."""
        try:
            machine = self._link.backend.time_machine()
            if machine is not None:
                self.recording.refresh(machine)
        except Exception as error:  # noqa: BLE001 - others are told the rest
            self._link.report_failure(f"reading what is recorded failed: {error!r}")

    def _refresh(self, machine: TimeMachine) -> None:
        state = machine.history()
        if self.view is not None and self._state is not state:
            self._back = machine.steps_between(self.view, state.live)
        self._state, self.segments = state, state.segments
        history = self._history_message(state)
        if history != self.history:
            self.history = history
        self.rollouts.refresh(machine)
        self.stops.refresh(machine)
        self.recording.refresh(machine)
        self.environments.refresh(machine)

    def _history_message(self, state: HistoryState) -> SceneHistory:
        clock = self._shown_clock if self.view is not None else None
        busy, progress = self.works.progress
        return SceneHistory(
            scene_id=self._link.scene_id,
            keeps=state.keeps,
            first=state.first,
            dense=state.dense,
            rows=state.rows,
            used_bytes=state.used_bytes,
            max_bytes=state.max_bytes,
            segments=state.segments[-_TOLD_SEGMENTS:],
            older_segments=max(0, len(state.segments) - _TOLD_SEGMENTS),
            view=self.view,
            view_back=self._back if self.view is not None else 0,
            view_time=clock.time if clock is not None else 0.0,
            view_step=clock.step_count if clock is not None else 0,
            view_note=self._note if self.view is not None else "",
            busy=busy,
            progress=progress,
            script_state=state.script_state,
            recording=state.recording,
            recording_end=state.recording_end,
            left_for_edits=self._left_for_edits,
            invalid=self.stops.invalid_at(
                state.live if self.view is None else self.view,
                state.segments,
                is_executed=self.view is not None,
            ),
            asks_play=self._asks_play,
            asks_loop=self._asks_loop,
        )

    def ask_to_play(self, *, loop: bool) -> None:
        """Have the client that controls move the view on from the oldest row, once or for ever."""
        self._asks_play, self._asks_loop = True, loop
        self.refresh()
        self._link.tell_news()

    # --- commands

    def run(self, ticket: Ticket, command: Command, older: tuple[Ticket, ...] = ()) -> None:
        """Do what a client asks for, and answer ``ticket`` when that is done.

        Who has asked for an ``older`` one, which nobody has come to, is answered as it is.
        """
        link = self._link
        failure: CommandError | None = None
        try:
            is_done = self._perform(ticket, command)
        except CommandError as error:
            failure = error
        except Exception as error:  # told to whoever asked
            if is_of_handler(error):
                raise
            failure = CommandError(f"{ticket.what} of {link.name!r} failed: {error!r}")
        else:
            if not is_done:
                self._looking += older
                link.refresh_flags()
                return
            self.refresh()
        for each in (*older, ticket):
            link.answer(each, failure)
        link.refresh_flags()

    def _perform(self, ticket: Ticket, command: Command) -> bool:
        """Return whether it is done; else it is answered later. Raises CommandError."""
        if isinstance(command, GoLive):
            self._asks_play = self._asks_loop = False
            self.go_live("the view went live")
            return True
        machine = self.machine()
        match command:
            case Goto() | StepBack() | StepForward():
                self._asks_play = self._asks_loop = False  # it has moved
                self._look(self._target(machine, command, ticket), ticket)
                return False
            case ContinueFromHere():
                return self._continue(machine, ticket, with_script=command.with_script)
            case Resimulate():
                self.works.add(self.rollouts.resimulate(machine, ticket, command, view=self.view))
                return False
            case ReadRows():
                steps = self._read(machine, ticket, command)
                self.works.add(Work(ticket, steps))
                return False
            case CompareStates():
                self._compare(machine, ticket, command)
            case SetHistory():
                self.go_live("the history was set")
                machine.set_history(keep=command.keep, max_bytes=command.max_bytes)
            case DeriveNumber():
                self.rollouts.derive(machine, command)
            case DropRollout():
                self.rollouts.drop(machine, command)
            case ShowGhosts():
                self.ghosts.show(command.ghosts, time=self._time_in_view())
                self._link.selection_changed()
            case SelectEnvironments():
                self.environments.select(machine, command)
            case Fork():
                self.environments.fork(machine, command)
            case StartRecording() | StopRecording() | SaveHistory():
                ticket.note = self.recording.perform(machine, command)
            case _:
                self._stops(machine, ticket, command)
        return True

    def _stops(self, machine: TimeMachine, ticket: Ticket, command: Command) -> None:
        match command:
            case SetStopRules():
                self.stops.set_rules(machine, command)
            case BreakWhen():
                ticket.value = self.stops.break_when(machine, command)
                ticket.note = self.stops.noted(machine, ticket.value)
            case EditCondition():
                self.stops.edit_condition(machine, command)
                ticket.note = self.stops.noted(machine, command.condition_id)
            case RemoveCondition():
                self.stops.remove_condition(machine, command)

    # --- looking

    def _target(self, machine: TimeMachine, command: Command, ticket: Ticket) -> int:
        state = machine.history()
        if not state.rows:
            why = "no step was taken yet" if state.keeps else "its history is switched off"
            raise CommandError(f"nothing of {self._link.name!r} is remembered: {why}")
        near = state.live if self.view is None else self.view
        match command:
            case StepBack(count=count, physics=physics):
                axis = machine.steps_away(near, -step_count(count), physics=physics)
            case StepForward(count=count, physics=physics):
                axis = machine.steps_away(near, step_count(count), physics=physics)
            case Goto(axis=int(wanted)):
                _only(command, "axis")
                axis = machine.recorded_at(wanted)
                if axis != wanted:
                    ticket.note = (
                        f"row {wanted} was not recorded: row {axis}, before it, is in view"
                    )
            case Goto():
                _only(command, "step", "time", "episode")
                axis = machine.find(
                    step=command.step, time=command.time, episode=command.episode, near=near
                )
            case _:  # pragma: no cover - the caller has matched
                raise CommandError(f"{command!r} moves no view")
        if axis < state.first:
            raise CommandError(
                f"row {axis} is not remembered any more: rows from {state.first} to "
                f"{state.live - 1} are"
            )
        return min(axis, state.live)

    def _look(self, axis: int, ticket: Ticket) -> None:
        """Move the view; the picture follows when nothing else waits: only the newest is made."""
        link = self._link
        live = self.machine().history().live
        if axis != live:
            with link.playback_lock:
                if link.follow and link.is_released():
                    raise CommandError(f"{link.name!r} was released meanwhile: pause it first")
        self.works.check_may_look()
        self.view = None if axis == live else axis
        link.publisher.past_changed()
        self._looking.append(ticket)

    def look(self) -> None:
        """Publish what is looked at, and answer who has asked for it."""
        link = self._link
        waiting, self._looking = self._looking, []
        error: CommandError | None = None
        try:
            self._publish()
        except CommandError as raised:
            error = raised
        except BaseException as raised:  # told to whoever asked
            if goes_to_script(raised):
                self._looking = waiting  # they are told why nothing comes of it
                raise
            error = CommandError(f"looking at row {self.view} failed: {raised!r}")
        if error is not None:
            # Nothing has changed; if that can't be shown any more either, live can.
            self._stay_at(self._shown if waiting else None)
            if not waiting:
                link.report_failure(f"the past can't be shown any more: {error}")
        self._shown = self.view
        self.refresh()
        for ticket in waiting:
            link.answer(ticket, error)
        link.refresh_flags()

    def _stay_at(self, view: int | None) -> None:
        self.view = view
        if view is None:
            self._link.publisher.leave_past()

    def _publish(self) -> None:
        link, machine = self._link, self.machine()
        publisher = link.publisher
        if self.view is None:
            publisher.leave_past()
            return
        topics = publisher.stale_past()
        past = machine.look_at(self.view, topics)
        self._shown_clock, self._note = past.clock, past.note
        self.view = past.clock.axis  # the nearest that the engine can show
        self._back = machine.steps_between(self.view, machine.history().live)
        publisher.publish_past(topics, past.frames, clock=past.clock)

    def go_live_for_edit(self) -> None:
        """Look at the state that the scene stands at, which is about to be edited."""
        self._left_for_edits += self.view is not None
        self.go_live("the scene is edited")

    def go_live(self, reason: str) -> None:
        """Look at the state that the scene stands at, and end what is re-simulated beside it."""
        link = self._link
        link.live_wanted = ""
        self.works.end(reason)
        if self.view is not None:
            self.view = self._shown = self._shown_clock = None
            link.publisher.leave_past()
        self.refresh()
        link.refresh_flags()

    def state_in_view(self) -> "tuple[Clock, bytes] | None":
        """Return where the row in view is, and its complete state; None while the view is live."""
        if self.view is None or self._shown_clock is None:
            return None
        return self._shown_clock, self.machine().state_at(self.view)

    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        """Return where a ghost is at ``time`` [s]; what is fixed has its own time."""
        link = self._link
        if ghost.source is GhostSource.CHECKPOINT or ghost.scene_id in (0, link.scene_id):
            return self.machine().ghost_pose(ghost, time=time)
        # Rows and rollouts are where their scene is.
        other = self._host.find_scene(ghost.scene_id)
        if other.owner is not link.owner:
            raise CommandError(
                f"what {other.name!r} remembers can't be shown here: it belongs to the thread "
                f"{other.owner.thread.name}; a checkpoint of it can"
            )
        return other.past.machine().ghost_pose(ghost, time=time)

    def _time_in_view(self) -> float:
        if self.view is not None and self._shown_clock is not None:
            return self._shown_clock.time
        return self._link.backend.clock().time

    # --- branches and re-simulation

    def _continue(self, machine: TimeMachine, ticket: Ticket, *, with_script: bool) -> bool:
        axis, clock = self.view, self._shown_clock
        if axis is None or clock is None:
            axis, clock = self._recorded_end(machine, with_script=with_script)
        self.works.check_may_look()
        where = f"step {clock.step_count}, {clock.time:.6g} s"
        before = self._link.backend.capture_initial()
        if with_script:
            segment = machine.continue_from(axis)
            ticket.value = segment.segment_id
            text = f": {segment.text}" if segment.text else ""
            self._moved(ticket, f"continued from {where}{text}", before)
            return False

        def finish() -> bool:
            segments = machine.history().segments
            ticket.value = segments[-1].segment_id if segments else None
            self._moved(ticket, f"re-simulated from {where} with its recorded inputs", before)
            return False

        steps = machine.replay_from(axis)
        title = f"re-simulating from {where}"
        self.works.add(Work(ticket, steps, finish=finish, title=title, moves=True))
        return False

    def _recorded_end(self, machine: TimeMachine, *, with_script: bool) -> "tuple[int, Clock]":
        """Return where the scene stands, at the last frame of a file: that, too, was recorded."""
        state = machine.history()
        if not state.is_at_recorded_end:
            raise CommandError(
                "the view is live: look at a row of the past first, then continue from there"
            )
        if not with_script:
            raise CommandError(
                f"this is the last frame of {state.recording}: no recorded inputs lead on from it; "
                "look at an earlier frame first, or continue without them"
            )
        return state.live, self._link.backend.clock()

    def _moved(self, ticket: Ticket, reason: str, before: bytes) -> None:
        """Answer a command that has put the scene somewhere else."""
        changes = self._link.changes
        self.go_live(reason)
        changes.editor.record_replacement(reason, before)
        changes.replaced_by_client(ticket, reason)

    # --- comparing and reading

    def _compare(self, machine: TimeMachine, ticket: Ticket, command: CompareStates) -> None:
        compared = machine.compare(command.first, command.second, tolerance=command.tolerance)

        def told(id: int) -> Iterator[StatesCompared]:
            yield msgspec.structs.replace(compared, id=id, scene_id=command.scene_id)

        ticket.tell(told)

    def _read(self, machine: TimeMachine, ticket: Ticket, command: ReadRows) -> Iterator[float]:
        rollout_id = command.rollout_id
        if rollout_id:
            last = self.rollouts.find(machine, rollout_id).steps
        else:
            last = machine.history().live - 1
        return rows_of(partial(machine.read_rows, rollout_id), ticket, command, last=last)

    # --- the end

    def give_up(self, error: BaseException) -> None:
        """Answer whoever waits: the script goes on, or ends, with an exception."""
        waiting, self._looking = self._looking, []
        if waiting:
            self._stay_at(self._shown)
            self._link.publisher.past_changed()
        for ticket in waiting:
            self._link.answer(ticket, interrupted(ticket, error))
        self.works.give_up(error)

    def forget(self, reason: str) -> None:
        """Answer whoever waits: the scene ends, or is let go. Any thread, lock held."""
        error = CommandError(f"given up: {reason}")
        for ticket in tuple(self._looking):
            ticket.settle(error)
        self.works.forget(error)

    def forget_parent(self) -> None:
        """In a forked child: nobody looks back, and nothing is asked for."""
        self.view = self._shown = self._shown_clock = None
        self._looking = []
        self.works = Works(self._link)
        self._link.live_wanted, self._link.has_works = "", False
        self._link.publisher.leave_past()

    def model_replaced(self) -> None:
        """Forget what is of the model that is gone."""
        self.ghosts.clear()
        self.go_live("the model was replaced")


def _only(command: Goto, *allowed: str) -> None:
    """Refuse a Goto that says more, or less, than one thing."""
    given = [name for name in ("axis", "step", "time") if getattr(command, name) is not None]
    alone = not given and command.episode is not None and "episode" in allowed
    within = len(given) == 1 and given[0] in allowed
    if (not alone and not within) or (given == ["axis"] and command.episode is not None):
        said = [*given, *(["episode"] if command.episode is not None else [])]
        raise CommandError(
            "goto needs one of axis, step and time (step and time within an episode, if you like), "
            f"or an episode alone; got {', '.join(said) or 'nothing'}"
        )
