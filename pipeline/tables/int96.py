"""Chooses the unit in which INT96 timestamps of a Parquet file keep their values.

INT96 stores a day and the nanoseconds since its midnight: more than Arrow's 64 bits hold. In
nanoseconds, years before 1677 and after 2262 wrap around; in microseconds, the last three digits
are lost. A file is read in nanoseconds if that keeps every value, else in microseconds if that
does, else it is refused. INT96 is deprecated in Parquet, so the output has INT64 in that unit.
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
from pipeline.tables.cells import leaves

__all__ = ["Unit", "exact_unit", "int96_columns"]

Unit: TypeAlias = Literal["s", "us", "ns"]

OpenAs: TypeAlias = Callable[[Unit], AbstractContextManager[pq.ParquetFile]]


def int96_columns(schema: pq.ParquetSchema) -> list[str]:
    """Return the paths of the leaf columns of type INT96."""
    columns = (schema.column(place) for place in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "INT96"]


def exact_unit(path: Path, open_as: OpenAs, columns: Sequence[str], batch_rows: int) -> Unit:
    """Return the unit that keeps all values of INT96 columns.

    ``open_as`` opens the file, reading INT96 in a unit.

    Raises:
        InputError: no unit keeps them all.
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
    """Yield column names with the values of each INT96 leaf in each unit."""
    for name, *columns in zip(batches[0].schema.names, *batches, strict=True):
        for ns, us, s in zip(*map(leaves, columns), strict=True):
            if ns.type != us.type:  # other leaves of a struct may have any type
                yield name, ns, us, s


def _changed_by(ns: pa.Array, us: pa.Array, s: pa.Array) -> Iterator[Unit]:
    """Yield the units in which some value differs from that in the file.

    Seconds never wrap (a day has 32 bits), so they show whether microseconds wrapped. If those did
    not, nanoseconds are right if without their last three digits they equal the microseconds. And
    microseconds lost nothing if, times 1,000, they equal the nanoseconds, wrapped or not: both wrap
    alike, and less than one microsecond can be lost.
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
