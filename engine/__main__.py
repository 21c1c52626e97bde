"""``python -m stroboscope.engine run script.py``: the runner without its command."""

import sys

from stroboscope.engine.instrument.run import main

if __name__ == "__main__":
    if sys.argv[1:2] != ["run"]:
        sys.stderr.write("usage: python -m stroboscope.engine run script.py [arguments]\n")
        sys.exit(2)
    sys.exit(main(sys.argv[2:]))
