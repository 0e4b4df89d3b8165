"""What stops a run before anything is bought."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import PaidService, classify
from pipeline.errors import InputError
from pipeline.paid.ledger.database import Database
from tests.fakes import read_terminal
from tests.forking import ran
from tests.paid.command_line import CommandLine, folder_of
from tests.paid.serving import Service


def of_a_newer_version(ledger: Path) -> None:
    database = Database(ledger)
    with database.transaction() as connection:
        connection.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda ledger: ledger.write_bytes(b"no database" * 999),
            "Check the path",
        ),
        (of_a_newer_version, "Update tender-pipeline"),
        (Path.mkdir, "Make the file and its folder writable"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_ledger_that_cannot_be_used_is_an_error_before_anything_is_sent(
    line: CommandLine,
    service: Service,
    command: str,
    spoil: Callable[[Path], Any],
    said: str,
) -> None:
    line.write("one text")
    spoil(line.ledger)
    assert line(command) == 8
    assert said in line.err
    assert service.asked == []


def test_saying_no_buys_nothing(line: CommandLine, service: Service) -> None:
    """On a terminal a run without a limit asks; its answer is typed by the test."""
    line.write("one text")
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    done = ran(line.arguments("run"), stdin=theirs, stderr=theirs)
    os.close(theirs)
    shown = read_terminal(ours)
    assert "1 to buy" in shown and "Buy?" in shown
    assert "Nothing was bought: you answered no." in done.stdout
    assert "Run the same command to be asked again" in done.stdout
    assert done.stdout.endswith("No output was written.\n")
    assert done.returncode == 2
    assert service.asked == []
    assert not line.output.exists()


def test_what_the_output_cannot_hold_is_refused_before_it_is_bought(
    line: CommandLine, service: Service
) -> None:
    line.output = line.output.with_suffix(".xlsx")
    line.write("one text", "x" * 40_000)
    assert line("run") == 2
    assert "A cell cannot hold more than 32,767 characters" in line.err
    assert service.requests == 0
    assert not line.output.exists()


def test_a_value_that_only_its_own_format_can_hold_is_refused_before_anything_is_bought(
    line: CommandLine, service: Service
) -> None:
    line.table = line.table.with_suffix(".jsonl")
    line.table.write_text('{"description": "one text"}\n{"description": "two", "x": "\\ud800"}\n')
    assert line("run") == 2
    assert "an unpaired surrogate, U+D800, which only JSON Lines can hold" in line.err
    with pytest.raises(InputError, match="which only JSON Lines can hold"):
        classify(line.table, systems="cpv", service=PaidService(line.address, ledger=line.ledger))
    assert service.requests == 0
    line.output = line.output.with_suffix(".jsonl")
    assert line("run") == 0
    assert service.requests == 2


def test_several_files_are_not_bought_without_a_limit_or_consent_on_a_terminal(
    line: CommandLine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cli.many.on_terminal", lambda: True)
    folder_of(line, {"a": ["one text"]})
    assert line("run") == 2
    assert "--max-cost USD" in line.err
    assert service.requests == 0
