"""The start of the ``stroboscope`` command: as little as may be stands before Ctrl+C is quiet."""

import sys

from stroboscope.debugger_protocol.quiet_start import (
    INTERRUPTED,
    end_quietly,
    hand_over_interrupts,
)

__all__ = ["main"]


def main(argv: "list[str] | None" = None) -> int:
    """Run the command line; returns the exit code."""
    end_quietly()
    from stroboscope.app.main.command_line import imported_command

    words = list(sys.argv[1:] if argv is None else argv)
    command = imported_command(words)
    if words[:1] == ["run"]:
        return command()  # Ctrl+C is the script's
    try:
        hand_over_interrupts()
        return command()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
