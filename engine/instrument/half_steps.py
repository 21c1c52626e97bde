"""Physics steps that the script takes in two halves, ``mj_step1`` and ``mj_step2``."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.engine.callbacks import Event
from stroboscope.engine.stepping import Stepper

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["HalfStepper"]


class HalfStepper(Stepper):
    """Completes physics steps whose first half the script has run already; owner thread only.

    The scene stops between the halves, where the controls of the step are in place and nothing
    has moved. What a debugger changes there is put through the first half again.
    """

    def __init__(self, scene: "Scene") -> None:
        super().__init__(scene)
        self.world = scene.world
        self._mj_step = self._second_half
        self._is_by_handler = is_of_handler  # it comes in a frame of ours
        size = int(scene.world.adapter.module.mj_stateSize(self._model, self._mask))
        self._begun = np.full(size, np.nan)
        self._resumed = np.full(size, np.nan)
        # Controls and applied forces stand side by side in a row, and the first half reads none.
        states, module = self._adapter.module.mjtState, self._adapter.module
        read_later = states.mjSTATE_CTRL | states.mjSTATE_QFRC_APPLIED | states.mjSTATE_XFRC_APPLIED
        first = int(module.mj_stateSize(self._model, self._mask & (int(states.mjSTATE_CTRL) - 1)))
        count = int(module.mj_stateSize(self._model, int(read_later)))
        self._read_by_first_half = np.r_[0:first, first + count : size]
        self.is_open = False
        """Whether an application step has begun that :meth:`go_on` or :meth:`close` ends."""

    def complete(self) -> None:
        """Complete the application step; raises what :meth:`Stepper.step` raises."""
        self._get_state(self._model, self._live(), self._begun, self._mask)
        self.step(1, timestep=None)

    def begin(self) -> None:
        """Complete a physics step that is the first of several of one application step."""
        self._get_state(self._model, self._live(), self._begun, self._mask)
        self._part(1, begins=True, ends=False)
        self.is_open = True

    def go_on(self, count: int) -> None:
        """Run the other ``count`` physics steps, whole ones, and complete the application step."""
        self.is_open = False
        self._mj_step = self._adapter.mj_step
        try:
            self._part(count, begins=False, ends=True)
        finally:
            self._mj_step = self._second_half

    def close(self) -> None:
        """Complete the application step without any more physics."""
        self.is_open = False
        self._complete(1)
        if self._link.active:
            self._link.end_step()
        self._callbacks.run(Event.POST_STEP, self._scene)

    def _part(self, count: int, *, begins: bool, ends: bool) -> None:
        run = self._attached if self._link.active else self._detached
        run(count, begins=begins, ends=ends)

    def step_once(self) -> None:
        """Complete an application step of one physics step; never the short way."""
        self._step_slowly()

    def put_back(self, row: NDArray[np.float64], data: Any) -> None:
        """Write the state before the physics step back; what the first half made of it is gone."""
        super().put_back(row, data)
        self._begun[:] = np.nan

    def _second_half(self, model: Any, data: Any, count: int = 1) -> None:
        self._get_state(model, data, self._resumed, self._mask)
        read, bits = self._read_by_first_half, np.uint64
        if not np.array_equal(self._resumed.view(bits)[read], self._begun.view(bits)[read]):
            self._adapter.mj_step1(model, data)
        self._adapter.mj_step2(model, data)
