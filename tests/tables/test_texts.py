from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.tables.texts import find_all, find_columns, join_texts
from pipeline.wording import in_python

NAMES = ["id", "Title ", "description", "Preis"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([None, "", " \t\r\n\xa0\u2003"], ""),
        (["  Supply \n\n of\tchairs "], "Supply of chairs"),
        (["Chairs", None, "", "50 pieces"], "Chairs. 50 pieces"),
        (["Ends here.", "Goes on"], "Ends here.. Goes on"),
        (["0"], "0"),
        (["é\0"], "é\0"),
        (["None of these", "N/A"], "None of these. N/A"),
        (["Nanomaterials. -", None], "Nanomaterials. -"),
    ],
)
def test_texts_are_joined_with_single_spaces_and_without_empty_parts(
    values: Sequence[str | None], text: str
) -> None:
    assert join_texts(values) == text


@given(st.text(), st.sampled_from([" ", "\n", "\t\r\n", "\u3000"]))
def test_white_space_never_changes_the_text(value: str, space: str) -> None:
    assert join_texts([space + value.replace(" ", space) + space]) == join_texts([value])


@given(st.text())
def test_a_text_that_was_joined_stays_as_it_is(value: str) -> None:
    assert join_texts([join_texts([value])]) == join_texts([value])


@pytest.mark.parametrize(
    "value",
    [
        *("NULL", "null", "(null)", "None", "nan", "NaN", "N/A", "n/a", "NA", "#N/A"),
        *("<NA>", "n.a."),
        *("TBD", "tba", "TBC", "nil", "undefined", "-", "--", "–", "...", "?", "_", "/"),  # noqa: RUF001
    ],
)
def test_what_stands_for_no_text_is_none(value: str) -> None:
    assert join_texts([f" {value} "]) == ""
    assert join_texts([value, None, "-", value] * 5) == ""
    assert join_texts(["Chairs", value]) == f"Chairs. {value}", "answers may be owned for it"


def test_a_name_matches_apart_from_white_space_if_no_other_has_it_exactly() -> None:
    names = ["\ufeffid", "Description ", "\xa0Title\u200b", "Art der\n Leistung", "title", "title "]
    wanted = ["id", "Description", " Title", "Art  der Leistung", "title", "title "]
    assert find_columns(names, wanted, "The table") == [0, 1, 2, 3, 4, 5]
    with pytest.raises(InputError, match="has 2 columns named ' title'"):
        find_columns(names, [" title"], "The table")
    with pytest.raises(InputError) as caught:
        find_columns(names, ["Leistung der Art", "id "], "The table")
    assert "'Art der Leistung'" in caught.value.message
    assert "no column 'id '" not in caught.value.message


TENDER = ["id", "tender", "tender.id", "tender.titel"]
LONG = "x" * 9_999


@pytest.mark.parametrize(
    ("names", "wanted", "likeliest"),
    [
        (NAMES, "title", "Title"),
        (NAMES, "Description", "description"),
        (NAMES, "descripton", "description"),
        (NAMES, "ID", "id"),
        (NAMES, "preis_eur", "Preis"),
        (["id", "TEXT", "Text"], "text", "TEXT"),
        (["text", "code", "year"], "description", ""),
        (TENDER, "tender.title", "tender.titel"),
        (TENDER[:3], "tender.tender_no", ""),
        (["id", "lot.title"], "tender.title", "lot.title"),
        (["id", "tender.title"], "tender_title", "tender.title"),
        ([*TENDER, "title_id"], "tendr.title", "tender.titel"),
        ([LONG, "titel"], "title", "titel"),
        ([LONG, "", " "], "description", ""),
    ],
)
def test_a_missing_column_is_an_error_that_names_the_likeliest(
    names: list[str], wanted: str, likeliest: str
) -> None:
    with pytest.raises(InputError) as caught:
        find_columns(names, [wanted], Path("t.csv"))
    assert caught.value.message.startswith(f"t.csv has no column {wanted!r}. Its columns: '")
    assert len(caught.value.message) < 200
    hint = f"Did you mean {likeliest!r}? Use --text-column {likeliest!r}."
    assert caught.value.hint == (hint if likeliest else "Choose one of them: --text-column NAME.")


def test_columns_in_one_name_are_named_one_by_one() -> None:
    for wanted in ("id,Preis", "id, Preis"):
        with pytest.raises(InputError) as caught:
            find_columns(NAMES, [wanted], "The table")
        assert caught.value.hint == "Name each column: --text-column 'id' --text-column 'Preis'."
    assert in_python(caught.value.hint) == 'Name each column: text_columns=["id", "Preis"].'
    with pytest.raises(InputError, match="Did you mean 'Preis'"):
        find_columns(NAMES, ["Preis,x"], "The table")


def test_a_suggestion_is_made_once() -> None:
    with pytest.raises(InputError) as twice:
        find_columns(NAMES, ["descriptio", "descriptions"], "The table")
    assert twice.value.hint.count("Did you mean") == 1


def test_all_columns_that_are_missing_are_named_at_once() -> None:
    texts = [("text_columns", name) for name in ("zzz", "description", "preise")]
    with pytest.raises(InputError) as caught:
        find_all(NAMES, [*texts, ("code_column", "code"), ("code_column", "id")], "The table")
    assert type(caught.value) is InputError, "a notebook shows the name of the class"
    assert caught.value.message == (
        "The table has no column 'zzz' and no column 'preise' and no column 'code'. "
        "Its columns: 'id', 'Title', 'description', 'Preis'."
    )
    assert caught.value.hint == (
        "Choose one of them: --text-column NAME. "
        "Did you mean 'Preis'? Use --text-column 'Preis'. Choose one of them: --code-column NAME."
    )


NESTED = "Only a text column can be nested. Copy the values into"


@pytest.mark.parametrize(
    ("names", "wanted", "hint"),
    [
        (["id", "kode", "cpv"], "code", "Did you mean 'kode'?"),
        (["release_id", "text"], "code", "Choose one of them: --code-column NAME."),
        (["id", "tender"], "tender.id", NESTED),
        (["id", "cpv"], "tender.cpv", "Did you mean 'cpv'? Use --code-column 'cpv'."),
        (["id", "tender", "tender.cpv"], "tender.cpvs", "Did you mean 'tender.cpv'?"),
    ],
)
def test_a_code_column_is_never_nested(names: list[str], wanted: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        find_all(names, [("code_column", wanted)], "The table")
    assert caught.value.hint.startswith(hint)


def test_of_many_columns_the_first_are_listed() -> None:
    names = [f"c{place}" for place in range(1_200)]
    with pytest.raises(InputError, match=r"'c0', .*'c19' and 1,180 more\."):
        find_columns(names, ["x"], "The table")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["", " "], "The table has no columns with a name. Give a table with a column of texts."),
        (["a", "b", "a"], "The table has 2 columns named 'a'. Rename all but one of them."),
        (
            ["a", "b\ud800"],
            "The table: the name of a column has an unpaired surrogate, U+D800. Rename the column.",
        ),
    ],
)
def test_names_that_are_blank_or_doubled_or_no_unicode_are_refused(
    names: list[str], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        find_columns(names, [names[-1], "a"], "The table")
    assert str(caught.value) == said
