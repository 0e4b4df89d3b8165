"""An unknown price is an empty cell, never 0, and no sum loses what is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow.parquet as pq

import pipeline
from tests.paid.serving import Buyer, Service, serving, some

Response: TypeAlias = tuple[int, dict[str, str], str]

MATCH = {"code": "45000000", "title": "Works", "confidence": 0.5}
SILENT: Response = 200, {}, json.dumps({"success": True, "data": [MATCH], "metadata": {}})
LOST: Response = 502, {}, ""
TEXTS = ["silent", "priced", "silent", "", "lost, then priced", "lost"]
# One worker buys row by row, CPV before PSC: the fifth and the eighth request are of lost rows.
SCRIPT = {0: SILENT, 4: LOST, 7: LOST, 8: LOST}
COSTS = ["cpv_cost_usd", "psc_cost_usd", "cost_usd"]


def cost(value: Any) -> Decimal | None:
    return None if pd.isna(value) or value == "" else Decimal(value)


def check(rows: Sequence[Mapping[Any, Any]], confirmed: Decimal) -> None:
    silent, priced, again, empty, lost_once, lost = rows
    assert cost(silent["cpv_cost_usd"]) is None
    assert silent["cpv_status"] in ("ok", "review"), "it has a code"
    assert cost(silent["cost_usd"]) == cost(silent["psc_cost_usd"]) != 0
    assert cost(priced["cost_usd"]) == 2 * Decimal(priced["cpv_cost_usd"]) > 0
    for row in (again, empty):
        assert [cost(row[name]) for name in COSTS] == [0, 0, 0]
    assert Decimal(lost_once["cpv_cost_usd"]) > 0
    assert lost["cpv_status"] == "HTTP_502"
    assert cost(lost["cpv_cost_usd"]) is None
    for names in (COSTS[:2], COSTS[2:]):
        known = [cost(row[name]) for row in rows for name in names]
        assert sum(filter(None, known), Decimal(0)) == confirmed


def test_unknown_costs_are_empty_in_csv_and_counted(
    tmp_path: Path, user: Buyer, service: Service
) -> None:
    service.script = SCRIPT
    user.write(TEXTS)
    summary = user.but(workers=1).run()
    assert summary.parked is None
    check(user.rows(), some(summary.paid).confirmed_usd)
    assert (some(summary.paid).unknown, some(summary.paid).unconfirmed) == (1, 3)
    assert "3 attempts unconfirmed, 1 without a price: at most 0.0006 USD more" in str(summary)
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())["summary"]
    assert (manifest["paid"]["unknown"], manifest["paid"]["unconfirmed"]) == (1, 3)
    known = sum(Decimal(figures["cost_usd"]) for figures in manifest["systems"].values())
    assert known == Decimal(manifest["cost_usd"]) == some(summary.paid).confirmed_usd


def test_unknown_costs_are_null_in_parquet_and_missing_in_a_frame(
    tmp_path: Path, service: Service
) -> None:
    frame = pd.DataFrame({"description": TEXTS})
    frame.to_csv(tmp_path / "in.csv", index=False)
    data: Any
    for data, output in ((tmp_path / "in.csv", tmp_path / "out.parquet"), (frame, None)):
        service.script = {service.requests + number: said for number, said in SCRIPT.items()}
        with serving(service.app()) as address:
            ledger = tmp_path / f"{type(data).__name__}.db"
            terms = pipeline.PaidService(
                address, service.account.key, ledger=ledger, rate="none", workers=1
            )
            result = pipeline.classify(data, systems=["cpv", "psc"], output=output, service=terms)
        check(result.to_pandas(exact_costs=True).to_dict("records"), result.cost_usd)
    check(pq.read_table(tmp_path / "out.parquet").to_pylist(), result.cost_usd)


def test_a_row_of_which_nothing_is_known_has_no_total(user: Buyer, service: Service) -> None:
    service.script = {0: SILENT, 1: SILENT}
    user = user.but(workers=1)
    user.write(["one text"])
    user.run()
    assert [user.rows()[0][name] for name in COSTS] == ["", "", ""]
