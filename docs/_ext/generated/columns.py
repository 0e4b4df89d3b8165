"""The columns that a job adds, with their types, taken from the code."""

from __future__ import annotations

import pyarrow as pa

from generated.markdown import code, table
from pipeline.classification.columns import new_fields
from pipeline.settings import Settings

__all__ = ["columns"]

MEANINGS = {
    "cpv_code": "the best code, as text",
    "cpv_title": "its title; the CPV's is in the language of `--language`",
    "cpv_confidence": "how sure the matcher is; from 0 to 1 with the embedded engine",
    "cpv_status": "what became of the row for this system; see [Statuses](#statuses)",
    "cpv_cost_usd": (
        "what this job paid for the answer, exact, or empty if nobody knows; "
        "0 with the embedded engine"
    ),
    "cpv_matches": "with `--top 2` or more: all matches, best first",
    "cpv_why": "with `--explain`: the words of the text that supported the best match",
    "cost_usd": (
        "the row's total over all systems, as far as known; "
        "empty if nothing of it is known and something may have been paid"
    ),
}

IN_CSV = {
    "cpv_confidence": "a number",
    "cpv_matches": "JSON",
    "cpv_cost_usd": "plain notation, no exponent",
    "cost_usd": "plain notation, no exponent",
}


def columns() -> str:
    """Describe the columns that are added for one system, and the row's total."""
    fields = new_fields(Settings(systems=("cpv",), top=2, explain=True))
    rows = [
        [code(field.name), MEANINGS[field.name], _type(field.type), IN_CSV.get(field.name, "text")]
        for field in fields
    ]
    return table(["column", "content", "type in Parquet", "in CSV"], rows)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        inner = ", ".join(f"`{field.name}` ({field.type})" for field in kind.value_type)
        return f"list of {inner}"
    return str(kind)
