"""Makes the small trajectories of these tests importable: importlib mode adds no test folder."""

import importlib.util
import sys
from pathlib import Path

if "recordings" not in sys.modules:
    _spec = importlib.util.spec_from_file_location(
        "recordings", Path(__file__).with_name("recordings.py")
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["recordings"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["recordings"])
