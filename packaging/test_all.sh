#!/bin/sh
# Run the tests on every Python from 3.11 to 3.13 that this machine has, then on MuJoCo 3.
#
#   test_all.sh VENV [PYTEST ARGUMENT...]
#
# VENV runs the small program that starts the display; the tests have environments of their own.
set -u
cd "$(dirname "$0")/.."
starter=$1
shift
failed=""

run_tests() {
    folder=$1 title=$2
    shift 2
    echo "=== $title"
    "$starter/bin/python" packaging/with_display.py "$folder/bin/pytest" -m "not slow" "$@" ||
        failed="$failed
  $title"
}

"$starter/bin/python" packaging/fetch_robots.py
# No [mujoco] extra here: the two distributions install into the same folder. It comes first, because
# tests in the other environments reach over to it for dm_control.
mujoco3=yes
sh packaging/venv.sh .venv-mujoco3 "" app,gym,dev "mujoco>=3.3,<4" dm_control || mujoco3=no
STROBOSCOPE_TEST_DM_CONTROL_PYTHON=$PWD/.venv-mujoco3/bin/python
export STROBOSCOPE_TEST_DM_CONTROL_PYTHON

versions=$(mktemp)
sh packaging/choose_python.sh --all >"$versions"
while read -r version python <&3; do
    if sh packaging/venv.sh ".venv-$version" "$python" mujoco,app,gym,dev; then
        run_tests ".venv-$version" "Python $version" "$@"
    else
        failed="$failed
  set-up on Python $version"
    fi
done 3<"$versions"
rm -f "$versions"

if [ $mujoco3 = yes ]; then
    run_tests .venv-mujoco3 "newest MuJoCo 3" "$@"
else
    failed="$failed
  set-up with MuJoCo 3"
fi

if [ -n "$failed" ]; then
    echo "Failed:$failed"
    exit 1
fi
echo "All passed."
