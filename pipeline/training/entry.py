"""The Python function `pipeline.train`: for a frame, a table or a file with the right codes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, cast

from pipeline.answers import System
from pipeline.arguments import check_flag, public
from pipeline.classification.corrections import decisions_in
from pipeline.classification.labelled import open_labelled
from pipeline.classification.source import Data
from pipeline.errors import SettingsError
from pipeline.files.paths import check_kept
from pipeline.progress import Progress, display_for
from pipeline.settings import (
    TEXT_COLUMNS,
    CsvOptions,
    ExcelOptions,
    Settings,
    check_labels,
    parse_text_columns,
)
from pipeline.training.run import (
    TrainedModel,
    TrainingSettings,
    check_output,
    from_history,
)
from pipeline.wording import warn_in_python


@public
def train(
    data: Data | None = None,
    *,
    output: str | PathLike[str],
    system: str | None = None,
    text_columns: str | Sequence[str] = TEXT_COLUMNS,
    code_column: str = "code",
    only_history: bool = False,
    jobs: int = 1,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    progress: bool | Literal["auto"] | Progress = "auto",
    decisions: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
) -> TrainedModel:
    """Train the engine on tenders whose codes are known: a history, or what people decided.

    A first model learns without a tenth of the rows and is measured on them; then the model is
    trained on all rows. It goes into a folder, which is complete or does not exist.

    Args:
        data: a pandas or Polars frame, a pyarrow table, anything that speaks Arrow's C stream, or
            the path of a file; see `classify`. None to learn from ``decisions`` alone.
        output: the folder for the model; an older model there is replaced.
        system: whose codes they are: ``cpv``, ``psc``, ``unspsc`` or ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        code_column: the column that holds the right code.
        only_history: whether the model answers alone; else it answers together with the model of
            the package, with the weight that suits the held-out rows best.
        jobs: how many networks are trained at once, each in its own process.
        overwrite: replace a folder that is not a model.
        csv: the dialect of a CSV file, if it is detected wrongly.
        excel: the sheet and the header row of a workbook, if they are found wrongly.
        progress: True shows a bar, "auto" shows one in a notebook; to write your own display, see
            `pipeline.progress.Progress`.
        decisions: the file of a review, an output of `classify` in which a person corrected codes,
            or several: what people decided replaces the codes of the history, and adds to them.

    Returns:
        The folder and the figures; pass it as ``models`` to `classify`, or as ``subject`` to
        `evaluate`.

    Raises:
        SettingsError: an argument is wrong.
        InputError: the table or the decisions cannot be read, the table lacks a column, or there
            are too few rows to learn from.
        OutputError: the folder holds something else, or cannot be written.
    """
    shown = display_for(progress)
    if not isinstance(output, str | PathLike):
        raise SettingsError(f"output is {output!r}.", "output must be a path.")
    folder = Path(output).absolute()  # a notebook may change its folder
    check_flag("overwrite", overwrite)
    asked = Settings(text_columns=parse_text_columns(text_columns))
    reviewed = decisions_in(decisions, warn_in_python, asked.text_columns)
    kept = [("data", data), *(("decisions", path) for path in reviewed.files)]
    files = [(name, Path(path)) for name, path in kept if isinstance(path, str | PathLike)]
    check_kept({"output": folder}, files)
    check_labels(data, reviewed.files, system)
    system_name = cast("System", system)
    settings = TrainingSettings(system_name, code_column, folder, only_history, jobs, overwrite)
    check_output(folder, overwrite)
    if data is None:
        return from_history(None, None, settings, shown, _ignore, reviewed)
    name = str(data) if isinstance(data, str | PathLike) else "The table"
    needed = [("code_column", code_column)]
    with open_labelled(data, asked, needed, csv, excel) as reader:
        return from_history(reader, name, settings, shown, _ignore, reviewed)


def _ignore(line: str) -> None:
    """Ignore a line about skipped rows: the returned model has it."""
