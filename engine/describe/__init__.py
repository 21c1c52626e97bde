"""A compiled model as a :class:`SceneDescription`: all that a window needs to draw and name it.

Called on the server thread: reads the model only, which a run does not change. Whole arrays are
turned into Python numbers at once; element by element takes several times as long.
"""

from stroboscope.engine.describe.model import describe_model

__all__ = ["describe_model"]
