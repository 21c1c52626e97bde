"""What the viewport draws: plain, frozen values that panels read and replace."""

import dataclasses
import enum

__all__ = ["FloorStyle", "LabelMode", "Quality", "ViewOptions"]


class Quality(enum.StrEnum):
    """How much work a frame may cost."""

    AUTO = "auto"  # LOW on software GL, else HIGH
    HIGH = "high"
    LOW = "low"


class LabelMode(enum.StrEnum):
    """Which names are written beside things."""

    NONE = "none"
    BODY = "body"
    GEOM = "geom"
    JOINT = "joint"
    SITE = "site"
    SELECTION = "selection"


class FloorStyle(enum.StrEnum):
    """Whose colours a plane wears."""

    AUTO = "auto"  # the theme's for checkers and for planes without a look, else the model's
    MODEL = "model"
    THEME = "theme"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Everything that can be switched in the 3D view; replace it to change something.

    ``geom_groups`` and ``site_groups`` follow MuJoCo's convention: 0, 1 and 2 are shown,
    3 to 5 (collision shapes, usually) are not. Groups outside 0…5 count as the nearest.
    """

    geom_groups: tuple[bool, ...] = (True, True, True, False, False, False)
    site_groups: tuple[bool, ...] = (True, True, True, False, False, False)
    joints: bool = False
    world_frame: bool = False
    body_frames: bool = False
    contacts: bool = False
    contact_normals: bool = True  # drawn only together with contacts
    icons: bool = False  # cameras and lights
    shadows: bool = True
    reflections: bool = True
    wireframe: bool = False
    transparent: bool = False
    grid: bool = True  # a ground where the model has none
    triad: bool = True
    floor: FloorStyle = FloorStyle.AUTO
    labels: LabelMode = LabelMode.NONE
    quality: Quality = Quality.AUTO
