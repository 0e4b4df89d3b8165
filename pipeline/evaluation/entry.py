"""The Python function `pipeline.evaluate`: for a frame, a table or a file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from pipeline.answers import System
from pipeline.checks import check_flag
from pipeline.classification.corrections import decisions_in
from pipeline.classification.labelled_source import open_labelled
from pipeline.classification.source import Data
from pipeline.decisions import label_table
from pipeline.errors import SettingsError
from pipeline.evaluation.dataset import SOURCE, UNNAMED, labelled
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.run import Stopped, evaluated
from pipeline.evaluation.settings import EvaluationSettings, check_given
from pipeline.evaluation.subjects import Paid, Subject, check_subjects, is_address, offline
from pipeline.processes import Jobs
from pipeline.progress import Progress, display_for
from pipeline.public import public
from pipeline.settings import TEXT_COLUMNS, CsvOptions, ExcelOptions, Settings, parse_system
from pipeline.wording import warn_in_python

if TYPE_CHECKING:  # what buys is imported if a service is evaluated
    from pipeline.paid.purchase import PaidPurchase
    from pipeline.paid.service import PaidService

Named: TypeAlias = "str | PathLike[str] | PaidService"
"""What can be evaluated: ``engine``, ``lexical``, the folder of a model, or a paid service."""


@public
def evaluate(
    data: Data | None = None,
    *,
    system: str | None = None,
    text_columns: str | Sequence[str] = TEXT_COLUMNS,
    code_column: str = "code",
    language_column: str | None = None,
    source_column: str | None = None,
    subject: Named = "engine",
    compare: Named | None = None,
    sample: int | None = None,
    seed: int = 0,
    suspects: bool = False,
    reference_columns: str | Sequence[str] = (),
    jobs: Jobs = 1,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    progress: bool | Literal["auto"] | Progress = "auto",
    decisions: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
) -> Evaluation:
    """Compare answers with the right codes of a labelled table.

    Args:
        data: a pandas or Polars frame, a pyarrow table, anything with Arrow's C stream, or the
            path of a file; see `classify`. None with ``decisions``.
        system: whose codes they are: ``cpv``, ``psc``, ``unspsc`` or ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        code_column: the column that holds the right code.
        language_column: a column that names the language, for figures by language.
        source_column: a column that names the source, for the calibration by source; by default
            ``source``, if there is one.
        subject: what is evaluated: ``engine``, ``lexical`` (the titles alone), the folder of a
            model, or a `PaidService`, whose answers are bought, kept and never bought twice.
        compare: a second subject for the same rows; one of the two may be paid.
        sample: how many rows to draw at random; None for all.
        seed: which rows are drawn.
        suspects: whether to list the rows whose code is most likely wrong, as ``suspects`` of
            the result. For texts that the model was trained on, the list misses wrong codes.
        reference_columns: columns that identify a row in that list.
        jobs: how many processes the embedded engine uses; see `pipeline.classify`.
        csv: the dialect of a CSV file, if it is detected wrongly.
        excel: the sheet and the header row of a workbook, if they are found wrongly.
        progress: True shows progress bars, "auto" shows them in a notebook; see `classify`.
        decisions: the file of a review, an output of `classify` in which a person corrected codes,
            or several, in place of a table: the codes that people chose one by one are right, and
            those that they left in an output.

    Raises:
        SettingsError: an argument is wrong.
        InputError: the table cannot be read, lacks a column, or has no row with text and code.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
        ParkedError: the purchase stopped before its end; the same call continues.
    """
    shown = display_for(progress)
    check_flag("suspects", suspects)
    references = reference_columns
    texts = Settings(text_columns=cast("Any", text_columns)).text_columns
    kept = None if system is None else parse_system(system)
    reviewed = decisions_in(decisions, warn_in_python, texts, kept)
    check_given(data, reviewed.files, system)
    settings = EvaluationSettings(
        system=cast("System", system),
        text_columns=texts,
        code_column=code_column,
        language_column=language_column,
        sample=sample,
        seed=seed,
        jobs=jobs,
        source_column=source_column,
        suspects=suspects,
        reference_columns=(references,) if isinstance(references, str) else tuple(references),
        decisions=reviewed,
    )
    named = [subject] if compare is None else [subject, compare]
    subjects = [_subject(each, settings.system) for each in named]
    check_subjects(subjects, suspects)
    if data is None:
        data = label_table(reviewed, settings.system)
    name = str(data) if isinstance(data, str | PathLike) else UNNAMED

    def open_purchase(service: PaidService, asked: Settings, identity: str) -> PaidPurchase:
        from pipeline.paid.purchase import PaidPurchase

        return PaidPurchase(service, asked, identity, shown)

    asked, needed = settings.asked, settings.needed_columns
    source = SOURCE if settings.source_column is None else None
    with open_labelled(data, asked, needed, settings.system, csv, excel, source) as reader:
        rows = labelled(reader, settings, name)
        found = evaluated(rows, subjects, open_purchase, shown)
    if isinstance(found, Stopped):
        parked = found.parked.in_python()
        raise parked.as_exception(found.paid.confirmed_usd)
    return found


def _subject(named: Any, system: System) -> Subject:
    if not isinstance(named, str | PathLike) or is_address(fspath(named)):
        from pipeline.paid.service import PaidService  # only who buys needs what buys

        if isinstance(named, PaidService):
            return Paid(named)
        raise SettingsError(
            "The subject of an evaluation is not a name, a folder or a PaidService.",
            'Give "engine", "lexical", the path of a model, or '
            'pipeline.PaidService("https://service.example").',
        )
    return offline(fspath(named), system)
