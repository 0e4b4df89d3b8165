"""The mark of a ledger in the manifests of its outputs, by which a later run misses the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import LedgerError
from pipeline.files.paths import AnyPath
from pipeline.paid.ledger.database import Database
from pipeline.quoting import readable

__all__ = ["Mark", "OutputMark"]

LONGEST_PATH = 4096
"""Characters of a path that a message shows: a manifest may have been changed."""

LAST = "SELECT attempt_id, sent_at FROM attempts ORDER BY attempt_id DESC LIMIT 1"

PARKED = "parked"
"""The key in a manifest for what was bought for an output that is not written yet, by service."""

HAS = "SELECT count(*) FROM attempts WHERE attempt_id = ? AND sent_at = ?"


@dataclass(frozen=True, slots=True)
class Mark:
    """The last attempt in a ledger when an output was written; attempts are never deleted.

    Attributes:
        path: where the ledger was.
        last_attempt: the number of the attempt.
        sent_at: when it was sent, seconds since 1970.
    """

    path: str
    last_attempt: int
    sent_at: float

    def while_parked(self, base_url: str) -> dict[str, Any]:
        """Return what is added to a manifest if a run ends before it writes the output."""
        return {PARKED: {base_url: {"service": base_url, "ledger": asdict(self)}}}

    @classmethod
    def of(cls, database: Database) -> Mark | None:
        """Return the mark of a ledger; None if it has no attempts."""
        for number, sent_at in database.rows(LAST):
            return cls(str(database.path.resolve()), number, sent_at)
        return None


@dataclass(frozen=True, slots=True)
class OutputMark:
    """A mark in the manifest of an output.

    Attributes:
        mark: the mark.
        output: the output.
    """

    mark: Mark
    output: AnyPath

    @classmethod
    def in_manifests(
        cls, manifests: Iterable[tuple[AnyPath, Mapping[str, Any]]], base_url: str
    ) -> list[OutputMark]:
        """Return the marks in the manifests of outputs that were bought from a service."""
        return [
            cls(mark, path)
            for path, manifest in manifests
            for part in (manifest, *_parked(manifest.get(PARKED), base_url))
            if (mark := _mark_in(part, base_url)) is not None
        ]

    def check_there(self, ledger: Path) -> None:
        """Check, before a new one is begun, that there is a ledger.

        Raises:
            LedgerError: there is none.
        """
        with suppress(OSError):  # opening it says what is wrong with its path
            if not ledger.exists():
                raise self._error(f"There is no ledger {ledger}", "everything")

    def check_in(self, database: Database) -> None:
        """Check that a ledger is the one with this mark.

        Raises:
            LedgerError: it is another one, or an older copy.
        """
        number = str(self.mark.last_attempt)  # as a text: a damaged manifest may have any integer
        ((found,),) = database.rows(HAS, number, self.mark.sent_at)
        if not found:
            raise self._error(f"{database.path} is another ledger, or an older copy", "answers")

    def _error(self, found: str, bought_again: str) -> LedgerError:
        return LedgerError(
            f"{found}: answers for {readable(str(self.output), LONGEST_PATH)} were bought with the "
            f"ledger {readable(self.mark.path, LONGEST_PATH)}. This run would buy {bought_again} "
            "again.",
            "Mount its disk, move it back, or name the place where it is now: --ledger PATH. To "
            "buy with another ledger nevertheless, write elsewhere (--output PATH), or move that "
            "output and its manifest away.",
        )


def _parked(found: object, base_url: str) -> tuple[object, ...]:
    """Return the notes of parked runs; the older form has only that of the last one."""
    return (found, found.get(base_url)) if isinstance(found, Mapping) else ()


def _mark_in(manifest: object, base_url: str) -> Mark | None:
    match manifest:
        case {
            "service": str(service),
            "ledger": {"path": str(path), "last_attempt": int(number), "sent_at": float(sent_at)},
        } if service == base_url:
            return Mark(path, number, sent_at)
    return None
