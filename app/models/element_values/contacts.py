"""All contacts of one pair of geoms: the same facts as in the table of contacts."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.element_values.rows import Level, Section, ValueRow, row, vector
from stroboscope.app.models.elements import element_name
from stroboscope.app.models.expressions import contact_channel
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.contact_rows import ContactRows, contact_rows
from stroboscope.app.models.tables.contact_words import (
    ORIGINS,
    creep_text,
    excluded_text,
    origin_text,
    side_name,
    slip_text,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["contact_sections"]

# Contacts that have sections of their own; the sums are of all.
_SHOWN = 4


def contact_sections(
    d: SceneDescription, element: Element, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return sums of a pair's contacts, each of the first ones, and their parameters."""
    rows = contact_rows(d, frames) if frames is not None else None
    if rows is None:
        return (Section("Contact", (ValueRow(label="contacts", text="waiting for values"),)),)
    pair = {element.index, element.other}
    mine = np.array(
        [n for n in range(rows.count) if {int(g) for g in rows.geom[n]} == pair], dtype=np.int64
    )
    if not mine.size:
        return (Section("Contact", (ValueRow(label="contacts", text="none at this instant"),)),)
    sections = [
        Section("Sum", _sum_rows(d, rows, mine)),
        Section("Parameters", _parameters(d, rows, int(mine[0]))),
    ]
    for place, n in enumerate(mine[:_SHOWN]):
        title = f"Contact {place + 1} of {mine.size}" if mine.size > 1 else "Contact"
        sections.append(Section(title, _one(rows, int(n))))
    if mine.size > _SHOWN:
        more = ValueRow(label="more", text=f"+{mine.size - _SHOWN} more: see the table of contacts")
        sections.append(Section("", (more,)))
    return tuple(sections)


def _body(d: SceneDescription, body: int) -> str:
    return element_name(d, Element(ElementKind.BODY, body)) if body >= 0 else "flex"


def _names(d: SceneDescription, rows: ContactRows, n: int) -> tuple[str, str]:
    """Return the pair of geoms, first the one whose force is shown; "" for a flex."""
    pair = [int(geom) for geom in rows.geom[n]]
    if pair[0] < 0 or pair[1] < 0:
        return "", ""
    if d.geoms[pair[0]].body != int(rows.acts_on[n]):
        pair.reverse()
    first, second = (element_name(d, Element(ElementKind.GEOM, geom)) for geom in pair)
    return first, second


def _sum_rows(
    d: SceneDescription, rows: ContactRows, mine: NDArray[np.int64]
) -> tuple[ValueRow, ...]:
    n = mine[0]
    slipping = int(rows.slips[mine].sum())
    friction = rows.friction_vector[mine].sum(axis=0)
    names = _names(d, rows, int(n))
    return (
        ValueRow(label="acts on", text=_body(d, int(rows.acts_on[n]))),
        ValueRow(label="from", text=_body(d, int(rows.other[n]))),
        ValueRow(label="contacts", text=str(mine.size)),
        row(
            "normal",
            float(rows.normal[mine].sum()),
            "N",
            channel=contact_channel("normal", *names),
        ),
        row(
            "friction",
            float(np.linalg.norm(friction)),
            "N",
            channel=contact_channel("friction", *names),
        ),
        *vector(
            "force",
            rows.world[mine].sum(axis=0),
            "xyz",
            "N",
            channel=contact_channel("force", *names),
        ),
        ValueRow(
            label="slipping",
            text=f"{slipping} of {mine.size}",
            level=Level.WARN if slipping else Level.NORMAL,
        ),
    )


def _one(rows: ContactRows, n: int) -> tuple[ValueRow, ...]:
    used = float(rows.used[n])
    slips = bool(rows.slips[n])
    why = ""
    if rows.address is not None:
        exclude = 0 if rows.exclude is None else int(rows.exclude[n])
        why = excluded_text(exclude, int(rows.address[n]))
    slip = float(rows.slip[n]) if rows.slip is not None else None
    state = f"{why or 'slips'} {slip_text(slip) if slip is not None else ''}".strip()
    if not why and not slips:
        state = creep_text(slip)
    level = Level.WARN if slips else Level.NORMAL
    result = [
        row("depth", 1e3 * float(rows.depth[n]), "mm", decimals=4),
        row("normal", float(rows.normal[n]), "N"),
        row("friction", float(rows.tangential[n]), "N"),
    ]
    if np.isfinite(used):
        result.append(row("used", 100.0 * used, "%", decimals=0, note="of μ·fn", level=level))
    result.append(ValueRow(label="state", text=state, level=level))
    result += vector("", rows.pos[n], "xyz", "m")
    return tuple(result)


def _parameters(d: SceneDescription, rows: ContactRows, n: int) -> tuple[ValueRow, ...]:
    def numbers(array: NDArray[np.float64] | None) -> str:
        if array is None:
            return ""
        return "  ".join(f"{value:.4g}" for value in array[n]).replace("-", "−")

    values = {
        "condim": "" if rows.dim is None else str(int(rows.dim[n])),
        "friction": numbers(rows.friction),
        "solref": numbers(rows.solref),
        "solimp": numbers(rows.solimp),
        "margin": "" if rows.margin is None else f"{1e3 * float(rows.margin[n]):.3f} mm",
    }
    result = []
    for place, what in enumerate(ORIGINS):
        if not values[what]:
            continue
        result.append(ValueRow(label=what, text=values[what]))
        if rows.origin is not None and place < rows.origin.shape[1]:
            text = origin_text(
                d,
                what,
                int(rows.origin[n, place]),
                geoms=[int(g) for g in rows.geom[n]],
                pair=-1 if rows.pair is None else int(rows.pair[n]),
                clamped=rows.clamped is not None and bool(rows.clamped[n]),
            )
            result.append(ValueRow(label="  from", text=text))
    if rows.hull is not None and rows.hull[n].any():
        names = [side_name(d, int(g)) for g, h in zip(rows.geom[n], rows.hull[n], strict=True) if h]
        result.append(ValueRow(label="collides as", text=f"convex hull: {', '.join(names)}"))
    return tuple(result)
