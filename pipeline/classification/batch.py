"""Classifies several files: each is a job, and those that are done are skipped the next time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pipeline.answers import System
from pipeline.classification.cloud_sink import existing
from pipeline.classification.inputs import InputFile
from pipeline.classification.job import Job, Request
from pipeline.classification.manifest import part_of, was_done
from pipeline.classification.sink import Manifest
from pipeline.classification.summary import (
    COMPLETE,
    NOT_FAILED,
    WITH_FAILED_ROWS,
    Plan,
    Summary,
    SystemSummary,
)
from pipeline.errors import LedgerError, PipelineError
from pipeline.files.paths import AnyPath
from pipeline.money import ZERO, difference, plain, total
from pipeline.purchases import CostLimitReached, identity_of_files
from pipeline.settings import Format
from pipeline.tables.formats import format_of, output_format_of
from pipeline.tables.streams import local_table, sha256_of
from pipeline.wording import RETRY, THEN_RUN_AGAIN, Words, option

SEVERITY = (COMPLETE, WITH_FAILED_ROWS, PipelineError.exit_code)
"""The exit codes of files from the best to the worst; all others end the run."""

STATES = {
    "done": "done",
    "skipped": "done before",
    "failed": "failed",
    "stopped": "stopped, can be continued",
    "not_started": "not started",
}
"""The states of files, for people."""

COUNTED = (*NOT_FAILED, "failed")
"""The statuses of a system that a manifest counts, with those of failed calls together."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """How the job of a file ended.

    Attributes:
        file: the file, and its output.
        state: ``done``; ``skipped``, because it was done before; ``failed``; or ``stopped`` before
            its end, so that the same call continues it.
        exit_code: the exit code that the command line would have for the file alone.
        cost_usd: what its job has cost, with what may have been billed, US dollars.
        summary: what was done; None if nothing was written.
        error: why the job failed, or which rows have too few matches.
    """

    file: InputFile
    state: Literal["done", "skipped", "failed", "stopped"]
    exit_code: int
    cost_usd: Decimal = ZERO
    summary: Summary | None = field(default=None, repr=False)
    error: PipelineError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON types."""
        failed = self.error if self.state == "failed" else None
        return {
            "input": str(self.file.path),
            "output": str(self.file.output),
            "state": self.state,
            "exit_code": self.exit_code,
            "cost_usd": plain(self.cost_usd),
            **({"error": failed.message, "hint": failed.hint} if failed else {}),
            "summary": self.summary and self.summary.to_dict(),
        }


def outcomes(
    files: Sequence[InputFile], request: Request, run: Callable[[Job], Summary]
) -> Iterator[FileOutcome]:
    """Run the job of one file after another and yield its outcome, until the run must stop.

    Raises:
        LedgerError: the ledger cannot be used.
        EngineError: a process of the engine died.
    """
    started = time.monotonic()
    earlier = [EarlierOutput(file, request) for file in files]
    spent = [before.cost_usd for before in earlier]
    whole = total(spent)
    for number, before in enumerate(earlier):
        log.info("File %d of %d", number + 1, len(files))
        spent_on_others = difference(whole, spent[number])
        remaining = _with_remaining_limits(request, spent_on_others, time.monotonic() - started)
        outcome = _run_one(before, remaining, run)
        whole = total([spent_on_others, outcome.cost_usd])
        yield _with_limit_of_all(outcome, request, whole)
        if outcome.exit_code not in SEVERITY:
            return


def plans(
    files: Sequence[InputFile], request: Request
) -> tuple[dict[AnyPath, Plan], dict[AnyPath, PipelineError]]:
    """Return the plan for each file, whose limits are those of all files, or why there is none.

    Raises:
        LedgerError: the ledger cannot be used.
    """
    plans_by_file: dict[AnyPath, Plan] = {}
    failures: dict[AnyPath, PipelineError] = {}
    earlier = [EarlierOutput(file, request) for file in files]
    for before in earlier:
        try:
            plans_by_file[before.file.path] = before.plan()
        except LedgerError:
            raise
        except PipelineError as error:
            failures[before.file.path] = error
    left: dict[Any, Decimal] = {}
    for plan in plans_by_file.values():  # those of the day and the month as found last
        left.update(plan.purchase.left)
    left.pop("job", None)
    if (of_all := remaining_limit(earlier, request)) is not None:
        left["files"] = of_all
    for path, plan in plans_by_file.items():
        plans_by_file[path] = replace(plan, purchase=replace(plan.purchase, left=left))
    return plans_by_file, failures


def severity(code: int) -> int:
    """Return how bad the exit code of a file is; higher is worse."""
    return SEVERITY.index(code) if code in SEVERITY else len(SEVERITY)


def remaining_limit(earlier: Iterable[EarlierOutput], request: Request) -> Decimal | None:
    """Return what the jobs of all files leave of their cost limit, US dollars; None without one.

    Raises:
        LedgerError: the ledger cannot be used.
    """
    if request.buyer is None or request.buyer.service.max_cost is None:
        return None
    return max(
        ZERO, difference(request.buyer.service.max_cost, *(summary.cost_usd for summary in earlier))
    )


def _with_remaining_limits(request: Request, spent: Decimal, seconds: float) -> Request:
    """Return the request with what is left of the limits of cost and time, which are of all files.

    `spent` is what the jobs of all other files have cost, US dollars; `seconds` is how long this
    run has taken so far.
    """
    buyer = request.buyer
    if buyer is None:
        return request
    cost, duration = buyer.service.max_cost, buyer.service.max_duration
    limited = buyer.with_limits(
        cost and max(ZERO, difference(cost, spent)),
        duration and max(timedelta(0), duration - timedelta(seconds=seconds)),
    )
    return replace(request, buyer=limited)


def _with_limit_of_all(outcome: FileOutcome, request: Request, spent: Decimal) -> FileOutcome:
    """Let a stop at the cost limit state that of all files: the job knew what was left of it."""
    buyer, summary = request.buyer, outcome.summary
    if buyer is None or buyer.service.max_cost is None or summary is None:
        return outcome
    stopped = summary.parked
    if not isinstance(stopped, CostLimitReached):
        return outcome
    hint = (
        f"{option('max_cost')} is for all files together: {plain(spent)} USD of "
        f"{plain(buyer.service.max_cost)} USD are used. Raise it and {THEN_RUN_AGAIN}: it "
        "continues."
    )
    parked = replace(stopped, message=f"{outcome.file.path}: {stopped.message}", hint=hint)
    return replace(outcome, summary=replace(summary, parked=parked))


def _run_one(before: EarlierOutput, request: Request, run: Callable[[Job], Summary]) -> FileOutcome:
    file = before.file
    try:
        if done := before.done:
            return _skip(before, done)
        with request.open(file.path, file.output) as job:
            summary = run(job)
    except LedgerError:
        raise
    except PipelineError as error:
        return FileOutcome(file, "failed", error.exit_code, before.cost_so_far(), error=error)
    share = request.settings.fail_if_no_match
    code, cost = summary.exit_code(share), _cost(summary)
    if summary.parked:
        return FileOutcome(file, "stopped", code, cost, summary)
    return FileOutcome(file, "done", code, cost, summary, summary.too_few_matches(share))


def _skip(before: EarlierOutput, done: Manifest) -> FileOutcome:
    file, settings = before.file, before.request.settings
    failed = done["exit_state"] != "complete"
    failures = f"; some calls failed, and {RETRY} tries them once more" if failed else ""
    log.info("%s: done before, the same input and settings%s", file.path, Words(failures))
    summary = _summary_of(done, settings.systems)
    share = settings.fail_if_no_match
    too_few = summary.too_few_matches(share)
    return FileOutcome(file, "skipped", summary.exit_code(share), _cost_of(done), error=too_few)


def _cost(summary: Summary) -> Decimal:
    paid = summary.paid
    return total([paid.confirmed_usd, paid.at_risk_usd]) if paid else ZERO


@dataclass(frozen=True, slots=True)
class EarlierOutput:
    """What earlier runs wrote for a file, and paid for it."""

    file: InputFile
    request: Request

    @property
    def done(self) -> Manifest | None:
        """The manifest of an output that the same job has written, complete and unchanged.

        None if there is no such output, or if calls that failed are to be bought again.
        """
        request, buyer = self.request, self.request.buyer
        if buyer is not None and buyer.service.retry_failed:
            return None
        output = existing(self.file.output, request.storage)
        manifest = output.manifest
        input_ = self._input(manifest) if manifest else None
        if input_ is None:
            return None
        fingerprint, input_format = input_
        output_format = output_format_of(self.file.output, request.output_format, input_format)
        files = request.files(input_format, output_format)
        endpoint = None if buyer is None else buyer.service.endpoint
        same = was_done(manifest, fingerprint, request.settings, files, endpoint)
        is_there = part_of(manifest, "output").get("sha256") == output.sha256
        return manifest if same and is_there else None

    @property
    def cost_usd(self) -> Decimal:
        """What they paid, if that counts towards a limit."""
        if self.request.buyer is None or self.request.buyer.service.max_cost is None:
            return ZERO
        with suppress(PipelineError):  # reported when it is the file's turn
            if done := self.done:
                return _cost_of(done)
        return self.cost_so_far()

    def cost_so_far(self) -> Decimal:
        """Return what the open job of the file has cost; it may have bought before it failed."""
        buyer = self.request.buyer
        if buyer is None:
            return ZERO
        request = self.request
        return buyer.spent_on(identity_of_files(request.settings, self.file.path, self.file.output))

    def plan(self) -> Plan:
        """Plan the job of the file; a run skips it if it is done, whatever the ledger has."""
        if done := self.done:
            counts: list[Any] = [part_of(done, "plan").get(name) for name in Plan(0, 0).row_counts]
            if all(isinstance(count, int) for count in counts):  # anybody may have changed them
                return Plan(*counts)
        with self.request.open(self.file.path, self.file.output) as job:
            return job.plan()

    def _input(self, manifest: Manifest) -> tuple[str, Format] | None:
        """Return the SHA-256 and the format of an input; None if it is missing or surely another.

        An object is not read: if its version is that in the manifest, so is everything else.
        """
        path, stated = self.file.path, self.request.input_format
        if isinstance(path, Path):
            if not path.is_file():
                return None
            with local_table(path, self.request.storage) as (table, _):
                return sha256_of(table), format_of(table, stated)
        match manifest:
            case {
                "input": {"path": input_path, "version": version, "sha256": str(digest)},
                "files": {"input_format": input_format},
            } if input_path == str(path) and version == self.request.storage.version(path):
                return digest, stated or input_format
        return None


def _cost_of(done: Manifest) -> Decimal:
    """Return what the job of a file that is done has cost, with what it may have cost."""
    paid = done["summary"]["paid"] or {}
    return total(Decimal(paid.get(name, 0)) for name in ("confirmed_usd", "at_risk_usd"))


def _summary_of(done: Manifest, systems: Iterable[System]) -> Summary:
    """Return what the job of a file that is done did, as far as an exit code depends on it."""
    recorded = part_of(part_of(done, "summary"), "systems")
    counts = {system: part_of(recorded, system) for system in systems}
    statuses = {
        system: {kind: n for kind in COUNTED if isinstance(n := numbers.get(kind), int)}
        for system, numbers in counts.items()
    }
    return Summary(0, {name: SystemSummary(numbers) for name, numbers in statuses.items()}, ZERO, 0)
