"""Answers from the ledger: what was bought, and what this job paid for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

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
from pipeline.paid.ledger import Job, Owned, text_digest
from pipeline.paid.ledger.calls import INTERRUPTED

__all__ = ["LedgerMatcher"]

OF_THE_RUN = frozenset({"UNAUTHORIZED", "INSUFFICIENT_BALANCE", "RATE_LIMIT_EXCEEDED"})
"""Errors that say nothing about the text: the run stopped before its call."""


class LedgerMatcher:
    """Answers from the ledger; each call's cost is shown in its first row.

    Args:
        job: the job whose answers and costs to return.
        systems: the systems to answer for.
        most_lost: the number of lost answers after which a call is not bought again.
    """

    def __init__(self, job: Job, systems: Sequence[System], most_lost: int) -> None:
        self._job = job
        self._systems = systems
        self._most_lost = most_lost

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`."""
        first = 0
        for texts in batches:
            yield {system: self._answers(system, texts, first) for system in self._systems}
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
        digests = [text_digest(text) for text in texts]
        owned = self._job.owned(system, digests)
        rows = self._job.first_rows(system, digests)
        return [
            (_price(owned[digest]),) if digest in owned and rows.get(digest) == row else ()
            for row, digest in enumerate(digests, start=first)
        ]

    def _answers(self, system: System, texts: Sequence[str], first: int) -> list[Answer | None]:
        digest_of = {text: text_digest(text) for text in texts if text}
        digests = list(digest_of.values())
        owned = self._job.owned(system, digests)
        rows = self._job.first_rows(system, digests)
        costs = self._job.costs(system, digests)
        errors = self._errors(system, [each for each in digests if each not in owned])
        answers: list[Answer | None] = []
        for row, text in enumerate(texts, start=first):
            if not text:
                answers.append(None)
                continue
            digest = digest_of[text]
            cost = costs.get(digest, ZERO) if rows.get(digest) == row else ZERO
            if digest in owned:
                answers.append(_lasting(owned[digest], cost))
            else:
                answers.append(_passing(errors.get(digest), cost))
        return answers

    def _errors(self, system: System, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return why calls have no answer: an error of this job, or answers lost earlier."""
        lost = self._job.unconfirmed(system, digests)
        held = {each: INTERRUPTED for each in digests if lost.get(each, 0) >= self._most_lost}
        return held | self._job.errors(system, digests)


def _lasting(owned: Owned, cost: Decimal | None) -> Answer:
    match _read(owned):
        case Answered(matches, _) | WrongCurrency(_, _, matches):
            return Matched(matches, cost)
        case Refused(error, _, _):
            return Failed(error, cost)
        case _:
            return Failed("MALFORMED_RESPONSE", cost)


def _read(owned: Owned) -> Outcome:
    """Parse a response again; here it does not matter whether its price is valid."""
    outcome = read_response(owned.status, {}, owned.body)
    return outcome.ended if isinstance(outcome, WrongPrice) else outcome


def _price(owned: Owned) -> Decimal | None:
    """Return the price that a response states; a refusal without a price was not billed."""
    match read_response(owned.status, {}, owned.body):
        case Refused(cost_usd=cost):
            return cost or ZERO
        case Answered(cost_usd=cost) | Unreadable(cost_usd=cost):
            return cost
        case _:
            return None


def _passing(error: str | None, cost: Decimal | None) -> Answer:
    if error is None or error in OF_THE_RUN:
        return Pending(cost)
    return Failed("UNCONFIRMED" if error == INTERRUPTED else error, cost)
