"""The list of tests that come last is kept by hand: all that it names is there."""

import re
from pathlib import Path

import late_tests
import pytest

_DEFINED = re.compile(r"^(?:class (\w+)|( +)?(?:async )?def (test_\w+)\()", re.MULTILINE)


def _tests_in(path: Path) -> set[str]:
    """Return the tests that a file defines, as pytest names them: ``class::function``."""
    names, of_class = set(), ""
    for match in _DEFINED.finditer(path.read_text(encoding="utf-8") if path.is_file() else ""):
        if match[1]:
            of_class = match[1]
        else:
            names.add(f"{of_class}::{match[3]}" if match[2] else match[3])
    return names


def test_every_late_test_is_a_test_that_exists(repository: Path) -> None:
    # One that was renamed would run among the first, and nobody would know.
    known: dict[str, set[str]] = {}
    gone = []
    for name in late_tests.NAMES:
        file, _, test = name.partition("[")[0].partition("::")
        if file not in known:
            known[file] = _tests_in(repository / file)
        if test not in known[file]:
            gone.append(name)
    assert not gone, "rename them in tests/late_tests.txt, or remove them"


def test_every_late_test_has_parameters_that_its_test_has(request: pytest.FixtureRequest) -> None:
    # Known only of what is collected with this test: all, when all tests run.
    config = request.config
    if any("::" in argument for argument in config.args) or config.getoption("lf", False):
        pytest.skip("single tests were asked for")
    collected = config.stash[late_tests.COLLECTED]
    tests = {name.partition("[")[0] for name in collected}
    late = {name for name in late_tests.NAMES if name.partition("[")[0] in tests}
    assert not late - collected, "rename them in tests/late_tests.txt, or remove them"


def test_a_renamed_late_test_is_missed(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(
        "def test_a():\n    pass\n\n\nclass TestB:\n    def test_c(self):\n        pass\n"
    )
    assert _tests_in(file) == {"test_a", "TestB::test_c"}
    assert not _tests_in(tmp_path / "test_gone.py")
