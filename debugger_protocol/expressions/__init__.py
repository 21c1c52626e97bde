"""The one small language of watches, plots and conditions.

Checked once against what a scene has, then evaluated as often as wanted; nothing is ever run that
is no part of it. See docs/expressions.md.
"""

from stroboscope.debugger_protocol.expressions.catalogue import (
    READY_MADE,
    Parameter,
    ParameterKind,
    ReadyMade,
    ready_made,
)
from stroboscope.debugger_protocol.expressions.channel_names import (
    expression_channel,
    expression_text,
    is_expression,
)
from stroboscope.debugger_protocol.expressions.compiler import (
    MAX_WIDTH,
    ChannelUse,
    Expression,
    compile_expression,
)
from stroboscope.debugger_protocol.expressions.condition_check import (
    awaited_channels,
    check_condition,
    constants_of,
)
from stroboscope.debugger_protocol.expressions.contact_sums import (
    contact_part,
    contact_sum,
    geom_mask,
    pair_of_contacts,
)
from stroboscope.debugger_protocol.expressions.errors import ExpressionError, UnknownSignal
from stroboscope.debugger_protocol.expressions.memory import REMEMBERING
from stroboscope.debugger_protocol.expressions.parser import MAX_BYTES
from stroboscope.debugger_protocol.expressions.signal_table import (
    CONTACT_PARTS,
    PASSED,
    SignalTable,
    channel_reference,
    table_of,
)

__all__ = [
    "CONTACT_PARTS",
    "MAX_BYTES",
    "MAX_WIDTH",
    "PASSED",
    "READY_MADE",
    "REMEMBERING",
    "ChannelUse",
    "Expression",
    "ExpressionError",
    "Parameter",
    "ParameterKind",
    "ReadyMade",
    "SignalTable",
    "UnknownSignal",
    "awaited_channels",
    "channel_reference",
    "check_condition",
    "compile_expression",
    "constants_of",
    "contact_part",
    "contact_sum",
    "expression_channel",
    "expression_text",
    "geom_mask",
    "is_expression",
    "pair_of_contacts",
    "ready_made",
    "table_of",
]
