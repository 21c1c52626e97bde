"""What a plot's menu offers: its signals, and new ones made of them."""

import dataclasses
from collections.abc import Callable

from PySide6.QtWidgets import QMenu

from stroboscope.app.models.derived_signals import Derivation, DerivedKind, sources_of
from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.plot_layout import Plot, PlotLayout
from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore
from stroboscope.debugger_protocol.expressions import (
    MAX_BYTES,
    channel_reference,
    expression_channel,
    expression_text,
    is_expression,
)

__all__ = ["DERIVED_TIMES", "MenuActions", "StopWhen", "difference_of", "fill_plot_menu"]

DERIVED_TIMES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Windows and time constants that are offered [s]."""


@dataclasses.dataclass(frozen=True, slots=True)
class MenuActions:
    """What the panel does when something is chosen."""

    add_signal: Callable[[], object]
    write_expression: Callable[[str], object]
    plot: Callable[[PlotSeriesId], object]
    stop_when: "StopWhen"


@dataclasses.dataclass(frozen=True, slots=True)
class StopWhen:
    """A height that was clicked: ``expression(series, above)`` is the condition, "": none can be;
    ``add(series, expression)`` makes it.
    """

    expression: Callable[[PlotSeriesId, bool], str]
    add: Callable[[PlotSeriesId, str], object]


def fill_plot_menu(
    menu: QMenu, plot: Plot | None, layout: PlotLayout, actions: MenuActions
) -> None:
    """Add the entries that belong to the plot's signals."""
    menu.addAction("Add signal…").triggered.connect(lambda: actions.add_signal())
    menu.addAction("Add expression…").triggered.connect(lambda: actions.write_expression("= "))
    menu.addSeparator()
    for series in plot.series if plot is not None else ():
        sub = menu.addMenu(layout.store.label(series).replace("&", "&&"))
        _fill_series_menu(sub, series, layout, actions)
    menu.addSeparator()


def _fill_series_menu(
    menu: QMenu, series: PlotSeriesId, layout: PlotLayout, actions: MenuActions
) -> None:
    store = layout.store

    def derived(parent: QMenu, text: str, derivation: Derivation) -> None:
        target = dataclasses.replace(series, channel=derivation.name)
        parent.addAction(text).triggered.connect(lambda: actions.plot(target))

    if len(sources_of(series.channel)) < 4:
        derived(menu, "Derivative", Derivation(DerivedKind.DERIVATIVE, series.channel))
        for title, kind in (
            ("Moving average", DerivedKind.AVERAGE),
            ("Low-pass filter", DerivedKind.LOWPASS),
        ):
            sub = menu.addMenu(title)
            for seconds in DERIVED_TIMES:
                text = f"{1000 * seconds:g}{THIN_SPACE}ms"
                derived(sub, text, Derivation(kind, series.channel, seconds))
    others = [
        (other, channel)
        for other in layout.all_series()
        if other != series and (channel := difference_of(store, series, other)) is not None
    ]
    if others:
        sub = menu.addMenu("Difference to")
        for other, channel in others:
            target = PlotSeriesId(series.scene, channel)
            action = sub.addAction(store.label(other).replace("&", "&&"))
            action.triggered.connect(lambda _=False, each=target: actions.plot(each))
    if is_expression(series.channel):
        text = expression_text(series.channel)
        menu.addAction("Change a copy…").triggered.connect(
            lambda: actions.write_expression(f"= {text}")
        )
    for above in (True, False):
        condition = actions.stop_when.expression(series, above)
        if condition:
            if above:
                menu.addSeparator()
            menu.addAction(f"Stop when {condition}".replace("&", "&&")).triggered.connect(
                lambda _=False, text=condition: actions.stop_when.add(series, text)
            )
    menu.addSeparator()
    menu.addAction("Remove").triggered.connect(lambda: layout.remove(series))


def difference_of(store: PlotStore, first: PlotSeriesId, second: PlotSeriesId) -> str | None:
    """Return the channel ``first - second``; None when they can't be subtracted."""
    if first.scene != second.scene or store.unit(first) != store.unit(second):
        return None
    texts = []
    for series in (first, second):
        info = store.info(series.scene, series.channel)
        if info is None or len(sources_of(series.channel)) > 1:
            return None
        if not is_expression(series.channel):
            texts.append(channel_reference(info, series.component))
            continue
        part = f"[{series.component}]" if info.width > 1 else ""
        texts.append(f"({expression_text(series.channel)}){part}")
    text = f"{texts[0]} - {texts[1]}"
    channel = expression_channel(text)
    too_long = len(text.encode()) > MAX_BYTES
    return None if too_long or store.info(first.scene, channel) is None else channel
