"""Several files are bought one after another, under limits that hold for all of them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from decimal import Decimal
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pipeline
from pipeline.classification import batch, job
from pipeline.cli import main
from pipeline.errors import OutputError
from pipeline.money import plain
from pipeline.paid.ledger.ledger import LedgerJob
from tests.cli.several_files import states
from tests.forking import Process
from tests.paid.command_line import CommandLine, folder_of
from tests.paid.serving import Service

Result = tuple[int, Any]


class Folder:
    """A folder of three files with a text each, bought with the command line."""

    def __init__(self, line: CommandLine) -> None:
        self._line = line
        self.address = line.address

    def run(self, *more: str) -> Result:
        code = self._line("run", "--json", *more)
        return code, self._line.summary

    def plan(self, *more: str) -> tuple[list[str], Any]:
        """Return the plan in words, and as JSON."""
        self._line("plan", *more)
        words = self._line.out.splitlines()
        self._line("plan", "--json", *more)
        return words, self._line.summary

    def start(self, call: str) -> Process:
        return Process(self._line.arguments("run"), call=call)

    def ledger(self, statement: str) -> list[Any]:
        with sqlite3.connect(self._line.ledger) as connection:
            found = connection.execute(statement).fetchall()
        connection.close()
        return found

    @property
    def open_jobs(self) -> int:
        return int(self.ledger("SELECT count(*) FROM jobs WHERE closed_at IS NULL")[0][0])


@pytest.fixture
def folder(line: CommandLine) -> Folder:
    folder_of(line, {name: [f"{name} text"] for name in "abc"})
    line.table, line.output = Path("data"), Path("out")
    return Folder(line)


def test_the_time_is_that_of_all_files(
    folder: Folder, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = count()
    clock = SimpleNamespace(monotonic=lambda: 3600.0 * max(0, next(hours) - 1), time=lambda: 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(batch, "time", clock)
        code, figures = folder.run("--max-duration", "90min")
    assert (code, states(figures)) == (7, ["done", "done", "stopped"])
    expected = "The time of all files is up (--max-duration)."
    assert figures["files"][2]["summary"]["parked"]["message"] == expected
    assert len(service.asked) == 2, "nothing is sent once the time is up"
    code, figures = folder.run("--max-duration", "90min")
    assert (code, states(figures)) == (0, ["skipped", "skipped", "done"])


def killed_before_its_job_is_closed() -> None:
    """Run the command line, which is killed when the output of a file is in place."""
    pytest.MonkeyPatch().setattr(LedgerJob, "close", lambda _: os.kill(os.getpid(), signal.SIGKILL))
    main()


def test_a_run_killed_before_it_closes_a_job_costs_nothing(
    folder: Folder, service: Service
) -> None:
    """The next run finds the output and skips the file; the job is that of a later run."""
    killed = folder.start(f"{__name__}:killed_before_its_job_is_closed")
    assert killed.wait(30) == -signal.SIGKILL
    assert (Path("out/a.csv").exists(), len(service.asked)) == (True, 1)
    code, figures = folder.run("--max-cost", "0.00045")
    assert (code, states(figures)) == (0, ["skipped", "done", "done"])
    assert (len(service.asked), folder.open_jobs) == (3, 1)
    with Path("data/a.csv").open("a") as table:
        table.write("another text\n")
    code, figures = folder.run("--max-cost", "0.0006")
    assert (code, states(figures)) == (0, ["done", "skipped", "skipped"])
    assert (len(service.asked), folder.open_jobs) == (4, 0)
    costs = [cost for (cost,) in folder.ledger("SELECT cost_usd FROM attempts ORDER BY attempt_id")]
    assert sum(map(Decimal, costs)) == service.charged
    paid = Decimal(costs[0]) + Decimal(costs[3])
    assert Decimal(figures["files"][0]["cost_usd"]) == paid, "both runs of one job"


def test_what_a_failed_file_has_cost_counts_towards_the_limit(
    folder: Folder, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OutputError("The disk is full.", "Free some space.")

    with monkeypatch.context() as patch:
        patch.setattr(job, "write", full)
        code, figures = folder.run("--max-cost", "0.00016")
    assert (code, states(figures)) == (5, ["failed", "stopped"])
    assert len(service.asked) == 1
    stopped = figures["files"][-1]["summary"]["parked"]
    assert stopped["message"].startswith("data/b.csv: The cost limit is reached: 0 USD spent")
    used = f"{plain(service.charged)} USD of 0.00016 USD are used"
    assert f"--max-cost is for all files together: {used}" in stopped["hint"]
    assert figures["summary"]["parked"] == stopped


def test_a_plan_says_which_files_the_limit_is_enough_for(
    folder: Folder, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, figures = folder.plan("--max-cost", "0.0003")
    assert words[:2] == [
        "3 files, 3 rows, 0 without text",
        "data/a.csv: 1 distinct call, 0 owned, 1 to buy: 0.00007 to 0.00015 USD",
    ]
    assert [line.endswith("; the run may stop here") for line in words] == [False] * 3 + [
        True,
        False,
    ]
    assert words[-1].startswith("at most 3 calls to buy: 0.00021 to 0.00045 USD (no rate limit); ")
    assert "0.0003 USD left for all files, enough for 2 calls, perhaps for all" in words[-1]
    assert [each["fits_limits"] for each in [*figures["files"], figures]] == [
        True,
        True,
        False,
        False,
    ]
    assert (figures["left_of_max_cost_usd"], figures["high_usd"]) == ("0.0003", "0.00045")

    assert folder.run("--max-cost", "0.00016")[0] == 5
    words, figures = folder.plan("--max-cost", "0.0003")
    assert words[1].startswith("data/b.csv: "), "a.csv is done"
    left = plain(Decimal("0.0003") - service.charged)
    assert {each["left_of_max_cost_usd"] for each in [*figures["files"], figures]} == {left}
    assert not figures["fits_limits"]
    monkeypatch.setenv("TENDER_PIPELINE_MAX_AGE", "0s")
    _, figures = folder.plan("--max-cost-per-day", "1")
    assert (figures["rows"], figures["calls_to_buy"]) == (3, 2), "a run skips a.csv"
    assert len({each["left_today_usd"] for each in [*figures["files"], figures]}) == 1
    manifest = Path("out/a.csv.manifest.json")
    changed = json.loads(manifest.read_text()) | {"plan": {"rows": "1", "x": 2}}
    manifest.write_text(json.dumps(changed))
    assert folder.plan()[1]["rows"] == 3
    assert len(service.asked) == 1


def test_what_later_files_have_cost_counts_towards_the_limit(
    folder: Folder, service: Service
) -> None:
    table = Path("data/a.csv")
    good = table.read_bytes()
    table.write_bytes(b"description\n\xff\n")
    code, figures = folder.run("--max-cost", "0.00045")
    assert (code, states(figures)) == (2, ["failed", "done", "done"])
    table.write_bytes(good)
    code, figures = folder.run("--max-cost", str(service.charged))
    assert (code, states(figures)) == (5, ["stopped"])
    assert len(service.asked) == 2

    Path("out/c.csv").unlink()
    folder.ledger("UPDATE jobs SET closed_at = NULL WHERE job_id = (SELECT max(job_id) FROM jobs)")
    code, figures = folder.run("--max-cost", str(service.charged))
    assert (code, states(figures)) == (5, ["stopped"]), "an open job counts, too"
    assert len(service.asked) == 2
    code, figures = folder.run("--max-cost", "0.00045")
    assert (code, states(figures)) == (0, ["done", "skipped", "done"])
    assert len(service.asked) == 3


def test_a_file_that_is_done_with_failed_calls_says_how_to_try_them_again(
    folder: Folder, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.script = {1: (400, {}, '{"success": false}')}
    assert folder.run()[0] == 3
    caplog.clear()
    code, figures = folder.run()
    assert (code, states(figures)) == (3, ["skipped"] * 3)
    said = "done before, the same input and settings"
    assert f"data/a.csv: {said}" in caplog.messages
    hint = "; some calls failed, and --retry-failed tries them once more"
    assert f"data/b.csv: {said}{hint}" in caplog.messages
    code, figures = folder.run("--retry-failed")
    assert (code, len(service.asked)) == (0, 3)


def test_a_file_that_changes_before_its_turn_is_not_taken_for_done(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.run("--max-cost", "1")
    costs = vars(batch.EarlierOutput)["cost_usd"].fget

    def changing(before: batch.EarlierOutput) -> Any:
        cost = costs(before)
        if before.file.path.name == "b.csv":
            before.file.path.write_text("description\nanother text\n")  # type: ignore[union-attr]
        return cost

    monkeypatch.setattr(batch.EarlierOutput, "cost_usd", property(changing))
    assert states(folder.run("--max-cost", "1")[1]) == ["skipped", "done", "skipped"]


def test_in_python_too_a_cost_limit_is_for_all_files_and_the_same_call_continues(
    folder: Folder, service: Service
) -> None:
    def states_at(cost: str) -> list[str]:
        buying = pipeline.PaidService(
            folder.address, service.account.key, "ledger.db", "none", max_cost=cost
        )
        found = pipeline.classify_files(
            "data", output="bought", systems="cpv", service=buying, text_columns="description"
        )
        if found[-1].summary and (parked := found[-1].summary.parked):
            assert parked.hint.startswith("max_cost is for all files together")
        return [each.state for each in found]

    assert states_at("0.0001") == ["stopped"]
    assert states_at("1") == ["done", "done", "done"]
    asked = len(service.asked)
    assert states_at("1") == ["skipped", "skipped", "skipped"]
    assert len(service.asked) == asked
