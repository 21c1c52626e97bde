"""What the inspector shows for an element: names, numbers and units, all of one instant."""

from stroboscope.app.models.element_values.build import element_values
from stroboscope.app.models.element_values.rows import (
    EditTarget,
    ElementValues,
    Level,
    Section,
    ValueRow,
)
from stroboscope.app.models.elements import (
    element_name,
    elements_of,
    signals_of,
    topics_for,
)

__all__ = [
    "EditTarget",
    "ElementValues",
    "Level",
    "Section",
    "ValueRow",
    "element_name",
    "element_values",
    "elements_of",
    "signals_of",
    "topics_for",
]
