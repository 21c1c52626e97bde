"""The protocol is light: it must install and import where no engine and no window is."""

import subprocess
import sys

import pytest

HEAVY = ["mujoco", "PySide6", "vispy", "pyqtgraph", "OpenGL", "gymnasium", "scipy", "matplotlib"]


@pytest.mark.parametrize(
    "module", ["client", "host.server", "window_link", "connection_file", "backend"]
)
def test_importing_the_protocol_loads_no_engine_and_no_window(module):
    code = (
        "import sys\n"
        f"import stroboscope.debugger_protocol.{module}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "print([name for name in sys.modules if name.startswith('stroboscope.')\n"
        "       and not name.startswith('stroboscope.debugger_protocol')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split("\n")[:2] == ["[]", "[]"]


def test_importing_the_package_alone_loads_nothing_at_all():
    code = (
        "import sys; before = set(sys.modules)\n"
        "import stroboscope.debugger_protocol\n"
        "print(sorted(set(sys.modules) - before))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() in (
        "['stroboscope', 'stroboscope.debugger_protocol']",
        "['stroboscope.debugger_protocol']",
    )


def test_importing_starts_no_thread_and_touches_no_file(tmp_path):
    code = (
        "import threading, os\n"
        "import stroboscope.debugger_protocol.client, stroboscope.debugger_protocol.host.server\n"
        "print(threading.active_count(), os.listdir('.'))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert result.stdout.strip() == "1 []"
