"""The Python interface: classify a frame, a table or a file, in a script or a notebook."""

from __future__ import annotations

import asyncio
import functools
import inspect
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from pipeline.answers import SYSTEMS
from pipeline.checks import check_flag
from pipeline.classification import job
from pipeline.classification.plan import Forecast
from pipeline.classification.result import Result
from pipeline.classification.scan import Plan
from pipeline.classification.source import Data, Given, given
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import few_words
from pipeline.engine import embedded
from pipeline.engine.model import opened
from pipeline.errors import ParkedError, PipelineError, SettingsError
from pipeline.interruption import Interruption
from pipeline.paid import PaidService, Purchase
from pipeline.paid.result import Parked
from pipeline.progress import Progress, display_for, stoppable
from pipeline.python_messages import in_python, python_words
from pipeline.settings import CsvOptions, EngineName, Settings, parse_systems

__all__ = ["Forecast", "PaidService", "Result", "classify", "classify_async", "plan"]

OURS = 5
"""Frames between a warning and the user's call, all of the package."""


def classify(
    data: Data,
    *,
    systems: str | Sequence[str] = SYSTEMS,
    text_columns: str | Sequence[str] = "description",
    top: int = 1,
    min_confidence: float | None = None,
    back_off: float | None = None,
    jobs: int = 1,
    engine: EngineName = "learned",
    models: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    explain: bool = False,
    column_prefix: str = "",
    limit_rows: int | None = None,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    service: PaidService | None = None,
    partial: bool = False,
    fail_if_no_match: float | None = None,
    progress: bool | Progress = False,
) -> Result:
    """Find procurement codes for every row of a table.

    Works in a script and in a notebook whose event loop is running. An interrupt while it buys
    lets what is under way finish, keeps what was bought and raises `KeyboardInterrupt`; the same
    call continues.

    Args:
        data: a pandas frame, a pyarrow table, anything that speaks Arrow's C stream (such as a
            Polars frame), or the path of a CSV or Parquet file.
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column (or columns, joined by ". ") that hold the text.
        top: how many matches a row gets, 1 to 10; more than one adds ``<system>_matches``.
        min_confidence: a best match under this gets the status ``review``; None is a measured one
            for the embedded engine (`pipeline.settings.SURE`) and 0 for a service.
        back_off: instead of a best match under this the deepest code above it is given whose
            confidence, the sum over the matches at or below it, reaches this.
        jobs: how many processes the embedded engine uses.
        engine: whether the embedded engine answers by learned models (``learned``), or by the
            codes' titles alone (``lexical``).
        models: the folder of a learned model that answers in place of the package's, or several,
            at most one a system; see ``tender-pipeline train``.
        explain: add ``<system>_why``: the words that spoke for the best match, by the embedded
            engine.
        column_prefix: put before the name of every new column.
        limit_rows: read no more than this many rows.
        output: write the enriched table to this file instead of holding it in memory;
            for files only.
        overwrite: replace an output file that this tool did not write.
        csv: how a CSV file is written, where that is not found out right.
        service: the paid service to buy from; None for the embedded engine, offline and free.
        partial: when the job parks, return (or write to ``<output stem>.partial.<ext>``) the
            table so far instead of raising: rows not reached have the status ``pending``, and
            ``result.summary.parked`` says why.
        fail_if_no_match: raise where more than this share of a system's rows with text got no
            match.
        progress: True shows a bar; for a display of your own see `pipeline.progress.Progress`.

    Raises:
        SettingsError: an argument is wrong, or the table has columns of our names.
        InputError: the table cannot be read, or lacks a text column.
        OutputError: the output may not or cannot be written.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
        ParkedError: the job stopped before its end, for want of money say; what was bought is
            kept, and the same call continues.
        NoMatchError: too many rows got no match; its ``result`` has the table all the same.
    """
    try:
        return _classify(
            Interruption(),
            data=data,
            systems=systems,
            text_columns=text_columns,
            top=top,
            min_confidence=min_confidence,
            back_off=back_off,
            jobs=jobs,
            engine=engine,
            models=models,
            explain=explain,
            column_prefix=column_prefix,
            limit_rows=limit_rows,
            output=output,
            overwrite=overwrite,
            csv=csv,
            service=service,
            partial=partial,
            fail_if_no_match=fail_if_no_match,
            progress=progress,
        )
    except PipelineError as error:
        raise in_python(error) from None


async def classify_async(data: Data, **options: Any) -> Result:
    """Do what `classify` does, in a thread, while the event loop goes on.

    A cancelled call stops at the next batch, or when what is being bought has arrived; then it
    raises `asyncio.CancelledError`. What was bought is kept, nothing of its output stays.
    Cancelled once more it stops at once.

    Args:
        data: see `classify`.
        options: the keyword arguments of `classify`.
    """
    call = inspect.signature(classify).bind(data, **options)
    call.apply_defaults()
    interruption = Interruption()
    work = asyncio.ensure_future(asyncio.to_thread(_classify, interruption, **call.arguments))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
            interruption.ask()
    if cancelled is not None and (work.cancelled() or work.exception() is None):
        raise cancelled
    try:
        return work.result()
    except PipelineError as error:
        raise in_python(error) from None


def plan(
    data: Data,
    *,
    systems: str | Sequence[str] = SYSTEMS,
    text_columns: str | Sequence[str] = "description",
    limit_rows: int | None = None,
    output: str | PathLike[str] | None = None,
    csv: CsvOptions | None = None,
    service: PaidService | None = None,
) -> Forecast:
    """Say what `classify` would do and buy with these arguments, and spend nothing.

    Args:
        data: the table; see `classify` for all arguments.
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column (or columns, joined by ". ") that hold the text.
        limit_rows: read no more than this many rows.
        output: the file that the enriched table would go to; for files only.
        csv: how a CSV file is written, where that is not found out right.
        service: the paid service to buy from; None for the embedded engine, which is free.

    Raises:
        SettingsError: an argument is wrong, or the table has columns of our names.
        InputError: the table cannot be read, or lacks a text column.
        LedgerError: the ledger cannot be used.
    """
    try:
        return _plan(
            data,
            output,
            csv,
            service,
            systems=systems,
            text_columns=text_columns,
            limit_rows=limit_rows,
        )
    except PipelineError as error:
        raise in_python(error) from None


def _plan(data: Data, output: Any, csv: Any, service: Any, **options: Any) -> Forecast:
    settings = _settings(**options)
    table = given(data, settings, output, False, csv)
    seen = functools.partial(_warn, table, settings)
    if service is None:
        return job.plan(table.reader, settings, None, seen)
    with Purchase(_checked(service), settings, table.identity(), plan_only=True) as purchase:
        try:
            return job.plan(table.reader, settings, purchase, seen)
        finally:
            purchase.delete_job()


def _classify(
    interruption: Interruption,
    *,
    data: Data,
    output: Any,
    overwrite: Any,
    csv: Any,
    service: Any,
    partial: Any,
    progress: Any,
    models: Any,
    **options: Any,
) -> Result:
    check_flag("overwrite", overwrite)
    check_flag("partial", partial)
    folders = opened(_paths(models), parse_systems(options["systems"]))
    named = {str(model.path): model.sha256 for model in folders.values()}
    settings, shown = _settings(**options, models=named), display_for(progress)
    if service is not None:
        settings = settings.for_service()
    table = given(data, settings, output, overwrite, csv)
    done = functools.partial(
        job.run,
        target=table.target,
        settings=settings,
        progress=stoppable(shown, interruption),
        source=table.source,
        files=table.files,
        seen=functools.partial(_warn, table, settings),
    )
    if service is None:
        summary = done(table.reader, embedded(settings, folders))
    else:
        checked, known_by = _checked(service), table.identity()
        with Purchase(checked, settings, known_by, shown, interruption=interruption) as purchase:
            summary = done(table.reader, purchase.matcher, purchase=purchase, partial=partial)
    _go_on(summary, partial)
    result = Result(summary, table.place(summary))
    if too_few := summary.too_few_matches(settings.fail_if_no_match):
        too_few.result = result
        raise too_few
    return result


def _warn(table: Given, settings: Settings, found: Plan) -> None:
    if said := few_words(settings.text_columns, found.rows, found.worded, table.sample):
        warnings.warn(python_words(said), stacklevel=OURS)


def _go_on(summary: Summary, partial: bool) -> None:
    """Raise what a job ended with before its end, unless the table so far will do."""
    match summary.parked:
        case Parked(exit_code=130):
            raise KeyboardInterrupt
        case Parked(exit_code=code) if code > 128:
            raise SystemExit(code)
        case Parked(code, message, hint) if not partial:
            hint = f"{hint} Or have the table so far: partial=True."
            raise ParkedError(message, hint, code, summary.cost_usd)


def _settings(**given: Any) -> Settings:
    """Make settings of arguments of any type: it is `Settings` that refuses the wrong ones."""
    return Settings(**given)


def _paths(models: Any) -> list[str]:
    """Return a path or several as several."""
    try:
        paths = [models] if isinstance(models, str | PathLike) else list(models)
        return [str(Path(path)) for path in paths]
    except TypeError as error:
        raise SettingsError(
            f"models is {models!r}.", "models must be the folder of a learned model, or a list."
        ) from error


def _checked(service: Any) -> PaidService:
    if not isinstance(service, PaidService):
        raise SettingsError(
            f"service is {service!r}.",
            'service must be a PaidService: pipeline.PaidService("https://service.example").',
        )
    return service
