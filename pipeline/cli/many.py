"""Runs or plans a job for each of several files, and skips those that are done."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.classification.plan import Plan
from pipeline.classification.provenance import part_of
from pipeline.classification.summary import Summary, combined
from pipeline.cli.earlier_runs import EarlierRuns, left_of_limit
from pipeline.cli.file_jobs import WORDS, Outcome, outcomes, severity
from pipeline.cli.inputs import InputFile, are_several, default_folder, find_files, is_file
from pipeline.cli.job import opened_job, plan_job, run_job
from pipeline.cli.output.console import complain, naming, on_terminal, say, wrapped
from pipeline.cli.output.metrics import Finished
from pipeline.cli.output.run import COMPLETE, print_summary, words_of
from pipeline.cli.run_options import RunOptions
from pipeline.cli.signals import ENDED, INTERRUPTED, Ended
from pipeline.cli.terms import Terms
from pipeline.errors import LedgerError, PipelineError, SettingsError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
from pipeline.quoting import how_many, listed
from pipeline.settings import Settings
from pipeline.tables import has_table_suffix

if TYPE_CHECKING:  # imported if there is a service
    from pipeline.paid.service import PaidService
    from pipeline.purchases import Estimate, Limited

__all__ = ["plan_all", "run_all"]

log = logging.getLogger("pipeline")


def run_all(options: RunOptions, finished: Finished = lambda _: None) -> int:
    """Run the job, or one for each file if there are several; return the worst exit code.

    What was done is passed on, unless a single file failed.
    """
    terms = Terms.of(options)
    if not are_several(options.input_paths, terms.storage):
        return run_job(options, terms, finished)
    _check_consent(options, terms)
    folder, files = _found(options, terms.storage)
    started = time.monotonic()
    found: list[Outcome] = []
    try:
        found.extend(outcomes(files, options, terms))  # keeps those before an interrupt
    except (KeyboardInterrupt, SystemExit) as stop:
        finished(None)
        raise _stopped(stop, found, len(files)) from stop
    order = {file: number for number, file in enumerate(files)}
    found.sort(key=lambda outcome: order[outcome.file])  # several at once end in any order
    summaries = [outcome.summary for outcome in found if outcome.summary]
    seconds = time.monotonic() - started
    whole = replace(combined(summaries), output=folder, seconds=seconds) if summaries else None
    finished(whole)
    _print(found, len(files), whole, options, terms.settings)
    return max((outcome.exit_code for outcome in found), key=severity)


def _stopped(stop: BaseException, found: Sequence[Outcome], files: int) -> BaseException:
    """Return the exception for an interrupt, which says how many files are done."""
    code = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else getattr(stop, "code", None)
    if code not in ENDED:
        return stop
    done = sum(outcome.state in ("done", "skipped") for outcome in found)
    return Ended(code, f"{done} of {files} files are done, and the same command continues")


def plan_all(options: RunOptions) -> int:
    """Print what the job would do and cost, or one for each file if there are several."""
    terms = Terms.of(options)
    if not are_several(options.input_paths, terms.storage):
        return plan_job(options, terms)
    _, files = _found(options, terms.storage)
    earlier = [EarlierRuns(options, file, terms) for file in files]
    plans, failures = _plans(earlier, terms)
    left = _left([plan.purchase for plan in plans.values()], left_of_limit(earlier, terms))
    for name, plan in plans.items():
        plans[name] = replace(plan, purchase=replace(plan.purchase, left=left))
    _print_plans(plans, failures, options.as_json, terms.service)
    return PipelineError.exit_code if failures else COMPLETE


def _plans(
    earlier: Sequence[EarlierRuns], terms: Terms
) -> tuple[dict[str, Plan], dict[str, PipelineError]]:
    """Return the plan for each file by its name, or why there is none, which is printed."""
    plans: dict[str, Plan] = {}
    failures: dict[str, PipelineError] = {}
    for before in earlier:
        path = before.file.path
        try:
            plans[str(path)] = _planned(before, terms)
        except LedgerError:
            raise
        except PipelineError as error:
            failures[str(path)] = naming(path, error)
            complain(failures[str(path)])
    return plans, failures


def _print_plans(
    plans: Mapping[str, Plan],
    failures: Mapping[str, PipelineError],
    as_json: bool,
    service: PaidService | None,
) -> None:
    up_to = list(accumulate(plans.values(), Plan.then))
    whole = up_to[-1] if up_to else Plan(0, 0)
    if service is not None:
        whole = replace(whole, purchase=whole.purchase.at_rate(service.limit))
    if as_json:
        each = [
            {"input": name, **plan.to_dict(), "fits_limits": so_far.purchase.fits}
            for (name, plan), so_far in zip(plans.items(), up_to, strict=True)
        ]
        each += [
            {"input": name, "error": error.message, "hint": error.hint}
            for name, error in failures.items()
        ]
        say(json.dumps({**whole.to_dict(), "files": each}))
        return
    without = f"; without {how_many(len(failures), 'file')} that failed" if failures else ""
    counted = f"{how_many(len(plans), 'file')}, {whole.rows_line}{without}"
    offers = {name: plan.purchase for name, plan in plans.items()}
    lines = [counted, *_offers(service, offers, whole.purchase)]
    say(wrapped("\n".join(lines), sys.stdout))


def _planned(before: EarlierRuns, terms: Terms) -> Plan:
    """Plan the job of a file; a run skips it if it is done, whatever the ledger has."""
    if done := before.done:
        counts: list[Any] = [part_of(done, "plan").get(name) for name in Plan(0, 0).row_counts]
        if all(isinstance(count, int) for count in counts):  # anybody may have changed them
            return Plan(*counts)
    with opened_job(before.options, terms) as this:
        return this.plan()


def _left(purchases: Sequence[Estimate], of_all_files: Decimal | None) -> Mapping[Limited, Decimal]:
    """Return what the limits leave: those of all files, and of the day and month as found last."""
    left = dict(chain.from_iterable(each.left.items() for each in purchases))
    left.pop("job", None)
    return left if of_all_files is None else {**left, "files": of_all_files}


def _offers(
    service: PaidService | None, files: Mapping[str, Estimate], whole: Estimate
) -> Iterator[str]:
    if service is None:
        yield "embedded engine: offline and free"
        return
    from pipeline.cli.output.buying import described_files

    yield from described_files(service, files, whole)


def _found(options: RunOptions, storage: Storage) -> tuple[AnyPath, Sequence[InputFile]]:
    if options.output is not None and str(options.output) == "-":
        raise SettingsError(
            "Several files cannot go to standard output.", "Name a folder: --output DIR."
        )
    if options.report is not None:
        raise SettingsError(
            "A report is about one table, and there are several inputs.",
            "Leave --report out, or run one file.",
        )
    folder = options.output or default_folder(options.input_paths, storage)
    if is_file(folder, storage) or _names_table(options.output):
        raise SettingsError(
            f"{folder} is not a folder, and there are several inputs.",
            "Name a folder: --output DIR.",
        )
    found = find_files(options.input_paths, folder, options.output_format, storage)
    if found.skipped:
        names = listed([str(path) for path in found.skipped])
        log.warning("Skipped, because they are not tables or lead out of the folder: %s.", names)
    return folder, found.files


def _names_table(output: AnyPath | None) -> bool:
    """Return whether an output has the name of a table; a folder that is there may have one."""
    return isinstance(output, Path) and has_table_suffix(output) and not output.is_dir()


def _check_consent(options: RunOptions, terms: Terms) -> None:
    """Refuse to ask the same question for each file.

    Raises:
        SettingsError: a person would be asked, since there is no cost limit.
    """
    if terms.service and not (terms.service.has_cost_limit or options.yes) and on_terminal():
        raise SettingsError(
            "With several files, nobody is asked before each purchase.",
            "Limit the cost of all together, --max-cost USD, or agree to any cost: --yes.",
        )


def _print(
    found: Sequence[Outcome],
    files: int,
    whole: Summary | None,
    options: RunOptions,
    settings: Settings,
) -> None:
    """Print what became of all files."""
    counts = {name: sum(outcome.state == name for outcome in found) for name in WORDS}
    counts["not_started"] = files - len(found)
    each = [outcome.to_dict() for outcome in found]
    figures = {**counts, "summary": whole and whole.to_dict(), "files": each}
    words = [f"{count:,} {WORDS[name]}" for name, count in counts.items() if count]
    lines = [words_of(whole, settings)] if whole else []
    lines += [outcome.error.message for outcome in found if outcome.error]
    lines.append(f"{how_many(files, 'file')}: {', '.join(words)}")
    text = json.dumps(figures) if options.as_json else "\n".join(lines)
    as_json, quiet = options.as_json, options.quiet
    print_summary(whole, text, as_json=as_json, quiet=quiet, beside_the_table=False)
