"""A labelled table: its rows with text and code, or a sample of them, read as often as asked."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa

from pipeline.codes import CodeTable
from pipeline.errors import InputChangedError, InputError
from pipeline.evaluation.dataset import LeftOut, usable
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.tables import ArrowBatch, Reader, find_column

__all__ = ["Labelled", "check_columns", "labelled"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """The rows that are evaluated.

    Attributes:
        settings: which they are.
        reader: reads the table.
        left_out: what was found out about all its rows.
        chosen: the places of the sample among the usable rows, in order; None for all of them.
    """

    settings: EvaluationSettings
    reader: Reader
    left_out: LeftOut
    chosen: Sequence[int] | None

    @property
    def rows(self) -> int:
        """How many rows are evaluated."""
        return self.left_out.usable if self.chosen is None else len(self.chosen)

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the rows: their texts, and as columns ``code`` and ``language``."""
        if self.chosen is None:
            yield from usable(self.reader, self.settings, LeftOut())
            return
        left = iter(self.chosen)
        wanted, first = next(left, None), 0
        for batch in usable(self.reader, self.settings, LeftOut()):
            places = []
            while wanted is not None and wanted < first + len(batch.texts):
                places.append(wanted - first)
                wanted = next(left, None)
            if places:
                yield _picked(batch, places)
            if wanted is None:
                return
            first += len(batch.texts)

    def check_unchanged(self) -> None:
        """Make sure that every subject saw the same rows.

        Raises:
            InputChangedError: the table changed since it was opened.
        """
        if self.reader.fingerprint() != self.reader.opened_fingerprint:
            raise InputChangedError(
                "The table changed while it was being read; nothing can be said of it.",
                "Run the same command again.",
            )


def labelled(reader: Reader, settings: EvaluationSettings, codes: CodeTable, name: str) -> Labelled:
    """Read a table once, to find out which rows are evaluated.

    Args:
        reader: reads the table.
        settings: its columns, and how many rows to draw.
        codes: the codes there are.
        name: what an error calls the table.

    Raises:
        InputError: it cannot be read, lacks a column, or has no row with text and code.
    """
    check_columns(reader.schema.names, settings, name)
    left_out = LeftOut()
    for batch in usable(reader, settings, left_out):
        for code in batch.batch.column("code").to_pylist():
            if code not in codes:
                left_out.unknown[code] += 1
    if not left_out.usable:
        raise InputError(
            f"{name} has no row with a text and a {settings.system} code: of "
            f"{left_out.rows:,} rows {left_out.without_text:,} lack text, "
            f"{left_out.without_code:,} lack a code, {left_out.no_codes.total():,} have one "
            f"that is none of {settings.system}.",
            "Check --text-column, --code-column and --system.",
        )
    return Labelled(settings, reader, left_out, _sample(left_out.usable, settings))


def _sample(rows: int, settings: EvaluationSettings) -> list[int] | None:
    """Draw rows, each as likely as any other.

    Of the same table a larger sample has all rows of a smaller one, so that what was bought for
    that is of use; and it does not depend on the version of a library's generator.
    """
    if settings.sample is None or settings.sample >= rows:
        return None
    seed = str(settings.seed).encode()

    def lot(place: int) -> bytes:
        return blake2b(place.to_bytes(8, "big"), digest_size=16, key=seed[:64]).digest()

    return sorted(heapq.nsmallest(settings.sample, range(rows), key=lot))


def _picked(batch: ArrowBatch, places: Sequence[int]) -> ArrowBatch:
    return ArrowBatch([batch.texts[place] for place in places], batch.batch.take(pa.array(places)))


def check_columns(names: Sequence[str], settings: EvaluationSettings, name: str) -> None:
    """Refuse columns of codes and languages that are not there, or that are there twice.

    Raises:
        InputError: one is so.
    """
    for option, column in settings.label_columns.items():
        find_column(names, column, name, option)
