"""Measures a run whose answers are all in the ledger, as those of most nightly tables are.

    python -m benchmarks.owned_table [--rows 200000] [--distinct 2000] [--systems cpv] [--repeats 3]

First it buys an answer of its own for each distinct text from a local service, which is not
measured. With as many distinct texts as rows, every row has a text of its own. With --missing,
that percentage of the texts is left for the measured run to buy. Then each run is a process of its
own, with a copy of the ledger, measured whole. Prints the medians of the repeats: rows a second of
processor time (user and system), rows a second, and the peak memory.
"""

from __future__ import annotations

import random
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import parser_for
from benchmarks.comparison import machine, turn
from benchmarks.local_service import DISK, server
from benchmarks.peers import KEY
from benchmarks.texts import made_texts, write_texts


def main() -> None:
    """Buy, measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--distinct", type=int, default=2_000)
    parser.add_argument("--missing", type=float, default=0.0, help="percent of the distinct texts")
    parser.add_argument("--systems", default="cpv")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    texts, chance = made_texts(arguments.distinct), random.Random(1)
    with tempfile.TemporaryDirectory(dir=DISK) as name, server(distinct=True) as base:
        folder = Path(name)
        owned = texts[round(arguments.distinct * arguments.missing / 100) :]
        write_texts(folder / "bought.csv", owned)
        rows = _rows(texts, arguments.rows, chance)
        write_texts(folder / "in.csv", rows)
        service = ["--base-url", base, "--rate", "none", "--workers", "64", "--yes"]
        options = [*service, "--ledger", str(folder / "run.db"), "--systems", arguments.systems]

        def run(source: str, output: str) -> tuple[float, float, float]:
            files = [str(folder / source), "--output", str(folder / output)]
            home = str(folder / f"home of {output}")  # or the copy would count as an old backup
            took = turn(
                ["pipeline", "run", *files, *options], HOME=home, TENDER_PIPELINE_API_KEY=KEY
            )
            return arguments.rows / took.cpu, arguments.rows / took.seconds, took.memory

        def run_with_copy(number: int) -> tuple[float, float, float]:
            shutil.copy(folder / "owned.db", folder / "run.db")
            return run("in.csv", f"out{number}.{arguments.format}")

        run("bought.csv", "bought.out.csv")
        (folder / "run.db").rename(folder / "owned.db")
        figures = [run_with_copy(number) for number in range(arguments.repeats)]
    by_cpu, by_time, memory = (statistics.median(column) for column in zip(*figures, strict=True))
    print(
        f"{arguments.rows:,} rows, {arguments.distinct:,} texts, {arguments.systems}; {machine()}"
    )
    print(f"{by_cpu:,.0f} rows/s of one processor, {by_time:,.0f} rows/s, peak {memory:,.0f} MiB")


def _rows(texts: Sequence[str], count: int, chance: random.Random) -> Sequence[str]:
    """Return the texts of a table; those of the ledger in another order if none repeats."""
    if count == len(texts):
        return chance.sample(texts, count)
    return chance.choices(texts, k=count)


if __name__ == "__main__":
    main()
