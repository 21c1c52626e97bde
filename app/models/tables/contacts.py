"""The table of contacts: one row per contact under the sum of its pair of bodies."""

import dataclasses
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import THIN_SPACE, number_text, with_unit
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.contact_rows import ContactRows, contact_rows
from stroboscope.app.models.tables.contact_words import (
    ORIGINS,
    STATE_TIP,
    creep_text,
    excluded_text,
    origin_text,
    side_name,
    slip_text,
)
from stroboscope.app.models.tables.table import (
    NORMAL,
    WARN,
    Cells,
    Column,
    ColumnKind,
    LazyTexts,
    Table,
    texts_of,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["ContactTable", "ContactTotal", "solver_parameters_text"]

Array = NDArray[np.float64]

_XYZ = tuple(enumerate("xyz"))
_NO_NUMBER = "the engine does not say"
_COLUMNS = (
    Column(
        key="name", title="contact", kind=ColumnKind.TEXT, sample="left_gripper_finger – table_top"
    ),
    Column(
        key="on",
        title="acts on",
        kind=ColumnKind.TEXT,
        sample="left_ankle_x",
        tip="The body whose force is shown; the other side gets the opposite force.",
    ),
    Column(key="depth", title="depth", unit="mm", decimals=4, sample="−00.0000"),
    Column(key="normal", title="normal", unit="N", sample="0000.000"),
    Column(key="friction", title="friction", unit="N", sample="0000.000"),
    Column(
        key="used",
        title="used",
        unit="%",
        kind=ColumnKind.BAR,
        decimals=0,
        sample="1000",
        tip="|friction| / (μ · normal): how much of the friction cone is used.",
    ),
    Column(
        key="state",
        title="state",
        kind=ColumnKind.TEXT,
        sample="sticks, creeps 99.9 µm/s",
        tip=STATE_TIP,
        marked=True,
    ),
    *(
        Column(
            key=f"force{n}",
            title=f"F {axis}",
            unit="N",
            sample="−00000.000",
            tip="World frame, on the body named.",
        )
        for n, axis in _XYZ
    ),
    *(Column(key=f"pos{n}", title=axis, unit="m", decimals=4) for n, axis in _XYZ),
    Column(key="dim", title="condim", decimals=0, sample="00"),
    Column(key="mu", title="friction μ", kind=ColumnKind.TEXT, sample="1.000 0.005 0.0001"),
    Column(key="solref", title="solref", kind=ColumnKind.TEXT, sample="0.0200 1.000"),
    Column(key="solimp", title="solimp", kind=ColumnKind.TEXT, sample="0.900 0.950 0.001 0.50 2.0"),
    Column(key="margin", title="margin", unit="mm", sample="000.000"),
    Column(key="origin", title="parameters from", kind=ColumnKind.TEXT, sample="x" * 40),
    Column(key="shape", title="shape", kind=ColumnKind.TEXT, sample="as convex hull"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class ContactTotal:
    """All contacts together: sums of normal and friction forces [N]."""

    contacts: int
    pairs: int
    normal: float
    friction: float
    slipping: int

    @property
    def text(self) -> str:
        """The line over the table."""
        if not self.contacts:
            return "No contacts at this instant."
        count = f"{self.contacts} contact{'s' * (self.contacts != 1)}"
        pairs = f"{self.pairs} pair{'s' * (self.pairs != 1)} of bodies"
        sums = f"normal {with_unit(number_text(self.normal), 'N')}"
        friction = f"friction {with_unit(number_text(self.friction), 'N')}"
        return f"{count} · {pairs} · Σ {sums} · Σ {friction} · {self.slipping} slipping"

    @property
    def texts(self) -> tuple[str, ...]:
        """The same, then shorter ones for less room."""
        if not self.contacts:
            return (self.text,)
        normal = with_unit(number_text(self.normal), "N")
        friction = with_unit(number_text(self.friction), "N")
        sums = f"Σ normal {normal} · friction {friction}"
        slipping = f"{self.slipping} slipping"
        return (
            self.text,
            f"{self.contacts} contacts · {sums} · {slipping}",
            f"{self.contacts} · {sums}",
            f"{self.contacts} · Σ normal {normal}",
        )


class ContactTable:
    """Contacts of one description. ``flipped``: forces on the other body of each pair."""

    topics = (Topic.CONTACTS,)
    optional = (Topic.OPTIONS,)

    def __init__(self, description: SceneDescription) -> None:
        self._d = description
        self.flipped = False
        self.total = ContactTotal(0, 0, 0.0, 0.0, 0)
        self._words: dict[tuple[int, ...], str] = {}
        self._body_names: dict[int, str] = {}

    def table(self, frames: FrameSet | None) -> Table:
        """Return a head with sums for each pair of bodies, and its contacts."""
        rows = None
        if frames is not None:
            rows = contact_rows(self._d, frames, flipped=self.flipped)
        if rows is None or rows.count == 0:
            self.total = ContactTotal(0, 0, 0.0, 0.0, 0)
            return Table(columns=_COLUMNS, cells={}, keys=())
        return self._grouped(rows)

    def _grouped(self, rows: ContactRows) -> Table:
        groups = _Groups(rows)
        self.total = ContactTotal(
            contacts=rows.count,
            pairs=groups.count,
            normal=float(rows.normal.sum()),
            friction=float(rows.tangential.sum()),
            slipping=int(rows.slips.sum()),
        )
        keys: list[Hashable] = [("pair", *ends) for ends in groups.bodies.tolist()]
        keys += _contact_keys(rows)
        return Table(
            columns=_COLUMNS,
            cells={**self._numbers(rows, groups), **self._texts(rows, groups)},
            keys=keys,
            elements=self._elements(rows, groups),
            tips=self._tips(rows, groups),
            parents=np.concatenate((np.full(groups.count, -1), groups.of_row)).astype(np.int64),
        )

    # --- cells: first the heads', then the contacts'

    @staticmethod
    def _numbers(rows: ContactRows, groups: "_Groups") -> dict[str, Cells]:
        def both(of_heads: Array, of_rows: Array) -> Cells:
            return Cells(numbers=np.concatenate((of_heads, of_rows)))

        def single(of_rows: Array | NDArray[np.int64] | None) -> Cells:
            values = np.full(rows.count, np.nan) if of_rows is None else of_rows
            numbers = np.concatenate((np.full(groups.count, np.nan), values))
            return Cells(numbers=numbers, present=np.isfinite(numbers), absent=_NO_NUMBER)

        friction = np.stack([groups.sum(rows.friction_vector[:, n]) for n, _ in _XYZ])
        used = np.concatenate((groups.largest(rows.used), rows.used))
        cells = {
            "depth": both(1e3 * groups.largest(rows.depth), 1e3 * rows.depth),
            "normal": both(groups.sum(rows.normal), rows.normal),
            "friction": both(np.linalg.norm(friction, axis=0), rows.tangential),
            "used": Cells(
                numbers=100.0 * used,
                present=np.isfinite(used),
                absent="no friction here",
                levels=_slip_levels(rows, groups),
            ),
            "dim": single(rows.dim),
            "margin": single(None if rows.margin is None else 1e3 * rows.margin),
        }
        for n, _ in _XYZ:
            cells[f"force{n}"] = both(groups.sum(rows.world[:, n]), rows.world[:, n])
            cells[f"pos{n}"] = single(rows.pos[:, n])
        return cells

    def _texts(self, rows: ContactRows, groups: "_Groups") -> dict[str, Cells]:
        heads = groups.count

        def texts(
            of_row: Callable[[int], str],
            of_head: Callable[[NDArray[np.int64]], str] = lambda _members: "",
        ) -> LazyTexts:
            return LazyTexts(
                heads + rows.count,
                lambda n: of_row(n - heads) if n >= heads else of_head(groups.members(n)),
            )

        return {
            "name": texts_of(
                texts(
                    lambda n: " – ".join(self._sides(rows, n)),
                    lambda members: self._head_name(rows, members),
                )
            ),
            "on": texts_of(
                texts(
                    lambda n: self._body(int(rows.acts_on[n])),
                    lambda members: self._body(int(rows.acts_on[members[0]])),
                )
            ),
            "state": texts_of(
                texts(lambda n: _state(rows, n), lambda members: _head_state(rows, members)),
                levels=_slip_levels(rows, groups),
            ),
            "mu": texts_of(texts(_writer(rows.friction, (3, 4, 5)))),
            "solref": texts_of(texts(_writer(rows.solref, (4, 3)))),
            "solimp": texts_of(texts(_writer(rows.solimp, (3, 3, 4, 2, 1)))),
            "origin": texts_of(texts(lambda n: self._origin(rows, n))),
            "shape": texts_of(texts(lambda n: _shape(rows, n))),
        }

    def _body(self, body: int) -> str:
        name = self._body_names.get(body)
        if name is None:
            element = Element(ElementKind.BODY, int(body))
            name = element_name(self._d, element) if body >= 0 else "flex"
            self._body_names[body] = name
        return name

    def _head_name(self, rows: ContactRows, members: NDArray[np.int64]) -> str:
        acts_on, other = int(rows.acts_on[members[0]]), int(rows.other[members[0]])
        return f"{self._body(acts_on)} – {self._body(other)} ({members.size})"

    def _sides(self, rows: ContactRows, n: int) -> list[str]:
        """Return the names of both sides; first the one that is acted on."""
        order = (0, 1) if rows.body[n, 0] == rows.acts_on[n] else (1, 0)
        return [
            side_name(
                self._d,
                int(rows.geom[n, side]),
                flex=-1 if rows.flex is None else int(rows.flex[n, side]),
                vert=-1 if rows.vert is None else int(rows.vert[n, side]),
            )
            for side in order
        ]

    @staticmethod
    def _elements(rows: ContactRows, groups: "_Groups") -> list[Element | None]:
        pairs = [
            Element(ElementKind.CONTACT, one, other) if one >= 0 or other >= 0 else None
            for one, other in rows.geom.tolist()
        ]
        # A head stands for its contacts; where these are of one pair of geoms that is selected.
        heads: list[Element | None] = []
        for n in range(groups.count):
            members = groups.members(n)
            body = int(rows.acts_on[members[0]])
            alone = len({pairs[row] for row in members.tolist()}) == 1 or body < 0
            heads.append(pairs[members[0]] if alone else Element(ElementKind.BODY, body))
        return [*heads, *pairs]

    def _origin(self, rows: ContactRows, n: int) -> str:
        """Return where parameters came from, briefly: those that share an origin together."""
        if rows.origin is None:
            return ""
        pair = -1 if rows.pair is None else int(rows.pair[n])
        clamped = rows.clamped is not None and bool(rows.clamped[n])
        key = (*map(int, rows.geom[n]), *map(int, rows.origin[n]), pair, int(clamped))
        if key not in self._words:
            together: dict[str, list[str]] = {}
            for what, origin in zip(ORIGINS, rows.origin[n], strict=False):
                text = origin_text(
                    self._d,
                    what,
                    int(origin),
                    geoms=[int(g) for g in rows.geom[n]],
                    pair=pair,
                    clamped=clamped,
                )
                together.setdefault(text, []).append(what)
            if len(together) == 1:
                self._words[key] = next(iter(together))
            else:
                self._words[key] = "; ".join(
                    f"{', '.join(names)}: {text}" for text, names in together.items()
                )
        return self._words[key]

    def _tips(self, rows: ContactRows, groups: "_Groups") -> LazyTexts:
        heads = groups.count

        def make(n: int) -> str:
            if n >= heads:
                return self._origin(rows, n - heads).replace("; ", "\n")
            count = groups.members(n).size
            return f"Sum of {count} contact{'s' * (count != 1)} of these bodies."

        return LazyTexts(heads + rows.count, make)


class _Groups:
    """The contacts by pair of bodies. ``bodies`` (m, 2); ``of_row`` (n,) the group of each."""

    def __init__(self, rows: ContactRows) -> None:
        ends = np.sort(rows.body, axis=1)
        self.bodies, of_row = np.unique(ends, axis=0, return_inverse=True)
        self.of_row: NDArray[np.int64] = of_row.reshape(-1)
        self.count = len(self.bodies)
        self._order = np.argsort(self.of_row, kind="stable")
        counts = np.bincount(self.of_row, minlength=self.count)
        self._starts = np.concatenate(([0], np.cumsum(counts)))

    def members(self, group: int) -> NDArray[np.int64]:
        """Return the contacts of a group."""
        return self._order[self._starts[group] : self._starts[group + 1]]

    def sum(self, values: Array) -> Array:
        """Return the sum of (n,) values in each group, (m,)."""
        total: Array = np.add.reduceat(values[self._order], self._starts[:-1])
        return total

    def largest(self, values: Array) -> Array:
        """Return the largest of (n,) values in each group, (m,); NaN does not count."""
        most: Array = np.fmax.reduceat(values[self._order], self._starts[:-1])
        return most


def _slip_levels(rows: ContactRows, groups: _Groups) -> NDArray[np.int8]:
    any_slips = groups.sum(rows.slips.astype(np.float64)) > 0.0
    return np.where(np.concatenate((any_slips, rows.slips)), WARN, NORMAL).astype(np.int8)


def _contact_keys(rows: ContactRows) -> list[Hashable]:
    """Return what tells a contact from others: its sides, and which of theirs it is."""
    seen: dict[tuple[int, ...], int] = {}
    keys: list[Hashable] = []
    flexes = None
    if rows.flex is not None and rows.vert is not None:
        flexes = np.concatenate((rows.flex, rows.vert), axis=1).tolist()
    for n, ends in enumerate(rows.geom.tolist()):
        sides = tuple(ends)
        if flexes is not None and min(sides) < 0:
            sides += tuple(flexes[n])
        number = seen[sides] = seen.get(sides, -1) + 1
        keys.append((*sides, number))
    return keys


def _state(rows: ContactRows, n: int) -> str:
    if rows.address is not None:
        exclude = 0 if rows.exclude is None else int(rows.exclude[n])
        if why := excluded_text(exclude, int(rows.address[n])):
            return why
    if rows.normal[n] <= 0.0:
        return "no force"
    slip = float(rows.slip[n]) if rows.slip is not None else None
    speed = f" {slip_text(slip)}" if slip is not None else ""
    if not np.isfinite(rows.used[n]):
        return f"frictionless{speed}"
    return f"slips{speed}" if rows.slips[n] else creep_text(slip)


def _head_state(rows: ContactRows, members: NDArray[np.int64]) -> str:
    slipping = int(rows.slips[members].sum())
    if slipping:
        return "slips" if slipping == members.size == 1 else f"{slipping} of {members.size} slip"
    if not (rows.normal[members] > 0.0).any():
        return "no force"
    return "sticks" if members.size == 1 else "all stick"


def solver_parameters_text(values: NDArray[np.float64], decimals: tuple[int, ...]) -> str:
    """Return a few parameters in one cell, each with its own fixed decimals."""
    pairs = zip(values, decimals, strict=False)
    return THIN_SPACE.join(f"{number_text(float(value), n)} " for value, n in pairs).strip()


def _writer(array: NDArray[np.float64] | None, decimals: tuple[int, ...]) -> Callable[[int], str]:
    """Return what writes a row of parameters out."""
    if array is None:
        return lambda _n: ""
    return lambda n: solver_parameters_text(array[n], decimals)


def _shape(rows: ContactRows, n: int) -> str:
    if rows.hull is None:
        return ""
    first, second = (int(side > 0) for side in rows.hull[n])
    return ("", "first as convex hull", "second as convex hull", "both as hulls")[
        first + 2 * second
    ]
