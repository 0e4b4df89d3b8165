"""Runs an evaluation: buys answers if needed, scores and compares."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeAlias

from pipeline.answers import Matcher, answered
from pipeline.codes import CodeTable, load
from pipeline.evaluation.dataset import Labelled
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.findings import Cost, Evaluated, Review
from pipeline.evaluation.measuring import figures
from pipeline.evaluation.metrics import Scores
from pipeline.evaluation.significance import Comparison, compare
from pipeline.evaluation.subjects import Embedded, Paid, Subject
from pipeline.evaluation.suspects import Suspects
from pipeline.money import total
from pipeline.progress import Progress
from pipeline.purchases import Paid as Payments
from pipeline.purchases import Parked, identity_of_contents
from pipeline.settings import Settings
from pipeline.tables import check_unchanged

if TYPE_CHECKING:  # what buys is imported if a service is evaluated
    from pipeline.paid.purchase import PaidPurchase
    from pipeline.paid.service import PaidService

OpenPurchase: TypeAlias = Callable[["PaidService", Settings, str], "PaidPurchase"]
"""Opens the purchase of an evaluation, given the service, the settings and the job's identity."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An evaluation that parked while it bought answers; the same command continues it.

    Attributes:
        paid: what it has cost so far.
        parked: why it stopped.
    """

    paid: Payments
    parked: Parked


@dataclass(frozen=True, slots=True)
class _Scored:
    scores: Scores
    cost: Cost | None = None
    learned: int = 0


def evaluated(
    rows: Labelled, subjects: Sequence[Subject], open_purchase: OpenPurchase, progress: Progress
) -> Evaluation | Stopped:
    """Evaluate one subject, or two on the same rows.

    At most one of them is paid, and it is asked last.

    Raises:
        InputError: the table cannot be read.
        InputChangedError: the table changed during the evaluation.
        SettingsError: a learned model was replaced during the evaluation.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    settings, codes = rows.settings, load(rows.settings.system)
    suspects = Suspects(codes) if settings.suspects else None
    score = partial(_scores, rows, progress, suspects)
    scored: dict[Subject, _Scored] = {}
    for subject in sorted(subjects, key=lambda subject: isinstance(subject, Paid)):
        match subject:
            case Embedded():
                matcher = subject.matcher(settings.system, settings.jobs, settings.suspects)
                texts = (batch.texts for batch in rows.batches())
                learned = subject.learned(settings.system, texts)
                scored[subject] = _Scored(score(matcher), learned=learned)
            case Paid(service):
                found = _bought(rows, service, open_purchase, score)
                if isinstance(found, Stopped):
                    return found
                scored[subject] = found
    check_unchanged(rows.reader, "The table changed during the evaluation; the figures are void.")
    return Evaluation(
        settings=settings,
        table=rows.name,
        table_sha256=rows.reader.opened_fingerprint,
        edition=codes.edition,
        left_out=rows.left_out,
        subjects=[_evaluated(subject, scored[subject], codes) for subject in subjects],
        comparison=_comparison(*(scored[subject] for subject in subjects)),
        suspects=None if suspects is None else suspects.table(rows.references),
        review=Review.of(settings.decisions, settings.system),
    )


def _scores(
    rows: Labelled, progress: Progress, suspects: Suspects | None, matcher: Matcher
) -> Scores:
    system, decisions = rows.settings.system, rows.settings.decisions
    scores = Scores(system)
    with progress(rows.rows) as advance:
        for batch, answers in answered(rows.batches(), matcher):
            found = answers[system]
            decided = [decisions.of(system, text) for text in batch.texts] if decisions else ()
            scores.add(found, batch.codes, batch.languages, batch.sources, decided)
            if suspects is not None:
                suspects.add(found, batch)
            advance(len(batch.texts))
    return scores


def _bought(
    rows: Labelled,
    service: PaidService,
    open_purchase: OpenPurchase,
    score: Callable[[Matcher], Scores],
) -> _Scored | Stopped:
    """Buy the answers that the ledger lacks, and score all answers."""
    asked = rows.settings.asked
    known_by = f"evaluation {identity_of_contents(asked, rows.batches())}"
    with open_purchase(service, asked, sha256(known_by.encode()).hexdigest()) as purchase:
        deque(purchase.record(rows.batches()), maxlen=0)
        purchase.describe(rows.name, "an evaluation", rows.rows)
        parked = purchase.buy(rows.batches(), purchase.estimate())
        if parked:
            return Stopped(purchase.paid(), parked)
        scored = _Scored(score(purchase.matcher), _cost(rows, purchase))
        purchase.close_job()
    return scored


def _cost(rows: Labelled, purchase: PaidPurchase) -> Cost:
    prices = []
    first = 0
    for batch in rows.batches():
        stated = purchase.matcher.prices(rows.settings.system, batch.texts, first)
        prices += [price for each in stated for price in each]
        first += len(batch.texts)
    known = [price for price in prices if price is not None]
    usd = total(known) if len(known) == len(prices) else None
    return Cost(purchase.paid(), len(prices), usd)


def _comparison(a: _Scored, b: _Scored | None = None) -> Comparison | None:
    if b is None:
        return None
    cost = a.cost or b.cost
    paid: Literal["a", "b"] | None = "a" if a.cost else "b" if b.cost else None
    return compare(a.scores, b.scores, cost.answers_usd if cost else None, paid)


def _evaluated(subject: Subject, found: _Scored, codes: CodeTable) -> Evaluated:
    known = figures(found.scores, codes)
    if isinstance(subject, Paid):
        return Evaluated(subject.name, "service", known, cost=found.cost)
    if subject.model is None:
        return Evaluated(subject.name, subject.engine, known)
    return Evaluated(
        subject.name, "model", known, model_sha256=subject.model.sha256, learned=found.learned
    )
