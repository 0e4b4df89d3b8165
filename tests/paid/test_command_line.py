"""Buying and evaluating from the command line, when something is in its way."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
import xlsxwriter

import pipeline
from pipeline import PaidService, classify
from pipeline.errors import InputError
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.tables.formats import read_table
from tests.forking import ran_on_terminal
from tests.paid.command_line import NO_SUCH_TEXT, CommandLine, folder_of, success
from tests.paid.serving import Meanwhile, Service, Sluice


def test_what_has_been_bought_is_sent_with_partial(line: CommandLine, service: Service) -> None:
    line.write("one text", "two text", "three text")
    line.output = Path("-")
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


def test_a_price_over_the_bound_parks_and_a_higher_bound_goes_on(
    line: CommandLine, service: Service
) -> None:
    service.script = {1: success("0.75"), 2: success("0.75")}
    line.write("one text", "two text", "three text", "four text")
    assert line("run") == 5
    assert "0.75 USD for one call" in line.out
    assert "--max-price" in line.out
    assert line("run") == 5  # as a scheduler would, which raises nothing
    assert service.requests == 2
    assert line("run", "--max-price", "1", "--json") == 0
    assert service.requests == 4
    assert line.summary["cost_usd"].startswith("1.5")


def test_an_overshoot_is_in_the_summary_and_in_the_manifest(
    line: CommandLine, service: Service
) -> None:
    line.write("one text")
    service.script = {0: success("0.0095")}
    assert line("run", "--max-cost", "0.001") == 0
    assert "over the cost limit: 0.0085 USD" in line.out
    manifest = json.loads(line.output.with_name("out.csv.manifest.json").read_text())
    assert manifest["summary"]["paid"]["over_max_cost_usd"] == "0.0085"


def test_an_attempt_takes_no_longer_than_it_may(line: CommandLine, service: Service) -> None:
    line.write(*(f"text {number}" for number in range(FAILURES_IN_A_ROW + 1)))
    how = ["--on-unconfirmed", "hold", "--workers", "20", "--json"]
    with line.at(Sluice(service.app(), 1, loses=True)):
        assert line("run", *how, timeout="2s") == 6
    assert "no complete answer in 2 s" in line.summary["parked"]["message"]
    assert line.summary["paid"]["unconfirmed"] == FAILURES_IN_A_ROW


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


def test_a_workbook_is_bought_like_any_table(line: CommandLine, service: Service) -> None:
    line.table, line.output = line.table.with_suffix(".xlsx"), line.output.with_suffix(".xlsx")
    with xlsxwriter.Workbook(line.table) as book:
        book.add_worksheet("All").write_column(0, 0, ["description", "one text", "one text"])
    assert line("run", "--json", "--header-row", "1", "--sheet", "All") == 0
    rows = read_table(line.output, "xlsx").to_pylist()
    assert [row["cpv_status"] for row in rows] == ["ok", "ok"]
    assert Decimal(str(rows[0]["cost_usd"])) == Decimal(line.summary["cost_usd"]) > 0
    assert rows[1]["cost_usd"] == 0


def test_a_text_in_several_files_is_bought_once_and_done_files_are_not_bought_again(
    line: CommandLine, service: Service
) -> None:
    folder_of(line, {"a": ["one text", "two text"], "b": ["two text", "three text"]})
    assert line("plan", "--json") == 0
    assert line.summary["calls_to_buy"] == 4  # each file by itself
    assert line("run", "--json", "--yes") == 0
    assert service.requests == 3
    paid = Decimal(line.summary["summary"]["cost_usd"])
    assert paid == sum(Decimal(f["summary"]["cost_usd"]) for f in line.summary["files"])
    assert line("run", "--json", "--yes") == 0
    assert line.summary["skipped"] == 2
    with (line.table / "b.csv").open("a") as file:
        file.write("four text\n")
    assert line("run", "--json", "--yes") == 0
    assert service.requests == 4


def test_what_a_file_cost_before_it_failed_is_stated(line: CommandLine, service: Service) -> None:
    folder_of(line, {"a": ["one text", "two text"], "b": ["three text"]})
    place = line.output / "a.csv"
    with line.at(Meanwhile(service.app(), 1, lambda: place.mkdir(parents=True))):
        assert line("run", "--json", "--yes") == 2
    failed, done = line.summary["files"]
    assert (failed["state"], failed["summary"], done["state"]) == ("failed", None, "done")
    assert Decimal(failed["cost_usd"]) > 0
    assert Decimal(failed["cost_usd"]) + Decimal(done["cost_usd"]) == service.charged


def test_another_service_does_the_files_again(line: CommandLine, service: Service) -> None:
    folder_of(line, {"a": ["one text"]})
    for _ in range(2):  # each has an address of its own
        with line.at(service.app()):
            assert line("run", "--json", "--yes") == 0
        assert line.summary["done"] == 1


def test_saying_no_buys_nothing(line: CommandLine, service: Service) -> None:
    """On a terminal a run without a limit asks; its answer is typed by the test."""
    line.write("one text")
    done, shown = ran_on_terminal(line.arguments("run"), "n\n")
    assert "1 to buy" in shown and "Buy?" in shown
    assert "Nothing was bought: you answered no." in done.stdout
    assert "Run the same command to be asked again" in done.stdout
    assert done.stdout.endswith("No output was written.\n")
    assert done.returncode == 2
    assert service.asked == []
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


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


Evaluate = Callable[..., int]


@pytest.fixture
def evaluate(line: CommandLine) -> Evaluate:
    """Evaluates a service on a table of ten texts, of which the service knows every second."""
    rows = [f"{word},{'00000000' if at % 2 else '45000000'}" for at, word in enumerate(WORDS)]
    line.table.write_text("\n".join(["description,code", *rows, "one,45000000", ""]))
    paid = ("--ledger", line.ledger, "--rate", "none", "--workers", "1")
    return partial(line.run, "evaluate", line.table, "--system", "cpv", *paid)


def test_answers_are_bought_once_and_their_price_is_known_ever_after(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    assert evaluate("--base-url", address, "--json") == 0
    (subject,) = line.summary["subjects"]
    assert (subject["name"], subject["kind"]) == (address, "service")
    assert subject["accuracy"]["full code"]["top_1"]["hits"] == 5
    assert subject["cost"]["answers"] == 10  # of 11 rows: one text occurs twice
    assert Decimal(subject["cost"]["answers_usd"]) == service.charged
    assert Decimal(subject["cost"]["paid"]["confirmed_usd"]) == service.charged
    assert "10 distinct calls, 0 owned, 10 to buy: " in line.err
    assert f"ledger {line.ledger}" in line.err
    assert evaluate("--base-url", address) == 0
    assert "10 answers worth " in line.out
    assert evaluate("--base-url", address, "--json") == 0
    (again,) = line.summary["subjects"]
    assert len(service.asked) == 10
    assert again["cost"]["paid"]["attempts"] == 0
    assert Decimal(again["cost"]["answers_usd"]) == service.charged


def test_at_the_cost_limit_it_parks_and_the_same_command_goes_on(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    assert evaluate("--base-url", address, "--max-cost", "0.0006", "--json") == 5
    assert line.summary["parked"]["exit_code"] == 5
    assert Decimal(line.summary["paid"]["confirmed_usd"]) == service.charged <= Decimal("0.0006")
    bought = len(service.asked)
    assert 0 < bought < 10
    assert evaluate("--base-url", address, "--max-cost", "0.0006") == 5
    assert "Nothing is evaluated before all answers are there." in line.out
    assert evaluate("--base-url", address, "--max-cost", "1", "--json") == 0
    assert len(service.asked) == 10
    (subject,) = line.summary["subjects"]
    assert Decimal(subject["cost"]["paid"]["confirmed_usd"]) == service.charged


def test_only_the_sample_is_bought_and_a_larger_one_buys_the_rest(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    assert evaluate("--base-url", address, "--sample", "3", "--json") == 0
    assert line.summary["rows"] == 3
    first = list(service.asked)
    assert 0 < len(first) <= 3
    assert evaluate("--base-url", address, "--sample", "6", "--json") == 0
    assert len(first) < len(service.asked) == len(set(service.asked)) <= 6


def test_a_service_is_compared_with_the_titles_and_has_its_price(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    assert evaluate("--compare", "engine", address, "--json") == 0
    comparison = line.summary["comparison"]
    assert comparison["paid"] == "b"
    assert Decimal(comparison["answers_usd"]) == service.charged
    first = comparison["differences"][0]
    gained = first["b_alone"] - first["a_alone"]
    each = Decimal(comparison["usd_per_right_code"])
    assert each == pytest.approx(service.charged / gained, rel=Decimal("1e-5"))
    assert "each additional right code costs" in line.summary["verdict"].lower()


def test_refused_texts_count_as_wrong_and_set_the_exit_code(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    service.script = {4: (400, {}, NO_SUCH_TEXT)}
    assert evaluate("--base-url", address, "--json") == 3
    (subject,) = line.summary["subjects"]
    assert subject["failed"] == 1
    assert subject["statuses"]["VALIDATION_ERROR"] == 1
    assert subject["unanswered"]["hits"] == 1
    assert subject["rows"] == 11


def test_where_a_price_is_not_stated_no_total_is_claimed(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    status, headers, body = success("0.0001")
    silent = json.dumps({**json.loads(body), "metadata": {}})
    service.script = {4: (status, headers, silent)}
    assert evaluate("--compare", address, "engine", "--json") == 0
    found = line.summary
    assert found["subjects"][0]["cost"]["answers_usd"] is None
    assert found["comparison"]["usd_per_right_code"] is None
    assert "some responses stated no price" in found["verdict"]


def test_what_is_wrong_stops_it_before_money_is_spent(
    evaluate: Evaluate, service: Service, address: str
) -> None:
    Path("mine.html").write_text("mine")
    assert evaluate("--base-url", address, "--code-column", "cpv") == 2
    assert evaluate("--base-url", address, "--report", "mine.html") == 2
    assert evaluate("--compare", address, "nowhere") == 2
    assert service.asked == []


def test_the_free_subject_answers_first_so_that_its_trouble_costs_nothing(
    evaluate: Evaluate, service: Service, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise pipeline.EngineError("It died.", "Run again.")

    monkeypatch.setattr("pipeline.engine.engine.ranker", fails)
    assert evaluate("--compare", address, "engine") == 1
    assert service.asked == []


def test_from_python_a_service_is_evaluated_and_a_parked_one_raises(
    line: CommandLine, evaluate: Evaluate, service: Service, address: str
) -> None:
    def paid(max_cost: str | None = None) -> pipeline.PaidService:
        return pipeline.PaidService(
            address, ledger=line.ledger, rate="none", workers=1, max_cost=max_cost
        )

    with pytest.raises(pipeline.ParkedError) as parked:
        pipeline.evaluate(line.table, system="cpv", subject=paid(max_cost="0.0006"))
    assert parked.value.exit_code == 5
    assert parked.value.cost_usd == service.charged
    found = pipeline.evaluate(line.table, system="cpv", compare=paid())
    assert [each.kind for each in found.subjects] == ["engine", "service"]
    assert found.comparison is not None
    assert found.comparison.usd == service.charged
    assert len(service.asked) == 10
