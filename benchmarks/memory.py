"""Measures the peak memory of whole runs, and of the plan of a paid job, on varied tables.

    python -m benchmarks.memory [--rows 100000 3000000] [--systems naics] [--format csv] [--plan]

No two texts are alike, and new words keep coming, so that whatever keeps texts or words shows. Each
run is a process of its own. Prints the largest resident set, and its growth since the first size.
"""

from __future__ import annotations

import csv
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.command_line import parser_for
from benchmarks.comparison import turn
from benchmarks.local_service import DISK
from benchmarks.texts import SAMPLE

AT_ONCE = 10_000

NOWHERE = "http://127.0.0.1:9"
"""The address of a service: a plan sends nothing."""


def varied_texts(seed: int = 1) -> Iterator[str]:
    """Yield short texts: two known words, a word that hardly occurs again, and a number."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        sample = " ".join(row["description"] for row in csv.DictReader(file)).lower()
    words = sorted(set(re.findall(r"[a-z]{3,}", sample)))
    chance = random.Random(seed)
    while True:
        known = " ".join(chance.choices(words, k=2))
        new = "".join(chance.choices("bcdfglmnprst", k=4) + chance.choices("aeiou", k=4))
        yield f"{known} {''.join(chance.sample(new, 8))} {chance.getrandbits(40)}"


def main() -> None:
    """Measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 3_000_000])
    parser.add_argument("--systems", default="naics")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--plan", action="store_true", help="plan a paid job; buy nothing")
    arguments = parser.parse_args()
    first = None
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=DISK) as folder:
            source = Path(folder) / f"in.{arguments.format}"
            _write(source, rows)
            options = ["--systems", arguments.systems, "--jobs", arguments.jobs]
            took = turn(["pipeline", *_command(source, arguments.plan, options)])
        first = first or took.memory
        print(
            f"{rows:>10,} rows: {took.cpu:>7,.0f} s of CPU, peak {took.memory:,.0f} MiB, "
            f"{took.memory - first:+,.0f} MiB",
            flush=True,
        )


def _write(path: Path, rows: int) -> None:
    texts = islice(varied_texts(), rows)
    numbered = enumerate(texts)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(numbered)
        return
    schema = pa.schema([("id", pa.int64()), ("description", pa.string())])
    with pq.ParquetWriter(path, schema) as parquet:
        while some := list(islice(numbered, AT_ONCE)):
            ids, descriptions = zip(*some, strict=True)
            parquet.write_table(pa.table([ids, descriptions], schema=schema))


def _command(source: Path, plan: bool, options: Sequence[str]) -> list[str]:
    if plan:
        ledger = str(source.with_name("ledger.db"))
        paid = ["--base-url", NOWHERE, "--ledger", ledger, "--rate", "none"]
        return ["plan", str(source), *options[:2], *paid]
    output = source.with_name(f"out{source.suffix}")
    return ["run", str(source), *options, "--output", str(output)]


if __name__ == "__main__":
    main()
