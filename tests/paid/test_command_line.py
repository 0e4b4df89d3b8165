"""Buying from the command line, when something is in its way."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

from pipeline.paid.pool import FAILURES_IN_A_ROW
from tests.paid.command_line import CommandLine, success
from tests.paid.serving import Gate, Service


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
    with line.at(Gate(service.app(), 1)):
        assert line("run", *how, timeout="2s") == 6
    assert "no complete answer in 2 s" in line.summary["parked"]["message"]
    assert line.summary["paid"]["unconfirmed"] == FAILURES_IN_A_ROW
