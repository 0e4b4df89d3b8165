"""Attempts, made and ended in a word."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.paid.client.urls import key_fingerprint
from pipeline.paid.ledger import maintenance
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.paid.ledger.schema import (
    AttemptEnd,
    Call,
    CallEnded,
    CallOpen,
    RateRefusal,
    text_digest,
)

BASE_URL = "https://service.example"
FINGERPRINT = key_fingerprint("key")
RESERVED = Decimal("0.0003")
PRICE = Decimal("0.00010499999999999999")

ROAD = Call("cpv", "road")
ROAD_DIGEST = text_digest("road")

ANSWERED = CallEnded("answered", 200, b'{"success": true}', PRICE)
SILENT = CallEnded("answered", 200, b"{}", None)
REFUSED = CallEnded("refused", 400, b"no", None, "VALIDATION_ERROR")
UNREADABLE = CallEnded("unreadable", 200, b"\xff", None, "MALFORMED_RESPONSE")
FREE = CallOpen("free", "INTERNAL_ERROR", 503)
LOST = CallOpen("unconfirmed", "TIMEOUT")


class Clock:
    """A clock that only tests move."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@contextmanager
def new_job(clock: Callable[[], float] = time.time) -> Iterator[tuple[Ledger, LedgerJob]]:
    """Open a job in a ledger of its own, as each example of a property needs."""
    with (
        TemporaryDirectory() as folder,
        closing(Ledger(Path(folder) / "ledger.db", BASE_URL, clock)) as ledger,
    ):
        yield ledger, ledger.open_job("job")


def send(journal: Journal, call: Call = ROAD) -> int:
    return asyncio.run(journal.record_attempt(call, RESERVED))


def finish(
    journal: Journal, attempt: int, how: AttemptEnd, refusal: RateRefusal | None = None
) -> None:
    async def main() -> None:
        await journal.record_end(attempt, how, refusal)

    asyncio.run(main())


def buy(journal: Journal, how: AttemptEnd = ANSWERED, call: Call = ROAD) -> int:
    attempt = send(journal, call)
    finish(journal, attempt, how)
    return attempt


def settle(path: Path, verdicts: Mapping[int, maintenance.Verdict]) -> None:
    maintenance.settle_by_hand(path, verdicts, now=2_000.0, wait=False)


def note(job: LedgerJob, *texts: str) -> None:
    job.note_rows(("cpv", text_digest(text), row) for row, text in enumerate(texts))
