from __future__ import annotations

import pytest

from pipeline.engine.text.cleaning import REACH, REACH_IN_BRACKETS, clauses


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("stores (except food) and markets", ["food"]),
        ("stores (except food; drinks. tobacco), new", ["food; drinks. tobacco"]),
        ("stores (except (fresh) food) and markets", ["(fresh) food"]),
        ("stores (except (fresh food and markets", [""]),
        ("office equipment except furniture and paper. delivery", ["furniture and paper"]),
        ("services other than cleaning: lot 2", ["cleaning"]),
        ("one (except a), two (excluding b)", ["a", "b"]),
        ("mobel (ohne stuhle), regale ohne turen", ["stuhle"]),
        ("travaux, a l'exception de la peinture", ["de la peinture"]),
        ("exceptional services, unexceptional", []),
        ("equipment except", [""]),
        ("except meals", ["meals"]),
        ("", []),
    ],
)
def test_an_exception_goes_to_the_end_of_its_bracket_or_clause(
    text: str, excluded: list[str]
) -> None:
    assert [clause.strip() for clause, out in clauses(text) if out] == excluded


def test_outside_brackets_an_exception_ends_with_a_word_after_its_reach() -> None:
    [_, (excluded, out), (rest, _)] = clauses("all except " + "word " * 100)
    assert out
    assert REACH <= len(excluded) <= REACH + len("word")
    assert excluded.endswith("word")
    assert rest.startswith(" word")


def test_a_bracket_that_is_not_closed_does_not_swallow_the_text() -> None:
    (_, (excluded, out), *_) = clauses("all (except " + "word " * 100)
    assert out
    assert len(excluded) <= REACH_IN_BRACKETS
