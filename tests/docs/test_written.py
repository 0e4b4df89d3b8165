"""Tables and figures that are written by hand say what the code does, or follow from another."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args

import click
import pytest

from generated.manifest import example
from pipeline.answers import SYSTEMS
from pipeline.classification.summary import COMPLETE, NOT_FAILED, WITH_FAILED_ROWS
from pipeline.cli.commands.evaluate import evaluate
from pipeline.cli.commands.run import run
from pipeline.cli.options import BUYING, TABLE, DeclaredOption
from pipeline.cli.process import HUNG_UP, INTERRUPTED, TERMINATED
from pipeline.codes.shipped import shipped
from pipeline.errors import LedgerError
from pipeline.paid.client.outcomes import Failure
from pipeline.paid.ledger.totals import STATES
from pipeline.paid.limits import MAX_PRICE, TYPICAL_HIGH, TYPICAL_LOW
from pipeline.purchases import Paid
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.accounts import LIFETIME
from pipeline.service.accounts.keys import LONGEST, MOST_KEYS, SHORTEST
from pipeline.service.chaos.faults import COMMON, FORMS, KINDS
from pipeline.service.http.messages import MAX_BODY, MAX_CHARACTERS, METADATA
from pipeline.service.pricing import (
    HIGHEST,
    LOWEST,
    MARKUP_PERCENTAGE,
    MAX_MATCHES,
    MOST_FOR_TITLES,
    PER_CALL,
    PER_MATCH,
    PER_TITLE_CHARACTERS,
)
from pipeline.service.web.site import ACCOUNT, ADDRESS, LATE, PAIR, SIGN_UP
from pipeline.tables.formats import SUFFIXES
from tests.docs.pages import page, rows


def test_every_option_of_run_has_the_variable_that_is_promised() -> None:
    for option in run.params:
        if isinstance(option, click.Option) and option.name != "config":
            expected = option.opts[0].removeprefix("--").replace("-", "_").upper()
            variables = [option.envvar] if isinstance(option.envvar, str) else option.envvar
            assert variables and variables[0] == f"TENDER_PIPELINE_{expected}"


def test_evaluate_has_the_options_of_run_for_tables_and_for_buying() -> None:
    of_run = {
        param.opts[0]
        for param in run.params
        if isinstance(param, DeclaredOption) and param.group in (TABLE, BUYING)
    }
    assert of_run - {param.opts[0] for param in evaluate.params} == {"--limit-rows"}  # --sample


def test_the_exit_codes_are_these() -> None:
    documented = [int(cells[0]) for cells in rows(page("reference/exit-codes"), "exit code")]
    parked = [4, 5, 6, 7, LedgerError.exit_code]
    ended = [HUNG_UP, INTERRUPTED, TERMINATED]
    assert documented == [COMPLETE, 1, 2, WITH_FAILED_ROWS, *parked, *ended]


def test_the_page_for_schedulers_has_every_exit_code() -> None:
    every = {int(cells[0]) for cells in rows(page("reference/exit-codes"), "exit code")}
    told = [re.findall(r"\d+", cells[0]) for cells in rows(page("how-to/every-night"), "exit code")]
    codes = [int(code) for row in told for code in row]
    assert sorted(codes) == sorted(every)


def test_the_statuses_are_these() -> None:
    text = page("reference/columns")
    assert {cells[0].strip("`") for cells in rows(text, "status")} == set(NOT_FAILED)
    of_errors = rows(text.split("Any other status", 1)[1], "status")
    documented = {cells[0].strip("`") for cells in of_errors}
    assert documented == {*get_args(Failure), "MALFORMED_RESPONSE", "UNCONFIRMED"}


def test_the_states_of_an_attempt_are_these() -> None:
    documented = rows(page("reference/ledger"), "state of an attempt")
    assert {cells[0].strip("`") for cells in documented} == set(STATES) - {"failed"}


def test_the_keys_of_a_manifest_are_these() -> None:
    text = page("reference/manifest")
    assert {cells[0].strip("`") for cells in rows(text, "key")} == set(example())
    of_paid = {cells[0].strip("`") for cells in rows(text, "key of `paid`")}
    assert of_paid == {field.name for field in fields(Paid)}


def test_the_suffixes_are_these() -> None:
    found = {
        suffix: cells[2]
        for cells in rows(page("reference/formats"), "format")
        for suffix in cells[1].split(", ")
    }
    assert found == {f"`{suffix}`": f"`{name}`" for suffix, name in SUFFIXES.items()}


@pytest.mark.parametrize("place", range(len(SYSTEMS)))
def test_the_counts_of_codes_are_these(place: int) -> None:
    cells = rows(page("how-to/code-tables"), "system")[place]
    assert cells[0] == f"`{SYSTEMS[place]}`"
    assert re.split("[,;]? ", cells[2])[0] == f"{len(shipped(SYSTEMS[place])):,}"


def test_the_faults_are_these() -> None:
    text = page("how-to/rehearse-faults")
    documented = {cells[0]: cells[2] for cells in rows(text, "kind of fault")}
    own = {
        f"`{kind}`": ", ".join(f"`{name}`" for name in settings) for kind, settings in KINDS.items()
    }
    assert documented == own
    assert [name for name in (*COMMON, *FORMS) if f"`{name}`" not in text] == []


def test_what_the_service_settles_is_what_it_does() -> None:
    said = dict(rows(page("reference/http-api"), "detail"))
    assert f"{MAX_CHARACTERS:,} characters" in said["length of a description"]
    assert f"{MAX_BODY:,} bytes" in said["length of a description"]
    assert f"at most {MAX_MATCHES}, " in said["number and order of matches"]
    for form in METADATA:
        assert f"`{form}`" in said["form of the costs"]
    assert (
        f"{PER_CALL} + {PER_MATCH} per match + 1 per {PER_TITLE_CHARACTERS} characters of titles "
        f"(these at most {MOST_FOR_TITLES}), and {MARKUP_PERCENTAGE} % markup: "
        f"{LOWEST.final} USD without matches to {HIGHEST.final} USD"
    ) in said["price"]


def minutes(rate: Rate) -> str:
    return f"{rate.slots} in {rate.window / 60:g} minutes"


def test_the_limits_of_the_pages_are_these() -> None:
    text = page("how-to/serve")
    assert [tuple(cells) for cells in rows(text, "what")] == [
        ("wrong passwords for an account from an address", minutes(PAIR)),
        ("wrong passwords from an address, for all accounts", minutes(ADDRESS)),
        (
            "wrong passwords for an account, from all addresses",
            f"{minutes(ACCOUNT)}, then {LATE.slots} more from each",
        ),
        ("sign-ups from an address", minutes(SIGN_UP)),
        ("a session", f"{LIFETIME / 86400:g} days"),
        ("a password", f"{SHORTEST} to {LONGEST} characters"),
        ("API keys of an account", f"{MOST_KEYS} in use"),
    ]


def test_the_limits_and_prices_of_a_paid_run_are_these() -> None:
    text = page("how-to/paid-runs")
    assert f"{AUTHENTICATED.slots} calls a minute with a key" in text
    assert f"{DEMO.slots} an hour without" in text
    money = page("explanation/exact-money")
    assert f"`--max-price` ({MAX_PRICE} USD)" in money
    assert f"at least {TYPICAL_HIGH} USD" in " ".join(money.split())


PAGE = page("explanation/scale")
MEASURED = rows(PAGE, "rows")
COMPUTED = rows(PAGE.split("on Spark\n", 1)[1], "rows")
VCPUS = 160
UNITS = {"s": 1, "min": 60, "h": 3600}


def number(cell: str) -> float:
    return float(re.sub(r"[^\d.]", "", cell))


def test_the_ratios_are_of_the_measured_times() -> None:
    for _, _, alone, spark, ratio in MEASURED:
        assert number(spark) / number(alone) == pytest.approx(number(ratio), abs=0.005)


def test_hours_and_dollars_of_the_engine_follow_from_the_longest_run_of_all_systems() -> None:
    longest = [row for row in MEASURED if row[1] == "all four"][-1]
    a_row = number(longest[3]) / 1000
    for count, hours, took, usd in COMPUTED:
        used = number(count) * a_row / 3600
        assert used == pytest.approx(number(hours), rel=0.02)
        seconds = number(took) * UNITS[took.split()[1]]
        assert used * 3600 / VCPUS == pytest.approx(seconds, rel=0.05)
        assert used * 0.05 == pytest.approx(number(usd), abs=0.005)


def test_days_and_dollars_of_a_service_follow_from_its_limit_and_prices() -> None:
    a_day = AUTHENTICATED.slots / AUTHENTICATED.window * 86_400
    for count, days, usd in rows(PAGE, "calls"):
        assert number(count) / a_day == pytest.approx(number(days), rel=0.01)
        low, high = (float(part.replace(",", "")) for part in usd.split(" to "))
        assert low == pytest.approx(number(count) * float(TYPICAL_LOW))
        assert high == pytest.approx(number(count) * float(TYPICAL_HIGH))
