"""Makes models that tests are made of importable for the tests beside it."""

import importlib.util
import sys
from pathlib import Path

_HERE = Path(__file__).parent

# importlib mode puts no test folder on sys.path.
for _file in (_HERE / "corpus.py",):
    if _file.stem not in sys.modules:
        _spec = importlib.util.spec_from_file_location(_file.stem, _file)
        assert _spec is not None
        assert _spec.loader is not None
        sys.modules[_file.stem] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules[_file.stem])
