"""Measures a run whose answers are all in the ledger, as those of most nightly tables are.

    python -m benchmarks.owned_table [--rows 200000] [--distinct 2000] [--systems cpv] [--repeats 3]

First it buys the answers of the distinct texts from a local service, which is not measured. Then
each run is a process of its own, measured whole. Prints the medians of the repeats: rows a second
of processor time (user and system), rows a second, and the peak memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from pathlib import Path

from benchmarks.comparison import machine, turn
from benchmarks.local_service import DISK, server
from benchmarks.peers import KEY
from benchmarks.texts import made_texts, write_texts


def main() -> None:
    """Buy, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--distinct", type=int, default=2_000)
    parser.add_argument("--systems", default="cpv")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    texts, chance = made_texts(arguments.distinct), random.Random(1)
    with tempfile.TemporaryDirectory(dir=DISK) as name, server() as base:
        folder = Path(name)
        write_texts(folder / "bought.csv", texts)
        write_texts(folder / "in.csv", (chance.choice(texts) for _ in range(arguments.rows)))
        service = ["--base-url", base, "--rate", "none", "--workers", "64", "--yes"]
        options = [*service, "--ledger", str(folder / "l.db"), "--systems", arguments.systems]

        def run(source: str, output: str) -> tuple[float, float, float]:
            files = [str(folder / source), "--output", str(folder / output)]
            took = turn(
                ["pipeline", "run", *files, *options], HOME=name, TENDER_PIPELINE_API_KEY=KEY
            )
            return arguments.rows / took.cpu, arguments.rows / took.seconds, took.memory

        run("bought.csv", "bought.out.csv")
        figures = [run("in.csv", f"out.{arguments.format}") for _ in range(arguments.repeats)]
    by_cpu, by_time, memory = (statistics.median(column) for column in zip(*figures, strict=True))
    print(
        f"{arguments.rows:,} rows, {arguments.distinct:,} texts, {arguments.systems}; {machine()}"
    )
    print(f"{by_cpu:,.0f} rows/s of one processor, {by_time:,.0f} rows/s, peak {memory:,.0f} MiB")


if __name__ == "__main__":
    main()
