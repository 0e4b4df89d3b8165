"""The ledger against a model of it that fits a page, over any order of events and crashes."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pipeline.answers import System
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import CallCount, Counting, Ledger, LedgerJob
from pipeline.paid.ledger.maintenance import Verdict
from pipeline.paid.ledger.schema import AttemptEnd, Call, CallEnded, CallOpen, text_digest
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, Clock, finish, settle

SYSTEMS: tuple[System, ...] = ("cpv", "psc")
TEXTS = ("road", "bridge", "tunnel", "")
JOBS = ("tenders", "others")
DIGESTS = [text_digest(text) for text in TEXTS]
COUNTINGS = [Counting(max_age, retry) for max_age in (None, 0, 5) for retry in (False, True)]

COSTS = st.decimals(min_value=0, max_value=10**6, places=20)
CALLS = st.builds(Call, st.sampled_from(SYSTEMS), st.sampled_from(TEXTS))
ENDS = st.one_of(
    st.builds(
        CallEnded,
        st.sampled_from(["answered", "refused", "unreadable"]),
        st.sampled_from([200, 400]),
        st.binary(max_size=20),
        st.none() | COSTS,
    ),
    st.builds(CallOpen, st.sampled_from(["free", "unconfirmed"]), st.sampled_from(["A", "B"])),
)


@dataclass
class Attempt:
    """What the model knows of an attempt; `end` is None while it is under way."""

    job: str
    call: Call
    reserved: Decimal
    sent_at: float
    end: AttemptEnd | None = None
    settled_at: float = 0.0
    verdict: Verdict | None = None

    @property
    def cost(self) -> Decimal | None:
        if isinstance(self.verdict, Decimal):
            return self.verdict
        return self.end.cost_usd if isinstance(self.end, CallEnded) else None

    @property
    def unconfirmed(self) -> bool:
        return self.end is None or (self.end.state == "unconfirmed" and self.verdict is None)

    def lost(self, job: str, opened_at: float, counting: Counting) -> bool:
        """Whether it is a loss of its call for a job.

        One that was sent before is forgiven by a job that buys again, whenever it was recovered.
        """
        forgiven = counting.retry_failed and self.job != job and self.sent_at <= opened_at
        return self.unconfirmed and not forgiven

    def counts(self, job: str, opened_at: float, counting: Counting) -> bool:
        """Whether it answers its call for a job."""
        if not isinstance(self.end, CallEnded) or self.job == job:
            return isinstance(self.end, CallEnded)
        fresh = counting.max_age is None or self.settled_at >= opened_at - counting.max_age
        retried = counting.retry_failed and self.settled_at <= opened_at
        return fresh and (self.end.state == "answered" or not retried)


def exact(amounts: list[Decimal]) -> Fraction:
    return sum(map(Fraction, amounts), Fraction(0))


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.attempts: dict[int, Attempt] = {}
        self.clock = Clock()

    @initialize(most=st.sampled_from((1, 2)))
    def begin(self, most: int) -> None:
        self.most = most
        self.open()

    def open(self) -> None:
        self.ledger = Ledger(self.path, BASE_URL, self.clock)
        self.jobs = {name: self.ledger.open_job(name) for name in JOBS}
        self.rows: dict[str, dict[tuple[System, str], int]] = {name: {} for name in JOBS}

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()

    @rule(seconds=st.sampled_from([1, 5, 6]))
    def time_passes(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(name=st.sampled_from(JOBS))
    def finish(self, name: str) -> None:
        """Close a job and open the next one of its name; its attempts are another job's now."""
        self.jobs[name].close()
        self.rows[name].clear()
        for attempt in self.attempts.values():
            attempt.job = f"{attempt.job}, done" if attempt.job == name else attempt.job
        self.jobs[name] = self.ledger.open_job(name)

    @rule(name=st.sampled_from(JOBS), texts=st.lists(st.sampled_from(TEXTS), max_size=5))
    def plan(self, name: str, texts: list[str]) -> None:
        rows = [(system, text, row) for row, text in enumerate(texts) for system in SYSTEMS]
        for system, text, row in rows:
            self.rows[name].setdefault((system, text), row)
        self.jobs[name].note_rows((system, text_digest(text), row) for system, text, row in rows)

    @rule(name=st.sampled_from(JOBS))
    def forget(self, name: str) -> None:
        self.rows[name].clear()
        self.jobs[name] = self.ledger.open_job(name)

    @rule(name=st.sampled_from(JOBS), calls=st.lists(CALLS, min_size=1, max_size=4), held=COSTS)
    def send(self, name: str, calls: list[Call], held: Decimal) -> None:
        journal = Journal(self.jobs[name], FINGERPRINT)

        async def main() -> list[int]:
            return await asyncio.gather(*(journal.record_attempt(call, held) for call in calls))

        for number, call in zip(asyncio.run(main()), calls, strict=True):
            assert number not in self.attempts
            now = self.clock.now
            self.attempts[number] = Attempt(name, call, held, sent_at=now, settled_at=now)

    @precondition(lambda self: any(attempt.end is None for attempt in self.attempts.values()))
    @rule(data=st.data(), end=ENDS)
    def end(self, data: st.DataObject, end: AttemptEnd) -> None:
        under_way = [number for number, attempt in self.attempts.items() if attempt.end is None]
        number = data.draw(st.sampled_from(under_way))
        job = self.jobs[self.attempts[number].job.removesuffix(", done")]
        finish(Journal(job, FINGERPRINT), number, end)
        self.attempts[number].end = end
        self.attempts[number].settled_at = self.clock.now

    @precondition(lambda self: any(a.end and a.unconfirmed for a in self.attempts.values()))
    @rule(data=st.data(), verdict=COSTS | st.just("free"))
    def settle(self, data: st.DataObject, verdict: Verdict) -> None:
        in_doubt = [
            n for n, attempt in self.attempts.items() if attempt.end and attempt.unconfirmed
        ]
        number = data.draw(st.sampled_from(in_doubt))
        settle(self.path, {number: verdict})
        self.attempts[number].verdict = verdict

    @rule(recovers=st.booleans())
    def crash(self, recovers: bool) -> None:
        self.ledger.close()
        self.open()
        lost = [attempt for attempt in self.attempts.values() if attempt.end is None]
        if recovers:
            assert self.ledger.recover(FINGERPRINT) == len(lost)
            for attempt in lost:
                attempt.end = CallOpen("unconfirmed", "INTERRUPTED")
                attempt.settled_at = self.clock.now

    @invariant()
    def owns_the_last_lasting_response(self) -> None:
        for name, job in self.jobs.items():
            for counting, system in product(COUNTINGS, SYSTEMS):
                expected = {
                    text_digest(attempt.call.text): (attempt.end.status, attempt.end.body)
                    for attempt in self.attempts.values()
                    if attempt.call.system == system
                    and isinstance(attempt.end, CallEnded)
                    and attempt.counts(name, job.opened_at, counting)
                }
                seen = replace(job, counting=counting)
                owned = seen.responses(system, DIGESTS)
                assert {key: (own.status, own.body) for key, own in owned.items()} == expected
                assert seen.answered(system, DIGESTS) == expected.keys()

    @invariant()
    def knows_each_jobs_money(self) -> None:
        for name, job in self.jobs.items():
            mine = [attempt for attempt in self.attempts.values() if attempt.job == name]
            silent = [a for a in mine if isinstance(a.end, CallEnded) and a.cost is None]
            lost = [attempt for attempt in mine if attempt.unconfirmed]
            money = job.money()
            assert money.attempts == len(mine)
            confirmed = exact([attempt.cost for attempt in mine if attempt.cost is not None])
            assert Fraction(money.confirmed) == confirmed
            assert (money.unconfirmed, money.unknown) == (len(lost), len(silent))
            assert Fraction(money.at_risk) == exact([a.reserved for a in [*lost, *silent]])
            assert Fraction(job.unattributed()) + self.carried(job, name) == confirmed

    def carried(self, job: LedgerJob, name: str) -> Fraction:
        """Add up what the first rows of a job carry."""
        carried: list[Decimal] = []
        for system in SYSTEMS:
            rows = job.first_rows(system, DIGESTS)
            expected = {
                text_digest(text): row
                for (of, text), row in self.rows[name].items()
                if of == system
            }
            assert rows == expected
            costs = job.responses_and_costs(system, DIGESTS)[1]
            assert {digest: cost.row for digest, cost in costs.items()} == {
                digest: rows.get(digest) for digest in costs
            }
            carried += [cost.usd or Decimal(0) for cost in costs.values() if cost.row is not None]
        return exact(carried)

    @invariant()
    def counts_what_is_left_to_buy(self) -> None:
        for (name, job), counting in product(self.jobs.items(), COUNTINGS):
            ended = {
                (attempt.call.system, attempt.call.text)
                for attempt in self.attempts.values()
                if attempt.counts(name, job.opened_at, counting)
            }
            lost = Counter(
                (attempt.call.system, attempt.call.text)
                for attempt in self.attempts.values()
                if attempt.lost(name, job.opened_at, counting)
            )
            open_ = self.rows[name].keys() - ended
            held = sum(lost[call] >= self.most for call in open_)
            counted = replace(job, counting=replace(counting, most_lost=self.most))
            distinct = len(self.rows[name])
            assert counted.calls() == CallCount(distinct, len(open_) - held, held)
            sent = {(attempt.call.system, attempt.call.text) for attempt in self.attempts.values()}
            for system in SYSTEMS:
                assert counted.to_buy(system, DIGESTS) == {
                    (text_digest(call[1]), row): (self.most - lost[call], call in sent)
                    for call, row in self.rows[name].items()
                    if call in open_ and call[0] == system and lost[call] < self.most
                }

    @invariant()
    def knows_why_calls_have_no_answer(self) -> None:
        for name, job in self.jobs.items():
            for system in SYSTEMS:
                mine = [
                    attempt
                    for attempt in self.attempts.values()
                    if attempt.job == name and attempt.call.system == system
                ]
                last = {text_digest(attempt.call.text): attempt.end for attempt in mine}
                assert job.errors(system, DIGESTS) == {
                    digest: end.error if end else "INTERRUPTED"
                    for digest, end in last.items()
                    if not isinstance(end, CallEnded)
                }
                lost = Counter(
                    text_digest(attempt.call.text)
                    for attempt in self.attempts.values()
                    if attempt.call.system == system and attempt.unconfirmed
                )
                assert job.unconfirmed(system, DIGESTS) == lost


TestLedgerAgainstItsModel = LedgerMachine.TestCase
TestLedgerAgainstItsModel.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None
)
