"""The Python functions: classify a table, or plan that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from operator import methodcaller
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pipeline.answers import SYSTEMS
from pipeline.arguments import (
    SHORTENED,
    all_arguments,
    check_flag,
    like,
    public,
    shortened,
    with_options_of,
)
from pipeline.classification.batch import FileOutcome, outcomes
from pipeline.classification.inputs import files_and_folder
from pipeline.classification.job import Job, Reporter, Request
from pipeline.classification.result import Result, result_of
from pipeline.classification.sink import files_of
from pipeline.classification.source import Data, given_path
from pipeline.classification.summary import Plan
from pipeline.errors import SettingsError
from pipeline.files.paths import AnyPath, as_path, check_kept
from pipeline.interruption import CHECK_S, Interruption
from pipeline.processes import Jobs
from pipeline.progress import Display, Progress, display_for, line_below_cell, silent
from pipeline.purchases import Buyer, Estimate
from pipeline.settings import TEXT_COLUMNS, CsvOptions, ExcelOptions, Settings, file_options
from pipeline.wording import warn_in_python

if TYPE_CHECKING:  # what buys is imported if there is a service
    from pipeline.paid.service import PaidService

__all__ = [
    "FileOutcome",
    "Plan",
    "Result",
    "classify",
    "classify_async",
    "classify_files",
    "plan",
]


@public
def classify(
    data: Data,
    *,
    systems: str | Sequence[str] = SYSTEMS,
    text_columns: str | Sequence[str] = TEXT_COLUMNS,
    top: int = 1,
    min_confidence: float | None = None,
    roll_up: float | None = None,
    jobs: Jobs = 1,
    models: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    explain: bool = False,
    column_prefix: str = "",
    limit_rows: int | None = None,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    service: PaidService | None = None,
    partial: bool = False,
    fail_if_no_match: float | None = None,
    decisions: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    progress: bool | Literal["auto"] | Progress = "auto",
    language: str = "en",
) -> Result:
    """Find procurement codes for every row of a table.

    It works in a script and in a notebook with a running event loop. If you interrupt it while it
    buys, it finishes the requests under way, keeps what they bought and raises
    `KeyboardInterrupt`. The same call continues.

    Args:
        data: a pandas or Polars frame or series, a list of texts, a pyarrow table, any object with
            Arrow's C stream (such as a DuckDB relation), or a CSV, Excel, JSON Lines, OCDS or
            Parquet file, or a ZIP archive of one: its path, or an address such as
            ``s3://bucket/tenders.csv``. A Polars LazyFrame is collected.
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        top: how many matches a row gets, 1 to 10; more than one adds ``<system>_matches``.
        min_confidence: a best match under this gets the status ``review``. The default, None, is
            measured for the embedded engine (`pipeline.answers.OK_FROM`) and for a model
            (``ok_from`` of what `train` returns), and 0 for a service.
        roll_up: replace a best match under this by the deepest code above it whose confidence,
            the sum over the matches at or below it, reaches this. If none does, it stays.
        jobs: how many processes the embedded engine uses at most; ``auto``: all cores for a large
            table.
        models: the folder of a learned model to use instead of the package's, or a list of
            folders, at most one a system; see ``tender-pipeline train``.
        explain: add ``<system>_why``: the words that decided the best match of the embedded engine.
        column_prefix: a prefix for the name of every new column.
        limit_rows: read only this many rows.
        output: write the enriched table to this file, or address such as ``s3://bucket/t.csv``,
            instead of keeping it in memory; only if ``data`` is a file.
        overwrite: replace an output file that this tool did not write.
        csv: the dialect of a CSV file, if it is detected wrongly.
        excel: the sheet and the header row of a workbook, if they are found wrongly.
        service: the paid service to buy from; None for the embedded engine, offline and free.
            Nobody is asked before it buys: ``max_cost`` of the service is the limit.
        partial: if the job stops early, return the table so far (or write it to
            ``<output stem>.partial.<ext>``) instead of raising. Rows that it did not reach have
            the status ``pending``, and ``result.summary.parked`` says why it stopped.
        fail_if_no_match: raise if a larger share of a system's rows with text has no match, or if
            no row has a text.
        decisions: the file of a review, an output in which a person corrected codes, or several:
            the decisions replace codes and purchases.
        progress: True shows a bar, and "auto" shows one in a notebook if the job takes longer than
            a second; to write your own display, see `pipeline.progress.Progress`.
        language: the language of the CPV titles, such as ``de``; the other systems have English
            titles only.

    Raises:
        SettingsError: an argument is wrong, or the table already has columns with the new names.
        InputError: the table cannot be read, or lacks a text column.
        OutputError: the output may not or cannot be written.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
        ParkedError: the job stopped early, for lack of money for example; what was bought is
            kept, and the same call continues.
        NoMatchError: too many rows have no match; its ``result`` has the table all the same.
    """
    return _classify(**locals())


@like(classify)
async def classify_async(*data: Any, **options: Any) -> Result:
    """Run `classify` in a thread, while the event loop goes on; it has the same arguments.

    A cancelled call stops at the next batch or, while it buys, once the requests under way have
    ended. Then it raises `asyncio.CancelledError`. It keeps what was bought, and leaves no output.
    Cancel it again to stop it at once.
    """
    interruption = Interruption()
    arguments = all_arguments(classify, *data, **options)
    work = asyncio.ensure_future(
        asyncio.to_thread(_classify, interruption=interruption, **arguments)
    )
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work], timeout=CHECK_S)
        except asyncio.CancelledError as error:
            cancelled = error
            interruption.ask()
    if cancelled is not None and (work.cancelled() or work.exception() is None):
        raise cancelled.with_traceback(None)
    try:
        return work.result()
    except SHORTENED as error:
        raise shortened(error) from None


@public
@with_options_of(classify, "data", "progress")
def classify_files(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    output: str | PathLike[str] | None = None,
    **options: Any,
) -> list[FileOutcome]:
    """Find procurement codes for every row of several files, and write them with their codes.

    The job of each file is as of `classify`. Those that are done are skipped: the same input with
    the same settings, whose output is unchanged. So the same call continues what was stopped.

    Args:
        paths: files, folders, and patterns such as ``data/*.csv``; or addresses in buckets.
        output: the folder of the outputs, which have the layout of the inputs; None for one in
            ``outputs``.
        options: other arguments of `classify`, but for ``progress``. ``max_cost`` and
            ``max_duration`` of the service are for all files together.

    Returns:
        An outcome for each file, in their order. A file that cannot be read, or whose output cannot
        be written, is ``failed``, and the others go on. After a job that ``stopped``, no other is
        begun, and the list ends.

    Raises:
        SettingsError: an argument is wrong.
        InputError: a path names no table.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    named = [paths] if isinstance(paths, str | PathLike) else [*paths]
    arguments = all_arguments(classify, named, output=output, **options)
    for name in ("data", "output", "progress"):
        del arguments[name]
    request = _request("", silent, **arguments)
    folder = None if output is None else as_path(output)
    _, files = files_and_folder([as_path(path) for path in named], folder, None, request.storage)
    for file in files if request.overwrite else ():  # no other is written that is not of this tool
        _check_kept(file.path, file.output, request)
    run = methodcaller("run", Reporter(warn=warn_in_python))
    return [_in_python(outcome) for outcome in outcomes(files, request, run)]


def _in_python(outcome: FileOutcome) -> FileOutcome:
    summary, error = outcome.summary, outcome.error
    if summary and summary.parked:
        summary = replace(summary, parked=summary.parked.in_python())
    return replace(outcome, summary=summary, error=error and shortened(error))


@public
@like(classify)
def plan(*data: Any, **options: Any) -> Plan:
    """Return what `classify` would do and buy with the same arguments; it spends nothing.

    Raises:
        SettingsError: an argument is wrong, or the table already has columns with the new names.
        InputError: the table cannot be read, or lacks a text column.
        LedgerError: the ledger cannot be used.
    """
    arguments = all_arguments(classify, *data, **options)
    display_for(arguments.pop("progress"))
    with _open(silent, **arguments) as job:
        return job.plan(warn_in_python)


def _classify(*, progress: Any, interruption: Interruption | None = None, **options: Any) -> Result:
    display = display_for(progress)
    reporter = Reporter(display, warn_in_python)
    if interruption is not None:  # which stops the job at the next batch
        reporter = replace(reporter, observe=lambda *_: interruption.check())
    with _open(display, interruption, **options) as job:
        summary = job.run(reporter)
    settings = job.request.settings
    if parked := summary.parked:
        if parked.exit_code > 128 or not options["partial"]:
            advice = "To get the table so far: partial=True."
            raise parked.in_python().as_exception(summary.cost_usd, advice)
        summary = replace(summary, parked=parked.in_python())
    result = result_of(job.source, job.sink, settings, summary)
    if too_few := summary.too_few_matches(settings.fail_if_no_match):
        too_few.result = result
        raise too_few
    return result


def _open(
    display: Display,
    interruption: Interruption | None = None,
    *,
    data: Data,
    output: Any,
    **options: Any,
) -> AbstractContextManager[Job]:
    """Check the arguments of a call, and open what they name."""
    request = _request(data, display, interruption, **options)
    if output is None:
        return request.open(data)
    if not isinstance(output, str | PathLike):
        raise SettingsError(f"output is {output!r}.", "output must be the path of a file.")
    if not isinstance(data, str | PathLike):
        raise SettingsError(
            "output is for files, and this table is in memory.",
            "Write the result yourself: result.table or result.to_pandas().",
        )
    path = as_path(output)
    _check_kept(given_path(data), path, request)
    return request.open(data, path)


def _check_kept(path: AnyPath, output: AnyPath, request: Request) -> None:
    kept: list[tuple[str, AnyPath | None]] = [("data", path)]
    kept += [("the file of decisions", Path(named)) for named in request.settings.decisions]
    kept += [("the model", Path(named)) for named in request.settings.models]
    check_kept(
        files_of(output, "output"), kept, request.buyer.service.ledger if request.buyer else None
    )


def _stated(service: PaidService, display: Display, estimate: Estimate) -> bool:
    """Say in a notebook what will be bought if the cost has no limit. Nobody is asked."""
    if not service.has_cost_limit:
        line_below_cell(lambda: f"{estimate}; no cost limit (max_cost)", display)
    return True


def _request(
    data: object,
    display: Display,
    interruption: Interruption | None = None,
    *,
    service: Any,
    models: Any,
    decisions: Any,
    overwrite: Any,
    partial: Any,
    csv: Any,
    excel: Any,
    **others: Any,
) -> Request:
    """Return what arguments of any type ask for; `Settings` refuses the wrong ones."""
    buyer = None if service is None else _buyer(service, display, interruption)
    check_flag("overwrite", overwrite)
    check_flag("partial", partial)
    csv, excel = file_options(data, csv, excel)
    return Request.of(
        Settings(**others),
        models,
        decisions,
        buyer,
        warn_in_python,
        csv=csv,
        excel=excel,
        overwrite=overwrite,
        partial=partial,
    )


def _buyer(service: Any, display: Display, interruption: Interruption | None) -> Buyer:
    from pipeline.paid.purchase import PaidBuyer
    from pipeline.paid.service import PaidService

    if not isinstance(service, PaidService):
        hint = 'service must be a PaidService: pipeline.PaidService("https://service.example").'
        raise SettingsError(f"service is {service!r}.", hint)
    return PaidBuyer(service, display, partial(_stated, service, display), interruption)
