"""Evaluating a paid service: on the terms of every purchase, and nothing is bought twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

import pipeline
from tests.paid.command_line import NO_SUCH_TEXT, CommandLine, success
from tests.paid.serving import Service

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
