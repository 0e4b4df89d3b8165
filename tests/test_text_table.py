from __future__ import annotations

from pipeline.text_table import aligned


def test_words_are_aligned_left_and_numbers_right() -> None:
    lines = list(aligned(["system", "rows", "USD"], [["cpv", "1,200", "0.5"]], numbers=2))
    assert lines == ["system   rows  USD", "cpv     1,200  0.5"]


def test_no_line_ends_with_spaces() -> None:
    assert list(aligned(["code", "title"], [["45", ""]])) == ["code  title", "45"]
