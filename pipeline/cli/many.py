"""Runs or plans a job for each of several files, and skips those that are done."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pipeline.classification.cloud_sink import existing
from pipeline.classification.manifest import was_done
from pipeline.classification.summary import Summary, combined
from pipeline.cli.inputs import InputFile, are_several, default_folder, find_files, is_file
from pipeline.cli.job import Terms, classified, files_of, opened_job, plan_job, planned, run_job
from pipeline.cli.output.complaints import complain
from pipeline.cli.output.console import notice, on_terminal, say
from pipeline.cli.output.run import COMPLETE, WITH_FAILED_ROWS, exit_code, report, words_of
from pipeline.cli.run_options import RunOptions
from pipeline.errors import LedgerError, PipelineError, SettingsError
from pipeline.files.cloud import AnyPath, Storage
from pipeline.money import ZERO, plain, total
from pipeline.quoting import listed
from pipeline.settings import Format
from pipeline.tables import format_of, local_table, output_format_of, sha256_of

__all__ = ["plan_all", "run_all"]

log = logging.getLogger("pipeline")

SEVERITY = (COMPLETE, WITH_FAILED_ROWS, 2)
"""The exit codes of files from the best to the worst; all others end the run."""

WORDS = {
    "done": "done",
    "skipped": "done before",
    "failed": "failed",
    "stopped": "stopped (resumable)",
    "not_started": "not started",
}
"""What becomes of files, for people."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a file.

    Attributes:
        file: the file.
        state: ``skipped`` if it was done before.
        exit_code: its exit code.
        cost_usd: what its job has cost, with what it may have cost.
        summary: what this run did with it; None if nothing was written.
        error: why it failed.
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
            **(failed or {}),
            "summary": self.summary and self.summary.to_dict(),
        }


def run_all(options: RunOptions, finished: Callable[[Summary], None] = lambda _: None) -> int:
    """Run the job, or one for each file if there are several; return the worst exit code.

    Args:
        options: the options.
        finished: receives what was done; not called if nothing was.
    """
    terms = Terms.of(options)
    if not are_several(options.input_paths, terms.storage):
        return run_job(options, terms, finished)
    _check_consent(options, terms)
    folder, files = _found(options, terms.storage)
    outcomes: list[_Outcome] = []
    try:
        outcomes.extend(_outcomes(files, options, terms))  # keeps those before an interrupt
    except (KeyboardInterrupt, SystemExit):
        done = sum(outcome.state in ("done", "skipped") for outcome in outcomes)
        notice(f"{done} of {len(files)} files are done; the same command continues.")
        raise
    summaries = [outcome.summary for outcome in outcomes if outcome.summary]
    whole = replace(combined(summaries), output=folder) if summaries else None
    if whole is not None:
        finished(whole)
    _report(outcomes, len(files), whole, options)
    return max((outcome.exit_code for outcome in outcomes), key=_severity)


def plan_all(options: RunOptions) -> int:
    """Print what the job would do and cost, or one for each file if there are several."""
    terms = Terms.of(options)
    if not are_several(options.input_paths, terms.storage):
        return plan_job(options, terms)
    _, files = _found(options, terms.storage)
    plans = []
    for file in files:
        with opened_job(_of_file(options, file), terms) as this:
            plans.append((file, planned(this)))
    figures = {
        "rows": sum(found.rows for _, found in plans),
        "empty": sum(found.empty for _, found in plans),
        "calls_to_buy": sum(found.purchase.to_buy for _, found in plans),
        "low_usd": plain(total(found.purchase.low_usd for _, found in plans)),
        "high_usd": plain(total(found.purchase.high_usd for _, found in plans)),
    }
    if options.as_json:
        each = [{"input": str(file.path), **found.to_dict()} for file, found in plans]
        say(json.dumps({**figures, "files": each}))
        return COMPLETE
    say(f"{len(files):,} files, {figures['rows']:,} rows, {figures['empty']:,} without text")
    if terms.service is None:
        say("embedded engine: offline and free")
    else:
        say(
            f"at most {figures['calls_to_buy']:,} calls to buy: {figures['low_usd']} to "
            f"{figures['high_usd']} USD; a text in several files is bought once"
        )
    return COMPLETE


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
    if is_file(folder, storage):
        raise SettingsError(
            f"{folder} is not a folder, and there are several inputs.",
            "Name a folder: --output DIR.",
        )
    found = find_files(options.input_paths, folder, options.output_format, storage)
    if found.skipped:
        names = listed([str(path) for path in found.skipped])
        log.warning("Skipped, not tables or links out of the folder: %s.", names)
    return folder, found.files


def _check_consent(options: RunOptions, terms: Terms) -> None:
    """Refuse to ask the same question for each file.

    Raises:
        SettingsError: a person would be asked, since there is no cost limit.
    """
    if terms.service and not (terms.service.has_cost_limit or options.yes) and on_terminal():
        raise SettingsError(
            "Several files are bought without a question for each.",
            "Limit the cost of all together, --max-cost USD, or agree to any cost: --yes.",
        )


def _outcomes(files: Sequence[InputFile], options: RunOptions, terms: Terms) -> Iterator[_Outcome]:
    """Yield what becomes of each file, until the run must stop."""
    spent = ZERO
    for number, file in enumerate(files, 1):
        log.info("File %d of %d", number, len(files))
        outcome = _outcome(_of_file(options, file), file, _with_limit(terms, spent))
        yield outcome
        spent = total([spent, outcome.cost_usd])
        if outcome.exit_code not in SEVERITY:
            return


def _of_file(options: RunOptions, file: InputFile) -> RunOptions:
    return replace(options, input_paths=(file.path,), output=file.output)


def _with_limit(terms: Terms, spent: Decimal) -> Terms:
    """Return the terms with what is left of the cost limit, which is for all files together."""
    service = terms.service
    if service is None or service.max_cost is None:
        return terms
    left = max(ZERO, total([service.max_cost, spent.copy_negate()]))
    return replace(terms, service=replace(service, max_cost=left))


def _outcome(options: RunOptions, file: InputFile, terms: Terms) -> _Outcome:
    try:
        done = _done_before(options, file, terms)
        if done is not None:
            return done
        with opened_job(options, terms) as this:
            summary = classified(this)
    except LedgerError:
        raise
    except PipelineError as error:
        complain(error)
        return _Outcome(file, "failed", error.exit_code, error=error)
    if summary.parked:
        return _Outcome(file, "stopped", summary.parked.exit_code, _cost(summary), summary)
    return _Outcome(file, "done", exit_code(summary, terms.settings), _cost(summary), summary)


def _done_before(options: RunOptions, file: InputFile, terms: Terms) -> _Outcome | None:
    if terms.service is not None and terms.service.retry_failed:
        return None
    output = existing(file.output, terms.storage)
    found = output.manifest
    known = _fingerprint(file.path, found, options, terms.storage) if found else None
    if known is None:
        return None
    fingerprint, input_format = known
    output_format = output_format_of(file.output, options.output_format, input_format)
    files = files_of(input_format, output_format, options)
    base_url = None if terms.service is None else terms.service.base_url
    same = was_done(found, fingerprint, terms.settings, files, base_url)
    if not same or found.get("output", {}).get("sha256") != output.sha256:
        return None
    paid = found["summary"]["paid"] or {}
    cost = total(Decimal(paid.get(name, 0)) for name in ("confirmed_usd", "at_risk_usd"))
    failed = found["exit_state"] != "complete"
    log.info("%s: done before, the same input and settings", file.path)
    return _Outcome(file, "skipped", WITH_FAILED_ROWS if failed else COMPLETE, cost)


def _fingerprint(
    path: AnyPath, found: Mapping[str, Any], options: RunOptions, storage: Storage
) -> tuple[str, Format] | None:
    """Return the SHA-256 and the format of an input; None if it is missing or surely another.

    An object is not read: if its version is that in the manifest, so is everything else.
    """
    stated = options.input_format
    if isinstance(path, Path):
        if not path.is_file():
            return None
        with local_table(path, storage) as (table, _):
            return sha256_of(table), format_of(table, stated)
    match found:
        case {
            "input": {"path": place, "version": version, "sha256": str(digest)},
            "files": {"input_format": input_format},
        } if place == str(path) and version == storage.version(path):
            return digest, stated or input_format
    return None


def _cost(summary: Summary) -> Decimal:
    paid = summary.paid
    return total([paid.confirmed_usd, paid.at_risk_usd]) if paid else ZERO


def _severity(code: int) -> int:
    return SEVERITY.index(code) if code in SEVERITY else len(SEVERITY)


def _report(
    outcomes: Sequence[_Outcome], files: int, whole: Summary | None, options: RunOptions
) -> None:
    """Print what became of all files."""
    counts = {name: sum(outcome.state == name for outcome in outcomes) for name in WORDS}
    counts["not_started"] = files - len(outcomes)
    each = [outcome.to_dict() for outcome in outcomes]
    figures = {**counts, "summary": whole and whole.to_dict(), "files": each}
    words = [f"{count:,} {WORDS[name]}" for name, count in counts.items() if count]
    lines = [words_of(whole)] if whole else []
    lines += [f"{o.file.path}: {o.error.message}" for o in outcomes if o.error]
    lines.append(f"{files:,} file{'' if files == 1 else 's'}: {', '.join(words)}")
    text = json.dumps(figures) if options.as_json else "\n".join(lines)
    as_json, quiet = options.as_json, options.quiet
    report(whole, text, as_json=as_json, quiet=quiet, beside_the_table=False)
