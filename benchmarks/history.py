"""Measures how well `train --only-history` learns the Census index of NAICS 2022.

    python -m benchmarks.history INDEX.csv [--text-column entry] [--code-column code] [--jobs 1]

INDEX is the Census Bureau's "2022 NAICS Index File" saved as CSV: 20,373 entries with their codes.
Each entry is taken once; the entries are shuffled by `numpy.random.default_rng(12345).permutation`
and cut in two halves. One half is learned and the other asked for, then the other way round.
Prints for each fold, and for their mean, the share of entries whose code came first and among the
first 10, the expected calibration error of the first code's confidence over ten bins, and the
seconds that `train` took.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

import pipeline
from benchmarks.command_line import parser_for

SEED = 12345


class Fold(NamedTuple):
    """The figures of a model that was trained on one half, on the other half."""

    first: float
    among_ten: float
    error: float
    seconds: float


def main() -> None:
    """Measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--text-column", default="entry")
    parser.add_argument("--code-column", default="code")
    parser.add_argument("--jobs", type=int, default=1, help="processes that answer")
    arguments = parser.parse_args()
    one, other = _halves(_entries(arguments.index, arguments.text_column, arguments.code_column))
    print(f"{len(one) + len(other):,} entries, {len(one):,} and {len(other):,} a half")
    print("fold   first code   among 10   calibration error   seconds of training")
    folds = [_fold(one, other, arguments.jobs)]
    _show("1", folds[0])
    folds.append(_fold(other, one, arguments.jobs))
    _show("2", folds[1])
    _show("mean", Fold(*np.mean(folds, axis=0).tolist()))


def _entries(path: Path, text: str, code: str) -> pa.Table:
    """Return each entry once, with its first code."""
    written = pyarrow.csv.ConvertOptions(column_types={text: pa.string(), code: pa.string()})
    # Entries may go over several lines.
    several = pyarrow.csv.ParseOptions(newlines_in_values=True)
    table = pyarrow.csv.read_csv(path, parse_options=several, convert_options=written)
    codes: dict[str, str] = {}
    for entry, its_code in zip(table[text].to_pylist(), table[code].to_pylist(), strict=True):
        codes.setdefault(entry, its_code)
    return pa.table({"entry": list(codes), "code": list(codes.values())})


def _halves(entries: pa.Table) -> tuple[pa.Table, pa.Table]:
    order = np.random.default_rng(SEED).permutation(len(entries))
    middle = len(entries) // 2
    return entries.take(order[:middle]), entries.take(order[middle:])


def _fold(taught: pa.Table, asked: pa.Table, jobs: int) -> Fold:
    """Train on one half and ask for the other."""
    about: Any = {"system": "naics", "text_columns": "entry", "progress": False}
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        model = pipeline.train(taught, output=Path(folder, "model"), only_history=True, **about)
        seconds = time.perf_counter() - started
        (found,) = pipeline.evaluate(asked, subject=model, jobs=jobs, **about).subjects
    right = found.figures.right
    return Fold(right[1].value, right[10].value, found.figures.calibration_error, seconds)


def _show(name: str, fold: Fold) -> None:
    print(
        f"{name:<5}{fold.first:>12.3f}{fold.among_ten:>11.3f}{fold.error:>20.3f}"
        f"{fold.seconds:>22.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
