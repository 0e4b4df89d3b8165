from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pipeline.answers import Answer, Failed, Match, Matched, Pending
from pipeline.classification.excerpts import READ
from pipeline.report.changes import SHOWN, Changes, Compared
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowReader

SETTINGS = Settings(systems=("cpv", "psc"), column_prefix="x_")


def matched(code: str) -> Matched:
    return Matched((Match(code, "", 0.5),))


def compared(
    before: Sequence[tuple[str, str | None]], now: Sequence[tuple[str, Answer | None]]
) -> Compared:
    texts, codes = zip(*before, strict=True)
    table: dict[str, Any] = {"description": texts, "x_cpv_code": pa.array(codes, pa.string())}
    changes = Changes(ArrowReader(pa.table(table), ("description",)), SETTINGS)
    for row, (text, answer) in enumerate(now, 1):
        changes.add([row], [text], {"cpv": [answer], "psc": [matched("J065")]})
    return changes.end()


def test_rows_are_new_gone_or_have_another_code() -> None:
    found = compared(
        [("same", "1"), ("other", "1"), ("lost", "1"), ("found", None), ("gone", "1"), ("", "")],
        [
            ("same", matched("1")),
            ("new", matched("1")),
            ("other", matched("2")),
            ("lost", Matched(())),
            ("found", matched("3")),
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
        [("twice", matched("1")), *[("thrice", Failed("TIMEOUT"))] * 3, *[("new", None)] * 2],
    )
    assert (found.new, found.gone, found.changed) == (2, 2, {})


def test_what_was_not_reached_is_not_another_code() -> None:
    assert compared([("a", "1")], [("a", Pending())]).changed == {}


def test_only_the_first_changes_are_kept_and_their_texts_are_cut() -> None:
    many = [(f"{number} " + "x" * 2 * READ, "1") for number in range(SHOWN + 5)]
    found = compared(many, [(text, matched("2")) for text, _ in many])
    assert found.changed == {"cpv": SHOWN + 5}
    assert len(found.rows) == SHOWN
    assert {len(row.text) for row in found.rows} == {READ}
