"""Opens the labelled table that is passed to a public function, for `evaluate` and `train`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pandas as pd

from pipeline.classification.job import Request
from pipeline.classification.pandas_frames import frame_reader, frame_sample
from pipeline.classification.source import Data, from_polars
from pipeline.classification.text_columns import warn_of_few_words, warn_of_own_codes
from pipeline.settings import Settings, file_options
from pipeline.tables.table import Reader
from pipeline.tables.texts import find_all, holders, naming_all
from pipeline.wording import warn_in_python


@contextmanager
def open_labelled(
    data: Data,
    asked: Settings,
    needed: Sequence[tuple[str, str]],
    csv: Any,
    excel: Any,
) -> Iterator[Reader]:
    """Open a labelled table; an error about missing columns names all of them.

    ``needed`` has the argument and the name of each column beside the text.

    Raises:
        SettingsError: the data is not a table, or an argument is invalid.
        InputError: the table cannot be read, or lacks a column.
    """
    data = from_polars(data, lambda: asked.text_columns[0])
    csv, excel = file_options(data, csv, excel)
    with naming_all(needed):
        if not isinstance(data, pd.DataFrame):
            with Request(asked, csv=csv, excel=excel).open(data) as job:
                reader = job.source.reader
                warn_of_few_words(reader, asked.text_columns, warn_in_python)
                warn_of_own_codes(reader.schema.names, needed, warn_in_python)
                yield reader
            return
        names = [str(label) for label in data.columns]
        texts = [("text_columns", name) for name in holders(names, asked.text_columns)]
        find_all(names, [*texts, *needed], "The frame")
        reader = frame_reader(data, asked.text_columns, [name for _, name in needed])
        sample = partial(frame_sample, data)
        warn_of_few_words(reader, asked.text_columns, warn_in_python, sample)
        warn_of_own_codes(names, needed, warn_in_python)
        yield reader
