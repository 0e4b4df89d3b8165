"""Chooses how the INT96 timestamps of a Parquet file are read, so that each keeps its value.

INT96, a day's number and the nanoseconds since its midnight, holds more than Arrow's 64 bits can.
As nanoseconds the years before 1677 and after 2262 wrap around to others; as microseconds the last
three digits are lost. A file is read as nanoseconds where that keeps every value, else as
microseconds where that does, else not at all. Parquet has given INT96 up, so what comes out is
INT64 in that unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.tables.nested import leaves

__all__ = ["Unit", "exact_unit", "int96_columns"]

Unit: TypeAlias = Literal["s", "us", "ns"]

OpenAs: TypeAlias = Callable[[Unit], AbstractContextManager[pq.ParquetFile]]


def int96_columns(schema: pq.ParquetSchema) -> list[str]:
    """Return the paths of the leaf columns that hold INT96."""
    columns = (schema.column(place) for place in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "INT96"]


def exact_unit(path: Path, open_as: OpenAs, columns: Sequence[str], batch_rows: int) -> Unit:
    """Return the unit in which all values of INT96 columns come out as they are.

    Args:
        path: the file, for the message.
        open_as: opens it, with INT96 read in a unit.
        columns: the paths of the INT96 columns.
        batch_rows: how many rows fit in memory.

    Raises:
        InputError: there is no such unit.
    """
    changed: dict[Unit, set[str]] = {"ns": set(), "us": set()}
    with ExitStack() as stack:
        units: tuple[Unit, ...] = ("ns", "us", "s")
        files = [stack.enter_context(open_as(unit)) for unit in units]
        streams = [
            file.iter_batches(batch_rows, columns=columns, use_threads=False) for file in files
        ]
        for batches in zip(*streams, strict=True):
            for name, *arrays in _int96_leaves(*batches):
                for unit in _changed_by(*arrays):
                    changed[unit].add(name)
    for unit, names in changed.items():
        if not names:
            return unit
    raise _inexact(path, changed)


def _int96_leaves(*batches: pa.RecordBatch) -> Iterator[tuple[str, pa.Array, pa.Array, pa.Array]]:
    """Yield the name of a column and the values of one of its leaves in each unit."""
    for name, *columns in zip(batches[0].schema.names, *batches, strict=True):
        for ns, us, s in zip(*map(leaves, columns), strict=True):
            if ns.type != us.type:  # a neighbour within a struct may be of any other kind
                yield name, ns, us, s


def _changed_by(ns: pa.Array, us: pa.Array, s: pa.Array) -> Iterator[Unit]:
    """Yield the units in which some value is not the one that the file holds.

    Seconds never wrap (a day's number has 32 bits), so they show where microseconds do. Where
    those hold, nanoseconds hold if cutting three digits off them gives the microseconds. And
    microseconds have lost nothing if three zeros behind them give the nanoseconds, wrapped
    around or not: both wrap alike, and less than one microsecond can be lost.
    """
    in_ns, in_us, in_s = (
        unit.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False) for unit in (ns, us, s)
    )
    whole = np.array_equal(in_us // 1_000_000, in_s)
    if not (whole and np.array_equal(in_ns // 1_000, in_us)):
        yield "ns"
    if not (whole and np.array_equal(in_us * 1_000, in_ns)):
        yield "us"


def _inexact(path: Path, changed: dict[Unit, set[str]]) -> InputError:
    names = ", ".join(repr(name) for name in sorted(changed["ns"] | changed["us"]))
    return InputError(
        f"{path}: the INT96 timestamps of {names} fit neither in nanoseconds, which "
        "reach from 1677 to 2262, nor without loss in microseconds.",
        "Write the file again with timestamps in INT64, or drop the column.",
    )
