from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipeline.answers import Answer, Failed, Matched, Pending
from pipeline.classification.excerpts import READ
from pipeline.report.page import SHOWN, Collected
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowBatch
from tests.report.samples import matched


def collected(*batches: Sequence[tuple[str, Answer | None]]) -> Collected:
    found = Collected(Settings(systems=("cpv",), min_confidence=0.5))
    for batch in batches:
        texts = [text for text, _ in batch]
        own = pa.RecordBatch.from_pydict({"description": texts})
        rows = ArrowBatch(texts, own, found.rows + 1)
        found.add(rows, {"cpv": [answer for _, answer in batch]})
    return found


def test_answers_are_counted_by_confidence_and_division() -> None:
    found = collected(
        [("a", matched(0.9)), ("b", matched(0.45, "90910000")), ("", None)],
        [("c", Matched(())), ("d", Failed("TIMEOUT")), ("e", Pending()), ("f", matched(1.0))],
    )
    figures = found.systems["cpv"]
    assert found.rows == 7
    assert figures.confidences == {90: 1, 45: 1, 99: 1}
    assert figures.fields == {"45": 2, "90": 1}
    assert figures.sure == 0.9 + 0.45 + 1.0


def test_no_confidence_that_a_service_states_is_too_large_to_be_counted() -> None:
    figures = collected([("a", matched(1e308)), ("b", matched(-1e308))]).systems["cpv"]
    assert figures.confidences == {99: 1, 0: 1}
    assert figures.sure == 0


def test_rows_without_a_code_come_first_then_the_least_certain() -> None:
    found = collected(
        [("a", matched(0.4)), ("b", matched(0.9)), ("c", Failed("TIMEOUT"))],
        [("d", matched(0.1)), ("e", Matched(())), ("f", Pending())],
    )
    assert [(row.text, row.row) for row in found.doubtful] == [
        ("c", 3),
        ("e", 5),
        ("d", 4),
        ("a", 1),
    ]


def test_of_many_texts_only_the_least_certain_are_kept_and_long_ones_are_cut() -> None:
    rows = [
        (f"{number}".ljust(2 * READ, "x"), matched(0.4 - number / 10_000))
        for number in range(3 * SHOWN)
    ]
    found = collected(rows[:SHOWN], rows[SHOWN:])
    assert [row.row for row in found.doubtful] == [3 * SHOWN - n for n in range(SHOWN)]
    assert {len(row.text) for row in found.doubtful} == {READ}


def test_a_text_in_several_rows_is_listed_once_with_its_first_row() -> None:
    others = [(f"other {number}", matched(0.3)) for number in range(SHOWN)]
    same = "x" * (READ + 1)
    found = collected(
        [("rare", matched(0.4)), (same, matched(0.1)), *others],
        [(f"{same}y", matched(0.2)), (same, matched(0.1)), ("rare", matched(0.4))],
    )
    assert len(found.doubtful) == SHOWN
    assert [(row.row, row.rows) for row in found.doubtful[:3]] == [(2, 2), (SHOWN + 3, 1), (3, 1)]
    assert {len(row.text) for row in found.doubtful[:2]} == {READ}
