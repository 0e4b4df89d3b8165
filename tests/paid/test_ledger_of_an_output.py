"""The manifest of an output names the ledger that it was bought with, and a later run misses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.errors import LedgerError, ParkedError
from pipeline.paid.client.urls import BaseUrl
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.service import PaidService
from tests.paid.command_line import NO_SUCH_TEXT
from tests.paid.serving import Buyer, Meanwhile, Service, serving

TEXTS = [f"text number {number:02}" for number in range(10)]
SOME = Decimal("0.0005")

Buy = Callable[..., Any]


def write(table: Path, *texts: str) -> None:
    table.write_text("\n".join(["description", *texts]))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out" / "out.csv"


@pytest.fixture
def terms(user: Buyer, tmp_path: Path) -> PaidService:
    return user.but(ledger=tmp_path / "ledgers" / "l.db").service


@pytest.fixture
def buy(tmp_path: Path, output: Path, terms: PaidService) -> Buy:
    write(tmp_path / "in.csv", *TEXTS)
    output.parent.mkdir()
    how: dict[str, Any] = {"systems": "cpv", "output": output, "service": terms}
    return partial(pipeline.classify, tmp_path / "in.csv", **how)


def rename_folder(ledger: Path) -> None:
    ledger.parent.rename(ledger.parent.with_name("elsewhere"))


def rename_folder_and_begin_another(ledger: Path) -> None:
    rename_folder(ledger)
    Ledger(ledger, "http://elsewhere.example").close()


@pytest.mark.parametrize("end", ["complete", "partial", "parked", "parked after a free run"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (rename_folder, "There is no ledger"),
        (rename_folder_and_begin_another, "is another ledger"),
    ],
)
def test_an_output_tells_the_next_run_with_which_ledger_it_was_bought(
    buy: Buy,
    terms: PaidService,
    output: Path,
    service: Service,
    tmp_path: Path,
    end: str,
    spoil: Callable[[Path], None],
    said: str,
) -> None:
    named = output if end != "partial" else output.with_name("out.partial.csv")
    if end.endswith("free run"):
        buy(service=None)
    if end.startswith("parked"):
        with pytest.raises(ParkedError):
            buy(service=replace(terms, max_price=Decimal("0.00001")))
    else:
        buy(service=replace(terms, max_cost=SOME if end == "partial" else None), partial=True)
    bought, kept = len(service.asked), {old: old.read_bytes() for old in output.parent.iterdir()}
    spoil(terms.ledger)
    write(tmp_path / "in.csv", *TEXTS, "new")
    plan = partial(pipeline.plan, tmp_path / "in.csv", output=output, service=terms)
    for use in (plan, buy):
        bought_with = f"{said}.*for {named} were bought with the ledger that was there"
        with pytest.raises(LedgerError, match=bought_with):
            use()
    assert len(service.asked) == bought > 0
    assert {old: old.read_bytes() for old in output.parent.iterdir()} == kept
    if not terms.ledger.exists():
        assert not terms.ledger.parent.exists(), "where the folder may be moved back"
    buy(output=output.with_name("elsewhere.csv"))
    assert len(service.asked) > bought


def test_runs_that_parked_at_two_services_name_the_ledger_of_each(
    buy: Buy, terms: PaidService, service: Service, tmp_path: Path
) -> None:
    with serving(service.app()) as other:
        limited = replace(terms, max_cost=SOME)
        second = replace(limited, base_url=BaseUrl(other), ledger=tmp_path / "second" / "l.db")
        for at in (limited, second):
            with pytest.raises(ParkedError):
                buy(service=at)
        bought = len(service.asked)
        for at in (limited, second):
            at.ledger.parent.rename(at.ledger.parent.with_suffix(".lost"))
            said = f"There is no ledger {at.ledger}: .* with the ledger that was there"
            with pytest.raises(LedgerError, match=said):
                buy(service=at)
    assert len(service.asked) == bought


@pytest.mark.parametrize("refused", [[], [0]], ids=["at once", "after a refusal"])
def test_a_run_names_its_ledger_before_it_has_bought_much(
    buy: Buy, terms: PaidService, output: Path, service: Service, refused: list[int]
) -> None:
    """A run that is killed leaves what it has written so far; here the test keeps that."""
    manifest, left = output.with_name("out.csv.manifest.json"), list[str]()
    service.script = dict.fromkeys(refused, (400, {}, NO_SUCH_TEXT))
    app = Meanwhile(service.app(), 1 + len(refused), lambda: left.append(manifest.read_text()))
    with serving(app) as address:
        at = replace(terms, base_url=BaseUrl(address), workers=1)
        buy(service=at)
        output.unlink()
        manifest.write_text(left[0])
        rename_folder(terms.ledger)
        said = f"answers for {output} were bought with the ledger {terms.ledger}"
        with pytest.raises(LedgerError, match=said):
            buy(service=replace(at, ledger=output.with_name("another.db")))
    assert len(service.asked) == len(TEXTS) - len(refused)


def test_the_same_ledger_continues_a_run_that_parked_before_it_wrote_an_output(
    buy: Buy, terms: PaidService, output: Path, service: Service
) -> None:
    manifest = output.with_name("out.csv.manifest.json")
    with pytest.raises(ParkedError):
        buy(service=replace(terms, max_cost=SOME))
    started = json.loads(manifest.read_text())
    assert started["exit_state"] == "started"
    (mark,) = started["parked"].values()
    last = mark["ledger"]["last_attempt"]
    assert last == len(service.asked) > 1, "an older copy of the ledger lacks answers"
    buy()
    assert len(service.asked) == len(TEXTS)
    assert "parked" not in json.loads(manifest.read_text())


def test_nothing_is_asked_of_another_ledger_that_has_all_answers(
    buy: Buy, terms: PaidService, service: Service, tmp_path: Path
) -> None:
    buy()
    other = replace(terms, ledger=tmp_path / "b.db")
    buy(service=other, output=None)
    buy(service=other)
    the_same = f"{terms.base_url}/api/"
    elsewhere = PaidService(the_same, None, ledger=tmp_path / "c.db", max_cost=0)
    with pytest.raises(LedgerError, match="no ledger"):
        buy(service=elsewhere)
    assert len(service.asked) == 2 * len(TEXTS)


def test_a_run_that_sent_nothing_names_no_ledger(
    buy: Buy, terms: PaidService, output: Path
) -> None:
    with pytest.raises(ParkedError):
        buy(output=output.with_name("other.csv"), service=replace(terms, max_cost=SOME))
    with pytest.raises(ParkedError):
        buy(service=replace(terms, max_cost=Decimal(0)))
    assert not list(output.parent.glob("out.csv*"))
