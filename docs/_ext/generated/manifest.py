"""The manifest beside an output, as the code writes it for a small paid job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from generated.markdown import block
from pipeline.classification.manifest import manifest
from pipeline.classification.source import Source
from pipeline.classification.summary import Plan, Summary, SystemSummary
from pipeline.purchases import Paid
from pipeline.settings import CsvOptions, Files, Settings
from pipeline.tables.arrow import ArrowReader

__all__ = ["example", "manifest_example"]

PAID = Paid(
    attempts=29,
    confirmed_usd=Decimal("0.003672"),
    unattributed_usd=Decimal(0),
    unconfirmed=0,
    unknown=0,
    at_risk_usd=Decimal(0),
)
SUMMARY = Summary(
    rows=30,
    systems={"cpv": SystemSummary({"ok": 29, "empty": 1}, PAID.confirmed_usd)},
    cost_usd=PAID.confirmed_usd,
    seconds=0.62,
    output=Path("outputs/tenders.classified.csv"),
    paid=PAID,
)


def manifest_example() -> str:
    """Return the manifest of one job."""
    return block("json", json.dumps(example(), indent=2))


SERVICE = "https://service.example"


def example() -> Mapping[str, Any]:
    """Return what the code writes, with the output as `Draft.commit` adds it."""
    reader = ArrowReader(pa.table({}), ())
    reader.opened_fingerprint = "5dc9c92e..."
    files = Files("csv", "csv", overwrite=False, csv=CsvOptions())
    settings = replace(Settings(), systems=("cpv",), limit_rows=30)
    source = Source(reader, Path("tenders.csv"), files)
    record = manifest(source, settings, Plan(30, 1), SUMMARY, SERVICE)
    place = {"path": str(SUMMARY.output), "sha256": "570ed506...", "replaces_sha256": None}
    short = {"marks": "eJxjYGBg...", "finished": "2026-11-22T02:10:28+00:00"}
    return {**record, **short, "output": place}
