"""Run a script in a process that was forked with all imports done, as its command line would.

Arguments: files for standard output and standard error, and then ``run --wait 60 script.py …`` for
the runner, ``open …`` for that command, or ``script.py …`` for Python alone.
"""

import os
import sys

from stroboscope.app.main import cli
from stroboscope.engine.instrument import run
from stroboscope.engine.instrument.script import run_script

for _descriptor, _path in ((1, sys.argv[1]), (2, sys.argv[2])):
    _file = os.open(_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(_file, _descriptor)
    os.close(_file)

_command = sys.argv[3:]
if _command[0] == "run":
    sys.argv = ["stroboscope", *_command]
    sys.exit(run.main(_command[1:]))
if _command[0] == "open":
    sys.exit(cli.main(_command))
run_script(_command[0], _command[1:])
