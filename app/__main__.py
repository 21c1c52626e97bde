"""``python -m stroboscope.app`` is ``stroboscope``."""

import sys

from stroboscope.app.main.cli import main

sys.exit(main())
