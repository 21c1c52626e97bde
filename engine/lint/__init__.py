"""Looking a model and its state over for what usually is a mistake."""

from stroboscope.engine.lint.check import RULES, lint

__all__ = ["RULES", "lint"]
