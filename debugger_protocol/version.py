"""The protocol's version and what this side can do."""

__all__ = ["CAPABILITIES", "PASSING", "PLAYS", "PROTOCOL_MAJOR", "PROTOCOL_MINOR", "RELAY"]

PROTOCOL_MAJOR = 1
PROTOCOL_MINOR = 2

# Names of optional features, announced in both hellos; an unknown name is ignored.
CAPABILITIES: tuple[str, ...] = (
    "edit_state",
    "run_until",
    "step_with_dependents",
    "perturb",
    "override_control",
    "edit_option",
    "checkpoints",
    "lint",
    "expressions",
    "history",
    "stops",
    "rollouts",
    "recordings",
)

RELAY = "relay"
"""In the hello of an observing client: its commands are done in the controller's name."""

PASSING = "passing"
"""In the hello of an observing client that looks in for a moment: it is not what a script waits
for in ``attach()``, and leaves ``is_attached()`` alone, unless it takes control."""

PLAYS = "plays"
"""In the hello of a client that moves the view by itself where the application asks for that: a
recorded run that is to be played is left to it while it controls."""
