"""The manifest of an output names the ledger that it was bought with, and a later run misses it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

import pipeline
from pipeline.errors import LedgerError, ParkedError
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.service import PaidService
from tests.paid.command_line import NO_SUCH_TEXT
from tests.paid.serving import Meanwhile, Service, serving

TEXTS = [f"text number {number:02}" for number in range(10)]


def rename_folder(ledger: Path) -> None:
    ledger.parent.rename(ledger.parent.with_name("elsewhere"))


def rename_folder_and_begin_another(ledger: Path) -> None:
    rename_folder(ledger)
    Ledger(ledger, "http://elsewhere.example").close()


@pytest.mark.parametrize(
    ("spoil", "said", "parks"),
    [
        (rename_folder, "There is no ledger", False),
        (rename_folder, "There is no ledger", True),
        (rename_folder_and_begin_another, "is another ledger", False),
    ],
)
def test_an_output_tells_the_next_run_with_which_ledger_it_was_bought(
    tmp_path: Path, service: Service, spoil: Callable[[Path], None], said: str, parks: bool
) -> None:
    ledger, table, output = (tmp_path / name for name in ("ledgers/l.db", "in.csv", "out.csv"))
    table.write_text("\n".join(["description", *TEXTS]))
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=ledger, rate="none")
        limited = dataclasses.replace(terms, max_cost=Decimal("0.0005")) if parks else terms
        buy = partial(pipeline.classify, table, systems="cpv", output=output, partial=True)
        buy(service=limited)
        bought = len(service.asked)
        named = tmp_path / "out.partial.csv" if parks else output
        assert named.exists()
        spoil(ledger)
        table.write_text("\n".join(["description", *TEXTS, "new"]))
        for use in (partial(pipeline.plan, table, output=output), buy):
            with pytest.raises(
                LedgerError, match=f"{said}.*for {named} were bought with the ledger {ledger}"
            ):
                use(service=terms)
        assert len(service.asked) == bought
        if not ledger.exists():
            assert not ledger.parent.exists(), "where the folder may be moved back"
        for old in tmp_path.glob("out*"):
            old.unlink()
        buy(service=terms)
    assert len(service.asked) > bought


@pytest.mark.parametrize("is_free_before", [False, True], ids=["at first", "after a free run"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (rename_folder, "There is no ledger"),
        (rename_folder_and_begin_another, "is another ledger"),
    ],
)
def test_a_run_that_parks_before_it_writes_an_output_names_its_ledger_too(
    tmp_path: Path,
    service: Service,
    spoil: Callable[[Path], None],
    said: str,
    is_free_before: bool,
) -> None:
    ledger, table, output = (tmp_path / name for name in ("ledgers/l.db", "in.csv", "out/o.csv"))
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv", output=output)
    if is_free_before:
        buy()
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=ledger, rate="none")
        with pytest.raises(ParkedError):
            buy(service=dataclasses.replace(terms, max_price=Decimal("0.00001")))
        bought = len(service.asked)
        assert bought
        kept = output.read_bytes() if is_free_before else None
        spoil(ledger)
        with pytest.raises(LedgerError, match=said) as caught:
            buy(service=terms)
        assert f"answers for {output} were bought with the ledger {ledger}." in caught.value.message
        assert len(service.asked) == bought
        assert (output.read_bytes() if output.exists() else None) == kept
        elsewhere = output.with_name("elsewhere.csv")
        buy(service=terms, output=elsewhere)
    assert len(service.asked) > bought


def test_runs_that_parked_at_two_services_name_the_ledger_of_each(
    tmp_path: Path, service: Service
) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv", output=output)
    with serving(service.app()) as first, serving(service.app()) as second:
        services = [
            PaidService(
                address, service.account.key, ledger=tmp_path / name / "l.db", rate="none",
                max_cost=Decimal("0.0005"),
            )
            for address, name in ((first, "first"), (second, "second"))
        ]  # fmt: skip
        for terms in services:
            with pytest.raises(ParkedError):
                buy(service=terms)
        bought = len(service.asked)
        for terms in services:
            terms.ledger.parent.rename(terms.ledger.parent.with_suffix(".lost"))
            with pytest.raises(LedgerError, match=f"bought with the ledger {terms.ledger}"):
                buy(service=terms)
    assert len(service.asked) == bought


@pytest.mark.parametrize("refused", [[], [0]], ids=["at once", "after a refusal"])
def test_a_run_names_its_ledger_before_it_has_bought_much(
    tmp_path: Path, service: Service, refused: list[int]
) -> None:
    """A run that is killed leaves what it has written so far; here the test keeps that."""
    ledger, table, output = (tmp_path / name for name in ("ledgers/l.db", "in.csv", "out.csv"))
    manifest, left = tmp_path / "out.csv.manifest.json", list[str]()
    table.write_text("\n".join(["description", *TEXTS]))
    service.script = dict.fromkeys(refused, (400, {}, NO_SUCH_TEXT))
    app = Meanwhile(service.app(), 1 + len(refused), lambda: left.append(manifest.read_text()))
    with serving(app) as address:
        terms = PaidService(address, service.account.key, ledger=ledger, rate="none")
        buy = partial(pipeline.classify, table, systems="cpv", output=output, service=terms)
        buy()
        output.unlink()
        manifest.write_text(left[0])
        rename_folder(ledger)
        with pytest.raises(LedgerError, match=f"answers for {output} were bought with the ledger"):
            buy()
    assert len(service.asked) == len(TEXTS) - len(refused)


def test_the_same_ledger_continues_a_run_that_parked_before_it_wrote_an_output(
    tmp_path: Path, service: Service
) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv", output=output)
    manifest = output.with_name("out.csv.manifest.json")
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "l.db", rate="none")
        with pytest.raises(ParkedError):
            buy(service=dataclasses.replace(terms, max_cost=Decimal("0.0005")))
        started = json.loads(manifest.read_text())
        assert started["exit_state"] == "started"
        (mark,) = started["parked"].values()
        last = mark["ledger"]["last_attempt"]
        assert last == len(service.asked) > 1, "an older copy of the ledger lacks answers"
        buy(service=terms)
    assert len(service.asked) == len(TEXTS)
    assert "parked" not in json.loads(manifest.read_text())


def test_nothing_is_asked_of_another_ledger_that_has_all_answers(
    tmp_path: Path, service: Service
) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "a.db", rate="none")
        buy = partial(pipeline.classify, table, systems="cpv")
        buy(service=terms, output=output)
        other = dataclasses.replace(terms, ledger=tmp_path / "b.db")
        buy(service=other)
        buy(service=other, output=output)
        elsewhere = PaidService(f"{address}/api/", None, ledger=tmp_path / "c.db", max_cost=0)
        with pytest.raises(LedgerError, match="no ledger"):  # the address is the same one
            buy(service=elsewhere, output=output)
    assert len(service.asked) == 2 * len(TEXTS)


def test_a_run_that_sent_nothing_names_no_ledger(tmp_path: Path, service: Service) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv")
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "l.db", rate="none")
        with pytest.raises(ParkedError):
            buy(
                output=tmp_path / "other.csv",
                service=dataclasses.replace(terms, max_cost=Decimal("0.0005")),
            )
        with pytest.raises(ParkedError):
            buy(output=output, service=dataclasses.replace(terms, max_cost=Decimal("0")))
    assert not list(tmp_path.glob("out.csv*"))
