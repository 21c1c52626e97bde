"""Memory that was freed goes back to the system, also from below what is still in use."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "check", ["the_window", "used_and_freed_again", "between_two_looks", "little"]
)
def test_what_was_freed_is_given_back_and_little_is_kept(check: str) -> None:
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("this C library does not say what is free")
    script = Path(__file__).with_name("freed_memory_script.py")
    command = [sys.executable, str(script), check]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
