"""Several files: what fails is named, and the exit code stays the same when files are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

RUN = ("run", "a.csv", "b.csv", "--systems", "psc", "--engine", "lexical")


def test_a_file_with_too_few_matches_is_named_and_fails_again_when_it_is_skipped(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv").write_text("description\nroads\n")
    Path("b.csv").write_text("description\nxyzzyq\n")
    for last in ("2 files: 2 done", "2 files: 2 done before"):
        assert command(*RUN, fail_if_no_match=0) == 3
        said = capsys.readouterr()
        assert "b.csv: Too many rows have no match: 1 of 1 rows (psc)." in said.err
        assert said.out.splitlines()[-1] == last


def test_the_error_of_a_file_names_it_where_it_happens(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv").write_text("description\nroads\n")
    Path("b.csv").write_text("description,psc_code\nroads,5610\n")
    assert command(*RUN) == 2
    message = "b.csv: The table already has the column 'psc_code'."
    said = capsys.readouterr()
    assert message in said.err
    assert message in said.out.splitlines()
