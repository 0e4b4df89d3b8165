"""The summary of a run as a person reads it."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.classification.summary import Summary, SystemSummary
from pipeline.cli.output.run import words_of
from pipeline.paid.result import Parked
from tests.cli.test_console import Terminal

FIGURES = SystemSummary({"ok": 4, "review": 12, "empty": 1}, Decimal(0), {14: 16})
SUMMARY = Summary(17, {"cpv": FIGURES}, Decimal(0), 1.0, Path("out.csv"), to_check=12)


def test_it_ends_with_what_to_do_next() -> None:
    last = words_of(SUMMARY).splitlines()[-1]
    assert last == "to check: 12 rows have a status that is not ok; --report FILE.html shows them"
    assert words_of(SUMMARY, Path("r.html")).endswith("a status that is not ok; r.html shows them")
    assert "to check: 1 row has" in words_of(replace(SUMMARY, to_check=1))
    assert words_of(replace(SUMMARY, to_check=0)) == str(SUMMARY)
    parked = replace(SUMMARY, parked=Parked(5, "No money.", "Top it up."))
    assert words_of(parked) == str(parked)  # what to do is to continue


@pytest.mark.parametrize(("columns", "table"), [("80", True), ("40", False)])
def test_it_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str, table: bool) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", columns)
    lines = words_of(SUMMARY).splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert lines[0].startswith("system   ok" if table else "cpv: 4 ok, 12 review, 1 empty")
