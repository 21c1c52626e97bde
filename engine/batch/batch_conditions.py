"""Conditions of a batched scene: in which environments they are looked at, and which came true.

What follows from rows, and what MuJoCo's batch copies out of every environment's step, is looked at
in every environment, all at once. Everything else (contacts, energies, what the script logs) needs
the data of a step: it is looked at in the environment that somebody looks at, or in those that are
named, whose steps are done once more for that.
"""

import functools
import logging
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopReason
from stroboscope.engine.batch.row_expressions import NotForRows, RowExpression
from stroboscope.engine.callbacks import Event
from stroboscope.engine.channel_readers import ARRAYS_AFTER, INPUTS
from stroboscope.engine.errors import SimulationStopped
from stroboscope.engine.limit_channels import JOINT_MARGIN, joints_named, margins_of
from stroboscope.engine.stops.already import already_text, is_true_now
from stroboscope.engine.stops.condition_words import condition_stop
from stroboscope.engine.stops.conditions import ConditionEntry, SceneConditions, check
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.watched import WatchedExpression, Watcher

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.batch.selected import SelectedEnvironment

__all__ = ["MOST_NAMED", "BatchConditions"]

_log = logging.getLogger(__name__)

Rows = NDArray[np.float64]
Places = NDArray[np.intp]

MOST_NAMED = 64
"""Of so many environments the steps are done once more, for conditions on what they compute."""
_SHOWN = 8
_POSES = ("xpos", "xquat", "xipos", "site_xpos", "geom_xpos")


class _Entry(ConditionEntry):
    """One condition; ``envs``: where it was asked to be looked at, None: wherever it can be.

    ``rows`` evaluates it in all of these at once, and ``was`` says where it was true; without it
    ``alone`` evaluates it in one environment each.
    """

    __slots__ = ("alone", "envs", "rows", "was", "watcher")

    def __init__(self, info: ConditionInfo, envs: Places | None, watcher: Watcher) -> None:
        super().__init__(info)
        self.envs = envs
        self.watcher = watcher
        check(info.expression, watcher)
        self.watched = self.compiled()
        self.rows: RowExpression | None = None
        self.was: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.alone: dict[int, tuple[WatchedExpression, bool]] = {}

    def compiled(self) -> WatchedExpression:
        """Return what evaluates it in one environment; CommandError when it is wrong."""
        return WatchedExpression(self.info.expression, self.watcher)


class BatchConditions(SceneConditions):
    """All conditions of one batched scene; owner thread only."""

    def __init__(self, scene: "BatchScene", selected: "SelectedEnvironment") -> None:
        super().__init__(selected)  # type: ignore[arg-type]
        self._batch = scene
        self._selected = selected
        self._envs = scene.environments
        self._active: list[_Entry] = []
        self._ends_at = np.full(self._envs.count, math.nan)
        self._readers: dict[str, Callable[[Rows, Places | None], Rows]] = {}

    # --- what there is

    def put(self, info: ConditionInfo, *, envs: Places | None = None) -> ConditionInfo:
        """Add a condition (id 0) or replace the one with its id; CommandError when it is wrong.

        ``envs``: where a new one is looked at. A changed expression begins to count anew.
        """
        known = self._entry(info.condition_id) if info.condition_id else None
        if known is not None and known.info.expression == info.expression:
            known.info = info
            self._changed()
            return info
        if isinstance(known, _Entry):
            envs = known.envs
        elif info.envs_idx:
            envs = np.array(info.envs_idx, dtype=np.intp)
        entry = _Entry(info, envs, self.watcher())
        entry.rows = self._of_all_at_once(entry)
        entry.was = np.zeros(self._envs.count if envs is None else len(envs), dtype=np.bool_)
        if entry.rows is None and envs is not None and len(envs) > MOST_NAMED:
            raise CommandError(
                "this condition needs the data of a step, which is done once more for every "
                f"environment that is named: name {MOST_NAMED} at most, not {len(envs)}"
            )
        if known is None:
            info = msgspec.structs.replace(info, condition_id=self._next_id)
            self._next_id += 1
        where = _where(envs, is_of_all=entry.rows is not None)
        entry.info = msgspec.structs.replace(info, hit_count=0, failure="", where=where)
        self._entries[info.condition_id] = entry
        self._changed()
        return entry.info

    def note_of(self, condition_id: int) -> str:
        """Return that a condition is true already where it is looked at, and where; or ""."""
        entry = self._entries.get(condition_id)
        if not isinstance(entry, _Entry) or not entry.info.enabled or entry.was.any():
            return ""
        env = self._selected.env
        if entry.envs is not None and env not in entry.envs:
            env = int(entry.envs[0])
        with self._selected.standing_for(env):
            self._selected.put(self._envs.state[env])
            scene: Any = self._selected
            if not is_true_now(scene, entry.info.expression, entry.watcher):
                return ""
        guards, where = self._batch.guards_detached, f" in environment {env}"
        return already_text(scene, entry.info, guards_detached=guards, where=where)

    def _changed(self) -> None:
        self._infos = None
        entries = self._entries.values()
        self._active = [e for e in entries if e.info.enabled and isinstance(e, _Entry)]
        self._selected.stops.conditions = self if self._active else None

    def _of_all_at_once(self, entry: _Entry) -> RowExpression | None:
        """Return what evaluates a condition in all environments at once; None: nothing can."""
        envs_data, text, envs = self._envs, entry.info.expression, entry.envs
        later = frozenset((*ARRAYS_AFTER, *_POSES)) & frozenset(envs_data.bindable())
        if "opt.integrator" in envs_data.expanded or envs_data.adapter.is_runge_kutta(
            envs_data.model
        ):
            later = frozenset()  # the arrays after such a step are no instant of the run
        known = {"time", JOINT_MARGIN, *INPUTS, *later}
        uses = entry.compiled().expression.channels
        if not uses or any(use.is_user or use.part or use.channel not in known for use in uses):
            return None
        count = envs_data.count if envs is None else len(envs)
        try:
            made = RowExpression(text, entry.watcher.scope.table, count=count)
        except NotForRows:
            return None
        for use in uses:
            if use.channel not in self._readers:
                self._readers[use.channel] = self._reader(use.channel)
        return made

    def _reader(self, channel: str) -> Callable[[Rows, Places | None], Rows]:
        """Return what reads a channel of chosen environments, (n, width), from rows or results."""
        envs = self._envs
        if channel == "time":
            return lambda rows, _: rows[:, :1]
        if channel in INPUTS:
            part = envs.layout.parts[channel]
            return lambda rows, _: rows[:, part]
        if channel == JOINT_MARGIN:
            return self._margins
        bound = envs.batch.bind(channel).reshape(envs.count, -1)
        return lambda _, chosen: bound if chosen is None else bound[chosen]

    def _margins(self, rows: Rows, chosen: Places | None) -> Rows:
        envs = self._envs
        joints, address = self._with_margins
        first = envs.layout.parts["qpos"].start
        limited, ranges = (
            self._own("jnt_limited", joints, chosen),
            self._own("jnt_range", joints, chosen),
        )
        return margins_of(rows[:, first + address], limited, ranges)

    @functools.cached_property
    def _with_margins(self) -> tuple[Places, Places]:
        """Return the joints of the channel of margins, and where the position of each begins."""
        names = self._selected.world.channels[JOINT_MARGIN].names
        joints = joints_named(names, self._envs.model, adapter=self._envs.adapter)
        return joints, np.asarray(self._envs.model.jnt_qposadr)[joints]

    def _own(self, field: str, joints: Places, chosen: Places | None) -> NDArray[Any]:
        """Return a field of some joints; of each environment where those have their own."""
        own = self._envs.expanded.get(field)
        if own is None:
            return np.asarray(getattr(self._envs.model, field))[joints]
        values: NDArray[Any] = (own if chosen is None else own[chosen])[:, joints]
        return values

    # --- after every physics step

    def begin_anew(self, envs: Places) -> None:
        """Note that states were replaced: what is true there became true there."""
        for entry in self._active:
            for env in envs.tolist() if entry.alone else ():
                entry.alone.pop(env, None)
            places = envs if entry.envs is None else np.flatnonzero(np.isin(entry.envs, envs))
            entry.was[places] = False
            if entry.rows is not None:
                entry.rows.forget(places)

    def look(self, before: Rows, absent: Places, *, is_counted: bool) -> SimulationStopped | None:
        """Look at the physics step that is complete and counted; ``before``: all rows before it.

        ``absent`` have not taken it. ``is_counted``: so is the application step. Returns what is to
        be raised when that is over; what callbacks raise is raised.
        """
        moved = before[:, 0] != self._ends_at
        if moved.any():
            self.begin_anew(np.flatnonzero(moved))
        np.copyto(self._ends_at, self._envs.time)
        counted = np.ones(self._envs.count, dtype=np.bool_)
        counted[absent] = False
        found: list[tuple[_Entry, Places]] = []
        for entry in self._active:
            if entry.rows is not None:
                found.append((entry, self._of_rows(entry, entry.rows, before, counted)))
        found += self._of_each(before, counted)
        raised: SimulationStopped | None = None
        for entry, envs in found:
            if len(envs):
                raised = self._hit_in(entry, envs, before, is_counted=is_counted) or raised
        return raised

    def _of_rows(
        self, entry: _Entry, rows: RowExpression, before: Rows, counted: NDArray[np.bool_]
    ) -> Places:
        """Return the environments in which a condition has just become true."""
        envs = entry.envs
        if envs is not None:
            before, counted = before[envs], counted[envs]
        values = rows.numbers(functools.partial(self._read, before, envs), counted)
        holds = (values != 0.0) & ~np.isnan(values)  # what is no number is not true
        places = np.flatnonzero(holds & ~entry.was & counted)
        np.copyto(entry.was, holds, where=counted)
        return places if envs is None else envs[places]

    def _read(self, rows: Rows, envs: Places | None, channel: str) -> Rows:
        return self._readers[channel](rows, envs)

    def _of_each(self, before: Rows, counted: NDArray[np.bool_]) -> list[tuple[_Entry, Places]]:
        """The same of those conditions that need the data of each environment's step."""
        found: list[tuple[_Entry, Places]] = []
        by_env: dict[int, list[_Entry]] = {}
        for entry in self._active:
            if entry.rows is None:
                looked_at = (self._selected.env,) if entry.envs is None else entry.envs.tolist()
                if entry.envs is None:
                    entry.alone = {e: w for e, w in entry.alone.items() if e in looked_at}
                for env in looked_at:
                    if counted[env]:
                        by_env.setdefault(env, []).append(entry)
        for env, entries in by_env.items():
            with self._selected.standing_for(env):
                self._step_again(before[env], entries)
                found += [(each, np.array([env])) for each in entries if self._rises(each, env)]
        return found

    def _rises(self, entry: _Entry, env: int) -> bool:
        watched, was = entry.alone.get(env, (None, False))
        if watched is None:
            watched = entry.compiled()
        value = watched.number(entry.watcher.values)
        holds = value != 0.0 and value == value
        entry.alone[env] = watched, holds
        return holds and not was

    def _step_again(self, row: Rows, entries: Sequence[_Entry]) -> None:
        """Do a step of the environment that is stood for: conditions can read its values then."""
        selected, adapter = self._selected, self._envs.adapter
        world = selected.world
        selected.put(row)
        if not adapter.is_runge_kutta(world.model):
            try:
                adapter.mj_step(world.model, world.live())
            except adapter.module.FatalError:
                adapter.free_stack(world.live())
        for entry in entries:
            entry.watcher.values.put_row(row, world.live())

    # --- what has come true

    def _hit_in(
        self, entry: _Entry, envs: Places, before: Rows, *, is_counted: bool
    ) -> SimulationStopped | None:
        """Count that a condition became true in some environments, and stop for the first."""
        counted_before = entry.info.hit_count
        info = msgspec.structs.replace(entry.info, hit_count=counted_before + len(envs))
        entry.info = info
        self._infos = None
        stops = self._selected.stops
        if info.hit_count < info.hits or StopReason.CONDITION in stops.off:
            return None
        envs = envs[max(0, info.hits - counted_before - 1) :]
        env = int(envs[0])
        counted = msgspec.structs.replace(info, hit_count=info.hit_count - len(envs) + 1)
        with self._selected.standing_for(env):
            self._step_again(before[env], (entry,))
            watched = self._explained(entry, env)
            stop = condition_stop(
                self._selected,  # type: ignore[arg-type]
                counted,
                watched,
                entry.watcher.values,
                is_counted=is_counted,
            )
        also = _numbers(envs[1:].tolist())
        message = f"environment {env}: {stop.message}" + (f"; so it did in {also}" if also else "")
        stop = msgspec.structs.replace(stop, env=env, message=message)
        if info.once:
            del self._entries[info.condition_id]
            self._changed()
        link = self._selected.link
        if info.log_only:
            if link.active:
                link.stop(msgspec.structs.replace(stop, held=False))
            else:
                _log.info("scene %r: %s", self._selected.name, stop.message)
            return None
        stops.last = StopEvent.of(stop)
        self._batch.recorders.stopped(stop)
        if link.active and link.past.stops.stop(stop, is_complete=True):
            self._batch.select_environment(env)
        self._batch.callbacks.run(Event.STOP, self._batch)  # type: ignore[arg-type]
        return stops.raised()

    def _explained(self, entry: _Entry, env: int) -> WatchedExpression:
        """Return the condition as one environment has it, with what it remembers."""
        if env in entry.alone:
            return entry.alone[env][0]
        watched = entry.compiled()
        place = env if entry.envs is None else int(np.flatnonzero(entry.envs == env)[0])
        kept = entry.rows.remembered if entry.rows is not None else ()
        for mine, theirs in zip(watched.expression.remembered, kept, strict=False):
            mine.value, mine.newest = theirs.of(place)
        return watched


def _where(envs: Places | None, *, is_of_all: bool) -> str:
    """Return in words where a condition is looked at."""
    if envs is not None:
        return f"in {_numbers(envs.tolist())}"
    return "in every environment" if is_of_all else "in the environment that is looked at"


def _numbers(envs: Sequence[int]) -> str:
    """Return "environment 3", "environments 3, 5 and 7", "environments 0, …, 7 and 56 more"."""
    if not envs:
        return ""
    if len(envs) == 1:
        return f"environment {envs[0]}"
    last = f"{len(envs) - _SHOWN} more" if len(envs) > _SHOWN else str(envs[-1])
    named = envs[:_SHOWN] if len(envs) > _SHOWN else envs[:-1]
    return f"environments {', '.join(map(str, named))} and {last}"
