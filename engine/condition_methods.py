"""The part of :class:`Scene` that is about conditions: what the script wants it to stop for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import ConditionInfo
from stroboscope.engine.arguments import flag, plain_text, whole_number
from stroboscope.engine.errors import ConditionError
from stroboscope.engine.stops.conditions import Condition

if TYPE_CHECKING:
    from stroboscope.engine.stops.scene_stops import SceneStops

__all__ = ["ConditionMethods", "wanted_condition"]

_MOST_HITS = 1_000_000_000


class ConditionMethods:
    """Methods of a scene that say when it has to stop; owner thread only."""

    stops: "SceneStops"
    _guard: Callable[[], None]

    def break_when(
        self,
        expression: str,
        *,
        name: str = "",
        hits: int = 1,
        once: bool = False,
        log_only: bool = False,
    ) -> Condition:
        """Stop after the physics step in which ``expression`` becomes true, as a debugger's would.

        ``break_when("max(contact.penetration) > 0.005")``; the language is the one of watches, see
        docs/expressions.md, and :func:`~stroboscope.engine.ready_made` writes common ones. It is
        looked at after every physics step while a debugger is attached or :attr:`raise_on_stop`,
        :meth:`on_stop` or :meth:`keep_history` ask for it, on the values of that step; what is NaN
        is not true. It stops the scene from the ``hits``-th time on that it *becomes* true; with
        ``once`` it is removed then; with ``log_only`` it is only told and marked.

        What is true already has become true with the next step; the log says what will come of it.
        One that speaks of a number which the script has not logged yet (:meth:`log`) waits for it,
        and the log says so; names that are close to a signal there is were mistyped, and are
        written ``user['name']`` where they were not.

        Raises ConditionError, which shows the place, for an expression that this scene can't
        evaluate, TypeError for what is no text, and ValueError for ``hits`` out of range.
        """
        self._guard()
        wanted = wanted_condition(expression, name=name, hits=hits, once=once, log_only=log_only)
        try:
            info = self.stops.put_condition(wanted)
        except CommandError as error:
            raise ConditionError(str(error)) from None
        self.stops.tell_note(info)
        return self.stops.handle(info.condition_id, self._guard)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, oldest first, those that clients have set as well."""
        self._guard()
        stops = self.stops
        return tuple(
            stops.handle(info.condition_id, self._guard) for info in stops.condition_infos()
        )


def wanted_condition(
    expression: str, *, name: str, hits: int, once: bool, log_only: bool
) -> ConditionInfo:
    """Return what a script asks for; TypeError for other types, ValueError out of range."""
    return ConditionInfo(
        condition_id=0,
        expression=plain_text(expression, "a condition's expression").strip(),
        name=" ".join(plain_text(name, "a condition's name").split()),
        hits=whole_number(hits, "hits", least=1, most=_MOST_HITS),
        once=flag(once, "once"),
        log_only=flag(log_only, "log_only"),
    )
