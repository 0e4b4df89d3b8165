"""Files that tests of the readers share."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def not_utf8(tmp_path: Path) -> Path:
    """Return a table whose column b holds what some writers take for text."""
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(pa.table({"a": pa.array(["x"]), "b": broken}), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tenders.csv"
