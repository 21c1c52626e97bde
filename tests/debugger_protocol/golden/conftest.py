"""Makes the lists of golden bytes importable for the tests beside this."""

import importlib.util
import sys
from pathlib import Path

for _path in Path(__file__).parent.glob("golden_*.py"):
    # importlib mode puts no test folder on sys.path.
    _spec = importlib.util.spec_from_file_location(_path.stem, _path)
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[_path.stem] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_path.stem])
