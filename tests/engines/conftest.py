"""The table of all engines, and what `run` makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engines.tables import classified_by_run, write_table


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engines")
    write_table(folder / "tenders.parquet")
    return folder


@pytest.fixture(scope="session")
def expected(folder: Path) -> list[dict[str, Any]]:
    return classified_by_run(folder / "tenders.parquet", folder / "run.parquet")
