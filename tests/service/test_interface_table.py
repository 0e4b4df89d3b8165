"""The table of the interface names tests that there are, and leaves no row without one."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pipeline.service.spec import FAILURES

TESTS = Path(__file__).parents[1]

ROWS: dict[tuple[int, int], dict[str, Any]] = {
    (int(chapter), int(number)): row
    for chapter, rows in tomllib.loads(
        Path(__file__).with_name("interface_table.toml").read_text("utf-8")
    ).items()
    for number, row in rows.items()
}


def named(row: dict[str, Any]) -> list[str]:
    return [*row["server"], *row.get("client", [])]


@cache
def collected(*files: str) -> frozenset[str]:
    """Return every test of some files, with its parameters and without."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-n", "0", *files],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return with_and_without_parameters(re.findall(r"^\S+\.py::.+$", done.stdout, re.MULTILINE))


def with_and_without_parameters(nodes: Iterable[str]) -> frozenset[str]:
    tests = [node.removeprefix("tests/") for node in nodes]
    return frozenset(name for test in tests for name in (test, test.partition("[")[0]))


def test_the_numbers_of_the_rows_are_in_order_and_without_a_gap() -> None:
    assert {chapter for chapter, _ in ROWS} == set(range(1, 10))
    for before, after in itertools.pairwise(ROWS):
        assert after in ((before[0], before[1] + 1), (before[0] + 1, 1))


@pytest.mark.parametrize("row", ROWS.values(), ids=map(str, ROWS))
def test_every_row_says_something_and_names_tests(row: dict[str, Any]) -> None:
    assert set(row) <= {"says", "server", "client"}
    assert row["says"].endswith(".")
    assert row["server"]
    assert row.get("client") != []
    assert len(set(named(row))) == len(named(row))


def test_every_test_that_a_row_names_exists(request: pytest.FixtureRequest) -> None:
    running = with_and_without_parameters(item.nodeid for item in request.session.items)
    rows = {test: at for at, row in ROWS.items() for test in named(row) if test not in running}
    files = sorted({test.partition("::")[0] for test in rows})
    missing = rows.keys() - collected(*files) if files else ()
    assert [f"{rows[test]} names {test}" for test in missing] == []


@pytest.mark.parametrize("error", sorted({one.error for one in FAILURES}))
def test_every_error_of_the_service_has_a_row(error: str) -> None:
    assert any(row["says"].startswith(error) for row in ROWS.values())
