"""Debugging scripts that don't know us: wrapped ``mujoco`` functions, and ``stroboscope run``."""
