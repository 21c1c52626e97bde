"""Map the top-level folders into the ``stroboscope`` namespace; all else is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = ("debugger_protocol", "engine", "app", "resources")
packages = [
    f"stroboscope.{p}" for f in FOLDERS for p in (f, *(f"{f}.{s}" for s in find_packages(f)))
]
setup(packages=packages, package_dir={f"stroboscope.{f}": f for f in FOLDERS})
