"""Which timestep a model had of its own where a step took another one."""

from typing import Final

__all__ = ["OwnTimesteps"]

# Different lengths of steps that are remembered: scripts ask for the same ones again and again.
_MOST: Final = 10_000


class OwnTimesteps:
    """Knows it of the steps of one scene; owner thread only.

    A step may be cut into shorter ones, and somebody may have edited the timestep in the debugger:
    a row says how long its own step took, the script's checkpoints what the model has.
    """

    def __init__(self) -> None:
        self._cut: list[tuple[int, float, float]] = []
        self._newest: dict[float, float] = {}
        self._edits: list[tuple[int, tuple[float, float] | None]] = []

    def cut(self, axis: int, timestep: float, *, own: float) -> None:
        """Note that steps from ``axis`` on may take ``timestep`` [s] where the model has ``own``.

        Nothing is made where that is known.
        """
        if self._newest.get(timestep) == own:
            return
        if len(self._cut) >= _MOST:
            del self._cut[: _MOST // 2]
            self._newest = {short: whole for _, short, whole in self._cut}
        self._cut.append((axis, timestep, own))
        self._newest[timestep] = own

    def edited(self, axis: int, edit: tuple[float, float] | None) -> None:
        """Note that from ``axis`` on the timestep [s] is edited: what it was, and is; or isn't."""
        if self._edits and self._edits[-1][0] == axis:
            self._edits.pop()
        self._edits.append((axis, edit))

    def of(self, axis: int, timestep: float) -> tuple[float, float]:
        """Return what the model had at a step of ``timestep`` [s]; and without any edit."""
        cut = (own for at, short, own in reversed(self._cut) if at <= axis and short == timestep)
        nominal = next(cut, timestep)
        edit = next((edit for at, edit in reversed(self._edits) if at <= axis), None)
        return nominal, edit[0] if edit is not None and nominal == edit[1] else nominal
