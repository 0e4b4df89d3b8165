"""The Python interface of an evaluation: for a frame, a table or a file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

import pandas as pd

from pipeline.answers import System
from pipeline.checks import check_flag
from pipeline.classification.frames import text_table
from pipeline.classification.source import Data, open_table
from pipeline.errors import ParkedError, PipelineError, SettingsError
from pipeline.evaluation.candidates import Paid, Subject, is_address, offline
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.labelled import check_columns
from pipeline.evaluation.run import Stopped, evaluated
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.paid.purchase import Purchase
from pipeline.paid.service import PaidService
from pipeline.progress import bar, silent
from pipeline.python_messages import in_python
from pipeline.settings import CsvOptions, Settings
from pipeline.tables import ArrowReader, Reader
from pipeline.tables.texts import find_columns

__all__ = ["evaluate"]

Named: TypeAlias = str | PathLike[str] | PaidService
"""Who is evaluated: ``engine``, ``lexical``, the folder of a model, or a paid service."""


def evaluate(
    data: Data,
    *,
    system: System,
    text_columns: str | Sequence[str] = "description",
    code_column: str = "code",
    language_column: str | None = None,
    subject: Named = "engine",
    against: Named | None = None,
    sample: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    csv: CsvOptions | None = None,
    progress: bool = False,
) -> Evaluation:
    """Compare answers with the right codes of a labelled table.

    Args:
        data: a pandas frame, a pyarrow table, anything that speaks Arrow's C stream, or the path
            of a CSV or Parquet file.
        system: whose codes they are: ``cpv``, ``psc``, ``unspsc`` or ``naics``.
        text_columns: the column (or columns, joined by ". ") that hold the text.
        code_column: the column that holds the right code.
        language_column: a column that names the language, to tell them apart.
        subject: who is evaluated: ``engine``, ``lexical`` (the titles alone), the folder of a
            model, or a `PaidService`, whose answers are bought, kept and never bought twice.
        against: another one, evaluated on the same rows; one of the two may be paid.
        sample: draw so many rows at random; None for all.
        seed: which rows those are.
        jobs: how many processes the embedded engine uses.
        csv: how a CSV file is written, where that is not found out right.
        progress: True shows bars.

    Raises:
        SettingsError: an argument is wrong.
        InputError: the table cannot be read, lacks a column, or has no row with text and code.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
        ParkedError: the purchase stopped before its end; the same call continues.
    """
    try:
        return _evaluate(
            data,
            system=system,
            text_columns=text_columns,
            code_column=code_column,
            language_column=language_column,
            subject=subject,
            against=against,
            sample=sample,
            seed=seed,
            jobs=jobs,
            csv=csv,
            progress=progress,
        )
    except PipelineError as error:
        raise in_python(error) from None


def _evaluate(
    data: Data,
    *,
    system: System,
    text_columns: Any,
    code_column: str,
    language_column: str | None,
    subject: Named,
    against: Named | None,
    sample: int | None,
    seed: int,
    jobs: int,
    csv: CsvOptions | None,
    progress: bool,
) -> Evaluation:
    check_flag("progress", progress)
    settings = EvaluationSettings(
        system, _names(text_columns), code_column, language_column, sample, seed, jobs
    )
    subjects = [_subject(each, settings.system) for each in (subject, against) if each is not None]
    if sum(isinstance(each, Paid) for each in subjects) > 1:
        raise SettingsError(
            "Both subjects are paid services.",
            "Evaluate each by itself, with the same sample and seed.",
        )
    if len(set(subjects)) < len(subjects):
        raise SettingsError(
            "subject and against are the same.", "against must be another one, or None."
        )

    def open_purchase(service: PaidService, asked: Settings, identity: str) -> Purchase:
        return Purchase(service, asked, identity, bar if progress else silent)

    reader = _reader(data, settings, csv)
    name = str(data) if isinstance(data, str | PathLike) else "a table in memory"
    found = evaluated(reader, name, settings, subjects, open_purchase, bar if progress else silent)
    if isinstance(found, Stopped):
        raise _ended(found)
    return found


def _ended(found: Stopped) -> BaseException:
    """Return what an evaluation ended with before its end."""
    parked = found.parked
    if parked.exit_code == 130:
        return KeyboardInterrupt()
    if parked.exit_code > 128:
        return SystemExit(parked.exit_code)
    return ParkedError(parked.message, parked.hint, parked.exit_code, found.paid.confirmed_usd)


def _names(columns: Any) -> tuple[str, ...]:
    return Settings(text_columns=columns).text_columns


def _subject(named: Any, system: System) -> Subject:
    if isinstance(named, PaidService):
        return Paid(named)
    if not isinstance(named, str | PathLike) or is_address(str(named)):
        raise SettingsError(
            "The subject of an evaluation is neither a word, a folder nor a PaidService.",
            'Give "engine", "lexical", the path of a model, or '
            'pipeline.PaidService("https://service.example").',
        )
    return offline(str(named), system)


def _reader(data: Data, settings: EvaluationSettings, csv: CsvOptions | None) -> Reader:
    if not isinstance(data, pd.DataFrame):
        return open_table(data, settings.asked, csv=csv)[0].reader
    wanted = [*settings.text_columns, settings.code_column, settings.language_column]
    columns = tuple(dict.fromkeys(name for name in wanted if name is not None))
    names = [str(label) for label in data.columns]
    find_columns(names, settings.text_columns, "The frame")  # an error names all columns there are
    check_columns(names, settings, "The frame")
    there = [place for place, name in enumerate(names) if name in columns]
    table = text_table(data.iloc[:, there].reset_index(drop=True), Settings(text_columns=columns))
    return ArrowReader(table, settings.text_columns)
