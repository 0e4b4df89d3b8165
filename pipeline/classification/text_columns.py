"""Checks whether the chosen columns hold text, and finds the column that most likely does."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.settings import TEXT_COLUMNS
from pipeline.tables.arrow import is_text
from pipeline.tables.table import Reader
from pipeline.tables.texts import ARGUMENT, NO_GUESS, MissingError, guess, holders, one_line
from pipeline.wording import Words, marked, option

log = logging.getLogger(__name__)

SHORT_WORDS = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}"

WORD = re.compile(rf"(?<![^\W_])[^\W\d_]{{4,}}(?![^\W_])|{SHORT_WORDS}")
"""Four letters without digits beside them, unlike codes; or two in scripts with short words."""

REFERENCE = re.compile(
    r"://|@\w|\bwww\.|\.(?:pdf|docx?|docm|xlsx?|xlsm|pptx?|odt|ods|rtf|zip|rar|7z|tiff?|jpe?g|png"
    r"|html?|xml|csv|txt|msg|eml|dwg|dxf|[dxp]8[1346]|p7m)(?!\w)",
    re.IGNORECASE,
)
"""A part of a link, an e-mail address or the name of a file."""

SPACELESS = re.compile(SHORT_WORDS)
"""Letters of a script without blanks between words: a link among them is not all that is there."""

OBJECT = re.compile(r"\s*\[?\s*\{\s*\"")
"""The beginning of an object in JSON, or of a list of them: a field in it may be the text."""

LACK = "are numbers, dates, codes, links, file names or blank"

HARDLY_ANY = 0.2
"""A text column has words in more than this share of its rows."""

MOST = 40
"""Words of a row that count, so that long texts do not outweigh good titles."""


def have_words(texts: Iterable[str]) -> list[bool]:
    """Return which texts have words, not only what `LACK` names."""
    return [any(map(_is_worded, text.split())) for text in texts]


def _is_worded(part: str) -> bool:
    """Return whether a part of a text without blanks has a word, and is no reference."""
    return WORD.search(part) is not None and not (
        REFERENCE.search(part) and not SPACELESS.search(part)
    )


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
    text_columns = {*holders(names, wanted)}
    hint = f"Name the column that says what is bought: {option('text_columns', 'NAME')}."
    if names and not text_columns & {*names}:  # places in releases of OCDS
        hint = f"Name the field that says what is bought: {option('text_columns', 'NAME')}."
        if tuple(wanted) == TEXT_COLUMNS:  # nobody named one
            holds = "The titles, descriptions and items of the releases hold"
    elif (other := likeliest(first, text_columns)) is not None:
        hint = f"Did you mean {option('text_columns', repr(one_line(other)))}?"
    elif names and text_columns.issuperset(names):
        hint = "The table has no other column."
    return Words(f"{holds} hardly any words: {rows - worded:,} of {rows:,} rows {LACK}. {hint}")


def first_rows(reader: Reader) -> pa.RecordBatch:
    """Return the first rows of a table with all columns; empty if Arrow cannot hold them."""
    batches = reader.batches()
    try:
        for batch in batches:
            return batch.to_arrow()
    except InputError:
        log.debug("no other text column is suggested: Arrow cannot hold the first rows")
    return pa.RecordBatch.from_pydict({})


@contextmanager
def suggesting(sample: Callable[[], pa.RecordBatch]) -> Iterator[None]:
    """Let the error about a missing text column suggest one that has words, whatever its name.

    The sample has the first rows with all columns. A column with a similar name and words stays.
    """
    try:
        yield
    except InputError as error:
        if isinstance(missing := error.__cause__, MissingError) and any(missing.hints.values()):
            of_texts = [hint for hint, is_of_text in missing.hints.items() if is_of_text]
            _suggest_words(error, of_texts, sample())
        raise


def _suggest_words(error: InputError, hints: Sequence[str], sample: pa.RecordBatch) -> None:
    """Replace hints about missing columns that suggest none, or one without words."""
    by_words = scores(sample)
    best = likeliest(sample, ())
    if best is None or repr(one_line(best)) not in error.message:  # it is in another sheet
        return
    suggestion = guess(ARGUMENT, one_line(best))
    wordless = {guess(ARGUMENT, one_line(name)) for name in by_words if not by_words[name]}
    for hint in hints:
        if hint in wordless or hint.startswith(NO_GUESS):
            text = marked(error.hint)
            error.hint = text.replace(hint, "" if suggestion in text else suggestion).strip()


def likeliest(sample: pa.RecordBatch, but: Collection[str]) -> str | None:
    """Return the column most likely to hold text: many words, different in each row."""
    scored = {name: score for name, score in scores(sample).items() if score and name not in but}
    return max(scored, key=scored.__getitem__, default=None)


def scores(sample: pa.RecordBatch) -> dict[str, float]:
    """Return how likely the columns hold text, 0 without words; of one name, the best column."""
    names = sample.schema.names
    # The titles of codes, such as those of an output of this tool, do not say what was bought.
    of_codes = {f"{name.removesuffix('code')}title" for name in names if name.endswith("_code")}
    best = dict.fromkeys(names, 0.0)
    for name, column in zip(names, sample.columns, strict=True):
        if name not in of_codes and is_text(column.type):
            best[name] = max(best[name], _score(column.to_pylist()))
    return best


def _score(values: Iterable[str | None]) -> float:
    texts = [value or "" for value in values]
    worded = [text for text in compress(texts, have_words(texts)) if not OBJECT.match(text)]
    if len(worded) <= HARDLY_ANY * len(texts):
        return 0.0
    parts = (filter(_is_worded, text.split()) for text in worded)
    words = sum(min(MOST, len(WORD.findall(" ".join(each)))) for each in parts) / len(texts)
    return words * len(set(worded)) / len(worded)
