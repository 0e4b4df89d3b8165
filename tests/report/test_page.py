from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipeline.answers import MEASURED, Answer, Decided, Failed, Match, System
from pipeline.errors import OutputError
from pipeline.purchases import Paid, Parked
from pipeline.report import page_file
from pipeline.report.changes import Changed, Compared
from pipeline.report.page import MARK, SHOWN
from tests.html_pages import check_complete
from tests.report.samples import HOSTILE, SOME, matched, reported


def test_it_says_how_many_rows_need_a_look_and_what_to_do_about_failures() -> None:
    text = reported(SOME)
    check_complete(text)
    assert text.split("\n")[1] == MARK
    assert "<h1>17 of 32 rows are marked for a look.</h1>" in text
    assert "Raise TENDER_PIPELINE_TIMEOUT if it recurs" in text
    assert "about 5 in 10" in reported(
        {"road": matched(0.5), "path": matched(0.1)}, min_confidence=0.6
    )
    assert "Row 1 is the first row of data." in text and '<td class="n">1</td>' in text
    below = reported(SOME, first=4)
    assert "Row 4 is the first row of data." in below and '<td class="n">4</td>' in below
    assert "Construction work" in text  # the division's title


def test_it_says_in_words_what_the_codes_are_worth_and_what_the_words_mean() -> None:
    text = reported(SOME)
    cells = text.split('<th scope="row">CPV</th>')[1].split("</tr>")[0]
    shown = [int(each) for each in re.findall(r'<td class="n">(\d+)</td>', cells)]
    assert shown == [1, 14, 15, 1, 1]  # sure, likely, doubtful, no match, failed
    names = re.findall(r'class="kind [\w-]+">([\w ]+)<', text)
    assert names == ["sure", "likely", "doubtful", "no match", "failed"]
    assert "Sure: a confidence of 95 % or more. Likely: 50 % or more." in text
    assert f"In tests, an expert accepted {MEASURED['sure']} sure codes" in text
    paid = Paid(20, Decimal("0.0021"), Decimal(0), 0, 0, Decimal(0))
    assert "In tests" not in reported(SOME, paid=paid)


def test_it_says_first_what_to_do_now() -> None:
    first = reported(SOME).split("<section")[0]
    assert "Use the ok codes. Decide on the others" in first
    assert "<code>tender-pipeline review out.csv</code>" in first
    assert "Name the column" in reported({"": None}).split("<section")[0]
    doubtful = reported({"road": matched(0.1)}).split("<section")[0]
    assert "Decide on the codes" in doubtful and "others" not in doubtful


def test_it_explains_only_the_words_that_it_uses() -> None:
    failed = reported({"road": Failed("VALIDATION_ERROR"), "bridge": Failed("TIMEOUT")})
    check_complete(failed)
    assert "No row has a code to use. See the failures below." in failed
    assert "Likely" not in failed and "the sure and likely" not in failed
    assert '<span class="soft">VALIDATION_ERROR</span>' in failed, "as the status column has it"
    assert "Doubtful: less" in reported({"road": matched(0.1)})


def test_a_text_in_several_rows_says_in_how_many() -> None:
    shown = reported({"Gritting": matched(0.1)}, copies=3)
    assert shown.count("Gritting") == 1
    assert "in 3 rows" in shown
    assert "The least certain texts first." in shown
    lead = f"The {SHOWN} least certain texts, in {2 * SHOWN} of 64 rows."
    assert lead in reported({text: matched(0.1) for text in SOME}, copies=2)


def test_texts_and_titles_from_elsewhere_are_shown_safely_and_cut() -> None:
    text = reported({HOSTILE: matched(0.1, "<b>1", HOSTILE)})
    check_complete(text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert len(text) < 30_000


def test_a_table_without_rows_and_one_without_doubts_have_a_page() -> None:
    check_complete(reported({}))
    assert "The table has no rows." in reported({})
    assert "How sure are the codes?" not in reported({}), "there is none to use"
    one = reported({"road": matched(0.9)})
    assert "The only row is not marked for a look." in one
    assert "<h1>The only row is marked for a look.</h1>" in reported({"road": matched(0.1)})
    assert ">Money</h2>" not in one, "the engine is free"
    assert "The code of 1 row;" in one
    textless = reported({"": None})
    check_complete(textless)
    assert "<h1>No row has a text.</h1>" in textless
    assert "Use the sure" not in textless, "there are none"


def test_paid_answers_are_not_called_calibrated_and_their_cost_is_exact() -> None:
    paid = Paid(20, Decimal("0.0021"), Decimal(0), 1, 0, Decimal("0.00015"))
    text = reported(SOME, paid=paid)
    check_complete(text)
    assert "calibrated" not in text
    assert "expected right" not in text
    assert "0.0021 USD" in text
    assert "at most 0.00015 USD more" in text


def test_without_marks_it_says_how_to_set_them() -> None:
    paid = Paid(20, Decimal("0.0021"), Decimal(0), 0, 0, Decimal(0))
    text = reported({"road": matched(0.1)}, paid=paid, min_confidence=0)
    assert "<h1>The only row is not marked for a look.</h1>" in text
    assert "run again with <code>--min-confidence 0.5</code>: answers that you own" in text
    assert "the rows below" not in text


def test_a_run_that_stopped_says_why() -> None:
    parked = Parked(5, "The cost limit is reached.", "Raise --max-cost.")
    text = reported(SOME, parked=parked)
    why = "The cost limit is reached. Raise --max-cost."
    assert f"The run stopped before its end: {why}" in text
    assert "<h1>17 of 32 rows are marked for a look so far.</h1>" in text
    text = reported({"road": matched(0.9)}, parked=parked)
    assert "<h1>The run stopped before its end.</h1>" in text, "nobody knows of the other rows"
    assert f'<p class="lead">{why}</p>' in text


@pytest.mark.parametrize(
    "before", [{"summary": 3}, {"summary": {"rows": "x", "systems": {"cpv": []}}}, {"a": []}]
)
def test_a_manifest_that_was_changed_does_no_harm(before: dict[str, Any]) -> None:
    check_complete(reported(SOME, before))


def test_figures_that_differ_from_the_last_run_are_shown() -> None:
    last = {"ok": 10, "review": 15, "no_match": 1, "failed": 2}
    before = {
        "finished": "2026-11-21T02:00:00+00:00",
        "summary": {"rows": 28, "cost_usd": "0.0020", "systems": {"cpv": last}},
    }
    text = reported(SOME, before)
    assert "Since the last run" in text
    assert "2026-11-21, 02:00" in text
    assert '<td>rows</td><td class="n">28</td><td class="n">32</td>' in text
    assert "CPV, ok" in text
    assert "CPV, review" not in text  # as many as before
    assert '<td>cost, USD</td><td class="n">0.0020</td><td class="n">0.0021</td>' in text
    assert "Since the last run" not in reported(SOME)
    text = reported(SOME, {"summary": {"rows": 1_004, "cost_usd": "0.0021"}}, copies=40)
    assert '<td class="n">1,004</td><td class="n">1,280</td><td class="n">+276</td>' in text
    assert "cost, USD" not in text  # as much as before


def test_rows_that_are_new_gone_or_have_another_code_are_shown_safely() -> None:
    codes: dict[System, tuple[str | None, str | None]] = {"cpv": ("45233140", "<b>2")}
    other = Compared(1_200, 3, Counter[System]({"cpv": 1}), [Changed(7, HOSTILE[:300], codes)])
    text = reported(SOME, {"finished": "2026-11-21T02:00:00+00:00"}, compared=other)
    check_complete(text)
    assert "<dt>New rows</dt><dd>1,200</dd>" in text
    assert "<dt>Other CPV code</dt><dd>1</dd>" in text
    assert "Roadworks" in text  # the title of the code before
    assert "&lt;b&gt;2" in text
    assert "A row is recognised by its text" in text
    german = reported(SOME, {"finished": ""}, compared=other, language="de")
    assert "Straßenarbeiten" in german and "Bauarbeiten" in german  # of a code and of a division
    assert "the settings, the decisions, the model" in text  # --roll-up alone changes codes, too
    assert "rows are not compared" not in text


def test_a_run_like_the_last_one_says_so_and_nothing_else() -> None:
    last = {"ok": 15, "review": 15, "no_match": 1, "failed": 1}
    figures = {"rows": 32, "cost_usd": "0.0021", "systems": {"cpv": last}}
    text = reported(SOME, {"finished": "", "summary": figures}, compared=Compared())
    assert "UTC: the same rows, with the same codes." in text
    assert "<dt>New rows</dt>" not in text and "recognised by its text" not in text
    text = reported(SOME, {"finished": "", "summary": figures}, compared=Compared(gone=1))
    assert "the same rows" not in text and "<dt>Rows that are gone</dt><dd>1</dd>" in text


def test_it_says_how_many_rows_can_go_through_at_an_accuracy() -> None:
    text = reported(SOME)
    lines = re.findall(r'<th scope="row" class="n">(\d+) %</th>.*?class="n">(\w+)', text)
    rows = {int(wanted): rows for wanted, rows in lines}
    assert list(rows) == [95, 90, 85, 80, 70, 50]
    assert rows[95] == "none"  # the ten surest are right in 0.83 on average
    assert int(rows[80]) < int(rows[50])
    assert text.count("How to read") == 2
    assert text.count("What to do now") == 1, "of all rows, it is under the heading"


def test_after_a_review_it_does_not_deny_what_its_own_table_says() -> None:
    """A person decided the doubtful codes; the others are likely, but two in five are wrong."""
    decided = Decided((Match("45233140", "Roadworks", 1.0),), why="ann")
    answers: dict[str, Answer | None] = {f"{n}": decided for n in range(20)}
    answers |= {f"road {number}": matched(0.605) for number in range(80)}
    text = reported(answers, min_confidence=0.29)
    assert "<h1>None of the 100 rows is marked for a look.</h1>" in text
    assert "need a look" not in text and "needs a look" not in text
    assert "Use the decided, sure and likely codes." in text
    table = text.split('<table class="coverage">')[1].split("</table>")[0]
    rows = [re.findall(r'class="n">([^<]*)<', row) for row in table.split("<tr>")[2:]]
    assert rows[4] == ["70 %", "20 (20 %)", "80", "decided"]  # of all, 68 % are right
    assert rows[5] == ["50 %", "100 (100 %)", "0", "0.60"]
    assert "marks a code for a look under a confidence of 0.29." in text
    assert "the decided and the most confident first" in text


def test_a_file_that_this_tool_did_not_write_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    page_file(path).write(reported(SOME))
    page_file(path).check(overwrite=False)  # one of ours
    path.write_text("<!doctype html><title>Mine</title>", "utf-8")
    with pytest.raises(OutputError, match="this tool did not write it"):
        page_file(path).check(overwrite=False)


def test_texts_that_begin_alike_can_be_told_apart_and_their_columns_unfold() -> None:
    same = "Tenderers must register on the portal before the closing date. " * 5
    texts = [f"{same}{bought} Payment is due." for bought in ("Road salt.", "Oak desks.", "Lifts.")]
    columns = {"description": texts, "buyer": ["A & Co", "B", None]}
    compared = Compared(rows=[Changed(2, texts[1], {"cpv": (None, "39121000")})])
    text = reported(
        {
            each: matched(0.1, code)
            for each, code in zip(texts, ("34927100", "39121100", "42416100"), strict=True)
        },
        columns=columns,
        compared=compared,
        before={"finished": ""},
    )
    check_complete(text)
    shown = [each.partition("<details>")[0] for each in text.split('<td class="text">')[1:]]
    assert [each.count("register") for each in shown[1:]] == [0, 0, 0]
    for own, bought in zip(
        shown, ("Oak desks.", "Road salt.", "Oak desks.", "Lifts."), strict=True
    ):
        assert bought in own
    assert text.count("<summary>The whole row</summary>") == 3
    assert "<dt><bdi>buyer</bdi></dt><dd><bdi>A &amp; Co</bdi></dd>" in text
    assert text.count("<dt><bdi>buyer") == 2, "an empty cell says nothing"
