"""A frame and a service as a notebook has them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

import pipeline
from tests.paid.serving import Service

TEXTS = ["road works", None, "office chairs", "road  works", "school meals", "office chairs"]
DISTINCT = ["road works", "office chairs", "school meals"]


def many(texts: int) -> pa.Table:
    return pa.table({"description": [f"text {number}" for number in range(texts)]})


def paid(service: Service, address: str, folder: Path, **terms: Any) -> pipeline.PaidService:
    terms = {"api_key": service.account.key, "rate": "none", "workers": 4, **terms}
    return pipeline.PaidService(address, ledger=folder / "ledger.db", **terms)


def states(folder: Path) -> Counter[str]:
    """Count the attempts in the ledger by state."""
    with sqlite3.connect(folder / "ledger.db") as ledger:
        found = Counter(state for (state,) in ledger.execute("SELECT state FROM attempts"))
    ledger.close()
    return found


def check_broken_off(folder: Path) -> None:
    """Some attempts were not waited for, and nobody knows whether they were billed."""
    found = states(folder)
    assert found["sent"] + found["unconfirmed"] > 0
    assert set(found) <= {"answered", "sent", "unconfirmed"}
    assert found["answered"] <= 5
