"""One evaluation from beginning to end: read, (buy,) score, and compare."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

import pyarrow as pa

from pipeline.answers import Matcher
from pipeline.codes import CodeTable, load
from pipeline.errors import SettingsError
from pipeline.evaluation.candidates import Embedded, Paid, Subject
from pipeline.evaluation.dataset import Labelled, labelled
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.findings import Cost, Evaluated
from pipeline.evaluation.measuring import figures
from pipeline.evaluation.scores import Scores
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.evaluation.significance import Comparison, compare
from pipeline.evaluation.suspects import Suspects
from pipeline.money import total
from pipeline.paid.identity import of_contents
from pipeline.paid.purchase import Purchase
from pipeline.paid.result import Paid as Payments
from pipeline.paid.result import Parked
from pipeline.paid.service import PaidService
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.tables import ArrowBatch, Reader

__all__ = ["OpenPurchase", "Stopped", "evaluated"]

OpenPurchase: TypeAlias = Callable[[PaidService, Settings, str], Purchase]
"""Opens the purchase of an evaluation: how to buy, what to ask, what it is known by."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An evaluation that parked while it bought; done again, it goes on.

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


def evaluated(
    reader: Reader,
    name: str,
    settings: EvaluationSettings,
    subjects: Sequence[Subject],
    open_purchase: OpenPurchase,
    progress: Progress,
    on_rows: Callable[[Labelled], None] = lambda _: None,
) -> Evaluation | Stopped:
    """Evaluate one subject, or two on the same rows.

    Args:
        reader: reads the labelled table.
        name: what the table is called.
        settings: its columns, its system and the sample.
        subjects: who is evaluated; at most one of them is paid, and it comes last in time.
        open_purchase: opens the purchase of a paid one.
        progress: shows how far the scoring of a free one is.
        on_rows: called with the rows before the first candidate is asked.

    Raises:
        InputError: the table cannot be read, or has no row with a text and a code.
        InputChangedError: it changed meanwhile.
        SettingsError: a learned model was replaced meanwhile, or suspects are asked for and there
            are two candidates.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    if settings.suspects and len(subjects) > 1:
        raise SettingsError(
            "The suspicious rows of two candidates were asked for.",
            "Evaluate one of them with --suspects.",
        )
    codes = load(settings.system)
    rows = labelled(reader, settings, codes, name)
    on_rows(rows)
    suspects = Suspects(codes) if settings.suspects else None
    scored: dict[Subject, _Scored] = {}
    for subject in sorted(subjects, key=lambda subject: isinstance(subject, Paid)):
        match subject:
            case Embedded():
                matcher = subject.matcher(settings.system, settings.jobs, settings.suspects)
                scored[subject] = _Scored(_scores(rows, matcher, progress, suspects))
            case Paid(service):
                found = _bought(rows, service, open_purchase, progress, suspects)
                if isinstance(found, Stopped):
                    return found
                scored[subject] = found
    rows.check_unchanged()
    in_order = [(subject, scored[subject]) for subject in subjects]
    return _evaluation(rows, name, codes, in_order, suspects)


def _scores(
    rows: Labelled, matcher: Matcher, progress: Progress, suspects: Suspects | None
) -> Scores:
    scores = Scores(rows.settings.system)
    waiting: deque[ArrowBatch] = deque()  # read ahead by a matcher that works on several at once

    def texts() -> Iterator[Sequence[str]]:
        for batch in rows.batches():
            waiting.append(batch)
            yield batch.texts

    with progress(rows.rows) as advance:
        for answers in matcher.answers(texts()):
            batch = waiting.popleft()
            found = answers[rows.settings.system]
            codes, languages, sources = (column.to_pylist() for column in batch.batch.columns[:3])
            scores.add(found, codes, languages, sources)
            if suspects is not None:
                suspects.add(found, batch)
            advance(len(codes))
    return scores


def _bought(
    rows: Labelled,
    service: PaidService,
    open_purchase: OpenPurchase,
    progress: Progress,
    suspects: Suspects | None,
) -> _Scored | Stopped:
    """Buy what the ledger cannot answer yet, and score the answers."""
    asked = rows.settings.asked
    known_by = f"evaluation {of_contents(asked, rows.batches())}"
    with open_purchase(service, asked, sha256(known_by.encode()).hexdigest()) as purchase:
        deque(purchase.noted(rows.batches()), maxlen=0)
        parked = purchase.buy(rows.batches(), purchase.estimate())
        if parked:
            return Stopped(purchase.paid(), parked)
        scores = _scores(rows, purchase.matcher, progress, suspects)
        cost = _cost(rows, purchase)
        purchase.close_job()
    return _Scored(scores, cost)


def _cost(rows: Labelled, purchase: Purchase) -> Cost:
    prices = []
    first = 0
    for batch in rows.batches():
        stated = purchase.matcher.prices(rows.settings.system, batch.texts, first)
        prices += [price for each in stated for price in each]
        first += len(batch.texts)
    known = [price for price in prices if price is not None]
    usd = total(known) if len(known) == len(prices) else None
    return Cost(purchase.paid(), len(prices), usd)


def _evaluation(
    rows: Labelled,
    name: str,
    codes: CodeTable,
    scored: Sequence[tuple[Subject, _Scored]],
    suspects: Suspects | None,
) -> Evaluation:
    schema = rows.reader.schema
    references = pa.schema([schema.field(column) for _, column in rows.settings.references])
    return Evaluation(
        settings=rows.settings,
        table=name,
        table_sha256=rows.reader.opened_fingerprint,
        edition=codes.edition,
        left_out=rows.left_out,
        subjects=[_subject(subject, found, codes) for subject, found in scored],
        comparison=_comparison([found for _, found in scored]),
        suspects=None if suspects is None else suspects.table(references),
    )


def _comparison(scored: Sequence[_Scored]) -> Comparison | None:
    if len(scored) < 2:
        return None
    a, b = scored
    if a.cost is not None:
        return compare(a.scores, b.scores, a.cost.answers_usd, "a")
    if b.cost is not None:
        return compare(a.scores, b.scores, b.cost.answers_usd, "b")
    return compare(a.scores, b.scores)


def _subject(subject: Subject, found: _Scored, codes: CodeTable) -> Evaluated:
    known = figures(found.scores, codes)
    if isinstance(subject, Paid):
        return Evaluated(subject.name, "service", known, found.cost)
    if subject.model is None:
        return Evaluated(subject.name, subject.engine, known)
    return Evaluated(subject.name, "model", known, None, subject.model.sha256)
