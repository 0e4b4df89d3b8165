"""Runs or plans a job for each of several files, and skips those that are done."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.classification.batch import STATES, FileOutcome, outcomes, plans, severity
from pipeline.classification.inputs import WILDCARDS, InputFile, are_several, files_and_folder
from pipeline.classification.summary import COMPLETE, Plan, Summary, combine
from pipeline.cli.job import (
    FREE,
    plan_job,
    request_of,
    run_and_log,
    run_job,
    service_of,
)
from pipeline.cli.options import repeat_option
from pipeline.cli.output.console import (
    name_table,
    on_terminal,
    print_error,
    say,
    wrap,
)
from pipeline.cli.output.metrics import Finished
from pipeline.cli.output.run import describe_files, print_summary, words_of
from pipeline.cli.process import after
from pipeline.cli.run_options import RunOptions
from pipeline.errors import PipelineError, SettingsError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, is_seen
from pipeline.settings import Settings
from pipeline.wording import how_many

if TYPE_CHECKING:  # imported if there is a service
    from pipeline.paid.service import PaidService


def run_all(options: RunOptions, finished: Finished = lambda _: None) -> int:
    """Run the job, or one for each file if there are several; return the worst exit code.

    What was done is passed on, unless a single file failed.
    """
    request = request_of(options)
    if not are_several(options.input_paths, request.storage):
        return run_job(options, request, finished)
    _check_consent(options, service_of(request))
    folder, files = _find_files(options, request.storage)
    started = time.monotonic()
    outcomes_so_far: list[FileOutcome] = []

    def so_far() -> str:
        done = sum(outcome.state in ("done", "skipped") for outcome in outcomes_so_far)
        return f"{done} of {len(files)} files are done, and the same command continues"

    with after(so_far):
        for outcome in outcomes(files, request, run_and_log):
            if outcome.error:
                print_error(name_table(outcome.file.path, outcome.error))
            outcomes_so_far.append(outcome)  # keeps those before an interrupt
    summaries = [outcome.summary for outcome in outcomes_so_far if outcome.summary]
    seconds = time.monotonic() - started
    whole = replace(combine(summaries), output=folder, seconds=seconds) if summaries else None
    if whole:
        finished(whole)
    _print(outcomes_so_far, len(files), whole, options, request.settings)
    return max((outcome.exit_code for outcome in outcomes_so_far), key=severity)


def plan_all(options: RunOptions) -> int:
    """Print what the job would do and cost, or one for each file if there are several."""
    request = request_of(options)
    if not are_several(options.input_paths, request.storage):
        return plan_job(options, request)
    _, files = _find_files(options, request.storage)
    plans_by_file, failures = plans(files, request)
    for path, error in failures.items():
        print_error(name_table(path, error))
    _print_plans(plans_by_file, failures, options.as_json, service_of(request))
    return PipelineError.exit_code if failures else COMPLETE


def _print_plans(
    plans_by_file: Mapping[AnyPath, Plan],
    failures: Mapping[AnyPath, PipelineError],
    as_json: bool,
    service: PaidService | None,
) -> None:
    up_to = list(accumulate(plans_by_file.values(), Plan.then))
    whole = up_to[-1] if up_to else Plan(0, 0)
    if service is not None:
        whole = replace(whole, purchase=whole.purchase.at_rate(service.limit))
    if as_json:
        entries = [
            {"input": str(path), **plan.to_dict(), "fits_limits": so_far.purchase.fits}
            for (path, plan), so_far in zip(plans_by_file.items(), up_to, strict=True)
        ]
        entries += [
            {"input": str(path), "error": error.message, "hint": error.hint}
            for path, error in failures.items()
        ]
        say(json.dumps({**whole.to_dict(), "files": entries}))
        return
    without = f"; without {how_many(len(failures), 'file')} that failed" if failures else ""
    counted = f"{how_many(len(plans_by_file), 'file')}, {whole.rows_line}{without}"
    offers = [FREE]
    if service is not None:
        purchases = {path: plan.purchase for path, plan in plans_by_file.items()}
        offers = [*describe_files(service, purchases, whole.purchase)]
    say(wrap("\n".join([counted, *offers]), sys.stdout))


def _find_files(options: RunOptions, storage: Storage) -> tuple[AnyPath, Sequence[InputFile]]:
    if options.output is not None and str(options.output) == "-":
        raise SettingsError(
            "Several files cannot go to standard output.", "Name a folder: --output DIR."
        )
    if options.report is not None:
        raise SettingsError(
            "A report is about one table, and there are several inputs.",
            "Leave --report out, or run one file.",
        )
    paths, output = options.input_paths, options.output
    folder, files = files_and_folder(paths, output, options.output_format, storage)
    for path in paths:
        _check_no_value(path)
    return folder, files


def _check_no_value(path: AnyPath) -> None:
    """Refuse a second value after an option such as ``--text-column``, taken for a table.

    Raises:
        SettingsError: nothing has this path, which is a name without a suffix or a wildcard.
    """
    is_name = str(path) == path.name and not path.suffix and not set(path.name) & {*WILDCARDS}
    hint = repeat_option(click.get_current_context(), str(path))
    if hint and is_name and isinstance(path, Path) and not is_seen(path):
        raise SettingsError(f"There is no table {str(path)!r}.", hint)


def _check_consent(options: RunOptions, service: PaidService | None) -> None:
    """Refuse to ask the same question for each file.

    Raises:
        SettingsError: a person would be asked, since there is no cost limit.
    """
    if service and not (service.has_cost_limit or options.yes) and on_terminal():
        raise SettingsError(
            "With several files, nobody is asked before each purchase.",
            "Limit the cost of all together, --max-cost USD, or agree to any cost: --yes.",
        )


def _print(
    file_outcomes: Sequence[FileOutcome],
    files: int,
    whole: Summary | None,
    options: RunOptions,
    settings: Settings,
) -> None:
    """Print what became of all files."""
    counts = {name: sum(outcome.state == name for outcome in file_outcomes) for name in STATES}
    counts["not_started"] = files - len(file_outcomes)
    entries = [outcome.to_dict() for outcome in file_outcomes]
    figures = {**counts, "summary": whole and whole.to_dict(), "files": entries}
    words = [f"{count:,} {STATES[name]}" for name, count in counts.items() if count]
    lines = [words_of(whole, settings)] if whole else []
    failed = [outcome.error for outcome in file_outcomes if outcome.state == "failed"]
    lines += [error.message for error in failed if error]
    lines.append(f"{how_many(files, 'file')}: {', '.join(words)}")
    text = json.dumps(figures) if options.as_json else "\n".join(lines)
    as_json, quiet = options.as_json, options.quiet
    print_summary(whole, text, as_json=as_json, quiet=quiet, beside_the_table=False)
