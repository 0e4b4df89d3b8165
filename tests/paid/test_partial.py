"""A run that parks or is interrupted, and the table so far, from the command line."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.classification.file_sink import FileSink
from tests.forking import Process
from tests.paid.serving import Gate, Service, Sluice, serving

TEXTS = [f"text number {number}" for number in range(12)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("id,description\n" + "".join(f"0,{t}\n" for t in TEXTS))
    return tmp_path


def started(folder: Path, address: str, key: str, *options: str) -> Process:
    """Run the command line in a folder, in a process of its own."""
    command = ["run", "in.csv", "--base-url", address]
    places = ["--output", "out/all.csv", "--ledger", "ledger.db"]
    terms = ["--systems", "cpv,psc", "--rate", "none", "--workers", "1", *options]
    return Process(
        [*command, *places, *terms],
        cwd=folder,
        env={**os.environ, "TENDER_PIPELINE_API_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, address: str, key: str, *options: str) -> tuple[int, str, str]:
    process = started(folder, address, key, *options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def costs(path: Path) -> Decimal:
    return sum((Decimal(row["cost_usd"] or 0) for row in rows(path)), Decimal(0))


def statuses(path: Path) -> Counter[str]:
    return Counter(row[f"{system}_status"] for row in rows(path) for system in ("cpv", "psc"))


@pytest.fixture
def parked(folder: Path, service: Service) -> Iterator[tuple[Path, str, str]]:
    """A job whose run has parked for its cost limit and written the table so far."""
    with serving(service.app()) as address:
        key = service.account.key
        code, out, _ = run(folder, address, key, "--partial", "--max-cost", "0.001")
        assert code == 5
        assert "output so far: out/all.partial.csv" in out
        yield folder, address, key


def test_the_table_so_far_has_every_row_and_its_money(
    parked: tuple[Path, str, str], service: Service
) -> None:
    folder, _, _ = parked
    partial = folder / "out" / "all.partial.csv"
    assert not (folder / "out" / "all.csv").exists()
    assert [row["description"] for row in rows(partial)] == TEXTS
    found = statuses(partial)
    assert set(found) == {"ok", "pending"}
    assert found["ok"] == len(service.asked)
    assert costs(partial) == service.charged > 0
    # RunProgress row by row, so that the rows before the last one begun are whole.
    ended = [row["cpv_status"] == row["psc_status"] == "ok" for row in rows(partial)]
    assert ended == sorted(ended, reverse=True)


def test_its_manifest_says_why_it_is_not_complete(parked: tuple[Path, str, str]) -> None:
    folder, _, _ = parked
    manifest = json.loads((folder / "out" / "all.partial.csv.manifest.json").read_text())
    assert manifest["exit_state"] == "parked"
    assert manifest["summary"]["parked"]["exit_code"] == 5
    assert "cost limit" in manifest["summary"]["parked"]["message"]
    assert Decimal(manifest["summary"]["cost_usd"]) == costs(folder / "out" / "all.partial.csv")
    assert manifest["summary"]["systems"]["cpv"]["failed"] == 0


def test_once_the_job_is_complete_the_table_so_far_is_gone(
    parked: tuple[Path, str, str], service: Service
) -> None:
    folder, address, key = parked
    code, out, err = run(folder, address, key)
    assert code == 0, err
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "all.csv",
        "all.csv.manifest.json",
    ]
    assert "Removed out/all.partial.csv" in err
    assert "pending" not in out
    assert costs(folder / "out" / "all.csv") == service.charged
    assert len(service.asked) == 2 * len(TEXTS)


def test_a_table_so_far_is_replaced_by_a_later_one(parked: tuple[Path, str, str]) -> None:
    folder, address, key = parked
    partial = folder / "out" / "all.partial.csv"
    before = statuses(partial)
    assert run(folder, address, key, "--partial", "--max-cost", "0.002")[0] == 5
    assert statuses(partial)["ok"] > before["ok"]


def test_a_table_so_far_that_was_changed_is_kept(
    parked: tuple[Path, str, str], service: Service
) -> None:
    folder, address, key = parked
    partial = folder / "out" / "all.partial.csv"
    partial.write_text("mine now")
    asked = len(service.asked)
    code, _, err = run(folder, address, key, "--partial")
    assert code == 2
    assert "all.partial.csv exists" in err and "--overwrite" in err
    assert len(service.asked) == asked  # said before anything was bought
    assert run(folder, address, key)[0] == 0
    assert partial.read_text() == "mine now"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_signal_lets_what_is_under_way_finish_and_then_the_table_is_written(
    folder: Path, service: Service, number: signal.Signals, code: int
) -> None:
    sluice = Sluice(service.app(), 5)
    with serving(sluice) as address:
        process = started(folder, address, service.account.key, "--partial", "--workers", "3")
        assert sluice.reached.wait(30)
        process.send_signal(number)
        assert process.stderr is not None
        for line in process.stderr:
            if "Interrupt again to stop at once" in line:
                break
        sluice.open()
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        partial = folder / "out" / "all.partial.csv"
        found = statuses(partial)
        assert found["ok"] == len(service.asked) < 24
        assert set(found) == {"ok", "pending"}
        assert costs(partial) == service.charged
        assert "output so far: out/all.partial.csv" in out
        assert "unconfirmed" not in out  # nothing was broken off
        assert "Traceback" not in err
        code, out, err = run(folder, address, service.account.key)
    assert code == 0, err
    assert costs(folder / "out" / "all.csv") == service.charged
    assert len(service.asked) == 24


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_stops_at_once_and_writes_no_table(
    folder: Path, service: Service, number: signal.Signals, code: int
) -> None:
    gate = Gate(service.app(), 5)
    with serving(gate) as address:
        process = started(folder, address, service.account.key, "--partial")
        assert gate.reached.wait(30)
        process.send_signal(number)
        assert process.stderr is not None
        for line in process.stderr:
            if "Interrupt again to stop at once" in line:
                break
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.endswith("no output was written.\n")
    assert "Answers under way are lost, and may be billed. All others are kept." in err
    assert "Traceback" not in err
    (left,) = (folder / "out").iterdir()
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
