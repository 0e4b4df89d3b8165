from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipeline.answers import Answer, Failed, Match, Matched, Pending
from pipeline.classification.excerpts import READ
from pipeline.report import changes
from pipeline.report.page import SHOWN, Collected
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowBatch, ArrowReader
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


SETTINGS = Settings(systems=("cpv", "psc"), column_prefix="x_")


def of_code(code: str) -> Matched:
    return Matched((Match(code, "", 0.5),))


def compared(
    before: Sequence[tuple[str, str | None]], now: Sequence[tuple[str, Answer | None]]
) -> changes.Compared:
    texts, codes = zip(*before, strict=True)
    table: dict[str, Any] = {"description": texts, "x_cpv_code": pa.array(codes, pa.string())}
    found = changes.Changes(ArrowReader(pa.table(table), ("description",)), SETTINGS)
    for row, (text, answer) in enumerate(now, 1):
        found.add([row], [text], {"cpv": [answer], "psc": [of_code("J065")]})
    return found.end()


def test_rows_are_new_gone_or_have_another_code() -> None:
    found = compared(
        [("same", "1"), ("other", "1"), ("lost", "1"), ("found", None), ("gone", "1"), ("", "")],
        [
            ("same", of_code("1")),
            ("new", of_code("1")),
            ("other", of_code("2")),
            ("lost", Matched(())),
            ("found", of_code("3")),
            ("", None),
        ],
    )
    assert (found.new, found.gone, found.changed) == (1, 1, {"cpv": 3})
    assert [(row.row, row.text, row.codes) for row in found.rows] == [
        (3, "other", {"cpv": ("1", "2")}),
        (4, "lost", {"cpv": ("1", None)}),
        (5, "found", {"cpv": (None, "3")}),
    ]


def test_a_text_in_several_rows_counts_for_each_and_an_empty_cell_is_no_code() -> None:
    found = compared(
        [("twice", "1"), ("twice", "1"), ("thrice", ""), ("gone", "1"), ("gone", "1")],
        [("twice", of_code("1")), *[("thrice", Failed("TIMEOUT"))] * 3, *[("new", None)] * 2],
    )
    assert (found.new, found.gone, found.changed) == (2, 2, {})


def test_what_was_not_reached_is_not_another_code() -> None:
    assert compared([("a", "1")], [("a", Pending())]).changed == {}


def test_only_the_first_changes_are_kept_and_their_texts_are_cut() -> None:
    many = [(f"{number} " + "x" * 2 * READ, "1") for number in range(changes.SHOWN + 5)]
    found = compared(many, [(text, of_code("2")) for text, _ in many])
    assert found.changed == {"cpv": changes.SHOWN + 5}
    assert len(found.rows) == changes.SHOWN
    assert {len(row.text) for row in found.rows} == {READ}
