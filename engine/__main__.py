"""``python -m stroboscope.engine run script.py``: the runner without its command."""

import sys

from stroboscope.debugger_protocol.quiet_start import end_quietly

if __name__ == "__main__":
    end_quietly()
    from stroboscope.engine.instrument.run import main

    if sys.argv[1:2] != ["run"]:
        sys.stderr.write("usage: python -m stroboscope.engine run script.py [arguments]\n")
        sys.exit(2)
    sys.exit(main(sys.argv[2:]))
