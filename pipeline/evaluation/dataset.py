"""A labelled table: which rows are evaluated, a sample of them, and which rows are left out."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import pyarrow as pa

from pipeline.codes import load, normalized
from pipeline.errors import InputError
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.tables.arrow import ArrowBatch, labels
from pipeline.tables.table import Reader
from pipeline.tables.texts import find_all
from pipeline.wording import option

UNNAMED = "a table in memory"
"""The name of a table that is in no file."""


class LabelledBatch(ArrowBatch):
    """Rows that are evaluated, with the columns ``code`` and ``source``."""

    __slots__ = ()

    @property
    def codes(self) -> list[str]:
        """The right code of each row; "" if people decided that none fits."""
        codes: list[str] = self.batch.column(0).to_pylist()
        return codes

    @property
    def sources(self) -> list[str]:
        """The source of each row; "" where the table names none."""
        sources: list[str] = self.batch.column(1).to_pylist()
        return sources

    def at(self, rows: Sequence[int]) -> LabelledBatch:
        """Return the rows at some places."""
        texts = [self.texts[row] for row in rows]
        return LabelledBatch(texts, self.batch.take(pa.array(rows)))


@dataclass(slots=True)
class LeftOut:
    """Counts of the rows that are not evaluated, and of unusual codes.

    Attributes:
        rows: rows in the table.
        without_text: rows left out because they have no text.
        without_code: rows left out because they have no code.
        no_codes: how many rows have each malformed code; left out too.
        unknown: how many rows have each code that the code table lacks. These rows are
            evaluated: no answer can be exactly right, but it can be right at a level.
    """

    rows: int = 0
    without_text: int = 0
    without_code: int = 0
    no_codes: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> int:
        """Rows that can be evaluated."""
        return self.rows - self.without_text - self.without_code - self.no_codes.total()


@dataclass(frozen=True, slots=True)
class Labelled:
    """The rows that are evaluated; they can be read any number of times.

    ``chosen`` has the places of a sample among the usable rows; None for all of them.
    """

    settings: EvaluationSettings
    reader: Reader
    name: str
    left_out: LeftOut
    chosen: Set[int] | None

    @property
    def rows(self) -> int:
        """How many rows are evaluated."""
        return self.left_out.usable if self.chosen is None else len(self.chosen)

    def batches(self) -> Iterator[LabelledBatch]:
        """Read the rows."""
        if self.chosen is None:
            yield from _usable(self.reader, self.settings, LeftOut())
            return
        first = 0
        for batch in _usable(self.reader, self.settings, LeftOut()):
            rows = [at for at in range(len(batch.texts)) if first + at in self.chosen]
            if rows:
                yield batch.at(rows)
            first += len(batch.texts)


def labelled(reader: Reader, settings: EvaluationSettings, name: str) -> Labelled:
    """Read a table once, to find out which rows are evaluated.

    Raises:
        InputError: it cannot be read, lacks a column, or has no row with text and code.
    """
    codes = load(settings.system)
    table_name = "The table" if name == UNNAMED else name
    settings = _as_named(reader.schema.names, settings, table_name)
    left_out = LeftOut()
    for batch in _usable(reader, settings, left_out):
        left_out.unknown.update(code for code in batch.codes if code and code not in codes)
    if not left_out.rows:
        raise InputError(f"{table_name} has no rows.", "Evaluate a table with at least one row.")
    if not left_out.usable:
        raise InputError(
            f"No row of {name} has a text and a {settings.system} code: of "
            f"{left_out.rows:,} rows {left_out.without_text:,} have no text, "
            f"{left_out.without_code:,} no code, {left_out.no_codes.total():,} a code that is "
            f"not valid in {settings.system}.",
            f"Check {option('text_columns')}, {option('code_column')} and {option('system')}.",
        )
    return Labelled(settings, reader, name, left_out, _sample(left_out.usable, settings))


def _as_named(names: Sequence[str], settings: EvaluationSettings, name: str) -> EvaluationSettings:
    """Return the settings with the columns as the table names them.

    Raises:
        InputError: a column of the settings is missing or exists twice.
    """
    columns = settings.label_columns
    indices = find_all(names, [*columns.items()], name)
    names_there = dict(zip(columns, [names[index] for index in indices], strict=True))
    return replace(settings, **names_there)  # type: ignore[arg-type]


def _usable(
    reader: Reader, settings: EvaluationSettings, left_out: LeftOut
) -> Iterator[LabelledBatch]:
    """Yield the rows that have a text and a code, and count the others."""
    names = reader.schema.names
    for batch in reader.batches():
        original = batch.to_arrow()
        stated, *sources = (
            labels(original, names.index(column), argument)
            for argument, column in settings.label_columns.items()
        )
        codes = [
            _code(text, label, settings, left_out)
            for text, label in zip(batch.texts, stated, strict=True)
        ]
        both = codes, *(sources or [[""] * len(codes)])
        columns = [pa.array(values, pa.string()) for values in both]
        rows = pa.RecordBatch.from_arrays(columns, ["code", "source"])
        if kept := [row for row, code in enumerate(codes) if code is not None]:
            yield LabelledBatch(batch.texts, rows).at(kept)


def _code(text: str, stated: str, settings: EvaluationSettings, left_out: LeftOut) -> str | None:
    """Return a row's code, None if the row is left out; count it either way."""
    left_out.rows += 1
    if not text:
        left_out.without_text += 1
        return None
    if not stated and settings.decisions:
        return ""  # no code fits
    if not stated:
        left_out.without_code += 1
        return None
    code = normalized(settings.system, stated)
    if code is None:
        left_out.no_codes[stated] += 1
    return code


def _sample(rows: int, settings: EvaluationSettings) -> Set[int] | None:
    """Draw rows, each with the same probability.

    A larger sample of the same table contains all rows of a smaller one, so that answers bought
    for that are used again. The sample does not depend on the version of a library's generator.
    """
    if settings.sample is None or settings.sample >= rows:
        return None
    seed = str(settings.seed).encode()

    def lot(row: int) -> bytes:
        return blake2b(row.to_bytes(8, "big"), digest_size=16, key=seed[:64]).digest()

    return {*heapq.nsmallest(settings.sample, range(rows), key=lot)}
