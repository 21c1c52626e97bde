"""Makes the corpus of hostile models importable for the tests beside it."""

import importlib.util
import sys
from pathlib import Path

if "corpus" not in sys.modules:
    # importlib mode puts no test folder on sys.path.
    _spec = importlib.util.spec_from_file_location("corpus", Path(__file__).with_name("corpus.py"))
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["corpus"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["corpus"])
