"""The table of contacts: one row per contact under the sum of its pair of bodies."""

import dataclasses
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import THIN_SPACE, number_text, with_unit
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.contact_rows import ContactRows, contact_rows
from stroboscope.app.models.tables.contact_words import (
    ORIGINS,
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
    Table,
    texts_of,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["ContactTable", "ContactTotal", "solver_parameters_text"]

_XYZ = tuple(enumerate("xyz"))
_COLUMNS = (
    Column(
        key="name", title="contact", kind=ColumnKind.TEXT, sample="left_gripper_finger – table_top"
    ),
    Column(
        key="on",
        title="acts on",
        kind=ColumnKind.TEXT,
        sample="left_ankle_roll",
        tip="The body whose force is shown; the other side gets the opposite force.",
    ),
    Column(key="depth", title="depth", unit="mm", decimals=4, sample="−000.0000"),
    Column(key="normal", title="normal", unit="N", sample="−00000.000"),
    Column(key="friction", title="friction", unit="N", sample="00000.000"),
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
        key="state", title="state", kind=ColumnKind.TEXT, sample="slips 999.9 µm/s", marked=True
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
        """The line below the table."""
        if not self.contacts:
            return "No contacts at this instant."
        count = f"{self.contacts} contact{'s' * (self.contacts != 1)}"
        pairs = f"{self.pairs} pair{'s' * (self.pairs != 1)} of bodies"
        sums = f"normal {with_unit(number_text(self.normal), 'N')}"
        friction = f"friction {with_unit(number_text(self.friction), 'N')}"
        return f"{count} · {pairs} · Σ {sums} · Σ {friction} · {self.slipping} slipping"


class ContactTable:
    """Contacts of one description. ``flipped``: forces on the other body of each pair."""

    topics = (Topic.CONTACTS,)
    optional = (Topic.OPTIONS,)

    def __init__(self, description: SceneDescription) -> None:
        self._d = description
        self.flipped = False
        self.total = ContactTotal(0, 0, 0.0, 0.0, 0)
        self._words: dict[tuple[int, ...], str] = {}

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
        ends = np.sort(rows.body, axis=1)
        pairs, group = np.unique(ends, axis=0, return_inverse=True)
        group = group.reshape(-1)
        heads = len(pairs)
        self.total = ContactTotal(
            contacts=rows.count,
            pairs=heads,
            normal=float(rows.normal.sum()),
            friction=float(rows.tangential.sum()),
            slipping=int(rows.slips.sum()),
        )
        members = [np.flatnonzero(group == n) for n in range(heads)]
        keys: list[Hashable] = [("pair", int(a), int(b)) for a, b in pairs]
        keys += _contact_keys(rows)
        parents = np.concatenate((np.full(heads, -1), group)).astype(np.int64)
        return Table(
            columns=_COLUMNS,
            cells=self._cells(rows, members),
            keys=keys,
            elements=self._elements(rows, members),
            tips=self._tips(rows, members),
            parents=parents,
        )

    # --- cells: first the heads', then the contacts'

    def _cells(self, rows: ContactRows, members: list[NDArray[np.int64]]) -> dict[str, Cells]:
        heads = len(members)

        def both(of_heads: object, of_rows: NDArray[np.float64], **more: object) -> Cells:
            numbers = np.concatenate((np.asarray(of_heads, dtype=np.float64), of_rows))
            return Cells(numbers=numbers, present=np.isfinite(numbers), **more)  # type: ignore[arg-type]

        def single(of_rows: NDArray[np.float64] | None, absent: str = "") -> Cells:
            empty = np.full(heads, np.nan)
            values = np.full(rows.count, np.nan) if of_rows is None else of_rows
            return both(empty, values, absent=absent)

        slip_levels = np.where(rows.slips, WARN, NORMAL).astype(np.int8)
        head_slips = [WARN if rows.slips[m].any() else NORMAL for m in members]
        levels = np.concatenate((np.array(head_slips, dtype=np.int8), slip_levels))
        sums = [np.linalg.norm(rows.friction_vector[m].sum(axis=0)) for m in members]
        limits = None if rows.margin is None else 1e3 * rows.margin
        cells = {
            "name": texts_of([*self._head_names(rows, members), *self._names(rows)]),
            "on": texts_of(
                [self._body(rows.acts_on[m[0]]) for m in members]
                + [self._body(n) for n in rows.acts_on]
            ),
            "depth": both([1e3 * rows.depth[m].max() for m in members], 1e3 * rows.depth),
            "normal": both([rows.normal[m].sum() for m in members], rows.normal),
            "friction": both(sums, rows.tangential),
            "used": both(
                [100.0 * _largest(rows.used[m]) for m in members],
                100.0 * rows.used,
                absent="no friction here",
                levels=levels,
            ),
            "state": texts_of([*_head_states(rows, members), *_states(rows)], levels=levels),
            "dim": single(None if rows.dim is None else rows.dim.astype(np.float64)),
            "margin": single(limits),
            "mu": texts_of([""] * heads + _numbers(rows.friction, (3, 4, 5), rows.count)),
            "solref": texts_of([""] * heads + _numbers(rows.solref, (4, 3), rows.count)),
            "solimp": texts_of([""] * heads + _numbers(rows.solimp, (3, 3, 4, 2, 1), rows.count)),
            "origin": texts_of([""] * heads + self._origins(rows)),
            "shape": texts_of([""] * heads + _shapes(rows)),
        }
        for n, _ in _XYZ:
            of_heads = [rows.world[m, n].sum() for m in members]
            cells[f"force{n}"] = both(of_heads, rows.world[:, n])
            cells[f"pos{n}"] = single(rows.pos[:, n])
        return cells

    def _body(self, body: int) -> str:
        if body < 0:
            return "flex"
        return element_name(self._d, Element(ElementKind.BODY, int(body)))

    def _head_names(self, rows: ContactRows, members: list[NDArray[np.int64]]) -> list[str]:
        names = []
        for m in members:
            acts_on, other = rows.acts_on[m[0]], rows.other[m[0]]
            names.append(f"{self._body(acts_on)} – {self._body(other)} ({m.size})")
        return names

    def _names(self, rows: ContactRows) -> list[str]:
        return [" – ".join(self._sides(rows, n)) for n in range(rows.count)]

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

    def _elements(
        self, rows: ContactRows, members: list[NDArray[np.int64]]
    ) -> list[Element | None]:
        pairs = [_pair_element(rows, n) for n in range(rows.count)]
        # A head stands for its contacts; where these are of one pair of geoms that is selected.
        heads: list[Element | None] = []
        for m in members:
            kinds = {pairs[n] for n in m}
            body = int(rows.acts_on[m[0]])
            alone = len(kinds) == 1 or body < 0
            heads.append(pairs[m[0]] if alone else Element(ElementKind.BODY, body))
        return [*heads, *pairs]

    def _origins(self, rows: ContactRows) -> list[str]:
        if rows.origin is None:
            return [""] * rows.count
        return [self._origin(rows, n) for n in range(rows.count)]

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

    def _tips(self, rows: ContactRows, members: list[NDArray[np.int64]]) -> list[str]:
        heads = [f"Sum of {m.size} contact{'s' * (m.size != 1)} of these bodies." for m in members]
        return [*heads, *(self._origin(rows, n).replace("; ", "\n") for n in range(rows.count))]


def _largest(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else float("nan")


def _pair_element(rows: ContactRows, n: int) -> Element | None:
    first, second = (int(g) for g in rows.geom[n])
    return Element(ElementKind.CONTACT, first, second) if first >= 0 or second >= 0 else None


def _contact_keys(rows: ContactRows) -> list[Hashable]:
    """Return what tells a contact from others: its sides, and which of theirs it is."""
    seen: dict[tuple[int, ...], int] = {}
    keys: list[Hashable] = []
    for n in range(rows.count):
        sides = tuple(int(g) for g in rows.geom[n])
        if rows.flex is not None and rows.vert is not None and min(sides) < 0:
            sides += (*(int(f) for f in rows.flex[n]), *(int(v) for v in rows.vert[n]))
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
    speed = f" {slip_text(float(rows.slip[n]))}" if rows.slip is not None else ""
    if not np.isfinite(rows.used[n]):
        return f"frictionless{speed}"
    return f"slips{speed}" if rows.slips[n] else f"sticks{speed}"


def _states(rows: ContactRows) -> list[str]:
    return [_state(rows, n) for n in range(rows.count)]


def _head_states(rows: ContactRows, members: list[NDArray[np.int64]]) -> list[str]:
    texts = []
    for m in members:
        slipping = int(rows.slips[m].sum())
        carrying = int((rows.normal[m] > 0.0).sum())
        words = [f"{slipping} of {m.size} slip"] if slipping else []
        if not slipping and carrying:
            words = ["sticks" if m.size == 1 else "all stick"]
        if slipping == m.size == 1:
            words = ["slips"]
        texts.append(words[0] if words else "no force")
    return texts


def solver_parameters_text(values: NDArray[np.float64], decimals: tuple[int, ...]) -> str:
    """Return a few parameters in one cell, each with its own fixed decimals."""
    pairs = zip(values, decimals, strict=False)
    return THIN_SPACE.join(f"{number_text(float(value), n)} " for value, n in pairs).strip()


def _numbers(array: NDArray[np.float64] | None, decimals: tuple[int, ...], count: int) -> list[str]:
    if array is None:
        return [""] * count
    return [solver_parameters_text(row, decimals) for row in array.reshape(count, -1)]


def _shapes(rows: ContactRows) -> list[str]:
    if rows.hull is None:
        return [""] * rows.count
    words = {0: "", 1: "first as convex hull", 2: "second as convex hull", 3: "both as hulls"}
    return [words[int(a > 0) + 2 * int(b > 0)] for a, b in rows.hull]
