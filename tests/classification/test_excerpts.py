"""Long texts that begin alike can be told apart."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from pipeline.classification.excerpts import LENGTH, excerpt, other_columns, spoken_words
from pipeline.settings import Settings

BEFORE = (
    "This notice is issued by the City Procurement Office for the departments in annex A. "
    "Tenderers must register on the portal before the closing date, lot {}, and submit all "
    "documents there. Road works may take place near the office during the contract. "
)
AFTER = " Payment is due thirty days after the invoice. The law of the land applies to it."
BOUGHT = [
    "Supply of winter road salt and gritting.",
    "Catering for three nursery schools.",
    "Felling of storm-damaged spruces.",
    "Repair of lifts in public buildings.",
]
TEXTS = [BEFORE.format(number) + bought + AFTER for number, bought in enumerate(BOUGHT)]
DOTS = "\N{HORIZONTAL ELLIPSIS}"


def test_the_part_that_spoke_for_the_code_is_shown() -> None:
    text = "Chairs and tables. " + "We buy for schools. " * 20 + "Also one oak desk, by May."
    assert excerpt(text, ["desk", "oak"]).endswith("Also one oak desk, by May.")
    assert excerpt(text, ["CHAIRS"]).startswith("Chairs and tables. We buy")
    assert excerpt(TEXTS[2], ["spruces", "storm"]).startswith(f"{DOTS} {BOUGHT[2]}")


def test_a_short_text_is_shown_whole_and_one_without_sentences_from_its_best_part() -> None:
    assert excerpt("Road  salt\n", ["salt"]) == "Road salt"
    listed = "item " * 300 + "spruces felled " + "item " * 300
    assert "spruces felled" in excerpt(listed, ["spruces"])
    assert excerpt("x" * 1_000).startswith("xxx")
    assert excerpt(" " * 1_000) == ""


@given(st.text(min_size=LENGTH), st.lists(st.text(max_size=5)), st.integers(20, 400))
def test_an_excerpt_is_one_line_of_the_text_and_not_too_long(
    text: str, words: list[str], most: int
) -> None:
    found = excerpt(text, words, most)
    assert len(found) <= most
    assert found.isprintable()
    whole = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert found.removeprefix(DOTS).strip().removesuffix(DOTS).strip() in whole


def test_the_engine_names_the_words_and_else_the_title_has_them() -> None:
    text = "Supply of road salt"
    assert "salt" in spoken_words(text, [("cpv", "34927100", "Road salt")], by_engine=True)
    paid = spoken_words(text, [("cpv", "34927100", "Road salt"), ("psc", "5610", "Sand")])
    assert paid == ["Road", "Sand", "salt"]
    assert spoken_words(text, [("cpv", "00000000", "Old title")], by_engine=True) == [
        "Old",
        "title",
    ]


def test_the_columns_of_a_row_are_those_that_are_not_of_a_run_and_have_a_value() -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "description": ["a", "b"],
            "note": ["", "x\ny" * 500],
            "x_cpv_code": ["", "1"],
        }
    )
    settings = Settings(systems=("cpv",), column_prefix="x_")
    first, second = other_columns(table, settings)
    assert first == {"id": "1"}
    assert (second["id"], len(second["note"])) == ("2", 200)
    assert other_columns(table.select(["description"]), settings) == [{}, {}]


def test_a_notebook_tells_the_rows_apart_and_unfolds_their_columns() -> None:
    frame = pd.DataFrame({"id": ["N-1", "N-2", "N-3", "N-4"], "description": TEXTS})
    html = pipeline.classify(frame, systems="cpv")._repr_html_()
    shown = [part.partition("<details>")[0] for part in html.split('<td class="text">')[1:]]
    for own, bought in zip(shown, BOUGHT, strict=True):
        assert bought in own
        assert "City Procurement Office" not in own
    assert html.count("the whole row") == 4
    assert "N-3" in html
