"""What is selected: one element of one scene, the same in tree, 3D view and inspector."""

import dataclasses
import enum

from stroboscope.app.models.signal import Signal

__all__ = ["Element", "ElementKind", "SelectionModel"]


class ElementKind(enum.StrEnum):
    """Kinds of things that can be selected; values index the description's tuples."""

    BODY = "body"
    GEOM = "geom"
    JOINT = "joint"
    SITE = "site"
    ACTUATOR = "actuator"
    SENSOR = "sensor"
    CAMERA = "camera"
    LIGHT = "light"
    TENDON = "tendon"
    EQUALITY = "equality"
    FLEX = "flex"
    SKIN = "skin"
    CONTACT = "contact"


@dataclasses.dataclass(frozen=True, slots=True)
class Element:
    """One element of a scene: ``index`` into the description's tuple of that kind.

    Contacts come and go; theirs is the first geom (or -1) and ``other`` the second: all contacts
    of that pair.
    """

    kind: ElementKind
    index: int
    other: int = -1


class SelectionModel:
    """The selected element of the shown scene, or None."""

    def __init__(self) -> None:
        self.changed: Signal[[Element | None]] = Signal()
        self._element: Element | None = None

    @property
    def element(self) -> Element | None:
        """The selected element."""
        return self._element

    def select(self, element: Element | None) -> None:
        """Select ``element`` (None: nothing) and tell everybody if that is a change."""
        if element != self._element:
            self._element = element
            self.changed.emit(element)
