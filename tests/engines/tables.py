"""The 20,000 rows that every engine classifies, and what `run` makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from benchmarks.texts import made_texts
from pipeline.cli.app import app

ROWS = 20_000
REPEATED = 100
"""So many rows in a row have the same text: then it is ranked once, and the test is fast."""

SYSTEMS = "psc,naics"


def write_table(path: Path) -> None:
    """Write rows that are numbered, some without text."""
    texts = made_texts(ROWS // REPEATED)
    description = [texts[row // REPEATED] if row % 7 else None for row in range(ROWS)]
    columns = {
        "n": range(ROWS),
        "description": description,
        "sum": [row / 8 for row in range(ROWS)],
    }
    pq.write_table(pa.table(columns), path)


def classified_by_run(path: Path, output: Path) -> list[dict[str, Any]]:
    """Return the rows as the command line classifies them."""
    options = ["run", str(path), "--output", str(output), "--systems", SYSTEMS, "--top", "2"]
    done = CliRunner().invoke(app, options, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return rows_of(output)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file, or of a folder of them, in the order of their numbers."""
    rows: list[dict[str, Any]] = pq.read_table(path).sort_by("n").to_pylist()
    return rows
