"""The new fields in tests of JSON, and how they look in a record."""

from __future__ import annotations

import pyarrow as pa

from pipeline.tables.table import ARROW_USD

__all__ = ["CODE", "COST", "NEW"]

CODE = pa.field("code", pa.string())
COST = pa.field("cost", ARROW_USD)
NEW = b'"code": "1", "cost": "0.1"'
