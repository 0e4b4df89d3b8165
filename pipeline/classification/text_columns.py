"""Checks whether the chosen columns hold text, and finds the column that most likely does."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.file_options import CsvOptions, ExcelOptions, Format
from pipeline.tables import Reader, open_reader
from pipeline.tables.arrow_texts import is_text
from pipeline.tables.json_cells import holders
from pipeline.tables.texts import no_guess

__all__ = [
    "few_words",
    "first_rows",
    "have_words",
    "likeliest",
    "open_suggesting",
    "suggesting",
]

log = logging.getLogger(__name__)

WORD = re.compile(
    r"(?<![^\W_])[^\W\d_]{4,}(?![^\W_])|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}"
)
"""Four letters without digits beside them, unlike codes; or two in scripts with short words."""

OBJECT = re.compile(r"\s*\[?\s*\{\s*\"")
"""The beginning of an object in JSON, or of a list of them: a field in it may be the text."""

HARDLY_ANY = 0.2
"""A text column has words in more than this share of its rows."""

MOST = 40
"""Words of a row that count, so that long texts do not outweigh good titles."""


def have_words(texts: Iterable[str]) -> list[bool]:
    """Return which texts have words, not only numbers, dates, codes or blanks."""
    search = WORD.search
    return [search(text) is not None for text in texts]


def few_words(
    wanted: Sequence[str], rows: int, worded: int, sample: Callable[[], pa.RecordBatch]
) -> str | None:
    """Return a warning if the text columns hold hardly any words.

    ``worded`` of the rows have words in them. ``sample`` returns the first rows, with all columns.
    """
    if not rows or worded > HARDLY_ANY * rows:
        return None
    named = ", ".join(map(repr, wanted))
    holds = (
        f"The text column {named} holds" if len(wanted) == 1 else f"The text columns {named} hold"
    )
    first = sample()
    names = first.schema.names
    own = {*wanted, *holders(names, wanted)}
    # A text column of OCDS is a place in its releases, and none of the table's columns.
    other = likeliest(first, own) if own & {*names} else None
    if other is not None:
        hint = f"Did you mean --text-column {other!r}?"
    elif names and own.issuperset(names):
        hint = "The table has no other column."
    else:
        hint = "Name the column that says what is bought: --text-column NAME."
    less = f"{rows - worded:,} of {rows:,} rows are numbers, dates, codes or blank"
    return f"{holds} hardly any words: {less}. {hint}"


def first_rows(reader: Reader) -> pa.RecordBatch:
    """Return the first rows of a table with all columns; empty if Arrow cannot hold them."""
    batches = reader.batches()
    try:
        for batch in batches:
            return batch.to_arrow()
    except InputError:
        log.debug("no other text column is suggested: Arrow cannot hold the first rows")
    return pa.RecordBatch.from_pydict({})


def open_suggesting(
    path: Path,
    text_columns: Sequence[str],
    csv: CsvOptions,
    input_format: Format | None,
    excel: ExcelOptions,
) -> Reader:
    """Open a table file; see `open_reader` and `suggesting`."""
    with suggesting(lambda: first_rows(open_reader(path, (), csv, input_format, excel))):
        return open_reader(path, text_columns, csv, input_format, excel)


@contextmanager
def suggesting(sample: Callable[[], pa.RecordBatch]) -> Iterator[None]:
    """Let the error about a missing text column suggest one by its words, if no name is similar.

    The sample has the first rows with all columns.
    """
    try:
        yield
    except InputError as error:
        unknown = no_guess("--text-column")
        name = likeliest(sample(), ()) if unknown in error.hint else None
        if name is not None and repr(name) in error.message:  # else it is in another sheet
            known = f"Did you mean {name!r}? Use --text-column {name!r}."
            error.hint = error.hint.replace(unknown, "" if known in error.hint else known).strip()
        raise


def likeliest(sample: pa.RecordBatch, but: Collection[str]) -> str | None:
    """Return the column most likely to hold text: many words, different in each row."""
    names = sample.schema.names
    # The titles of codes, such as those of an output of this tool, do not say what was bought.
    of_codes = {f"{name.removesuffix('code')}title" for name in names if name.endswith("_code")}
    scores = {
        name: _score(column.to_pylist())
        for name, column in zip(names, sample.columns, strict=True)
        if name not in but and name not in of_codes and is_text(column.type)
    }
    best = max(scores, key=lambda name: scores[name], default=None)
    return best if best is not None and scores[best] > 0 else None


def _score(values: Iterable[str | None]) -> float:
    texts = [value or "" for value in values]
    worded = [text for text in compress(texts, have_words(texts)) if not OBJECT.match(text)]
    if len(worded) <= HARDLY_ANY * len(texts):
        return 0.0
    words = sum(min(MOST, len(WORD.findall(text))) for text in worded) / len(texts)
    return words * len(set(worded)) / len(worded)
