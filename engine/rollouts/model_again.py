"""A large model of a rollout: made again when somebody looks, instead of being kept."""

from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["ModelAgain"]


class ModelAgain:
    """Returns the model that ``make`` makes; the newest one of the process is kept."""

    _newest: ClassVar[tuple["ModelAgain | None", Any]] = (None, None)

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        """Return the model: the same one as long as nobody asks for another."""
        whose, model = ModelAgain._newest
        if whose is not self:
            model = self._make()
            ModelAgain._newest = self, model
        return model
