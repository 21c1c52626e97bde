"""What clients do to a scene beside its script: perturbation, control overrides, control noise.

All of it is put in place just before a physics step and taken back just after, so that the script
finds its own forces and controls to the last bit, whatever a client does. Where the script has a
``mjcb_control``, that runs inside the step: it sees what the script left and may write what it
likes, and ours comes on top of that.
"""

import math
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import Perturb, PerturbKind
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["LARGEST_VALUE", "Interventions"]

LARGEST_VALUE = 1e10
"""What MuJoCo takes for a state or control that has not diverged: its mjMAXVAL."""

_MAX_NOISE = 10.0
_MAX_RATE_S = 1e6


class Interventions:
    """The interventions in one (model, data); owner thread only.

    ``scratch`` returns data of our own, on which forces are worked out.
    """

    def __init__(
        self,
        model: Any,
        live: LiveData,
        *,
        scratch: Callable[[], Any],
        adapter: MujocoAdapter,
    ) -> None:
        self._model = model
        self._live = live
        self._scratch = scratch
        self._adapter = adapter
        self.applied_to: Any = None
        """The data whose controls and forces hold ours at this moment; None between steps."""
        self._spring: Any = None
        self._spring_of: tuple[int, PerturbKind, tuple[float, ...]] | None = None
        self._body = -1
        self._overrides: dict[int, float] = {}
        self._std = self._rate = 0.0
        # Not NumPy's: importing that within the first step would eat a Ctrl+C.
        self._random = random.Random(0)  # noqa: S311 - noise
        self._noise = np.zeros(int(model.nu))
        # What the script has left, to the bit.
        self._own_ctrl = np.zeros(int(model.nu))
        self._own_force = np.zeros(6)
        self._force = np.zeros(6)
        # When the step began, and how often MuJoCo had reset the data by then.
        self._time, self._resets = 0.0, 0
        self._low, self._high = self._ranges()
        states = adapter.module.mjtState
        self._motion_mask = int(
            states.mjSTATE_QPOS
            | states.mjSTATE_QVEL
            | states.mjSTATE_MOCAP_POS
            | states.mjSTATE_MOCAP_QUAT
        )
        self._motion = np.empty(int(adapter.module.mj_stateSize(model, self._motion_mask)))
        self._control: _ControlCallback | None = None

    # --- what clients want; all or nothing

    def perturb(self, wanted: Perturb | None) -> None:
        """Pull a body from the next physics step on, or let go of it (None)."""
        self.take_back()
        if wanted is None:
            self._body, self._spring_of = -1, None
            return
        body = self._checked_body(wanted.body)
        if not all(abs(v) <= LARGEST_VALUE for v in (*wanted.point, *wanted.pos, *wanted.quat)):
            raise CommandError(
                "point, pos and quat of a perturbation must be finite numbers, of at most "
                f"{LARGEST_VALUE:g}"
            )
        if math.hypot(*wanted.quat) < 1e-9:
            raise CommandError("quat of a perturbation has length 0: it needs a direction")
        if self._spring is None:
            self._spring = self._adapter.module.MjvPerturb()
        spring = self._spring
        key = (body, wanted.kind, wanted.point)
        if key != self._spring_of:
            spring.select = body
            spring.localpos[:] = wanted.point
            spring.active = int(self._bit(wanted.kind))
            spring.localmass = self._mass_at(body, spring.localpos)
            self._spring_of = key
        spring.refselpos[:] = wanted.pos
        spring.refquat[:] = np.divide(wanted.quat, math.hypot(*wanted.quat))
        self._body = body

    def override(self, index: int, value: float | None) -> None:
        """Use ``value`` for one control whatever the script writes; None gives it back."""
        self.take_back()
        count = int(self._model.nu)
        if not 0 <= index < count:
            raise CommandError(f"there is no control {index}: this model has {count}, from 0 on")
        if value is None:
            self._overrides.pop(index, None)
            return
        if not abs(value) <= LARGEST_VALUE:
            raise CommandError(
                f"a control must be a finite number, of at most {LARGEST_VALUE:g}, not {value}"
            )
        self._overrides[index] = value

    def set_noise(self, std: float, rate: float) -> None:
        """Add noise to the controls: ``std`` of half their range, correlated over ``rate`` [s]."""
        self.take_back()
        if not 0.0 <= std <= _MAX_NOISE:
            raise CommandError(f"std of the control noise must be 0…{_MAX_NOISE:g}, not {std}")
        if not 0.0 <= rate <= _MAX_RATE_S:
            raise CommandError(f"rate of the control noise must be 0…1e6 s, not {rate}")
        if std > 0.0 and not self._model.nu:
            raise CommandError("this model has no controls to add noise to")
        self._low, self._high = self._ranges()
        if std > 0.0 and self._std == 0.0:
            self._random = random.Random(0)  # noqa: S311 - noise
            self._noise[:] = 0.0
        self._std, self._rate = std, rate
        self._draw_noise()

    def release(self) -> None:
        """End all of it."""
        self.perturb(None)
        self._overrides.clear()
        self._std = self._rate = 0.0

    # --- around each physics step

    def apply(self) -> None:
        """Put everything in place for the physics step that follows at once."""
        self.take_back()
        data = self._live()
        self._own_ctrl[:] = data.ctrl
        if self._body >= 0:
            self._own_force[:] = data.xfrc_applied[self._body]
            scratch = self._scratch()
            self._copy_motion(data, scratch)
            self._force[:] = self._force_on(scratch)
        self._time, self._resets = float(data.time), self._adapter.self_resets(self._model, data)
        self.applied_to = data
        self._enter_script_control(data)
        self._add_to(data)

    def take_back(self) -> None:
        """Put back what the script had; harmless when nothing is in place."""
        data, self.applied_to = self.applied_to, None
        if data is None:
            return
        control, self._control = self._control, None
        if control is not None:
            control.leave(data)
        self._notice_reset(data)
        data.ctrl[:] = self._own_ctrl
        if self._body >= 0:
            data.xfrc_applied[self._body] = self._own_force
        if self._std > 0.0:
            self._draw_noise()

    def predict(self, scratch: Any) -> None:
        """Add to ``scratch``, a copy of the live data, what the next step will be given."""
        if self.applied_to is not None:
            return  # the copy has it already
        if self._body >= 0:
            self._force[:] = self._force_on(scratch)
        self._add_to(scratch)

    # --- inside

    def _checked_body(self, body: int) -> int:
        model = self._model
        count = int(model.nbody)
        if not 0 <= body < count:
            raise CommandError(f"there is no body {body}: this model has {count}, from 0 on")
        if int(model.body_weldid[body]) == 0:
            name = ElementNames(model, adapter=self._adapter).body(body)
            raise CommandError(
                f"{name} can't be pulled: nothing lets it move against the world; "
                "choose a body with joints, or move a mocap body by its position"
            )
        return body

    def _bit(self, kind: PerturbKind) -> Any:
        bits = self._adapter.module.mjtPertBit
        return bits.mjPERT_TRANSLATE if kind is PerturbKind.FORCE else bits.mjPERT_ROTATE

    def _mass_at(self, body: int, point: NDArray[np.float64]) -> float:
        """Return what ``mjv_initPerturb`` calls localmass: the mass that a pull there feels [kg].

        The inverse of the mean over three directions of J M⁻¹ Jᵀ at the point.
        """
        model, module, scratch = self._model, self._adapter.module, self._scratch()
        self._copy_motion(self._live(), scratch)
        self._adapter.prepare_energy(model, scratch)
        module.mj_factorM(model, scratch)
        world_point = scratch.xmat[body].reshape(3, 3) @ point + scratch.xpos[body]
        jacobian = np.zeros((3, int(model.nv)))
        module.mj_jac(model, scratch, jacobian, None, world_point, body)
        solved = np.zeros_like(jacobian)
        module.mj_solveM(model, scratch, solved, jacobian)
        inverse = float((solved * jacobian).sum())
        return 3.0 / inverse if inverse > 1e-15 else 0.0

    def _copy_motion(self, data: Any, scratch: Any) -> None:
        """Bring ``scratch`` to the positions and velocities of ``data``.

        A whole copy takes as long as a step of a model with many geoms.
        """
        model, adapter = self._model, self._adapter
        if adapter.sleeps(model):
            adapter.copy_data(model, data, scratch)  # what sleeps is not computed anew
            return
        adapter.mj_getState(model, data, self._motion, self._motion_mask)
        adapter.mj_setState(model, scratch, self._motion, self._motion_mask)

    def _force_on(self, scratch: Any) -> NDArray[np.float64]:
        """Return force and torque [N, N·m] of MuJoCo's spring in the state of ``scratch``.

        The poses of ``scratch`` are computed for that: those that a step leaves behind are of the
        state before it.
        """
        module, model = self._adapter.module, self._model
        module.mj_kinematics(model, scratch)
        module.mj_comPos(model, scratch)
        module.mj_comVel(model, scratch)
        target = scratch.xfrc_applied[self._body]
        kept = target.copy()
        target[:] = 0.0
        module.mjv_applyPerturbForce(model, scratch, self._spring)
        force: NDArray[np.float64] = target.copy()
        target[:] = kept
        return force

    def _add_to(self, data: Any) -> None:
        if self._std > 0.0:
            self._add_noise(data.ctrl)
        for index, value in self._overrides.items():
            data.ctrl[index] = value + (self._noise[index] if self._std > 0.0 else 0.0)
        if self._body >= 0:
            data.xfrc_applied[self._body] += self._force

    def _add_noise(self, ctrl: NDArray[np.float64]) -> None:
        low, high = self._low, self._high
        noisy = ctrl + self._noise
        # What the script itself puts out of range stays there: noise alone is cut.
        np.clip(noisy, np.minimum(low, ctrl), np.maximum(high, ctrl), out=ctrl)

    def _ranges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lowest and highest value of each control, infinite when it is not limited."""
        limited, ranges = self._adapter.control_ranges(self._model)
        low = np.where(limited, ranges[:, 0], -np.inf)
        return low, np.where(limited, ranges[:, 1], np.inf)

    def _draw_noise(self) -> None:
        """Draw the noise of the coming step: an Ornstein-Uhlenbeck process, as in simulate."""
        if self._std <= 0.0:
            return
        dt = float(self._model.opt.timestep)
        kept = math.exp(-dt / self._rate) if self._rate > 0.0 else 0.0
        low, high = self._low, self._high
        half = np.where(np.isfinite(low), 0.5 * (high - low), 1.0)
        drawn = np.array([self._random.gauss() for _ in half])
        self._noise *= kept
        self._noise += self._std * math.sqrt(1.0 - kept * kept) * half * drawn

    def run_script_control(self, script: Callable[[Any, Any], None]) -> None:
        """Run the script's control callback inside the step, on what it has left; then ours."""
        data, body = self.applied_to, self._body
        self._notice_reset(data)
        data.ctrl[:] = self._own_ctrl
        if body >= 0:
            data.xfrc_applied[body] = self._own_force
        try:
            script(self._model, data)
        finally:
            self._own_ctrl[:] = data.ctrl
            if body >= 0:
                self._own_force[:] = data.xfrc_applied[body]
            self._add_to(data)

    def _notice_reset(self, data: Any) -> None:
        """Where MuJoCo has reset a diverged state within the step, the script's inputs are gone."""
        resets = self._adapter.self_resets(self._model, data)
        if data.time < self._time or resets > self._resets:
            self._own_ctrl[:] = 0.0
            self._own_force[:] = 0.0
            self._time, self._resets = -math.inf, resets

    def _enter_script_control(self, data: Any) -> None:
        module = self._adapter.module
        while callable(script := module.get_mjcb_control()):
            callback = script
            if not isinstance(callback, _ControlCallback):
                callback = _ControlCallback(script, module)
                module.set_mjcb_control(callback)
            if callback.enter(data, self):
                self._control = callback
                return


class _ControlCallback:
    """Stands in for the script's ``mjcb_control`` while any data has interventions in place.

    The callback is one for all threads: each step enters its own data and leaves again; whoever
    leaves last puts the script's own back.
    """

    def __init__(self, script: Callable[[Any, Any], None], module: Any) -> None:
        self._script = script
        self._module = module
        self._lock = threading.Lock()
        self._inside: dict[int, Interventions] = {}
        self._over = False

    def enter(self, data: Any, interventions: Interventions) -> bool:
        """Take part for one step of ``data``; False when this one is being put away."""
        with self._lock:
            if not self._over:
                self._inside[id(data)] = interventions
            return not self._over

    def leave(self, data: Any) -> None:
        """End the part of ``data``."""
        with self._lock:
            self._inside.pop(id(data), None)
            if not self._inside:
                self._over = True
                # A script that has set another one meanwhile keeps it.
                if self._module.get_mjcb_control() is self:
                    self._module.set_mjcb_control(self._script)

    def __call__(self, model: Any, data: Any) -> None:
        """Run the script's callback; any thread, inside a physics step."""
        interventions = self._inside.get(id(data))
        if interventions is None:
            self._script(model, data)
        else:
            interventions.run_script_control(self._script)
