"""Reads the rows of a labelled table that have a text and a code, and counts the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.codes import normalized
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.tables import ArrowBatch, Reader, labels

__all__ = ["LeftOut", "usable"]

ROWS = pa.schema([("code", pa.string()), ("language", pa.string())])


@dataclass(slots=True)
class LeftOut:
    """Which rows are not evaluated, and which codes are odd.

    Attributes:
        rows: rows in the table.
        without_text: rows left out because they have no text.
        without_code: rows left out because they have no code.
        no_codes: how often each text stood for a code that is none; left out too.
        unknown: how often each code stood that the table of codes lacks. These rows are
            evaluated: nobody may know the code, but its levels can be right all the same.
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


def usable(reader: Reader, settings: EvaluationSettings, left_out: LeftOut) -> Iterator[ArrowBatch]:
    """Yield the rows that have a text and a code, and count the others."""
    names = reader.schema.names
    places = {option: names.index(name) for option, name in settings.label_columns.items()}
    for batch in reader.batches():
        original = batch.to_arrow()
        columns = [labels(original, place, option) for option, place in places.items()]
        said, spoken = columns if len(columns) == 2 else (columns[0], [""] * len(batch.texts))
        rows = []
        for text, written, language in zip(batch.texts, said, spoken, strict=True):
            code = _code(text, written, settings, left_out)
            if code is not None:
                rows.append((text, code, language))
        if rows:
            texts, codes, languages = zip(*rows, strict=True)
            arrays = [pa.array(codes, pa.string()), pa.array(languages, pa.string())]
            yield ArrowBatch(texts, pa.RecordBatch.from_arrays(arrays, schema=ROWS))


def _code(text: str, said: str, settings: EvaluationSettings, left_out: LeftOut) -> str | None:
    """Return a row's code, None if the row is left out; count it either way."""
    left_out.rows += 1
    if not text:
        left_out.without_text += 1
        return None
    if not said:
        left_out.without_code += 1
        return None
    code = normalized(settings.system, said)
    if code is None:
        left_out.no_codes[said] += 1
    return code
