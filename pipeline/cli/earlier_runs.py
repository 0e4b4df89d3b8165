"""What earlier runs did for a file: whether its output need not be made again, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from pipeline.answers import System
from pipeline.classification.cloud_sink import existing
from pipeline.classification.manifest import was_done
from pipeline.classification.provenance import part_of
from pipeline.classification.summary import NOT_FAILED, Summary, SystemSummary
from pipeline.cli.inputs import InputFile
from pipeline.cli.job import files_of
from pipeline.cli.run_options import RunOptions
from pipeline.cli.terms import Terms
from pipeline.errors import PipelineError
from pipeline.file_options import Format
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, stamp
from pipeline.money import ZERO, difference, total
from pipeline.purchases import identity_of_files
from pipeline.tables import format_of, local_table, output_format_of, sha256_of

__all__ = ["EarlierRuns", "Manifest", "cost_of", "left_of_limit", "summary_of"]

Manifest: TypeAlias = Mapping[str, Any]

COUNTED = (*NOT_FAILED, "failed")
"""The statuses of a system that a manifest counts, with those of failed calls together."""


class EarlierRuns:
    """What earlier runs did for a file, and the options for its job."""

    def __init__(self, options: RunOptions, file: InputFile, terms: Terms) -> None:
        self.options = replace(options, input_paths=(file.path,), output=file.output)
        self.file = file
        self._terms = terms
        self._seen: tuple[object, Manifest | None] | None = None

    @property
    def done(self) -> Manifest | None:
        """The manifest of an output that the same job has written, complete and unchanged.

        None if there is no such output, or if calls that failed are to be bought again. The files
        are not hashed again unless they changed since.
        """
        stamps = stamp(self.file.path), stamp(self.file.output)
        if self._seen is None or None in stamps or stamps != self._seen[0]:
            self._seen = stamps, self._done()
        return self._seen[1]

    @property
    def cost_usd(self) -> Decimal:
        """What they paid, if that counts towards a limit."""
        if self._terms.service is None or self._terms.service.max_cost is None:
            return ZERO
        with suppress(PipelineError):  # reported when it is the file's turn
            if done := self.done:
                return cost_of(done)
        return self.cost_so_far()

    def cost_so_far(self) -> Decimal:
        """Return what the open job of the file has cost; it may have bought before it failed."""
        if self._terms.service is None:
            return ZERO
        from pipeline.paid import purchase

        return purchase.spent_on(self._terms.service, self._identity)

    def close_finished(self, done: Manifest) -> bool:
        """Close the job of the file, which is done; see `purchase.close_finished`."""
        if self._terms.service is None:
            return False
        from pipeline.paid import purchase

        return purchase.close_finished(self._terms.service, self._identity, _paid(done))

    @property
    def _identity(self) -> str:
        return identity_of_files(self._terms.settings, self.file.path, self.file.output)

    def _done(self) -> Manifest | None:
        options, terms, service = self.options, self._terms, self._terms.service
        if service is not None and service.retry_failed:
            return None
        output = existing(self.file.output, terms.storage)
        found = output.manifest
        known = _input(self.file.path, found, options, terms.storage) if found else None
        if known is None:
            return None
        fingerprint, input_format = known
        output_format = output_format_of(self.file.output, options.output_format, input_format)
        files = files_of(input_format, output_format, options)
        base_url = None if service is None else service.endpoint
        same = was_done(found, fingerprint, terms.settings, files, base_url)
        return found if same and part_of(found, "output").get("sha256") == output.sha256 else None


def left_of_limit(earlier: Iterable[EarlierRuns], terms: Terms) -> Decimal | None:
    """Return what the jobs of all files leave of their cost limit, US dollars; None without one.

    Raises:
        LedgerError: the ledger cannot be used.
    """
    if terms.service is None or terms.service.max_cost is None:
        return None
    return max(ZERO, difference(terms.service.max_cost, *(each.cost_usd for each in earlier)))


def cost_of(done: Manifest) -> Decimal:
    """Return what the job of a file that is done has cost, with what it may have cost."""
    return total(Decimal(_paid(done).get(name, 0)) for name in ("confirmed_usd", "at_risk_usd"))


def summary_of(done: Manifest, systems: Iterable[System]) -> Summary:
    """Return what the job of a file that is done did, as far as an exit code depends on it."""
    recorded = part_of(part_of(done, "summary"), "systems")
    counts = {system: part_of(recorded, system) for system in systems}
    statuses = {
        system: {kind: n for kind in COUNTED if isinstance(n := each.get(kind), int)}
        for system, each in counts.items()
    }
    return Summary(0, {name: SystemSummary(each, ZERO) for name, each in statuses.items()}, ZERO, 0)


def _input(
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


def _paid(done: Manifest) -> Mapping[str, Any]:
    return done["summary"]["paid"] or {}
