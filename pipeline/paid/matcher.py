"""Answers from the ledger: what was bought, and what this job paid for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial

from msgspec.structs import replace

from pipeline.answers import Answer, BatchAnswers, Failed, Matched, Pending, System
from pipeline.cache import Cache
from pipeline.paid.client.outcomes import Answered, Refused, WrongPrice
from pipeline.paid.client.responses import read_response
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.ledger.schema import INTERRUPTED, Cost, Owned, text_digests

OF_THE_RUN = frozenset({"UNAUTHORIZED", "INSUFFICIENT_BALANCE", "RATE_LIMIT_EXCEEDED"})
"""Errors that say nothing about the text: the run stopped before its call."""

MOST_BYTES = 32 << 20
"""The memory for the answers that a pass read last: about 12,000 answers of ten matches."""

ANSWER_BYTES, MATCH_BYTES = 400, 200
"""What an answer and each of its matches take in memory beside their texts."""


class LedgerMatcher:
    """Answers from the ledger; each call's cost is shown in its first row.

    Args:
        job: the job whose answers and costs to return.
        systems: the systems to answer for.

    Attributes:
        down: the systems that the run left out, with the error of each.
    """

    def __init__(self, job: LedgerJob, systems: Sequence[System]) -> None:
        self.down: Mapping[System, str] = {}
        self._job = job
        self._systems = systems

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`.

        An answer is read once for all rows with its text, unless they are very far apart.
        """
        costs: dict[System, Mapping[bytes, Cost]] = {}  # of the answers read for a batch
        share = MOST_BYTES // len(self._systems)
        answers_of = {
            system: Cache(partial(self._read, system, costs), share, _size)
            for system in self._systems
        }
        first = 0
        for texts in batches:
            both = zip(texts, text_digests(texts), strict=True)
            digests = [digest if text else b"" for text, digest in both]
            yield {
                system: _with_costs(cached(digests), digests, first, costs.pop(system, {}))
                for system, cached in answers_of.items()
            }
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
        owned = self._job.responses(system, digests)
        rows = self._job.first_rows(system, digests)
        return [
            (owned[digest].cost_usd,) if digest in owned and rows.get(digest) == row else ()
            for row, digest in enumerate(digests, start=first)
        ]

    def _read(
        self, system: System, costs: dict[System, Mapping[bytes, Cost]], digests: Sequence[bytes]
    ) -> list[Answer | None]:
        """Read the answers of calls from the ledger; b"" is for rows without text.

        What the job paid for them goes to ``costs``.
        """
        calls = [digest for digest in digests if digest]
        owned, costs[system] = self._job.responses_and_costs(system, calls)
        answers: dict[bytes, Answer] = {
            digest: _lasting_answer(response) for digest, response in owned.items()
        }
        if open_calls := [digest for digest in calls if digest not in owned]:
            answers |= self._explain_unanswered(system, open_calls)
        return [answers.get(digest) for digest in digests]

    def _explain_unanswered(self, system: System, digests: Sequence[bytes]) -> dict[bytes, Answer]:
        """Say why calls have no answer: an error of this job, or answers lost in any."""
        lost, most_lost = self._job.unconfirmed(system, digests), self._job.counting.most_lost
        errors = self._job.errors(system, digests)
        pending = Failed(self.down[system]) if system in self.down else Pending()
        return {
            digest: _open_answer(errors.get(digest), pending, held=lost.get(digest, 0) >= most_lost)
            for digest in digests
        }


def _with_costs(
    answers: list[Answer | None],
    digests: Sequence[bytes],
    first: int,
    costs: Mapping[bytes, Cost],
) -> list[Answer | None]:
    """Return the answers of a batch with the cost of each call in its first row."""
    for digest, (row, usd) in costs.items():
        offset = -1 if row is None else row - first  # < 0 for an answer that is read once more
        if 0 <= offset < len(digests) and digests[offset] == digest and (answer := answers[offset]):
            answers[offset] = replace(answer, cost_usd=usd)
    return answers


def _size(answer: Answer | None) -> int:
    if not isinstance(answer, Matched):
        return ANSWER_BYTES
    texts = sum(len(match.code) + len(match.title) for match in answer.matches)
    return ANSWER_BYTES + MATCH_BYTES * len(answer.matches) + texts


def _lasting_answer(owned: Owned) -> Answer:
    outcome = read_response(owned.status, {}, owned.body)
    if isinstance(outcome, WrongPrice):  # that does not matter here
        outcome = outcome.ended
    match outcome:
        case Answered(matches, _):
            return Matched(matches)
        case Refused(error, _, _):
            return Failed(error)
        case _:
            return Failed("MALFORMED_RESPONSE")


def _open_answer(error: str | None, pending: Answer, *, held: bool) -> Answer:
    if not held and (error is None or error in OF_THE_RUN):
        return pending
    return Failed("UNCONFIRMED" if error in (None, INTERRUPTED) else error)
