"""Buying from the command line, when something is in its way."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from pipeline import PaidService, classify
from pipeline.cli import main
from pipeline.codes import load
from pipeline.errors import InputError
from pipeline.paid.ledger.database import Database
from pipeline.paid.pool import FAILURES_IN_A_ROW
from pipeline.tables import read_table
from tests.forking import ran
from tests.paid.serving import Gate, Instead, Service, serving

NO_SUCH_TEXT = json.dumps({"success": False, "error": "VALIDATION_ERROR", "message": "Odd."})


def success(price: str, currency: str = "USD") -> tuple[int, dict[str, str], str]:
    """Return a response with one match and a price, as it is written."""
    match = {"code": "45000000", "title": "Works", "confidence": 0.5}
    metadata = {"costBreakdown": {"finalCost": "?", "currency": currency}}
    body = json.dumps({"success": True, "data": [match], "metadata": metadata})
    return 200, {}, body.replace('"?"', price)


class CommandLine:
    """Runs the command line for a table in a folder, at a service, with a key."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.table = folder / "in.csv"
        self.output = folder / "out.csv"
        self.ledger = folder / "ledger.db"
        self.address = ""
        self.out = self.err = ""

    def write(self, *texts: str) -> None:
        self.table.write_text("".join(f"{text}\n" for text in ("description", *texts)))

    @contextmanager
    def at(self, app: Any) -> Iterator[None]:
        with serving(app) as self.address:
            yield

    def arguments(self, command: str, *more: str) -> list[str]:
        paths = [command, str(self.table), "--output", str(self.output)]
        paid = ["--base-url", self.address, "--ledger", str(self.ledger), "--rate", "none"]
        return [*paths, *paid, "--systems", "cpv", "--workers", "1", *more]

    def __call__(self, command: str, *more: str) -> int:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit_:
            patch.setattr(sys, "argv", ["tender-pipeline", *self.arguments(command, *more)])
            main()
        self.out, self.err = self._capsys.readouterr()
        return int(exit_.value.code or 0)

    @property
    def summary(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def line(
    tmp_path: Path,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    return CommandLine(tmp_path, capsys)


def test_failed_calls_are_bought_again_with_retry_failed(
    line: CommandLine, service: Service
) -> None:
    app = Instead(service.app(), {1: (400, {}, NO_SUCH_TEXT)})
    line.write("one text", "two text")
    with line.at(app):
        assert line("run") == 3
        assert "(no rate limit); ledger " in line.err
        assert line("plan", "--json") == 0
        assert line.summary["calls_to_buy"] == 0
        assert line("plan", "--json", "--retry-failed") == 0
        assert line.summary["calls_to_buy"] == 1
        assert line("run", "--retry-failed") == 0
    assert app.requests == 3
    assert [row.split(",")[4] for row in line.output.read_text().splitlines()[1:]] == ["ok"] * 2


def test_backing_off_from_bought_answers_buys_nothing(line: CommandLine, service: Service) -> None:
    status, headers, body = success("0.0001")
    match = {"code": "45233140", "title": "Works", "confidence": 0.5}
    response = json.loads(body, parse_float=str)
    response["data"] = [match, match | {"code": "45233220", "confidence": 0.4}]
    response["metadata"]["costBreakdown"]["finalCost"] = 0.0001
    app = Instead(service.app(), {0: (status, headers, json.dumps(response))})
    line.write("one text")
    with line.at(app):
        assert line("run") == 0
        assert line.output.read_text().splitlines()[1].startswith("one text,45233140,Works,0.5,ok")
        assert line("run", "--back-off", "0.8", "--overwrite") == 0
    assert app.requests == 1
    title = load("cpv").titles["45233000"]
    (row,) = csv.DictReader(line.output.read_text().splitlines())
    assert [row["cpv_code"], row["cpv_title"]] == ["45233000", title]
    assert [row["cpv_confidence"], row["cpv_status"], row["cpv_cost_usd"]] == ["0.9", "ok", "0"]


def test_standard_input_is_the_same_job_each_time(
    line: CommandLine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.write("one text", "two text", "three text")
    content = line.table.read_bytes()
    line.table = Path("-")

    def run(*more: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return line("run", "--json", *more)

    with line.at(service.app()):
        assert run("--max-cost", "0.0003") == 5
        assert run() == 0
    assert line.summary["paid"]["attempts"] == 3


def test_a_table_that_is_piped_through_is_known_by_its_contents(
    line: CommandLine,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table of which nothing was sent goes on; another one is another job."""
    line.table, line.output = Path("-"), Path("-")

    def run(texts: list[str], *more: str) -> int:
        content = "".join(f"{text}\n" for text in ["description", *texts])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        return line("run", "--json", *more)

    def paid() -> tuple[int, str]:
        summary = json.loads(line.err.splitlines()[-1])
        return summary["paid"]["attempts"], summary["paid"]["unattributed_usd"]

    texts = ["one text", "two text", "three text"]
    with line.at(service.app()):
        assert run(texts, "--max-cost", "0.0003") == 5
        assert line.out == ""
        assert run(["four text"]) == 0
        assert paid() == (1, "0")
        assert run(texts) == 0
        assert paid() == (3, "0")
        assert len(line.out.splitlines()) == 4
        assert run(texts, "--limit-rows", "2") == 0
        assert paid() == (0, "0")
        assert len(line.out.splitlines()) == 3
    assert len(service.asked) == 4


def test_what_has_been_bought_is_sent_with_partial(line: CommandLine, service: Service) -> None:
    line.write("one text", "two text", "three text")
    line.output = Path("-")
    with line.at(service.app()):
        assert line("run", "--max-cost", "0.0003", "--partial") == 5
        statuses = [row["cpv_status"] for row in csv.DictReader(line.out.splitlines())]
        assert statuses[0] == "ok" and statuses[-1] == "pending"
        assert line("run") == 0
    assert [row["cpv_status"] for row in csv.DictReader(line.out.splitlines())] == ["ok"] * 3
    assert len(service.asked) == 3


def test_what_a_sample_bought_the_full_table_need_not_buy(
    line: CommandLine, service: Service
) -> None:
    line.write("one text", "two text", "one text", "three text")
    with line.at(service.app()):
        line.output = line.output.with_name("sample.csv")
        assert line("run", "--json", "--limit-rows", "2") == 0
        sample = line.summary
        assert service.charged == Decimal(sample["cost_usd"]) > 0
        line.output = line.output.with_name("full.csv")
        assert line("plan", "--json") == 0
        assert line.summary["calls_to_buy"] == 1
        assert line("run", "--json") == 0
    assert (sample["paid"]["attempts"], line.summary["paid"]["attempts"]) == (2, 1)
    assert line.summary["paid"]["unattributed_usd"] == "0"
    assert service.charged == Decimal(sample["cost_usd"]) + Decimal(line.summary["cost_usd"])
    costs = [row["cost_usd"] for row in csv.DictReader(line.output.read_text().splitlines())]
    assert costs[:3] == ["0", "0", "0"]
    assert costs[3] == line.summary["cost_usd"]


def test_answers_that_are_too_old_are_bought_again(line: CommandLine, service: Service) -> None:
    line.write("one text", "two text")
    with line.at(service.app()):
        assert line("run") == 0
        assert line("run", "--max-age", "1h") == 0
        assert len(service.asked) == 2
        assert line("plan", "--max-age", "0s", "--json") == 0
        assert line.summary["calls_to_buy"] == 2
        assert line("run", "--max-age", "0s", "--json") == 0
    assert len(service.asked) == 4
    assert line.summary["paid"]["attempts"] == 2


def test_another_currency_parks(line: CommandLine, service: Service) -> None:
    app = Instead(service.app(), {1: success("0.0001", "EUR")})
    line.write("one text", "two text", "three text")
    with line.at(app):
        assert line("run", "--json") == 5
    assert line.summary["parked"]["message"] == "The service charges in EUR, not in USD."
    assert "account in USD" in line.summary["parked"]["hint"]
    assert line.summary["paid"]["unknown"] == 1
    assert app.requests == 2
    assert not line.output.exists()


def test_a_price_over_the_bound_parks_and_a_higher_bound_goes_on(
    line: CommandLine, service: Service
) -> None:
    app = Instead(service.app(), {1: success("0.75"), 2: success("0.75")})
    line.write("one text", "two text", "three text", "four text")
    with line.at(app):
        assert line("run") == 5
        assert "0.75 USD for one call" in line.out
        assert "--max-price" in line.out
        assert line("run") == 5  # as a scheduler would, which raises nothing
        assert app.requests == 2
        assert line("run", "--max-price", "1", "--json") == 0
    assert app.requests == 4
    assert line.summary["cost_usd"].startswith("1.5")


def test_an_overshoot_is_in_the_summary_and_in_the_manifest(
    line: CommandLine, service: Service
) -> None:
    line.write("one text")
    with line.at(Instead(service.app(), {0: success("0.0095")})):
        assert line("run", "--max-cost", "0.001") == 0
        assert "over the cost limit: 0.0085 USD" in line.out
    manifest = json.loads(line.output.with_name("out.csv.manifest.json").read_text())
    assert manifest["summary"]["paid"]["over_max_cost_usd"] == "0.0085"


def test_an_attempt_takes_no_longer_than_it_may(line: CommandLine, service: Service) -> None:
    line.write(*(f"text {number}" for number in range(FAILURES_IN_A_ROW + 1)))
    how = ["--timeout", "2s", "--on-unconfirmed", "hold", "--workers", "20", "--json"]
    with line.at(Gate(service.app(), 1)):
        assert line("run", *how) == 6
    assert "no complete answer in 2 s" in line.summary["parked"]["message"]
    assert line.summary["paid"]["unconfirmed"] == FAILURES_IN_A_ROW


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-age", "3w", "6h or 30d (--max-age)."),
        ("--timeout", "60", "6h or 30d (--timeout)."),
        ("--timeout", "0s", "such as 60s (--timeout)."),
        ("--max-duration", "soon", "6h or 30d (--max-duration)."),
        ("--max-price", "-1", "such as 2.50 (--max-price)."),
        ("--max-cost", "NaN", "such as 2.50 (--max-cost)."),
        ("--max-cost-per-day", "1,50", "Write 1.50 (--max-cost-per-day)."),
    ],
)
def test_what_cannot_be_understood_is_refused(
    line: CommandLine, option: str, value: str, said: str
) -> None:
    line.write("one text")
    line.address = "http://localhost:1"
    assert line("run", option, value) == 2
    assert said in line.err


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
    with line.at(service.app()):
        assert line(command) == 8
    assert said in line.err
    assert service.asked == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system that is read-only")
def test_a_ledger_where_nothing_can_be_written_is_an_error(
    line: CommandLine, service: Service
) -> None:
    line.write("one text")
    line.ledger = Path("/proc/self/ledger.db")
    with line.at(service.app()):
        assert line("run") == 8
    assert "Error: The ledger /proc/self/ledger.db cannot be used" in line.err
    assert "--ledger PATH" in line.err
    assert service.asked == []


def test_who_says_no_buys_nothing(line: CommandLine, service: Service) -> None:
    """On a terminal a run without a limit asks; its answer is typed by the test."""
    line.write("one text")
    ours, theirs = pty.openpty()
    with line.at(service.app()):
        os.write(ours, b"n\n")
        done = ran(line.arguments("run"), stdin=theirs, stderr=theirs)
        os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "1 to buy" in shown and "Buy?" in shown
    assert "Nothing was bought: you answered no." in done.stdout
    assert "Run the same command to be asked again" in done.stdout
    assert done.stdout.endswith("No output was written.\n")
    assert done.returncode == 2
    assert service.asked == []
    assert not line.output.exists()


def test_json_lines_are_bought_like_any_table(line: CommandLine, service: Service) -> None:
    line.table, line.output = line.table.with_suffix(".jsonl"), line.output.with_suffix(".jsonl")
    line.table.write_text('{"t": {"a": "one text"}}\n{"t": {}}\n{"t": {"a": "one text"}}\n')
    with line.at(service.app()):
        assert line("run", "--text-column", "t.a", "--json") == 0
    rows = [json.loads(text) for text in line.output.read_text().splitlines()]
    assert [row["cpv_status"] for row in rows] == ["ok", "empty", "ok"]
    assert rows[0]["cost_usd"] == line.summary["cost_usd"] != "0"
    assert rows[2]["cost_usd"] == "0"


def test_a_workbook_is_bought_like_any_table(line: CommandLine, service: Service) -> None:
    line.table, line.output = line.table.with_suffix(".xlsx"), line.output.with_suffix(".xlsx")
    with xlsxwriter.Workbook(line.table) as book:
        book.add_worksheet("All").write_column(0, 0, ["description", "one text", "one text"])
    with line.at(service.app()):
        assert line("run", "--json", "--header-row", "1", "--sheet", "All") == 0
    rows = read_table(line.output, "xlsx").to_pylist()
    assert [row["cpv_status"] for row in rows] == ["ok", "ok"]
    assert Decimal(str(rows[0]["cost_usd"])) == Decimal(line.summary["cost_usd"]) > 0
    assert rows[1]["cost_usd"] == 0


def test_what_the_output_cannot_hold_is_refused_before_it_is_bought(
    line: CommandLine, service: Service
) -> None:
    app = Instead(service.app(), {})
    line.output = line.output.with_suffix(".xlsx")
    line.write("one text", "x" * 40_000)
    with line.at(app):
        assert line("run") == 2
    assert "A cell cannot hold more than 32,767 characters" in line.err
    assert app.requests == 0
    assert not line.output.exists()


def test_a_value_that_only_its_own_format_can_hold_is_refused_before_anything_is_bought(
    line: CommandLine, service: Service
) -> None:
    app = Instead(service.app(), {})
    line.table = line.table.with_suffix(".jsonl")
    line.table.write_text('{"description": "one text"}\n{"description": "two", "x": "\\ud800"}\n')
    with line.at(app):
        assert line("run") == 2
        assert "an unpaired surrogate, U+D800, which only JSON Lines can hold" in line.err
        with pytest.raises(InputError, match="which only JSON Lines can hold"):
            classify(
                line.table, systems="cpv", service=PaidService(line.address, ledger=line.ledger)
            )
        assert app.requests == 0
        line.output = line.output.with_suffix(".jsonl")
        assert line("run") == 0
    assert app.requests == 2


def folder_of(line: CommandLine, texts: dict[str, list[str]]) -> None:
    """Write a file for each list of texts, to be classified as a folder."""
    line.table = line.table.with_name("data")
    line.output = line.output.with_name("out")
    line.table.mkdir()
    for name, rows in texts.items():
        (line.table / f"{name}.csv").write_text("".join(f"{t}\n" for t in ["description", *rows]))


def test_a_text_in_several_files_is_bought_once_and_done_files_are_not_bought_again(
    line: CommandLine, service: Service
) -> None:
    app = Instead(service.app(), {})
    folder_of(line, {"a": ["one text", "two text"], "b": ["two text", "three text"]})
    with line.at(app):
        assert line("plan", "--json") == 0
        assert line.summary["calls_to_buy"] == 4  # each file by itself
        assert line("run", "--json", "--yes") == 0
        assert app.requests == 3
        paid = Decimal(line.summary["summary"]["cost_usd"])
        assert paid == sum(Decimal(f["summary"]["cost_usd"]) for f in line.summary["files"])
        assert line("run", "--json", "--yes") == 0
        assert line.summary["skipped"] == 2
        with (line.table / "b.csv").open("a") as file:
            file.write("four text\n")
        assert line("run", "--json", "--yes") == 0
    assert app.requests == 4


def test_the_cost_limit_is_for_all_files_together(line: CommandLine, service: Service) -> None:
    app = Instead(service.app(), dict.fromkeys(range(9), success("0.0001")))
    folder_of(line, {name: [f"{name} text"] for name in "abcd"})
    with line.at(app):
        assert line("run", "--json", "--max-cost", "0.00025") == 5
        assert [file["state"] for file in line.summary["files"]] == ["done", "done", "stopped"]
        assert line.summary["not_started"] == 1
        assert line("run", "--json", "--max-cost", "0.00025") == 5  # what is done counts
        assert [file["state"] for file in line.summary["files"]] == [
            "skipped",
            "skipped",
            "stopped",
        ]
        assert app.requests == 2
        assert line("run", "--json", "--max-cost", "0.0005") == 0
    assert app.requests == 4


def test_another_service_does_the_files_anew(line: CommandLine, service: Service) -> None:
    folder_of(line, {"a": ["one text"]})
    for _ in range(2):  # each has an address of its own
        with line.at(service.app()):
            assert line("run", "--json", "--yes") == 0
        assert line.summary["done"] == 1


def test_several_files_are_not_bought_without_a_limit_or_consent_on_a_terminal(
    line: CommandLine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.cli.many.on_terminal", lambda: True)
    folder_of(line, {"a": ["one text"]})
    app = Instead(service.app(), {})
    with line.at(app):
        assert line("run") == 2
    assert "--max-cost USD" in line.err
    assert app.requests == 0


def test_ocds_is_bought_like_any_table(line: CommandLine, service: Service) -> None:
    line.table, line.output = line.table.with_suffix(".json"), line.output.with_suffix(".json")
    releases = [{"ocid": str(n), "tag": [], "tender": {"title": "one text"}} for n in range(2)]
    line.table.write_text(json.dumps({"publisher": {}, "releases": releases}, indent=1))
    with line.at(service.app()):
        assert line("run", "--json") == 0
    first, second = json.loads(line.output.read_text())["releases"]
    assert first["tender"]["classification"]["scheme"] == "CPV"
    assert first["tender_pipeline"]["cost_usd"] == line.summary["cost_usd"] != "0"
    assert second["tender_pipeline"]["cost_usd"] == "0"
