"""Arrow tables of many types, with metadata, for the round trips."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INSTANTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
SPANS = st.timedeltas(timedelta(days=-1000), timedelta(days=1000))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def _whole(unit: str, value: datetime | timedelta) -> Any:
    """Cut what a unit cannot hold."""
    match value:
        case datetime():
            micro = {"s": 0, "ms": value.microsecond // 1000 * 1000}.get(unit, value.microsecond)
            return value.replace(microsecond=micro)
        case timedelta():
            micro = {"s": 0, "ms": value.microseconds // 1000 * 1000}.get(unit, value.microseconds)
            return timedelta(value.days, value.seconds, micro)


def _instants(unit: str) -> st.SearchStrategy[Any]:
    return INSTANTS.map(lambda value: _whole(unit, value))


def _zoned(unit: str) -> st.SearchStrategy[Any]:
    return INSTANTS.map(lambda value: _whole(unit, value).replace(tzinfo=UTC))


def _spans(unit: str) -> st.SearchStrategy[Any]:
    return SPANS.map(lambda value: _whole(unit, value))


FLAT: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.decimal128(38, 24), st.decimals(-9999, 9999, places=24)),
    (pa.decimal128(9, 2), st.decimals(-9999, 9999, places=2)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.binary(), st.binary(max_size=5)),
    (pa.large_binary(), st.binary(max_size=5)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.date32(), st.dates(date(1, 1, 1))),
    (pa.timestamp("ms"), _instants("ms")),
    (pa.timestamp("us"), _instants("us")),
    (pa.timestamp("ns"), _instants("us")),
    (pa.timestamp("ms", "UTC"), _zoned("ms")),
    (pa.timestamp("us", "Europe/Warsaw"), _zoned("us")),
    (pa.timestamp("ns", "America/New_York"), _zoned("us")),
    (pa.time32("ms"), st.builds(time, st.integers(0, 23), st.integers(0, 59))),
    (pa.time64("us"), st.times()),
    (pa.duration("ms"), _spans("ms")),
    (pa.duration("us"), _spans("us")),
    (pa.duration("ns"), _spans("us")),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["", "open", "closed"])),
    (pa.null(), st.none()),
]


def _nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


@st.composite
def types_with_values(draw: st.DrawFn) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kind, values = draw(st.sampled_from(FLAT))
    if draw(st.integers(0, 3)) or pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        return kind, _nullable(values)
    match draw(st.sampled_from(["list", "large_list", "struct", "map", "deep"])):
        case "list":
            return pa.list_(kind), _nullable(st.lists(_nullable(values), max_size=3))
        case "large_list":
            field = pa.field("item", kind)
            return pa.large_list(field), _nullable(st.lists(_nullable(values), max_size=3))
        case "struct":
            struct = pa.struct([("a.b", kind), ("n", pa.int8())])
            rows = st.fixed_dictionaries({"a.b": _nullable(values), "n": st.integers(0, 9)})
            return struct, _nullable(rows)
        case "map":
            pairs = st.lists(st.tuples(TEXTS, _nullable(values)), max_size=3)
            return pa.map_(pa.string(), kind), _nullable(pairs)
        case _:
            deep = pa.list_(pa.struct([("codes", pa.list_(kind))]))
            rows = st.fixed_dictionaries({"codes": st.lists(values, max_size=2)})
            return deep, _nullable(st.lists(rows, max_size=2))


def not_utf8(*values: bytes) -> pa.Array:
    """Return bytes that some writers take for text."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values).buffers())


METADATA = st.dictionaries(st.sampled_from([b"k", b"owner", b"\xc3\xa9"]), st.binary(max_size=4))


@st.composite
def arrow_tables(draw: st.DrawFn) -> pa.Table:
    """Return a table whose first column, ``description``, is text; its second has no nulls."""
    rows = draw(st.integers(0, 9))
    number = pa.field("id", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "7"})
    fields = [pa.field("description", pa.string()), number]
    arrays = [pa.array(draw(_cells(_nullable(TEXTS), rows)), pa.string())]
    arrays.append(pa.array(range(rows), pa.int64()))
    for place in range(draw(st.integers(0, 4))):
        kind, values = draw(types_with_values())
        field = pa.field(f"c{place}", kind, metadata=draw(METADATA) or None)
        fields.append(field)
        arrays.append(pa.array(draw(_cells(values, rows)), kind))
    schema = pa.schema(fields, metadata=draw(METADATA) or None)
    return pa.Table.from_arrays(arrays, schema=schema)


def _cells(values: st.SearchStrategy[Any], rows: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=rows, max_size=rows)
