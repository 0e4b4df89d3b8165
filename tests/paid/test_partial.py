"""A run that parks or is interrupted, and the table so far, from the command line."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.classification.file_sink import FileSink
from tests.forking import Process
from tests.paid.command_line import CommandLine
from tests.paid.serving import Service, Sluice

TEXTS = [f"text number {number}" for number in range(12)]
BOTH = ("--systems", "cpv,psc")


@pytest.fixture
def line(line: CommandLine) -> CommandLine:
    line.write(*TEXTS)
    line.output = line.output.with_name("out") / "all.csv"
    return line


def started(line: CommandLine, *options: str) -> Process:
    """Run the command line in a process of its own."""
    arguments = line.arguments("run", *BOTH, "--partial", *options)
    return Process(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def costs(path: Path) -> Decimal:
    return sum((Decimal(row["cost_usd"] or 0) for row in rows(path)), Decimal(0))


def statuses(path: Path) -> Counter[str]:
    return Counter(row[f"{system}_status"] for row in rows(path) for system in ("cpv", "psc"))


@pytest.fixture
def parked(line: CommandLine, service: Service) -> Iterator[CommandLine]:
    """A job whose run has parked for its cost limit and written the table so far."""
    assert line("run", *BOTH, "--partial", "--max-cost", "0.001") == 5
    assert f"output so far: {partial(line)}" in line.out
    yield line


def partial(line: CommandLine) -> Path:
    return line.output.with_name("all.partial.csv")


def test_the_table_so_far_has_every_row_its_money_and_why_it_is_not_complete(
    parked: CommandLine, service: Service
) -> None:
    assert not parked.output.exists()
    assert [row["description"] for row in rows(partial(parked))] == TEXTS
    found = statuses(partial(parked))
    assert set(found) == {"ok", "pending"}
    assert found["ok"] == len(service.asked)
    assert costs(partial(parked)) == service.charged > 0
    # Calls are bought row by row, so that the rows before the last one begun are whole.
    ended = [row["cpv_status"] == row["psc_status"] == "ok" for row in rows(partial(parked))]
    assert ended == sorted(ended, reverse=True)
    manifest = json.loads(Path(f"{partial(parked)}.manifest.json").read_text())
    assert manifest["exit_state"] == "parked"
    summary = manifest["summary"]
    assert summary["parked"]["exit_code"] == 5
    assert "cost limit" in summary["parked"]["message"]
    assert Decimal(summary["cost_usd"]) == service.charged
    assert summary["systems"]["cpv"]["failed"] == 0


def test_once_the_job_is_complete_the_table_so_far_is_gone(
    parked: CommandLine, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert parked("run", *BOTH) == 0
    left = sorted(path.name for path in parked.output.parent.iterdir())
    assert left == ["all.csv", "all.csv.manifest.json"]
    assert f"Removed {partial(parked)}" in caplog.text
    assert "pending" not in parked.out
    assert costs(parked.output) == service.charged
    assert len(service.asked) == 2 * len(TEXTS)


def test_a_table_so_far_is_replaced_by_a_later_one_and_kept_if_it_was_changed(
    parked: CommandLine, service: Service
) -> None:
    before = statuses(partial(parked))
    assert parked("run", *BOTH, "--partial", "--max-cost", "0.002") == 5
    assert statuses(partial(parked))["ok"] > before["ok"]
    partial(parked).write_text("mine now")
    asked = len(service.asked)
    assert parked("run", *BOTH, "--partial") == 2
    assert "all.partial.csv exists" in parked.err and "--overwrite" in parked.err
    assert len(service.asked) == asked  # said before anything was bought
    assert parked("run", *BOTH) == 0
    assert partial(parked).read_text() == "mine now"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_signal_lets_what_is_under_way_finish_and_then_the_table_is_written(
    line: CommandLine, service: Service, number: signal.Signals, code: int
) -> None:
    sluice = Sluice(service.app(), 5)
    with line.at(sluice):
        process = started(line, "--workers", "3")
        assert sluice.reached.wait(30)
        stop(process, number)
        sluice.open()
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        found = statuses(partial(line))
        assert found["ok"] == len(service.asked) < 24
        assert set(found) == {"ok", "pending"}
        assert costs(partial(line)) == service.charged
        assert f"output so far: {partial(line)}" in out
        assert "unconfirmed" not in out  # nothing was broken off
        assert "Traceback" not in err
        assert line("run", *BOTH) == 0
    assert costs(line.output) == service.charged
    assert len(service.asked) == 24


def stop(process: Process, number: signal.Signals) -> None:
    """Send a signal, and wait until it is heeded."""
    process.send_signal(number)
    assert process.stderr is not None
    assert any("Interrupt again to stop at once" in text for text in process.stderr)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_stops_at_once_and_writes_no_table(
    line: CommandLine, service: Service, number: signal.Signals, code: int
) -> None:
    gate = Sluice(service.app(), 5, loses=True)
    with line.at(gate):
        process = started(line)
        assert gate.reached.wait(30)
        stop(process, number)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.endswith("no output was written.\n")
    assert "Answers under way are lost, and may be billed. All others are kept." in err
    assert "Traceback" not in err
    (left,) = line.output.parent.iterdir()
    assert left.name == "all.csv.manifest.json", "it names the ledger"


@pytest.mark.parametrize(
    ("output", "partial"),
    [
        ("all.csv", "all.partial.csv"),
        ("all.classified.csv.gz", "all.classified.partial.csv.gz"),
        ("all.parquet", "all.partial.parquet"),
        ("all", "all.partial"),
        ("all.dat", "all.dat.partial"),
    ],
)
def test_the_table_so_far_is_beside_the_output(output: str, partial: str) -> None:
    sink = FileSink(Path("out") / output, "csv", overwrite=True, source=Path("in.csv"))
    assert sink.partial == FileSink(Path("out") / partial, "csv", True, Path("in.csv"))
