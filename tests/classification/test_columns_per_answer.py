from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from pipeline.answers import Answer, Failed, Match, Matched, Pending
from pipeline.classification.columns import TRIAL_BYTES, Columns, PerAnswer
from pipeline.classification.write import Tally
from pipeline.settings import Settings


class Counted:
    """Numbers the answers that it is called with."""

    def __init__(self) -> None:
        self.asked: list[Answer | None] = []

    def __call__(self, answer: Answer | None) -> str:
        self.asked.append(answer)
        return f"result {len(self.asked)}"


def matched(confidence: float = 0.5) -> Matched:
    return Matched((Match("1", "Work", confidence),))


def test_the_rows_that_share_an_answer_share_its_result() -> None:
    function = Counted()
    results = PerAnswer(function)
    one, equal = matched(), matched()
    assert results([one, None, one, equal]) == ["result 1", "result 2", "result 1", "result 3"]
    assert results([equal, one, None]) == ["result 3", "result 1", "result 2"]


def test_results_are_forgotten_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.classification.columns.MOST_BYTES", 1)
    function = Counted()
    results = PerAnswer(function)
    one = matched()
    assert results([one, one]) == ["result 1", "result 1"]
    assert results([one]) == ["result 2"]


@pytest.mark.parametrize(("shared", "again"), [(1, 0), (200, 1)])
def test_nothing_is_kept_where_hardly_any_row_shares_an_answer(shared: int, again: int) -> None:
    function = Counted()
    results = PerAnswer(function)
    answers = [matched() for _ in range(TRIAL_BYTES // 400)]
    results([*answers, *answers[:shared]])
    before = len(function.asked)
    results(answers[-1:])
    assert len(function.asked) == before + 1 - again


ANSWERS: Sequence[Sequence[Answer | None]] = [
    [matched(0.99), None, matched(0.2), Failed("VALIDATION_ERROR", Decimal("0.25"))],
    [Pending(None), Matched(()), Matched((), Decimal("0.10")), matched(float("nan"))],
]


@pytest.mark.parametrize("most", [0, 4096])
def test_the_figures_of_rows_add_up(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.classification.write.MOST_COUNTED", most)
    settings = Settings(systems=("cpv", "psc"))
    columns, tally = Columns(settings), Tally.of(settings.systems)
    for answers in [*ANSWERS, *ANSWERS]:
        tally.add(columns.of({"cpv": answers, "psc": answers[::-1]}))
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
