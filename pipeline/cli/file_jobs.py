"""Runs the job of each of several files: one after another, or several at once."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pipeline.classification.summary import Summary
from pipeline.cli.earlier_runs import EarlierRuns, Manifest, cost_of, summary_of
from pipeline.cli.inputs import InputFile
from pipeline.cli.job import opened_job
from pipeline.cli.output.console import complain, log_to_stderr, naming
from pipeline.cli.output.run import COMPLETE, WITH_FAILED_ROWS, exit_code
from pipeline.cli.run_options import RunOptions
from pipeline.cli.signals import TERMINATED
from pipeline.cli.terms import Terms
from pipeline.errors import LedgerError, PipelineError
from pipeline.files.atomic import remove_draft
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
from pipeline.money import ZERO, difference, plain, total
from pipeline.processes import as_completed
from pipeline.progress import Advance, Progress
from pipeline.purchases import CostLimitReached

__all__ = ["WORDS", "Outcome", "outcomes", "severity"]

SEVERITY = (COMPLETE, WITH_FAILED_ROWS, 2)
"""The exit codes of files from the best to the worst; all others end the run."""

WORDS = {
    "done": "done",
    "skipped": "done before",
    "failed": "failed",
    "stopped": "stopped, can be continued",
    "not_started": "not started",
}
"""The states of files, for people."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the job of a file ended.

    Its cost includes what may have been billed. There is no summary if nothing was written.
    """

    file: InputFile
    state: Literal["done", "skipped", "failed", "stopped"]
    exit_code: int
    cost_usd: Decimal = ZERO
    summary: Summary | None = None
    error: PipelineError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON types."""
        failed = self.error and {"error": self.error.message, "hint": self.error.hint}
        return {
            "input": str(self.file.path),
            "output": str(self.file.output),
            "state": self.state,
            "exit_code": self.exit_code,
            "cost_usd": plain(self.cost_usd),
            **(failed or {}),
            "summary": self.summary and self.summary.to_dict(),
        }


def outcomes(files: Sequence[InputFile], options: RunOptions, terms: Terms) -> Iterator[Outcome]:
    """Run the job of each file and yield its outcome, until the run must stop.

    With the embedded engine, several files are classified at once if there are at least as many as
    the processes that the user asks for, the largest first. Otherwise, each file in turn gets all
    processes. A paid service has one buyer, whose ledger and rate limit hold for all files, so
    there, too, the files take turns.

    Raises:
        LedgerError: the ledger cannot be used.
        EngineError: a process died.
    """
    jobs = terms.settings.jobs
    if terms.service is None and jobs != "auto" and 1 < jobs <= len(files):
        found = _at_once(files, options, terms, jobs)
    else:
        found = _in_turn(files, options, terms)
    for outcome in found:
        yield outcome
        if outcome.exit_code not in SEVERITY:
            return


def severity(code: int) -> int:
    """Return how bad the exit code of a file is; higher is worse."""
    return SEVERITY.index(code) if code in SEVERITY else len(SEVERITY)


def _in_turn(files: Sequence[InputFile], options: RunOptions, terms: Terms) -> Iterator[Outcome]:
    started = time.monotonic()
    earlier = [EarlierRuns(options, file, terms) for file in files]
    spent = [before.cost_usd for before in earlier]
    whole = total(spent)
    for number, before in enumerate(earlier):
        log.info("File %d of %d", number + 1, len(files))
        others = difference(whole, spent[number])
        left = _left(terms, others, time.monotonic() - started)
        outcome = _tried(before, left)
        whole = total([others, outcome.cost_usd])
        yield _with_limit_of_all(outcome, terms, whole)


def _at_once(
    files: Sequence[InputFile], options: RunOptions, terms: Terms, jobs: int
) -> Iterator[Outcome]:
    settings = replace(terms.settings, jobs=1)
    alone = replace(terms, settings=settings, storage=Storage())
    work = partial(_in_worker, options, alone, os.getpid())
    begun: dict[AnyPath, InputFile] = {}

    def beginning() -> Iterator[InputFile]:
        for file in sorted(files, key=_size, reverse=True):
            begun[file.path] = file
            yield file

    try:
        ended = as_completed(work, beginning(), jobs, "A process of the run")
        for number, outcome in enumerate(ended, 1):
            file, state = begun.pop(outcome.file.path), WORDS[outcome.state]
            log.info("%d of %d files: %s %s", number, len(files), file.path, state)
            yield outcome
    finally:
        for file in begun.values():  # its process was killed
            if isinstance(file.output, Path):
                remove_draft(file.output.resolve())


def _in_worker(options: RunOptions, terms: Terms, parent: int, file: InputFile) -> Outcome:
    """Run the job of a file in a process of its own."""
    log_to_stderr(options.quiet, options.log_format == "json")

    @contextmanager
    def while_parent_lives(rows: int) -> Iterator[Advance]:  # noqa: ARG001 - see Progress
        def check(_: int) -> None:
            if os.getppid() != parent:
                raise SystemExit(TERMINATED)

        check(0)
        yield check

    return _tried(EarlierRuns(options, file, terms), terms, while_parent_lives)


def _size(file: InputFile) -> int:
    path = file.path
    return path.stat().st_size if isinstance(path, Path) and path.is_file() else 0


def _left(terms: Terms, spent: Decimal, seconds: float) -> Terms:
    """Return the terms with what is left of the limits of cost and time, which hold for all files.

    `spent` is what the jobs of all other files have cost, US dollars; `seconds` is how long this
    run has taken so far.
    """
    service = terms.service
    if service is None:
        return terms
    cost, duration = service.max_cost, service.max_duration
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user knows them already
        left = replace(
            service,
            max_cost=cost and max(ZERO, difference(cost, spent)),
            max_duration=duration and max(timedelta(0), duration - timedelta(seconds=seconds)),
        )
    return replace(terms, service=left)


def _with_limit_of_all(outcome: Outcome, terms: Terms, spent: Decimal) -> Outcome:
    """Let a stop at the cost limit state that of all files: the job knew what was left of it."""
    service, summary = terms.service, outcome.summary
    if service is None or service.max_cost is None or summary is None:
        return outcome
    stopped = summary.parked
    if not isinstance(stopped, CostLimitReached):
        return outcome
    hint = (
        f"--max-cost is for all files together: {plain(spent)} USD of {plain(service.max_cost)} "
        "USD are used. Raise it and run the same command: it continues."
    )
    parked = replace(stopped, message=f"{outcome.file.path}: {stopped.message}", hint=hint)
    return replace(outcome, summary=replace(summary, parked=parked))


def _tried(before: EarlierRuns, terms: Terms, progress: Progress | None = None) -> Outcome:
    file = before.file
    try:
        if done := before.done:
            return _skipped(before, terms, done)
        with opened_job(before.options, terms) as this:
            summary = this.run(progress)
    except LedgerError:
        raise
    except PipelineError as error:
        complain(naming(file.path, error))
        return Outcome(file, "failed", error.exit_code, before.cost_so_far(), error=error)
    if summary.parked:
        return Outcome(file, "stopped", summary.parked.exit_code, _cost(summary), summary)
    code = exit_code(summary, terms.settings, file.path)
    return Outcome(file, "done", code, _cost(summary), summary)


def _skipped(before: EarlierRuns, terms: Terms, done: Manifest) -> Outcome:
    file = before.file
    if before.close_finished(done):
        log.info("%s: its job was still open in the ledger, and is closed now", file.path)
    failed = done["exit_state"] != "complete"
    more = "; some calls failed, and --retry-failed tries them once more" if failed else ""
    log.info("%s: done before, the same input and settings%s", file.path, more)
    summary = summary_of(done, terms.settings.systems)
    return Outcome(file, "skipped", exit_code(summary, terms.settings, file.path), cost_of(done))


def _cost(summary: Summary) -> Decimal:
    paid = summary.paid
    return total([paid.confirmed_usd, paid.at_risk_usd]) if paid else ZERO
