"""Run a command as ``stroboscope WORDS…`` does, in a process that was forked with imports done."""

import sys

from stroboscope.app.main.cli import main

sys.exit(main(sys.argv[1:]))
