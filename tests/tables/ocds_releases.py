"""OCDS releases, and what becomes of them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.tables import open_reader
from tests.tables.rewriting import rewrite_all

FIELDS = [
    pa.field("cpv_code", pa.string()),
    pa.field("cpv_title", pa.string()),
    pa.field("cpv_status", pa.string()),
    pa.field("unspsc_code", pa.string()),
    pa.field("unspsc_title", pa.string()),
    pa.field("cost_usd", pa.decimal128(38, 24)),
]

ROW = ("45233140", "Roadworks", "review", "72141000", "Highways", Decimal("0.1"))

CPV = {"scheme": "CPV", "id": "45233140", "description": "Roadworks"}
UNSPSC = {"scheme": "UNSPSC", "id": "72141000", "description": "Highways"}


def release(tender: Any, **more: Any) -> dict[str, Any]:
    about = {"ocid": "ocds-x-1", "id": "1", "date": "2024-01-01T00:00:00Z", "tag": ["tender"]}
    about |= {"initiationType": "tender"}
    return {**about, **({} if tender is None else {"tender": tender}), **more}


def package(*releases: Any, key: str = "releases") -> dict[str, Any]:
    return {"uri": "https://x.example", "publishedDate": "2024", key: list(releases), "links": []}


def rewritten(place: Path, data: bytes, name: str = "t.json") -> bytes:
    (place / name).write_bytes(data)
    reader = open_reader(place / name, ["description"])
    return rewrite_all(reader, place / f"out.{name}", ROW, "ocds", FIELDS)


def tender_after(place: Path, tender: Any) -> Any:
    found = json.loads(rewritten(place, json.dumps(release(tender)).encode()))
    assert found["tender_pipeline"]["cpv_status"] == "review"
    assert found["tender_pipeline"]["cost_usd"] == "0.1"
    return found.get("tender")
