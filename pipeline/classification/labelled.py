"""Opens a labelled table, for `evaluate` and `train`, and warns about its texts and its labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.classification.job import Request
from pipeline.classification.source import Data, from_polars
from pipeline.classification.text_columns import few_words, first_rows, have_words
from pipeline.settings import Settings, file_options
from pipeline.tables.table import Reader
from pipeline.tables.texts import find_all, holders, naming_all
from pipeline.wording import option, quoted, warn_in_python


@contextmanager
def open_labelled(
    data: Data,
    asked: Settings,
    needed: Sequence[tuple[str, str]],
    csv: Any,
    excel: Any,
) -> Iterator[Reader]:
    """Open a labelled table that is passed to a public function.

    An error about missing columns names all of them. ``needed`` has the argument and the name of
    each column beside the text.

    Raises:
        SettingsError: the data is not a table, or an argument is invalid.
        InputError: the table cannot be read, or lacks a column.
    """
    import pandas as pd  # the command line needs it for no frame

    from pipeline.classification.pandas_frames import frame_reader, frame_sample

    data = from_polars(data, lambda: asked.text_columns[0])
    csv, excel = file_options(data, csv, excel)
    if not isinstance(data, pd.DataFrame):
        request = Request(asked, csv=csv, excel=excel)
        with naming_all(needed), request.open(data) as job:
            reader = job.source.reader
            _warn(reader, reader.schema.names, asked, needed, warn_in_python)
            yield reader
        return
    names = [str(label) for label in data.columns]
    texts = [("text_columns", name) for name in holders(names, asked.text_columns)]
    find_all(names, [*texts, *needed], "The frame")
    reader = frame_reader(data, asked.text_columns, [name for _, name in needed])
    sample = partial(frame_sample, data)
    _warn(reader, names, asked, needed, warn_in_python, sample)
    yield reader


def open_labelled_file(
    path: Path, request: Request, needed: Sequence[tuple[str, str]], warn: Callable[[str], None]
) -> Reader:
    """Open a labelled table file; see `open_labelled`."""
    with naming_all(needed):
        reader = request.reader(path)
    _warn(reader, reader.schema.names, request.settings, needed, warn)
    return reader


def _warn(
    reader: Reader,
    names: Collection[str],
    asked: Settings,
    needed: Iterable[tuple[str, str]],
    warn: Callable[[str], None],
    sample: Callable[[], pa.RecordBatch] | None = None,
) -> None:
    """Warn if the first rows hold hardly any words, or if the labels are what this tool answered.

    The engine would agree with its own answers. ``sample`` returns the first rows, if the reader
    has not all columns.

    Raises:
        InputError: they cannot be read.
    """
    for batch in islice(reader.batches(), 1):
        worded, first = sum(have_words(batch.texts)), sample or (lambda: first_rows(reader))
        if warning := few_words(asked.text_columns, len(batch.texts), worded, first):
            warn(warning)
    for _, name in needed:
        if name.endswith("_code") and f"{name.removesuffix('code')}status" in names:
            warn(
                f"The column {quoted(name)} has what a run answered, right or wrong. To use what "
                f"people corrected in it: {option('decisions', 'FILE')}."
            )
