"""Noticing which environments a batch step has gone wrong in, and what was wrong with each.

All of them are looked at with a few array operations; those that look unusual one by one, as a
scene of one world is.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.detector import FAST, StepWatch
from stroboscope.engine.stops.trouble import Trouble

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.stops.scene_stops import SceneStops

__all__ = ["BatchWatch"]

Rows = NDArray[np.float64]


class BatchWatch:
    """Looks at all environments around a physics step; owner thread only."""

    def __init__(self, environments: "Environments") -> None:
        self._envs = environments
        members = environments.adapter.module.mjtWarning.__members__
        resetting = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")
        self._resetting = [int(members[name]) for name in resetting]
        self._seen = environments.warning.copy()
        self._has_warnings = False
        # One number for the last info and the count of a warning: half as many to look at.
        self._marks = environments.warning.reshape(-1).view(np.int64)
        self._squares = np.empty(environments.count)
        # Side by side, and all of them as one vector: rows of all environments are far apart.
        self._speeds = np.empty(environments.qvel.shape)
        self._all_speeds = self._speeds.reshape(-1)
        self._norm = environments.adapter.module.mju_norm
        # Whatever else is no number shows in speeds or warnings; where a mocap body is need not,
        # and a control that takes effect later shows later.
        parts = RowLayout(environments.model, adapter=environments.adapter).parts
        names = ("mocap_pos", "mocap_quat", *(("ctrl",) if "history" in parts else ()))
        self._unchecked = [parts[each] for each in names if each in parts]
        self._watches: dict[int, StepWatch] = {}
        self._let_through: dict[int, tuple[object, int]] = {}
        self._told: dict[int, tuple[object, int]] = {}
        self.failed: dict[int, None] = {}
        """Those with a stop since their last reset, in the order of their stops."""

    def before(self) -> None:
        """Note how the warnings stand before a step."""
        warning = self._envs.warning
        self._has_warnings = bool(np.count_nonzero(self._marks))
        if not self._has_warnings:
            # A table of zeros is compared with in a fiftieth of the time that all times take.
            self._seen.fill(0)
            return
        at_zero = np.flatnonzero(self._envs.time == 0.0)
        if len(at_zero) and warning[at_zero][:, self._resetting, 1].any():
            # A reset in this step would end with the same time and the same count as no reset.
            for kind in self._resetting:
                warning[at_zero, kind, 1] = 0
        np.copyto(self._seen, warning)

    def suspicious(self, before: Rows, broken: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the environments whose step needs a closer look; ``before``: their rows then.

        ``broken`` are those that MuJoCo has raised an error for.
        """
        envs = self._envs
        speeds = self._speeds
        np.copyto(speeds, envs.qvel)
        if self._norm(self._all_speeds) < FAST:
            wrong = np.zeros(envs.count, dtype=bool)
        else:  # many that move, or one that is too fast or no number
            np.einsum("ij,ij->i", speeds, speeds, out=self._squares)
            wrong = ~(self._squares < FAST * FAST)
        if self._has_warnings or np.count_nonzero(self._marks):
            # Only what has warned is reset, and a count that was there already does not rise.
            wrong |= envs.time != before[:, 0] + envs.timesteps()
            wrong |= (envs.warning[:, :, 1] != self._seen[:, :, 1]).any(axis=1)
        for part in self._unchecked:
            wrong |= ~np.isfinite(before[:, part]).all(axis=1)
        wrong[broken] = True
        found = np.flatnonzero(wrong)
        if self._watches:
            calm = self._watches.keys() - set(found.tolist())
            for env in calm:
                del self._watches[env]
        return found

    def trouble(self, env: int, row: Rows, *, is_broken: bool) -> Trouble | None:
        """Return what is wrong with the step that one environment began with ``row``."""
        watch = self._watches.get(env)
        if watch is None:
            watch = self._watches[env] = self._new_watch(env)
        watch.seen[:] = self._seen[env].reshape(-1).data
        if is_broken:
            error = self._envs.adapter.module.FatalError(self._envs.failure(env))
            return watch.raised(row, error, fatal=True)
        return watch.after(row) or watch.not_finite(row)

    def _new_watch(self, env: int) -> StepWatch:
        envs = self._envs
        model = envs.model_of(env) if envs.expanded else envs.model
        views: Any = _EnvViews(envs, env, timestep=float(model.opt.timestep))
        return StepWatch(views, model, adapter=envs.adapter)

    def put_back(self, env: int, row: Rows) -> None:
        """Put one environment back to where its step began: for it, that has not happened."""
        self._envs.state[env] = row
        self._envs.warning[env] = self._seen[env]

    # --- what has been said already

    def concerns(self, env: int, trouble: Trouble, stops: "SceneStops") -> bool:
        """Return whether a trouble is one to stop for: not one that goes on and on."""
        axis = self._envs.counters.shared.axis
        key, at = self._let_through.get(env, (None, -1))
        since = axis if trouble.reason is StopReason.AUTORESET else axis - 1
        goes_on = key == trouble.key and at >= since
        # Its step was taken back, and whoever lets the scene go on has seen why.
        is_told = self._told.get(env, (None, -1)) == (trouble.key, axis - 1)
        return trouble.reason not in stops.off and not goes_on and not is_told

    def is_new_warning(self, env: int, trouble: Trouble) -> bool:
        """Return whether a trouble is worth telling whoever records: no stop has, nor the last."""
        axis = self._envs.counters.shared.axis
        key, at = self._let_through.get(env, (None, -1))
        is_told = self._told.get(env, (None, -1)) == (trouble.key, axis - 1)
        return not is_told and not (key == trouble.key and at >= axis - 1)

    def stopped(self, env: int, trouble: Trouble) -> None:
        """Note that one environment has stopped."""
        self._told[env] = (trouble.key, self._envs.counters.shared.axis)
        self.failed.pop(env, None)
        self.failed[env] = None

    def let_through(self, env: int, trouble: Trouble) -> None:
        """Note that a step in trouble counts all the same: the next one may have it too."""
        self._let_through[env] = (trouble.key, self._envs.counters.shared.axis)

    def begin_anew(self, envs: NDArray[np.intp]) -> None:
        """Forget what was wrong with states that were replaced."""
        for env in envs.tolist() if self.failed or self._let_through or self._told else ():
            self.failed.pop(env, None)
            self._told.pop(env, None)
            self._let_through.pop(env, None)


class _EnvViews:
    """What a step watch reads of one environment, where it stands in the batch's arrays."""

    def __init__(self, envs: "Environments", env: int, *, timestep: float) -> None:
        self.time = envs.state[env, 0:1]
        self.timestep = (timestep,)
        self.warnings = envs.warning[env].reshape(-1).data
        self.qvel = envs.qvel[env]
