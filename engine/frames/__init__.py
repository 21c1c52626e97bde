"""Frames: what a scene shows of itself at one stated instant."""

from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.frames.maker import FrameMaker

__all__ = ["FrameMaker", "evaluate"]
