"""Drawing from scripts into the 3D view: ``scene.debug_draw.arrow(start, end)``."""

from stroboscope.engine.debug_draw.debug_draw import DebugDraw, Drawing
from stroboscope.engine.debug_draw.drawn import MAX_ITEMS, MAX_POINTS, NOTHING_DRAWN

__all__ = ["MAX_ITEMS", "MAX_POINTS", "NOTHING_DRAWN", "DebugDraw", "Drawing"]
