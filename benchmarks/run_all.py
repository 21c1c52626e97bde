"""Run every benchmark in a process of its own and print one table: ``make bench``.

    python benchmarks/run_all.py [--quick] [--rounds N] [--json FILE] [NAME ...]

The numbers are those of docs/benchmarks.md. Exit status 1 when a benchmark failed to run; a missed
target is in the table, not in the exit status.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

from harness import Row, print_table, rows_from_json

FOLDER = Path(__file__).resolve().parent

BENCHMARKS = (
    "detached_rate",
    "wrapped_call",
    "attached_rate",
    "checkpoint_speed",
    "trajectory_file",
    "trajectory_seek",
    "replay",
    "history_cost",
    "recording_cost",
    "genesis_files",
    "conditions_cost",
    "rollouts",
    "batch_attached",
    "click_latency",
    "release_after_kill",
    "frozen_client",
    "many_scenes",
    "plot_curves",
    "gui_cost",
    "view_update",
    "robot_all_panels",
)


def run(name: str, extra: list[str]) -> list[Row]:
    """Return the rows of one benchmark; raises subprocess.CalledProcessError when it fails."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--json", *extra]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=1800)
    return rows_from_json(result.stdout.strip().splitlines()[-1])


def main() -> int:
    """Run what was asked for, or everything."""
    parser = argparse.ArgumentParser(description="Run the benchmarks and print one table.")
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--rounds", type=int, help="interleaved rounds per benchmark")
    parser.add_argument("--json", type=Path, help="write the rows to this file as well")
    arguments = parser.parse_args()
    extra = ["--quick"] if arguments.quick else []
    if arguments.rounds:
        extra += ["--rounds", str(arguments.rounds)]

    rows: list[Row] = []
    failed: list[str] = []
    for name in arguments.names or BENCHMARKS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            rows += run(name, extra)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed.append(f"{name}: {error}")
    print_table(rows)
    if arguments.json:
        text = json.dumps([dataclasses.asdict(row) for row in rows], indent=2)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    for line in failed:
        print(f"FAILED {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
