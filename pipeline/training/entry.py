"""The Python function `pipeline.train`: for a frame, a table or a file with the right codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pipeline.answers import SYSTEMS, System
from pipeline.checks import check_flag, whole_number
from pipeline.classification.frames import frame_reader
from pipeline.classification.polars_frames import arrow_if_polars
from pipeline.classification.source import Data, open_table
from pipeline.errors import PipelineError, SettingsError
from pipeline.progress import Progress, display_for
from pipeline.python_messages import in_python
from pipeline.settings import CsvOptions, ExcelOptions, Settings
from pipeline.tables import Reader, find_column
from pipeline.training.run import TrainingSettings, check_output, from_history, from_recipe
from pipeline.training.trained_model import TrainedModel

__all__ = ["train"]


def train(
    data: Data | None = None,
    *,
    output: str | PathLike[str],
    system: System | None = None,
    text_columns: str | Sequence[str] = "description",
    code_column: str = "code",
    only_history: bool = False,
    recipe: str | PathLike[str] | None = None,
    jobs: int = 1,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    progress: bool | Literal["auto"] | Progress = "auto",
) -> TrainedModel:
    """Train the engine on a history of tenders whose codes are known.

    A first model learns without a tenth of the rows and is measured on them; then the model is
    trained on all rows. It goes into a folder, which is complete or does not exist.

    Args:
        data: a pandas or Polars frame, a pyarrow table, anything that speaks Arrow's C stream, or
            the path of a file; see `classify`.
        output: the folder for the model; an older model there is replaced.
        system: whose codes they are: ``cpv``, ``psc``, ``unspsc`` or ``naics``.
        text_columns: the column (or columns, joined by ". ") that hold the text.
        code_column: the column that holds the right code.
        only_history: whether the model answers alone; else it answers together with the model of
            the package, with the weight that suits the held-out rows best.
        recipe: instead of a history, a file that describes how to train several systems together.
        jobs: how many networks are trained at once, each in its own process.
        overwrite: replace a folder that is not a model.
        csv: the dialect of a CSV file, if it is detected wrongly.
        excel: the sheet and the header row of a workbook, if they are found wrongly.
        progress: True shows a bar, "auto" shows one in a notebook; to write your own display, see
            `pipeline.progress.Progress`.

    Returns:
        The folder and the figures; pass it as ``models`` to `classify`, or as ``subject`` to
        `evaluate`.

    Raises:
        SettingsError: an argument is wrong.
        InputError: the table cannot be read, lacks a column, or has too few rows to learn from.
        OutputError: the folder holds something else, or cannot be written.
    """
    try:
        shown = display_for(progress)
        folder = _path("output", output)
        check_flag("overwrite", overwrite)
        if recipe is not None:
            _check_alone(data, system, only_history)
            jobs = whole_number("jobs", jobs, 1)
            check_output(folder, overwrite)
            return from_recipe(_path("recipe", recipe), folder, shown, jobs, overwrite)
        if data is None or system is None:
            raise SettingsError(
                "There is no history." if data is None else "The system of the codes is not given.",
                f"Give a history and its system ({', '.join(SYSTEMS)}), or a recipe.",
            )
        settings = TrainingSettings(system, code_column, folder, only_history, jobs, overwrite)
        check_output(folder, overwrite)
        name = str(data) if isinstance(data, str | PathLike) else "The table"
        with _opened(data, text_columns, code_column, csv, excel) as reader:
            return from_history(reader, name, settings, shown, lambda line: None)  # noqa: ARG005
    except PipelineError as error:
        raise in_python(error) from None


@contextmanager
def _opened(
    data: Data, text_columns: Any, code_column: str, csv: Any, excel: ExcelOptions | None
) -> Iterator[Reader]:
    asked = Settings(text_columns=text_columns)
    data = arrow_if_polars(data, asked.text_columns[0])
    if isinstance(data, pd.DataFrame):
        find_column([*map(str, data.columns)], code_column, "The frame", "--code-column")
        yield frame_reader(data, asked.text_columns, [code_column])
        return
    with open_table(data, asked, csv=csv, excel=excel) as (source, _):
        yield source.reader


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, str | PathLike):
        raise SettingsError(f"{name} is {value!r}.", f"{name} must be a path.")
    return Path(value)


def _check_alone(data: object, system: object, only_history: object) -> None:
    if data is not None:
        raise SettingsError("Both a history and a recipe are given.", "Give one of them.")
    if system is not None or only_history:
        raise SettingsError(
            "A recipe says itself which systems to train on which data.",
            "Leave system and only_history out.",
        )
