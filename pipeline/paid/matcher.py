"""Answers from the ledger: what was bought, and what this job paid for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from msgspec.structs import replace

from pipeline.answers import Answer, BatchAnswers, Failed, Matched, Pending, System
from pipeline.money import ZERO
from pipeline.paid.client.outcomes import (
    Answered,
    Outcome,
    Refused,
    Unreadable,
    WrongCurrency,
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from pipeline.paid.ledger import Cost, Job, Owned, text_digests
from pipeline.paid.ledger.calls import INTERRUPTED
from pipeline.remembered import Remembered

__all__ = ["LedgerMatcher"]

OF_THE_RUN = frozenset({"UNAUTHORIZED", "INSUFFICIENT_BALANCE", "RATE_LIMIT_EXCEEDED"})
"""Errors that say nothing about the text: the run stopped before its call."""

KEPT_BYTES = 32 << 20
"""How much memory the answers that a pass keeps may take: about 12,000 answers of ten matches."""

ANSWER_BYTES, MATCH_BYTES = 400, 200
"""What an answer and each of its matches take in memory beside the characters of the response."""


class LedgerMatcher:
    """Answers from the ledger; each call's cost is shown in its first row.

    Args:
        job: the job whose answers and costs to return.
        systems: the systems to answer for.

    Attributes:
        down: the systems that the run left out, with the error of each.
    """

    def __init__(self, job: Job, systems: Sequence[System]) -> None:
        self.down: Mapping[System, str] = {}
        self._job = job
        self._systems = systems

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`.

        An answer is read once for all rows with its text, unless they are very far apart.
        """
        kept = {system: _Kept(KEPT_BYTES // len(self._systems)) for system in self._systems}
        first = 0
        remembered = Remembered(text_digests)
        for texts in batches:
            both = zip(texts, remembered(texts), strict=True)
            digests = [digest if text else b"" for text, digest in both]
            yield {system: self._answers(system, digests, first, kept[system]) for system in kept}
            first += len(texts)

    def prices(
        self, system: System, texts: Sequence[str], first: int
    ) -> list[tuple[Decimal | None, ...]]:
        """Return what the answers of some rows cost, in US dollars, whichever job bought them.

        Args:
            system: the system.
            texts: the rows' texts.
            first: the number of the first row in the table.

        Returns:
            For each row, the price of its call, or None if the response stated none; an empty
            tuple if an earlier row has the same call, or the call has no answer.
        """
        digests = text_digests(texts)
        owned = self._job.owned(system, digests)
        rows = self._job.first_rows(system, digests)
        return [
            (_price(owned[digest]),) if digest in owned and rows.get(digest) == row else ()
            for row, digest in enumerate(digests, start=first)
        ]

    def _answers(
        self, system: System, digests: Sequence[bytes], first: int, kept: _Kept
    ) -> list[Answer | None]:
        """Return the answers of rows, with what a call cost in its first row.

        The digest of a row without text is b"".
        """
        kept.age()
        recent, older = kept.recent, kept.older
        answers = [recent.get(digest) or older.get(digest) for digest in digests]
        unread: dict[bytes, int] = {}  # with the first place of each
        for place, (digest, answer) in enumerate(zip(digests, answers, strict=True)):
            if answer is None and digest:
                unread.setdefault(digest, place)
        if not unread:
            return answers
        new, costs = self._read(system, [*unread], kept)
        pairs = zip(digests, answers, strict=True)
        answers = [new.get(digest) or answer for digest, answer in pairs]
        for digest, (row, usd) in costs.items():
            place = unread[digest]  # only rows whose answer was read can be first rows
            if row == first + place:
                answers[place] = replace(new[digest], cost_usd=usd)
        return answers

    def _read(
        self, system: System, digests: Sequence[bytes], kept: _Kept
    ) -> tuple[Mapping[bytes, Answer], Mapping[bytes, Cost]]:
        """Read the answers of calls from the ledger, without costs, and keep them.

        Returns:
            The answers, and what the job paid for them.
        """
        owned, costs = self._job.found(system, digests)
        answers: dict[bytes, Answer] = {
            digest: _lasting(*response) for digest, response in owned.items()
        }
        if open_calls := [digest for digest in digests if digest not in owned]:
            answers |= self._unanswered(system, open_calls)
        kept.add(answers, sum([len(body) for _, body in owned.values()]))
        return answers, costs

    def _unanswered(self, system: System, digests: Sequence[bytes]) -> dict[bytes, Answer]:
        """Say why calls have no answer: an error of this job, or answers lost in any."""
        lost, most_lost = self._job.unconfirmed(system, digests), self._job.counting.most_lost
        errors = self._job.errors(system, digests)
        pending = Failed(self.down[system]) if system in self.down else Pending()
        return {
            digest: _passing(errors.get(digest), pending, held=lost.get(digest, 0) >= most_lost)
            for digest in digests
        }


@dataclass(slots=True)
class _Kept:
    """The answers of one system that were read last, in two halves; the older one is dropped."""

    allowed: int
    recent: dict[bytes, Answer] = field(default_factory=dict)
    older: dict[bytes, Answer] = field(default_factory=dict)
    recent_bytes: int = 0

    def add(self, answers: Mapping[bytes, Answer], body_bytes: int) -> None:
        self.recent |= answers
        matches = sum([len(one.matches) for one in answers.values() if isinstance(one, Matched)])
        self.recent_bytes += ANSWER_BYTES * len(answers) + MATCH_BYTES * matches + body_bytes

    def age(self) -> None:
        """Start a new half if the recent one is full."""
        if self.recent_bytes > self.allowed / 2:
            self.recent, self.older, self.recent_bytes = {}, self.recent, 0


def _lasting(status: int, body: bytes) -> Answer:
    match _outcome(status, body):
        case Answered(matches, _):
            return Matched(matches)
        case Refused(error, _, _):
            return Failed(error)
        case _:
            return Failed("MALFORMED_RESPONSE")


def _outcome(status: int, body: bytes) -> Outcome:
    """Parse a response again; here it does not matter whether its price can be used."""
    outcome = read_response(status, {}, body)
    return outcome.ended if isinstance(outcome, WrongCurrency | WrongPrice) else outcome


def _price(owned: Owned) -> Decimal | None:
    """Return the price that a response states; a refusal without a price was not billed."""
    match read_response(owned.status, {}, owned.body):
        case Refused(cost_usd=cost):
            return cost or ZERO
        case Answered(cost_usd=cost) | Unreadable(cost_usd=cost):
            return cost
        case _:
            return None


def _passing(error: str | None, pending: Answer, *, held: bool) -> Answer:
    if not held and (error is None or error in OF_THE_RUN):
        return pending
    return Failed("UNCONFIRMED" if error in (None, INTERRUPTED) else error)
