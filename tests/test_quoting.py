from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.wording import LONGEST, aligned, command, cut, how_many, listed, quoted, readable


def test_a_path_in_a_command_is_quoted_and_no_option() -> None:
    there = ("--ledger", Path("my ledger.db"), Path("a"))
    assert command("ledger verify", *there) == (
        "tender-pipeline ledger verify --ledger 'my ledger.db' a"
    )
    assert command("review", Path("-x.csv")) == "tender-pipeline review ./-x.csv"


@pytest.mark.parametrize("name", ["", "a", "it's", "x" * LONGEST, "\ud800\n"])
def test_a_name_is_quoted_as_it_is(name: str) -> None:
    assert quoted(name) == repr(name)
    assert cut(name) == name


def test_a_long_name_is_cut() -> None:
    assert quoted("x" * 99) == f"'{'x' * LONGEST}'..."
    assert cut("x" * 99) == f"{'x' * LONGEST}..."


def test_of_many_names_the_first_are_listed() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([]) == ""
    names = [f"c{place}" for place in range(1_200)]
    assert listed(names[:20]).endswith(", 'c19'")
    assert listed(names[:21]).endswith(", 'c19' and 1 more")
    assert listed(names).startswith("'c0', 'c1', ")
    assert listed(names).endswith(", 'c19' and 1,180 more")
    assert len(listed(["x" * 9_999] * 9_999)) < 1_200


def test_one_thing_is_counted_in_the_singular() -> None:
    found = [how_many(number, "row") for number in (0, 1, 1_200)]
    assert found == ["0 rows", "1 row", "1,200 rows"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n \x1bb\0", "a b"),
        ("12345678", "12345678"),
        ("123456789", "1234567\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_a_foreign_text_is_one_short_line(text: str, shown: str) -> None:
    assert readable(text, 8) == shown


def test_words_are_aligned_left_and_numbers_right() -> None:
    lines = list(aligned(["system", "rows", "USD"], [["cpv", "1,200", "0.5"]], numbers=2))
    assert lines == ["system   rows  USD", "cpv     1,200  0.5"]


def test_no_line_ends_with_spaces() -> None:
    assert list(aligned(["code", "title"], [["45", ""]])) == ["code  title", "45"]
