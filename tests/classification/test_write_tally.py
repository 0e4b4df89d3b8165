from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from pipeline.answers import Answer, Failed, Match, Matched, Pending
from pipeline.classification.columns import new_columns
from pipeline.classification.write import Tally
from pipeline.settings import Settings


def matched(confidence: float = 0.5) -> Matched:
    return Matched((Match("1", "Work", confidence),))


ANSWERS: Sequence[Sequence[Answer | None]] = [
    [matched(0.99), None, matched(0.2), Failed("VALIDATION_ERROR", Decimal("0.25"))],
    [Pending(None), Matched(()), Matched((), Decimal("0.10")), matched(float("nan"))],
]


def test_the_figures_of_rows_add_up() -> None:
    settings = Settings(systems=("cpv", "psc"))
    tally = Tally.of(settings.systems)
    for answers in [*ANSWERS, *ANSWERS]:
        tally.add(new_columns(settings, {"cpv": answers, "psc": answers[::-1]}))
    assert tally.rows == 16
    assert (tally.cost_usd, tally.to_check) == (Decimal("1.40"), 12)
    cpv = tally.systems["cpv"]
    assert cpv.statuses == {
        "ok": 4,
        "empty": 2,
        "review": 2,
        "VALIDATION_ERROR": 2,
        "pending": 2,
        "no_match": 4,
    }
    assert cpv.cost_usd == Decimal("0.70")
    assert cpv.confidences == {99: 2, 20: 2}
