"""How a client looks at the past of scenes, branches them, and has them stop."""

import abc
import contextlib
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client_edits import EditingClient
from stroboscope.debugger_protocol.edit_words import WhatIfEdits, what_ifs
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.note_messages import SceneNotes
from stroboscope.debugger_protocol.told_segments import join_histories
from stroboscope.debugger_protocol.trials import trial_span

__all__ = ["TimeClient"]


class TimeClient(EditingClient):
    """The part of a client that travels in time. Methods may be called from any thread."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._histories: dict[int, tm.SceneHistory] = {}
        self._rollouts: dict[int, tm.SceneRollouts] = {}
        self._stops: dict[int, tm.SceneStops] = {}
        self._conditions: dict[int, tm.SceneConditions] = {}
        self._environments: dict[int, tm.Environments] = {}
        self._ghosts: dict[int, tuple[tm.GhostRef, ...]] = {}
        self._notes: dict[int, SceneNotes] = {}
        # What comes before an answer, for the one command at a time that wants it.
        self._collecting = threading.Lock()
        self._pieces: list[tm.Rows | tm.StatesCompared] = []

    @abc.abstractmethod
    def _axis(self, scene_id: int) -> int:
        """Return how many physics steps a scene has taken, as last told."""

    # --- the end

    def hold_at_end(self, hold: bool = True) -> None:
        """When the script is over, hold the scene that its main thread has stepped last."""
        self._command(wire.HoldAtEnd, hold=hold)

    # --- looking

    def goto(
        self,
        scene_id: int,
        *,
        step: int | None = None,
        time: float | None = None,
        episode: int | None = None,
        axis: int | None = None,
    ) -> None:
        """Look at a physics step, a time [s], or the beginning of an episode; pauses the scene.

        ``step`` and ``time`` count within ``episode`` when that is given; without it steps count
        from the very first, as ``axis`` does. Where that is beyond what was stepped, live.
        """
        self._command(
            tm.Goto,
            scene_id=scene_id,
            step=step,
            time=None if time is None else float(time),
            episode=episode,
            axis=axis,
        )

    def step_back(self, scene_id: int, count: int = 1, *, physics: bool = False) -> None:
        """Look ``count`` application (``physics``: physics) steps back; pauses the scene."""
        self._command(tm.StepBack, scene_id=scene_id, count=count, physics=physics)

    def step_forward(self, scene_id: int, count: int = 1, *, physics: bool = False) -> None:
        """Look so many steps forward, to the live state at most."""
        self._command(tm.StepForward, scene_id=scene_id, count=count, physics=physics)

    def go_live(self, scene_id: int) -> None:
        """Look at where the scene stands; ends what is being re-simulated."""
        self._command(tm.GoLive, scene_id=scene_id)

    def history(self, scene_id: int) -> tm.SceneHistory | None:
        """Return what a scene remembers and where the view stands, as last told; None: nothing."""
        with self._changed:
            return self._histories.get(scene_id)

    def set_history(self, scene_id: int, *, keep: bool, max_bytes: int | None = None) -> None:
        """Keep the past of a scene, in at most so many bytes, or forget it."""
        self._command(tm.SetHistory, scene_id=scene_id, keep=keep, max_bytes=max_bytes)

    # --- branches

    def continue_from_here(self, scene_id: int, *, with_script: bool = True) -> tm.Segment:
        """Move the scene to the row in view and return the branch that begins there.

        With ``with_script`` False the recorded inputs are simulated again up to where the scene
        stood, and the script goes on after that.
        """
        branch = self._command(tm.ContinueFromHere, scene_id=scene_id, with_script=with_script)
        history = self.history(scene_id)
        for segment in history.segments if history is not None else ():
            if segment.segment_id == branch:
                return segment
        raise CommandError(f"the scene has continued, but branch {branch} was not told")

    def branches(self, scene_id: int) -> tuple[tm.Segment, ...]:
        """Return where a scene has continued from its past, oldest first, as last told."""
        history = self.history(scene_id)
        segments = history.segments if history is not None else ()
        return tuple(each for each in segments if each.kind is tm.SegmentKind.BRANCH)

    def resimulate(
        self,
        scene_id: int,
        *,
        axis: int | None = None,
        steps: int = 0,
        edits: WhatIfEdits = (),
        name: str = "",
    ) -> int:
        """Simulate recorded inputs again beside the scene, with edits; return the rollout's id.

        From the row in view, or ``axis``, for so many physics steps; 0: to the segment's end.
        ``edits`` say by name what is different, a number or several, SI units and radians:

            client.resimulate(scene_id, axis=118, edits={
                "option.timestep": 0.001,  # an option of the description, its choices by name
                "integrator": "implicitfast",
                "disable.contact": "on",
                "kp.wrist": 50,  # kp or kv of a servo, whose target stays
                "kp": 80,  # of all servos
                "kv.*hip*": "x1.5",  # of those whose names match: times their own
                "actuator_gainprm.wrist": [100, 0, 0],  # a field of mujoco.MjModel, from the
                "dof_damping.elbow": 1.0,  # first number of that actuator, joint, geom … on
                "geom_solref[4]": 0.01,  # or from an index on, counted flat
                "ctrl.wrist": 0.3,  # a control, held at that all the way
                "qfrc_applied.elbow": 2.0,  # added to the force that was recorded [N, N·m]
            })

        Texts as ``stroboscope ctl`` takes them (``["ctrl.wrist=0.3"]``) and
        :class:`~stroboscope.debugger_protocol.time_messages.WhatIf` do as well. Raises CommandError
        for names and values that there are not, saying which there are.
        """
        return self._made(
            tm.Resimulate,
            scene_id=scene_id,
            axis=axis,
            steps=steps,
            edits=what_ifs(edits, description=lambda: self.description(scene_id)),
            name=name,
        )

    def try_offer(
        self,
        scene_id: int,
        offer: int | str = 1,
        *,
        stop_id: int | None = None,
        steps: int = 0,
    ) -> tm.RolloutInfo:
        """Try what a stop offers, as a window does; return the rollout, which says what came of it.

        What led to the stop (the newest, or ``stop_id``) is simulated once more beside the scene,
        with the edits of ``offer``: its place in ``StopInfo.what_if``, counted from 1, or its
        label. It begins with the row in view, where that is before the stop, else half a second
        before it; ``steps`` physics steps, 0: as far as was recorded, and at least half a second
        behind the stop. Beyond what was recorded the last inputs are held. Ghosts of the scene show
        it where there is room for one more. ``outcome`` is "ended" when MuJoCo had nothing to warn
        of; conditions are not looked at.
        """
        stop = self.stop_with_offers(scene_id, stop_id)
        label, edits = _offer_of(stop, offer)
        history = self.history(scene_id)
        span = None
        if history is not None:
            span = trial_span(
                stop,
                first=history.first,
                view=history.view,
                segments=history.segments,
                live=max(self._axis(scene_id), history.recording_end),
                timestep=self.description(scene_id).timestep,
            )
        if span is None:
            raise CommandError(
                f"nothing from before stop {stop.stop_id} is kept in the history, so that it can't "
                "be simulated again"
            )
        self._look_at(scene_id, stop.env)
        begin, as_usual = span
        made = self.resimulate(
            scene_id, axis=begin, steps=steps or as_usual, edits=edits, name=label
        )
        ghost = tm.GhostRef(source=tm.GhostSource.ROLLOUT, number=made, scene_id=scene_id)
        with contextlib.suppress(CommandError):  # there are as many as can be shown
            self.show_ghosts(scene_id, (*self.ghosts(scene_id), ghost))
        for info in self.rollouts(scene_id):
            if info.rollout_id == made:
                return info
        raise CommandError(f"rollout {made} was made, and is gone already: there was no room")

    def stop_with_offers(self, scene_id: int, stop_id: int | None = None) -> tm.StopInfo:
        """Return the newest stop of a scene, or another; CommandError where it offers nothing."""
        stops = self.stops(scene_id)
        if not stops:
            raise CommandError("nothing has stopped this scene, so that there is nothing to try")
        chosen = stops[-1]
        if stop_id is not None:
            found = [stop for stop in stops if stop.stop_id == stop_id]
            if not found:
                known = ", ".join(str(stop.stop_id) for stop in stops[-10:])
                raise CommandError(f"there is no stop {stop_id}; the newest are {known}")
            chosen = found[0]
        if not chosen.what_if:
            others = ", ".join(str(stop.stop_id) for stop in stops if stop.what_if)
            raise CommandError(
                f"stop {chosen.stop_id} offers nothing to try"
                f"{f'; these do: {others}' if others else ''}"
            )
        return chosen

    def _look_at(self, scene_id: int, env: int) -> None:
        """Select an environment that something is about; -1: none."""
        told = self.environments(scene_id)
        if told is not None and 0 <= env < told.count and env != told.selected:
            self.select_environments(scene_id, env, told.shown if env in told.shown else ())

    # --- checkpoints

    def checkpoint(self, scene_id: int, name: str, *, note: str = "") -> int:
        """Keep the state that is looked at under a name; return the checkpoint's id."""
        return self._made(wire.SaveCheckpoint, scene_id=scene_id, name=name, note=note)

    def label_checkpoint(
        self,
        scene_id: int,
        checkpoint_id: int | str,
        *,
        name: str | None = None,
        note: str | None = None,
    ) -> None:
        """Give a checkpoint, known by id or name, another name, another note, or both."""
        self._command(
            wire.LabelCheckpoint,
            scene_id=scene_id,
            checkpoint_id=self.find_checkpoint(scene_id, checkpoint_id),
            name=name,
            note=note,
        )

    def restore(
        self, scene_id: int, checkpoint_id: int | str, *, source_scene_id: int | None = None
    ) -> None:
        """Put a scene back to a checkpoint, which may be another scene's; by id or name.

        Of several with that name the newest; CommandError, with the names that there are, for
        another.
        """
        keeper = scene_id if source_scene_id is None else source_scene_id
        self._command(
            wire.RestoreCheckpoint,
            scene_id=scene_id,
            checkpoint_id=self.find_checkpoint(keeper, checkpoint_id),
            source_scene_id=source_scene_id,
        )

    # --- rollouts, ghosts, comparing

    def rollouts(self, scene_id: int = 0) -> tuple[tm.RolloutInfo, ...]:
        """Return the rollouts of a scene, oldest first; of 0: the scenes that have ended."""
        with self._changed:
            told = self._rollouts.get(scene_id)
            return told.rollouts if told is not None else ()

    def drop_rollout(self, scene_id: int, rollout_id: int) -> None:
        """Forget a rollout."""
        self._command(tm.DropRollout, scene_id=scene_id, rollout_id=rollout_id)

    def derive_number(
        self,
        scene_id: int,
        expression: str,
        *,
        reduction: tm.Reduction | str = tm.Reduction.MAX,
        name: str = "",
        rollout_ids: Iterable[int] = (),
    ) -> None:
        """Compute a number of rollouts (none: of all), in the background; see ``rollouts``.

        ``scene_id`` 0: of scenes that have ended. ``reduction``: max, min, mean or last.
        """
        self._command(
            tm.DeriveNumber,
            scene_id=scene_id,
            expression=expression,
            reduction=tm.Reduction(reduction),
            name=name,
            rollout_ids=tuple(rollout_ids),
        )

    def show_ghosts(self, scene_id: int, ghosts: Iterable[tm.GhostRef]) -> None:
        """Show these, and no others, in the topic ``ghosts`` of a scene, which windows draw."""
        self._command(tm.ShowGhosts, scene_id=scene_id, ghosts=tuple(ghosts))

    def ghosts(self, scene_id: int) -> tuple[tm.GhostRef, ...]:
        """Return what the topic ``ghosts`` of a scene shows, in the order of its numbers."""
        with self._changed:
            return self._ghosts.get(scene_id, ())

    def compare(
        self, scene_id: int, first: tm.GhostRef, second: tm.GhostRef, *, tolerance: float = 0.0
    ) -> tm.StatesCompared:
        """Compare two states or rollouts of a scene's model, most different values first."""
        pieces = self._collect(
            tm.CompareStates,
            scene_id=scene_id,
            first=first,
            second=second,
            tolerance=float(tolerance),
        )
        for piece in pieces:
            if isinstance(piece, tm.StatesCompared):
                return piece
        raise CommandError("the server has compared, but told no result")

    def read_rows(
        self,
        scene_id: int,
        channels: Sequence[str],
        *,
        rollout_id: int = 0,
        first: int = 0,
        last: int | None = None,
        max_rows: int = 20_000,
    ) -> dict[str, NDArray[Any]]:
        """Read channels of the history, or of a rollout: ``axis`` (n,), ``time`` (n,) [s], and
        each channel (n, width) under its name.
        """
        pieces = self._collect(
            tm.ReadRows,
            scene_id=scene_id,
            channels=tuple(channels),
            rollout_id=rollout_id,
            first=first,
            last=last,
            max_rows=max_rows,
        )
        return _joined([piece for piece in pieces if isinstance(piece, tm.Rows)], channels)

    def notes(self, scene_id: int) -> SceneNotes:
        """Return what a recorded run says of its steps: texts, warnings, named checkpoints.

        Of many some are left out, and counted by others. Of a scene that runs there are none.
        """
        with self._changed:
            return self._notes.get(scene_id, SceneNotes(scene_id=scene_id))

    # --- stops and conditions

    def stops(self, scene_id: int) -> tuple[tm.StopInfo, ...]:
        """Return the newest stops of a scene, oldest first, as last told."""
        return self.stop_rules(scene_id).stops

    def stop_rules(self, scene_id: int) -> tm.SceneStops:
        """Return the stops of a scene with their number and rules, as last told."""
        with self._changed:
            return self._stops.get(scene_id, tm.SceneStops(scene_id=scene_id, stops=()))

    def set_stop_rules(
        self,
        scene_id: int,
        *,
        off: Iterable[tm.StopReason | str] = (),
        stop_all: bool = False,
        mark_only: bool = False,
    ) -> None:
        """Switch these rules off and all others on; say what a stop does."""
        self._command(
            tm.SetStopRules,
            scene_id=scene_id,
            off=tuple(tm.StopReason(rule) for rule in off),
            stop_all=stop_all,
            mark_only=mark_only,
        )

    def break_when(
        self,
        scene_id: int,
        expression: str,
        *,
        name: str = "",
        hits: int = 1,
        once: bool = False,
        log_only: bool = False,
        envs_idx: Iterable[int] = (),
    ) -> int:
        """Stop a scene when an expression becomes true; return the condition's id.

        ``envs_idx``: the environments to look at it in, 64 at most; empty: wherever it can be.
        """
        return self._made(
            tm.BreakWhen,
            scene_id=scene_id,
            expression=expression,
            name=name,
            hits=hits,
            once=once,
            log_only=log_only,
            envs_idx=tuple(envs_idx),
        )

    def conditions(self, scene_id: int) -> tuple[tm.ConditionInfo, ...]:
        """Return the conditions of a scene, oldest first, as last told."""
        with self._changed:
            told = self._conditions.get(scene_id)
            return told.conditions if told is not None else ()

    def edit_condition(
        self, condition_id: int, *, scene_id: int | None = None, **changes: Any
    ) -> None:
        """Change ``expression``, ``enabled``, ``hits``, ``once`` or ``log_only`` of a condition."""
        scene_id = self._scene_of_condition(condition_id, scene_id)
        fields = {"scene_id": scene_id, "condition_id": condition_id, **changes}
        self._command(tm.EditCondition, **fields)

    def remove_condition(self, condition_id: int, *, scene_id: int | None = None) -> None:
        """Forget a condition; ``scene_id`` where several scenes have one of that id."""
        scene_id = self._scene_of_condition(condition_id, scene_id)
        self._command(tm.RemoveCondition, scene_id=scene_id, condition_id=condition_id)

    def _scene_of_condition(self, condition_id: int, scene_id: int | None) -> int:
        if scene_id is not None:
            return scene_id
        with self._changed:
            found = [
                told.scene_id
                for told in self._conditions.values()
                if any(each.condition_id == condition_id for each in told.conditions)
            ]
        if len(found) != 1:
            where = f"scenes {', '.join(map(str, found))} have one" if found else "there is none"
            raise CommandError(f"which condition {condition_id}? {where}; give its scene_id")
        return found[0]

    # --- environments

    def environments(self, scene_id: int) -> tm.Environments | None:
        """Return which environments a scene has and which are shown, as last told."""
        with self._changed:
            return self._environments.get(scene_id)

    def select_environments(self, scene_id: int, selected: int, shown: Iterable[int] = ()) -> None:
        """Look at one environment, and show these in a grid."""
        self._command(
            tm.SelectEnvironments, scene_id=scene_id, selected=selected, shown=tuple(shown)
        )

    def fork(self, scene_id: int, source: int, targets: Iterable[int]) -> None:
        """Copy the state of one environment to others."""
        self._command(tm.Fork, scene_id=scene_id, source=source, targets=tuple(targets))

    # --- inside

    def _made(self, kind: type[wire.Command], /, **fields: Any) -> int:
        value = self._command(kind, **fields)
        if value is None:
            raise CommandError("the server has done it, but told no id")
        return value

    def _collect(
        self, kind: type[wire.Command], /, **fields: Any
    ) -> list[tm.Rows | tm.StatesCompared]:
        """Send a command and return what came before its answer."""
        with self._collecting:
            with self._changed:
                self._pieces = []
            try:
                done = self._done(kind, **fields)
                with self._changed:
                    return [piece for piece in self._pieces if piece.id == done.id]
            finally:
                with self._changed:
                    self._pieces = []

    def _take_time_news(self, message: Any) -> bool:
        """Take what is about time, with the lock held; return whether it was."""
        match message:
            case tm.SceneHistory(scene_id=scene_id):
                before = self._histories.get(scene_id)
                # Older segments are told once.
                self._histories[scene_id] = join_histories(before, message) if before else message
            case tm.SceneRollouts(scene_id=scene_id):
                self._rollouts[scene_id] = message
            case tm.SceneStops(scene_id=scene_id):
                self._stops[scene_id] = message
            case tm.SceneConditions(scene_id=scene_id):
                self._conditions[scene_id] = message
            case tm.Environments(scene_id=scene_id):
                self._environments[scene_id] = message
            case tm.SceneGhosts(scene_id=scene_id):
                self._ghosts[scene_id] = message.ghosts
            case SceneNotes(scene_id=scene_id):
                self._notes[scene_id] = message
            case tm.Rows() | tm.StatesCompared():
                if self._collecting.locked():
                    self._pieces.append(message)
            case _:
                return False
        return True

    def _forget_time(self, scene_id: int) -> None:
        tables: tuple[dict[int, Any], ...] = (
            self._histories,
            self._rollouts,
            self._stops,
            self._conditions,
            self._environments,
            self._ghosts,
            self._notes,
        )
        for table in tables:
            table.pop(scene_id, None)


def _offer_of(stop: tm.StopInfo, offer: int | str) -> tuple[str, tuple[tm.WhatIf, ...]]:
    """Return label and edits of an offer, by its place from 1 on or its label; CommandError."""
    labels = [label for label, _ in stop.what_if]
    if isinstance(offer, str):
        if offer in labels:
            return stop.what_if[labels.index(offer)]
    elif 1 <= offer <= len(labels):
        return stop.what_if[offer - 1]
    known = ", ".join(f"{at} ({label})" for at, label in enumerate(labels, 1))
    raise CommandError(f"stop {stop.stop_id} offers {known}, and no {offer!r}")


def _joined(pieces: Sequence[tm.Rows], channels: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the rows of all pieces as one array each."""
    axis, time, values = [], [], []
    widths = pieces[0].widths if pieces else (0,) * len(channels)
    for piece in pieces:
        n = piece.count
        axis.append(np.frombuffer(piece.blob, dtype="<i8", count=n))
        time.append(np.frombuffer(piece.blob, dtype="<f8", count=n, offset=8 * n))
        flat = np.frombuffer(piece.blob, dtype="<f8", offset=16 * n)
        values.append(flat.reshape(n, sum(piece.widths)))
    rows: dict[str, NDArray[Any]] = {
        "axis": np.concatenate(axis) if axis else np.zeros(0, dtype=np.int64),
        "time": np.concatenate(time) if time else np.zeros(0),
    }
    joined = np.concatenate(values) if values else np.zeros((0, sum(widths)))
    begin = 0
    for name, width in zip(channels, widths, strict=True):
        rows[name] = joined[:, begin : begin + width]
        begin += width
    return rows
