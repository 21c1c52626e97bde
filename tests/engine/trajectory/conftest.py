"""Finds what is shared by the tests of trajectories."""

import importlib.util
import sys
from pathlib import Path

if "plain_recording" not in sys.modules:
    # importlib mode puts no test folder on sys.path.
    _spec = importlib.util.spec_from_file_location(
        "plain_recording", Path(__file__).with_name("plain_recording.py")
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["plain_recording"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["plain_recording"])
