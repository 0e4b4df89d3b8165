"""Marks of a ledger outside it, by which a later run misses it or recognises an older copy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any, TypeAlias

from pipeline.errors import LedgerError, SettingsError
from pipeline.files.paths import AnyPath, machine_folder
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.wording import LEDGER, beside, how_many, readable

LONGEST_PATH = 4096
"""Characters of a path that a message shows: a manifest may have been changed."""

FIRST = "SELECT sent_at FROM attempts ORDER BY attempt_id LIMIT 1"
LAST = "SELECT attempt_id, sent_at FROM attempts ORDER BY attempt_id DESC LIMIT 1"
HAS = "SELECT count(*) FROM attempts WHERE attempt_id = ? AND sent_at = ?"

PARKED = "parked"
"""The key in a manifest for what was bought for an output that is not written yet, by service."""

ROOM = 64
"""Spaces after a mark in its file: they cover the end of a longer one that was there before."""


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """The last attempt in a ledger at some moment; attempts are never deleted.

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
    def of(cls, ledger: Database | Snapshot) -> LedgerMark | None:
        """Return the mark of a ledger; None if it has no attempts, or is damaged."""
        for number, sent_at in ledger.rows(LAST):
            path = str(ledger.path.resolve())
            return cls.read({"path": path, "last_attempt": number, "sent_at": sent_at})
        return None

    @classmethod
    def read(cls, value: object) -> LedgerMark | None:
        """Return a mark as JSON has it; None if it is not valid."""
        match value:
            case {"path": str(path), "last_attempt": int(number), "sent_at": float(sent_at)}:
                return cls(path, number, sent_at)
        return None

    def is_in(self, ledger: Database | Snapshot) -> bool:
        """Return whether a ledger has the attempt; an older copy or another ledger has not."""
        number = str(self.last_attempt)  # as a text: a damaged file may have any integer
        ((count,),) = ledger.rows(HAS, number, self.sent_at)
        return bool(count)


class HighWaterMark:
    """The last attempt that this user's runs on this machine recorded in a ledger at a path.

    It is in a file of its own, away from the ledger: a copy that is put in the ledger's place lacks
    this attempt. Another ledger there, with another first attempt, has another mark.

    Args:
        ledger: the ledger.

    Attributes:
        ledger: as above.
    """

    def __init__(self, ledger: Database | Snapshot) -> None:
        self.ledger = ledger
        self._path = str(ledger.path.resolve())
        self._file: Path | None = None

    def note(self, attempt: int, sent_at: float) -> None:
        """Note an attempt that is durably in the ledger.

        A killed process loses nothing. The disk is not synced: after a power failure, the mark may
        be older than the ledger, which does no harm.
        """
        with suppress(OSError):  # the ledger is more important
            if (file := self._find_file()) is None:
                return
            file.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as opened:
                mark = json.dumps(asdict(LedgerMark(self._path, attempt, sent_at)))
                opened.write(mark + " " * ROOM)

    def check(self) -> None:
        """Check that a ledger, which may have no attempts yet, is no older copy.

        Raises:
            LedgerError: it is, or it cannot be read.
        """
        if (file := self._find_file()) is None:
            return
        mark = None
        with suppress(OSError, ValueError):  # there is none, or only a part of it
            mark = LedgerMark.read(json.loads(file.read_bytes()))
        if mark is None or mark.is_in(self.ledger):
            return
        last = LedgerMark.of(self.ledger)
        with Snapshot(self.ledger.path) as now:  # a run may have written it since it was opened
            if last is None or mark.is_in(now):
                return
        # At least one is missing, also if others took their numbers.
        missing = how_many(max(1, mark.last_attempt - last.last_attempt), "attempt")
        since = datetime.fromtimestamp(min(last.sent_at, mark.sent_at)).astimezone()
        raise LedgerError(
            f"The ledger {last.path} is an older copy: it lacks the {missing} that were recorded "
            f"in it on this machine after {since:%Y-%m-%d %H:%M}. A run may buy the same answers "
            "again.",
            "Put the newer ledger back. To go on with this copy nevertheless, forget the newer "
            f"one: rm {quote(str(file))}",
        )

    def _find_file(self) -> Path | None:
        """Return the path of the file; None before the first attempt, or without a home."""
        if self._file is None:
            for (first,) in self.ledger.rows(FIRST):
                named = f"{self._path}\n{first}".encode("utf-8", "surrogateescape")
                name = f"{sha256(named).hexdigest()[:16]}.json"
                with suppress(SettingsError):
                    self._file = machine_folder() / "ledgers" / name
        return self._file


Marked: TypeAlias = tuple[AnyPath, LedgerMark]
"""An output, and the mark in its manifest."""


def marks_in(manifests: Iterable[tuple[AnyPath, Mapping[str, Any]]], base_url: str) -> list[Marked]:
    """Return the marks in the manifests of outputs that were bought from a service."""
    return [
        (path, mark)
        for path, manifest in manifests
        for part in (manifest, _note_of_parked_run(manifest.get(PARKED), base_url))
        if isinstance(part, Mapping) and part.get("service") == base_url
        if (mark := LedgerMark.read(part.get("ledger"))) is not None
    ]


def check_there(ledger: Path, marks: Sequence[Marked]) -> None:
    """Check, before a new one is begun, that there is the ledger that outputs were bought with.

    Raises:
        LedgerError: there is none.
    """
    with suppress(OSError):  # opening it says what is wrong with its path
        if marks and not ledger.exists():
            raise _other_ledger(f"There is no ledger {ledger}", ledger, marks[0], "everything")


def check_marks(high_water: HighWaterMark, marks: Sequence[Marked]) -> None:
    """Check that a ledger is the one that outputs were bought with, and no older copy.

    Raises:
        LedgerError: it is another one, or an older copy.
    """
    high_water.check()
    ledger = high_water.ledger
    for marked in marks:
        if not marked[1].is_in(ledger):
            problem = f"{ledger.path} is another ledger, or an older copy"
            raise _other_ledger(problem, ledger.path, marked, "answers")


def _other_ledger(problem: str, ledger: Path, marked: Marked, bought_again: str) -> LedgerError:
    output, mark = marked
    named = "that was there" if mark.path == str(ledger.resolve()) else _name(mark.path)
    return LedgerError(
        f"{problem}: answers for {_name(output)} were bought with the ledger {named}. "
        f"This run would buy {bought_again} again.",
        f"Mount its disk, move it back, or name the place where it is now: {LEDGER}. To buy with "
        f"another ledger nevertheless, write elsewhere{beside('output', 'PATH')}, or move that "
        "output and its manifest away.",
    )


def _note_of_parked_run(notes: object, base_url: str) -> object:
    return notes.get(base_url) if isinstance(notes, Mapping) else None


def _name(path: object) -> str:
    return readable(str(path), LONGEST_PATH)
