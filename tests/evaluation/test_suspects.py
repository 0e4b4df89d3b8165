"""Which rows of a labelled table are suspicious, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipeline.answers import Explained, Match
from pipeline.codes import load
from pipeline.evaluation.suspects import MAX_TEXT, Suspects
from tests.evaluation.labels import REFUSED, answer, read, table

NO_REFERENCES = pa.schema([])


def likely(*matches: tuple[str, float]) -> Explained:
    return Explained(tuple(Match(code, "", sure) for code, sure in matches), why="a, b")


def listed(rows: Sequence[tuple[str, str, object]]) -> list[dict[str, object]]:
    """Return the suspicious ones of rows with a text, a stated code and an answer."""
    labelled = read(table([(text, code, "") for text, code, _ in rows]))
    suspects = Suspects(load("cpv"))
    answers = iter([each for _, _, each in rows])
    for batch in labelled.batches():
        suspects.add([next(answers) for _ in batch.texts], batch)  # type: ignore[misc]
    found: list[dict[str, object]] = suspects.table(NO_REFERENCES).to_pylist()
    return found


def test_a_row_is_listed_if_its_best_code_contradicts_the_stated_one() -> None:
    found = listed([("roads", "03111000", likely(("45233140", 0.8)))])
    assert found == [
        {
            "row": 1,
            "text": "roads",
            "stated_code": "03111000",
            "stated_title": "Seeds",
            "stated_confidence": 0.0,
            "likelier_code": "45233140",
            "likelier_title": "Roadworks",
            "confidence": 0.8,
            "words": "a, b",
        }
    ]


def test_a_code_does_not_contradict_a_division_that_contains_it() -> None:
    rows = [
        ("specific", "45000000", likely(("45233140", 0.9))),
        ("general", "45233140", likely(("45000000", 0.9))),
        ("equal", "45233140", likely(("45233140-2", 0.9))),
    ]
    assert listed(rows) == []


def test_rows_without_a_confident_code_are_not_listed() -> None:
    rows = [
        ("doubtful", "03111000", likely(("45233140", 0.1))),
        ("none", "03111000", answer()),
        ("failed", "03111000", REFUSED),
    ]
    assert listed(rows) == []


def test_the_row_with_the_largest_margin_comes_first() -> None:
    rows = [
        ("close", "03111000", likely(("45233140", 0.6), ("03111000", 0.5))),
        ("far", "03111000", likely(("45233140", 0.55))),
        ("below", "03000000", likely(("45233140", 0.6), ("03111000", 0.2), ("03110000", 0.15))),
    ]
    found = listed(rows)
    assert [each["text"] for each in found] == ["far", "below", "close"]
    assert [each["stated_confidence"] for each in found] == [0.0, 0.35, 0.5]


def test_long_texts_are_cut() -> None:
    (found,) = listed([("x" * 5_000, "03111000", likely(("45233140", 0.8)))])
    assert found["text"] == "x" * MAX_TEXT
