"""The recipes of the documentation, as they are written there, have the columns of `run`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks, page
from tests.engines.tables import rows_of

PAGE = page("how-to/engines")

ENGINES = {
    "Polars": "polars",
    "DuckDB": "duckdb",
    "Ray": "ray",
    "Daft": "daft",
    "Dask": "dask",
}
"""The sections of the page, and the module without which each is skipped."""

needs_one_process = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" in os.environ, reason="classifies 20,000 rows: run this file with -n 0"
)


def test_every_section_of_the_page_is_tested() -> None:
    assert [line[3:] for line in PAGE.splitlines() if line.startswith("## ")] == list(ENGINES)
    assert len(blocks(PAGE, "python")) == 1 + len(ENGINES)


@needs_one_process
@pytest.mark.parametrize("engine", ["pyarrow", *ENGINES])
def test_a_recipe_has_the_columns_of_run(
    engine: str, folder: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    module = ENGINES.get(engine, engine)
    if find_spec(module) is None:
        pytest.skip(f"needs {engine}: pip install {module}")
    recipe = dict(zip(["pyarrow", *ENGINES], blocks(PAGE, "python"), strict=True))[engine]
    if engine == "Ray":  # which waits for ever on two processors, as the page says
        recipe = f"import ray\nray.init(num_cpus=4)\n{recipe}"
    (tmp_path / "tenders.parquet").symlink_to(folder / "tenders.parquet")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", recipe],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "coded.parquet") == expected
