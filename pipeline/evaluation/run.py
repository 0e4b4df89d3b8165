"""Runs an evaluation, also as `pipeline.evaluate`: buys answers if needed, scores and compares."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from pipeline.answers import Matcher, System, answered
from pipeline.arguments import public
from pipeline.classification.corrections import decisions_in
from pipeline.classification.labelled import open_labelled
from pipeline.classification.source import Data
from pipeline.codes import CodeTable, load
from pipeline.decisions.decisions import label_table
from pipeline.evaluation.dataset import UNNAMED, Labelled, labelled
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.findings import Cost, Evaluated, Review
from pipeline.evaluation.metrics import Scores, figures
from pipeline.evaluation.settings import (
    Embedded,
    EvaluationSettings,
    Subject,
    check_given,
    check_subjects,
    offline,
    unknown,
)
from pipeline.evaluation.significance import Comparison, compare
from pipeline.money import total
from pipeline.processes import Jobs
from pipeline.progress import Progress, display_for
from pipeline.purchases import Paid, Parked, identity_of_contents
from pipeline.settings import (
    TEXT_COLUMNS,
    CsvOptions,
    ExcelOptions,
    Settings,
    parse_system,
    parse_text_columns,
)
from pipeline.tables.table import check_unchanged
from pipeline.wording import warn_in_python

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

    paid: Paid
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
    score = partial(_scores, rows, progress)
    scored: dict[Subject, _Scored] = {}
    for subject in sorted(subjects, key=lambda subject: not isinstance(subject, Embedded)):
        match subject:
            case Embedded():
                matcher = subject.matcher(settings.system, settings.jobs)
                texts = (batch.texts for batch in rows.batches())
                learned = subject.learned(settings.system, texts)
                scored[subject] = _Scored(score(matcher), learned=learned)
            case service:
                bought = _bought(rows, service, open_purchase, score)
                if isinstance(bought, Stopped):
                    return bought
                scored[subject] = bought
    check_unchanged(rows.reader, "The table changed during the evaluation; the figures are void.")
    return Evaluation(
        settings=settings,
        table=rows.name,
        table_sha256=rows.reader.opened_fingerprint,
        edition=codes.edition,
        left_out=rows.left_out,
        subjects=[_evaluated(subject, scored[subject], codes) for subject in subjects],
        comparison=_comparison(*(scored[subject] for subject in subjects)),
        review=Review.of(settings.decisions, settings.system),
    )


def _scores(rows: Labelled, progress: Progress, matcher: Matcher) -> Scores:
    system, decisions = rows.settings.system, rows.settings.decisions
    scores = Scores(system)
    with progress(rows.rows) as advance:
        for batch, answers in answered(rows.batches(), matcher):
            system_answers = answers[system]
            decided = [decisions.of(system, text) for text in batch.texts] if decisions else ()
            scores.add(system_answers, batch.codes, batch.sources, decided)
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
        prices += [price for batch_prices in stated for price in batch_prices]
        first += len(batch.texts)
    known_prices = [price for price in prices if price is not None]
    usd = total(known_prices) if len(known_prices) == len(prices) else None
    return Cost(purchase.paid(), len(prices), usd)


def _comparison(a: _Scored, b: _Scored | None = None) -> Comparison | None:
    if b is None:
        return None
    cost = a.cost or b.cost
    paid: Literal["a", "b"] | None = "a" if a.cost else "b" if b.cost else None
    return compare(a.scores, b.scores, cost.answers_usd if cost else None, paid)


def _evaluated(subject: Subject, scored: _Scored, codes: CodeTable) -> Evaluated:
    measured = figures(scored.scores, codes)
    if not isinstance(subject, Embedded):
        return Evaluated(subject.name, "service", measured, cost=scored.cost)
    if subject.model is None:
        return Evaluated(subject.name, "engine", measured)
    return Evaluated(
        subject.name, "model", measured, model_sha256=subject.model.sha256, learned=scored.learned
    )


Named: TypeAlias = "str | PathLike[str] | PaidService"
"""What can be evaluated: ``engine``, the folder of a model, or a paid service."""


@public
def evaluate(
    data: Data | None = None,
    *,
    system: str | None = None,
    text_columns: str | Sequence[str] = TEXT_COLUMNS,
    code_column: str = "code",
    source_column: str | None = None,
    subject: Named = "engine",
    compare: Named | None = None,
    sample: int | None = None,
    seed: int = 0,
    jobs: Jobs = 1,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    progress: bool | Literal["auto"] | Progress = "auto",
    decisions: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
) -> Evaluation:
    """Compare answers with the right codes of a labelled table.

    Args:
        data: a pandas or Polars frame, a pyarrow table, anything with Arrow's C stream, or the
            path of a file; see `classify`. None with ``decisions``.
        system: whose codes they are: ``cpv``, ``psc``, ``unspsc`` or ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        code_column: the column that holds the right code.
        source_column: a column that names the source, or the language, for figures by each.
        subject: what is evaluated: ``engine``, the folder of a model, or a `PaidService`, whose
            answers are bought, kept and never bought twice.
        compare: a second subject for the same rows; one of the two may be paid.
        sample: how many rows to draw at random; None for all.
        seed: which rows are drawn.
        jobs: how many processes the embedded engine uses; see `pipeline.classify`.
        csv: the dialect of a CSV file, if it is detected wrongly.
        excel: the sheet and the header row of a workbook, if they are found wrongly.
        progress: True shows progress bars, "auto" shows them in a notebook; see `classify`.
        decisions: the file of a review, an output of `classify` in which a person corrected codes,
            or several, in place of a table: the codes that people chose one by one are right, and
            those that they left in an output.

    Raises:
        SettingsError: an argument is wrong.
        InputError: the table cannot be read, lacks a column, or has no row with text and code.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
        ParkedError: the purchase stopped before its end; the same call continues.
    """
    shown = display_for(progress)
    texts = parse_text_columns(text_columns)
    kept = None if system is None else parse_system(system)
    reviewed = decisions_in(decisions, warn_in_python, texts, kept)
    check_given(data, reviewed.files, system)
    settings = EvaluationSettings(
        system=cast("System", system),
        text_columns=texts,
        code_column=code_column,
        sample=sample,
        seed=seed,
        jobs=jobs,
        source_column=source_column,
        decisions=reviewed,
    )
    named = [subject] if compare is None else [subject, compare]
    subjects = [_subject(each, settings.system) for each in named]
    check_subjects(subjects)
    if data is None:
        data = label_table(reviewed, settings.system)
    name = str(data) if isinstance(data, str | PathLike) else UNNAMED

    def open_purchase(service: PaidService, asked: Settings, identity: str) -> PaidPurchase:
        from pipeline.paid.purchase import PaidBuyer

        return PaidBuyer(service, shown).open(asked, identity)

    asked, needed = settings.asked, [*settings.label_columns.items()]
    with open_labelled(data, asked, needed, csv, excel) as reader:
        rows = labelled(reader, settings, name)
        results = evaluated(rows, subjects, open_purchase, shown)
    if isinstance(results, Stopped):
        parked = results.parked.in_python()
        raise parked.as_exception(results.paid.confirmed_usd)
    return results


def _subject(named: Any, system: System) -> Subject:
    if isinstance(named, str | PathLike):
        return offline(fspath(named), system)
    from pipeline.paid.service import PaidService  # only who buys needs what buys

    if not isinstance(named, PaidService):
        raise unknown(named)
    return named
