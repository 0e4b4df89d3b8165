"""Measures rows a second and peak memory of whole runs, each in its own process.

    python -m benchmarks.job_speed [--rows 10000 100000] [--jobs 1 2] [--repeats 3]

Every row has a different text, and all four systems are asked. The figures printed are medians of
the repeats; memory is the largest resident set of the process itself (not of its workers).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.texts import made_texts, write_texts


def measure(source: Path, output: Path, jobs: int) -> tuple[float, float]:
    """Return the duration in seconds and the peak memory in mebibytes of one run."""
    command = [sys.executable, "-m", "pipeline", "run", str(source), "--output", str(output)]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--jobs", str(jobs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the run failed with {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.csv"
        for rows in arguments.rows:
            write_texts(source, made_texts(rows))
            for jobs in arguments.jobs:
                runs = [
                    measure(source, Path(folder) / "out.csv", jobs)
                    for _ in range(arguments.repeats)
                ]
                seconds = statistics.median(run[0] for run in runs)
                memory = statistics.median(run[1] for run in runs)
                print(
                    f"{rows:>9,} rows, {jobs} jobs: {rows / seconds:>7,.0f} rows/s "
                    f"({seconds:.1f} s), peak {memory:,.0f} MiB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
