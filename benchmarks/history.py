"""Measures how well `train --only-history` learns the Census index of NAICS 2022.

    python -m benchmarks.history INDEX.csv [--text-column entry] [--code-column code] [--jobs 1]

INDEX is the Census Bureau's "2022 NAICS Index File" saved as CSV: 20,373 entries with their codes.
Each entry is taken once; the entries are shuffled by `numpy.random.default_rng(12345).permutation`
and cut in two halves. One half is learned and the other asked for, then the other way round, by the
command line as a user would. Prints for each fold, and for their mean, the share of entries whose
code came first and among the first 10, the expected calibration error of the first code's
confidence over ten bins, and the seconds that `train` took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.command_line import parser_for
from pipeline.engine.model.calibration import calibration_error

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
    parser.add_argument("--jobs", default="1", help="processes that answer; training takes one")
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


def _fold(taught: pa.Table, asked: pa.Table, jobs: str) -> Fold:
    """Train on one half and classify the other."""
    with tempfile.TemporaryDirectory() as name:
        history, questions, answers = (
            Path(name, f"{part}.parquet") for part in ("taught", "asked", "answered")
        )
        pyarrow.parquet.write_table(taught, history)
        pyarrow.parquet.write_table(asked.select(["entry"]), questions)
        model = str(Path(name, "model"))
        columns = ["--text-column", "entry"]
        started = time.perf_counter()
        learned = ["--system", "naics", "--code-column", "code", "--only-history"]
        _command("train", str(history), *columns, *learned, "--output", model)
        seconds = time.perf_counter() - started
        answered = ["--systems", "naics", "--model", model, "--top", "10", "--jobs", jobs]
        _command("run", str(questions), *columns, *answered, "--output", str(answers))
        return _measured(pyarrow.parquet.read_table(answers), asked["code"].to_pylist(), seconds)


def _command(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments], check=True, stdout=subprocess.DEVNULL
    )


def _measured(answers: pa.Table, truths: list[str], seconds: float) -> Fold:
    matches = answers["naics_matches"].to_pylist()
    ranked = [[match["code"] for match in found or []] for found in matches]
    right = [codes[:1] == [truth] for codes, truth in zip(ranked, truths, strict=True)]
    among_ten = [truth in codes for codes, truth in zip(ranked, truths, strict=True)]
    confidences = [value or 0.0 for value in answers["naics_confidence"].to_pylist()]
    error = calibration_error(np.array(confidences), np.array(right))
    return Fold(float(np.mean(right)), float(np.mean(among_ten)), error, seconds)


def _show(name: str, fold: Fold) -> None:
    print(
        f"{name:<5}{fold.first:>12.3f}{fold.among_ten:>11.3f}{fold.error:>20.3f}"
        f"{fold.seconds:>22.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
