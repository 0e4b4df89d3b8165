"""The ledger against a model of it that fits a page, over any order of events and crashes."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pipeline.answers import System
from pipeline.ledger import (
    Call,
    CallEnded,
    CallOpen,
    Job,
    Journal,
    Ledger,
    Settlement,
    text_digest,
)
from tests.ledger.buying import ACCOUNT, ENDPOINT

SYSTEMS: tuple[System, ...] = ("cpv", "psc")
TEXTS = ("road", "bridge", "tunnel", "")
JOBS = ("tenders", "others")
DIGESTS = [text_digest(text) for text in TEXTS]

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
    end: Settlement | None = None

    @property
    def cost(self) -> Decimal | None:
        return self.end.cost_usd if isinstance(self.end, CallEnded) else None

    @property
    def unconfirmed(self) -> bool:
        return self.end is None or self.end.state == "unconfirmed"


def exact(amounts: list[Decimal]) -> Fraction:
    return sum(map(Fraction, amounts), Fraction(0))


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.attempts: dict[int, Attempt] = {}
        self.rows: dict[str, dict[tuple[System, str], int]] = {name: {} for name in JOBS}

    @initialize()
    def open(self) -> None:
        self.ledger = Ledger(self.path, ENDPOINT)
        self.jobs = {name: self.ledger.open_job(name) for name in JOBS}

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()

    @rule(name=st.sampled_from(JOBS), texts=st.lists(st.sampled_from(TEXTS), max_size=5))
    def plan(self, name: str, texts: list[str]) -> None:
        rows = [(system, text, row) for row, text in enumerate(texts) for system in SYSTEMS]
        noted = self.rows[name]
        before = len(noted)
        for system, text, row in rows:
            noted.setdefault((system, text), row)
        found = self.jobs[name].note_rows((system, text_digest(t), row) for system, t, row in rows)
        assert found == len(noted) - before

    @rule(name=st.sampled_from(JOBS))
    def forget(self, name: str) -> None:
        self.rows[name].clear()
        self.jobs[name].forget_rows()

    @rule(name=st.sampled_from(JOBS), calls=st.lists(CALLS, min_size=1, max_size=4), held=COSTS)
    def send(self, name: str, calls: list[Call], held: Decimal) -> None:
        journal = Journal(self.jobs[name], ACCOUNT)

        async def main() -> list[int]:
            return await asyncio.gather(*(journal.sent(call, held) for call in calls))

        for number, call in zip(asyncio.run(main()), calls, strict=True):
            assert number not in self.attempts
            self.attempts[number] = Attempt(name, call, held)

    @precondition(lambda self: any(attempt.end is None for attempt in self.attempts.values()))
    @rule(data=st.data(), end=ENDS)
    def settle(self, data: st.DataObject, end: Settlement) -> None:
        under_way = [number for number, attempt in self.attempts.items() if attempt.end is None]
        number = data.draw(st.sampled_from(under_way))
        job = self.jobs[self.attempts[number].job]
        asyncio.run(Journal(job, ACCOUNT).settled(number, end))
        self.attempts[number].end = end

    @rule(recovers=st.booleans())
    def crash(self, recovers: bool) -> None:
        self.ledger.close()
        self.open()
        lost = [attempt for attempt in self.attempts.values() if attempt.end is None]
        if recovers:
            assert self.ledger.recover(ACCOUNT) == len(lost)
            for attempt in lost:
                attempt.end = CallOpen("unconfirmed", "INTERRUPTED")

    @invariant()
    def owns_the_last_lasting_response(self) -> None:
        for retry_failed in (False, True):
            for system in SYSTEMS:
                expected = {
                    text_digest(attempt.call.text): (attempt.end.status, attempt.end.body)
                    for attempt in self.attempts.values()
                    if attempt.call.system == system
                    and isinstance(attempt.end, CallEnded)
                    and (attempt.end.state == "answered" or not retry_failed)
                }
                owned = self.ledger.owned(system, DIGESTS, retry_failed)
                assert {key: (own.status, own.body) for key, own in owned.items()} == expected

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

    def carried(self, job: Job, name: str) -> Fraction:
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
            costs = job.costs(system, DIGESTS)
            carried += [cost for digest, cost in costs.items() if digest in rows]
        return exact(carried)

    @invariant()
    def counts_what_is_left_to_buy(self) -> None:
        ended = {
            (attempt.call.system, attempt.call.text)
            for attempt in self.attempts.values()
            if isinstance(attempt.end, CallEnded)
        }
        for name, job in self.jobs.items():
            distinct = Counter(system for system, _ in self.rows[name])
            to_buy = Counter(system for system, text in self.rows[name].keys() - ended)
            found = job.calls()
            assert {system: count.distinct for system, count in found.items()} == distinct
            assert Counter({system: count.to_buy for system, count in found.items()}) == to_buy

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
                lost = Counter(text_digest(a.call.text) for a in mine if a.unconfirmed)
                assert job.unconfirmed(system, DIGESTS) == lost


TestLedgerAgainstItsModel = LedgerMachine.TestCase
TestLedgerAgainstItsModel.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None
)
