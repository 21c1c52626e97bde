"""What an expression may speak of: channels with the names of their columns, poses, contacts."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Final

from stroboscope.debugger_protocol.scene_description import (
    ChannelInfo,
    ChannelKind,
    SceneDescription,
)

__all__ = [
    "CONTACT_PARTS",
    "PASSED",
    "SignalTable",
    "SignalTableEntry",
    "channel_reference",
    "table_of",
]

_XYZ: Final = ("x", "y", "z")
_QUATERNION: Final = ("qw", "qx", "qy", "qz")
_TWIST: Final = ("vx", "vy", "vz", "wx", "wy", "wz")

CONTACT_PARTS: Final = {
    "force": (3, "N"),
    "normal": (1, "N"),
    "friction": (1, "N"),
    "count": (1, ""),
    "depth": (1, "m"),
}
"""What can be asked of the contacts of a pair: width and unit; see ``contact_sums``."""
PASSED: Final = "passed"
"""And where every step is followed: 1 when the first has just gone through the second."""
_OTHER_NAMES: Final = {"sensor": "sensordata", "contact.penetration": "contact.depth"}


@dataclasses.dataclass(frozen=True, slots=True)
class SignalTableEntry:
    """One quantity: ``width`` values whose columns are ``names``; ``units`` per column or one."""

    name: str
    width: int
    names: tuple[str, ...] = ()
    unit: str = ""
    units: tuple[str, ...] = ()
    is_user: bool = False

    def unit_of(self, column: int) -> str:
        """Return the unit of one column."""
        return self.units[column] if column < len(self.units) else self.unit


class SignalTable:
    """Everything that expressions about one scene may name.

    ``bodies``, ``sites`` and ``geoms`` are the names of all of them in order, ``geom_bodies`` the
    body of each geom.
    """

    def __init__(
        self,
        channels: Iterable[ChannelInfo],
        *,
        bodies: Sequence[str] = (),
        sites: Sequence[str] = (),
        geoms: Sequence[str] = (),
        geom_bodies: Sequence[int] = (),
    ) -> None:
        self._bodies, self._sites, self._geoms = bodies, sites, geoms
        self._geom_bodies = geom_bodies
        # Entries are made when they are asked for: a script may log thousands of channels.
        self._channels = {channel.name: channel for channel in channels}
        self._made: dict[str, SignalTableEntry] = {
            "time": SignalTableEntry("time", 1, unit="s"),
        }
        self._parts: dict[str, tuple[Sequence[str], tuple[str, ...], tuple[str, ...]]] = {
            "xpos": (bodies, _XYZ, ("m",) * 3),
            "xquat": (bodies, _QUATERNION, ("",) * 4),
            "xipos": (bodies, _XYZ, ("m",) * 3),
            "xvel": (bodies, _TWIST, ("m/s",) * 3 + ("rad/s",) * 3),
            "site_xpos": (sites, _XYZ, ("m",) * 3),
            "geom_xpos": (geoms, _XYZ, ("m",) * 3),
        }

    def with_logged(self, names: Iterable[str], *, width: int) -> "SignalTable":
        """Return a table in which a script has logged these as well, ``width`` numbers each."""
        logged = (ChannelInfo(name=name, width=width, kind=ChannelKind.USER) for name in names)
        return SignalTable(
            (*self._channels.values(), *logged),
            bodies=self._bodies,
            sites=self._sites,
            geoms=self._geoms,
            geom_bodies=self._geom_bodies,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that an expression may begin with."""
        channels = [name for name in self._channels if not name.startswith("contact.")]
        poses = [name for name, part in self._parts.items() if part[0]]
        sensor = ["sensor"] if "sensordata" in self._channels else []
        contact = ["contact"] if self._geoms else []
        return (*dict.fromkeys((*channels, "time", *poses, *sensor, *contact)),)

    @property
    def own_words(self) -> frozenset[str]:
        """Words that mean something here, whether this scene has such a thing or not."""
        return frozenset(("time", "contact", "user", *self._parts, *_OTHER_NAMES))

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Geoms and bodies that contacts can be asked of."""
        return (*dict.fromkeys((*self._geoms, *self._bodies)),)

    def find(self, name: str) -> SignalTableEntry | None:
        """Return a quantity by name; ``sensor`` is another word for ``sensordata``, and so on."""
        if name not in self._made:
            entry = self._make(name)
            if entry is None:
                return None
            self._made[name] = entry
        return self._made[name]

    def _make(self, name: str) -> SignalTableEntry | None:
        channel = self._channels.get(name)
        if channel is not None:
            is_user = channel.kind is ChannelKind.USER
            return SignalTableEntry(
                name, channel.width, channel.names, channel.unit, channel.units, is_user
            )
        other = _OTHER_NAMES.get(name, "")
        if other in self._channels:
            return self.find(other)
        owners, words, units = self._parts.get(name, ((), (), ()))
        if not owners:
            return None
        names = tuple(f"{owner}.{word}" for owner in owners for word in words)
        return SignalTableEntry(name, len(names), names, units=units * len(owners))

    def geoms_named(self, name: str) -> frozenset[int]:
        """Return the geoms of that name, else those of the body of that name."""
        geoms = frozenset(index for index, each in enumerate(self._geoms) if each == name)
        if geoms:
            return geoms
        bodies = {index for index, each in enumerate(self._bodies) if each == name}
        return frozenset(index for index, body in enumerate(self._geom_bodies) if body in bodies)

    def has_contact_name(self, name: str) -> bool:
        """Return whether there is a geom or body of that name."""
        return name in self._geoms or name in self._bodies


def table_of(description: SceneDescription, user: Iterable[ChannelInfo] = ()) -> SignalTable:
    """Return the table of a described scene and what its script logs."""
    return SignalTable(
        (*description.channels, *user),
        bodies=tuple(body.name for body in description.bodies),
        sites=tuple(site.name for site in description.sites),
        geoms=tuple(geom.name for geom in description.geoms),
        geom_bodies=tuple(geom.body for geom in description.geoms),
    )


def channel_reference(channel: ChannelInfo, component: int) -> str:
    """Return the expression for one column of a channel: ``qpos['knee']``."""
    parts = channel.name.split(".")
    name = channel.name
    if not all(part.isidentifier() for part in parts):
        quote = '"' if "'" in name else "'"
        name = f"user[{quote}{name}{quote}]"
    if channel.width == 1:
        return name
    label = channel.names[component] if component < len(channel.names) else ""
    if not label or "\\" in label or channel.names.count(label) > 1 or {"'", '"'} <= set(label):
        return f"{name}[{component}]"
    quote = '"' if "'" in label else "'"
    return f"{name}[{quote}{label}{quote}]"
