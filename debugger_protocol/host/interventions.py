"""What clients do to one scene beside its script, as the host keeps account of it."""

from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.messages import Perturb, SceneInterventions

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.backend import SceneBackend

__all__ = ["Interventions"]


class Interventions:
    """Perturbation, control overrides and noise of one scene; owner thread only.

    ``told`` is what clients are told, replaced by reference: any thread may read it. What the
    backend refuses (CommandError) changes nothing.
    """

    def __init__(self, backend: "SceneBackend", scene_id: int) -> None:
        self.told = SceneInterventions(scene_id=scene_id)
        self._backend = backend

    @property
    def are_active(self) -> bool:
        """Whether the coming physics step is not the script's alone."""
        told = self.told
        return bool(told.overrides) or told.noise_std > 0.0 or told.perturbed_body >= 0

    def perturb(self, wanted: Perturb | None) -> None:
        """Pull a body, or let go of it."""
        self._backend.perturb(wanted)
        body = -1 if wanted is None else wanted.body
        self.told = msgspec.structs.replace(self.told, perturbed_body=body)

    def override_of(self, index: int) -> float | None:
        """Return what a control is overridden with, or None."""
        return dict(self.told.overrides).get(index)

    def override(self, index: int, value: float | None) -> None:
        """Override a control, or give it back (None)."""
        self._backend.override_control(index, value)
        overrides = dict(self.told.overrides)
        overrides.pop(index, None)
        if value is not None:
            overrides[index] = value
        self.told = msgspec.structs.replace(self.told, overrides=tuple(sorted(overrides.items())))

    def set_noise(self, std: float, rate: float) -> None:
        """Add noise to all controls; 0: none."""
        self._backend.set_control_noise(std, rate)
        self.told = msgspec.structs.replace(self.told, noise_std=std, noise_rate=rate)

    def release(self) -> str:
        """End all of it; return what that was, in words."""
        self._backend.release_interventions()
        return self.forget()

    def forget(self) -> str:
        """Note that the backend has ended all of it, and return what that was, in words."""
        said = self._words()
        self.told = SceneInterventions(scene_id=self.told.scene_id)
        return said

    def _words(self) -> str:
        told = self.told
        words = []
        if told.perturbed_body >= 0:
            words.append("the perturbation")
        if told.overrides:
            count = len(told.overrides)
            words.append("1 control override" if count == 1 else f"{count} control overrides")
        if told.noise_std > 0.0:
            words.append("the control noise")
        return " and ".join(words)
