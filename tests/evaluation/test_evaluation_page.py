from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import OutputError, SettingsError
from pipeline.evaluation.evaluation import page, page_file
from pipeline.evaluation.metrics import STATED
from pipeline.evaluation.sections import sections
from tests.evaluation.labels import ONE, TWO, answer, evaluation, scored, subject
from tests.html_pages import check_complete


def test_the_page_says_what_was_found() -> None:
    found = evaluation(ONE)
    text = page(found)
    assert "right as far as the label states for 4 of 10 rows" in text
    assert "Exactly right, label deeper than a division" in text
    for said in ("embedded engine", "tenders.csv", "as far as stated", "Construction work"):
        assert said in text
    error = f"{found.subjects[0].figures.calibration_error:.3f}"
    assert error not in text, "of so few rows"
    assert ">2 of 4</b>" in text and "<i" not in text, "no bar for a count"
    assert "No answer from embedded engine: 2 of 10 (no_match 1, VALIDATION_ERROR 1)" in text


def test_the_page_begins_with_the_figures_that_the_terminal_begins_with() -> None:
    found = evaluation(ONE)
    tiles = re.findall(r'<p class="name">([^<]+)', page(found))
    assert "Full code among the first ten" in tiles and "Right division" in tiles
    printed = str(found).split("In short\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split("  ")[0].lower() for line in printed] == [each.lower() for each in tiles]


MANY = ("engine", subject("0" * 20 + "1" * 20))
OTHER = ("other", subject("0" * 30 + "1" * 10))


@pytest.mark.parametrize("subjects", [[MANY], [MANY, OTHER]])
def test_an_accuracy_that_no_rows_reach_has_no_bar(subjects: list[tuple[str, object]]) -> None:
    """An element without a width would fill its cell."""
    text = page(evaluation(*subjects))  # type: ignore[arg-type]
    cells = re.findall(r'<td class="meter \w">(.*?)</td><td class="n".*?><b>(.*?)</b>', text)
    assert {"-"} < {share for _, share in cells}
    assert {share for bar, share in cells if not bar} == {"-"}
    for bar, share in cells:
        assert not bar or f"width:{share.replace(chr(160), '')}" in bar


@pytest.mark.parametrize("subjects", [[ONE], [ONE, TWO]])
def test_the_page_is_complete_and_has_every_table_of_the_terminal(
    subjects: list[tuple[str, object]],
) -> None:
    found = evaluation(*subjects)  # type: ignore[arg-type]
    text = page(found)
    check_complete(text)
    shown = [*sections(found.subjects, found.comparison, found.review)]
    assert shown[-1].title == "By source"
    for section in shown:
        if section.name != "headline":
            assert text.count(f'<h2 id="{section.name}">{section.title}</h2>') == 1
        assert f"\n{section.title}\n" in str(found)
        for cell in (cell for row in section.rows for cell in row if section.name != "headline"):
            code, _, title = cell.partition(" ")
            in_page = cell.replace(" %", "\N{NO-BREAK SPACE}%")
            assert in_page in text or f"<b>{code}</b> {title}" in text or cell.startswith("p ")


def test_labels_that_are_bare_divisions_are_judged_as_far_as_stated() -> None:
    """The answers are codes of the right divisions, for two of three rows."""
    answers = [answer("45233140", confidence=0.9), answer("39130000"), answer("45210000")]
    labels = ["45000000", "39000000", "90000000"]
    found = evaluation(("engine", scored(answers, labels, "aab")))
    assert found.verdict == (
        "Engine gives the right code first for 2 of 3 rows, has it among its first ten for "
        "2 of 3, and gives the right division for 2 of 3. No label is deeper than a division, so "
        "every code of the right division counts as right; full codes cannot be judged."
    )
    text = page(found)
    assert found.verdict in text
    for never in ("full code is right", "From the full code", "The full code first"):
        assert never not in text
    printed = str(found).splitlines()
    assert any(line.split()[:5] == ["as", "far", "as", "stated", "2"] for line in printed)
    assert not any(line.startswith(("full code", "class ", "group ")) for line in printed)
    said = json.loads(found.to_json())["subjects"][0]
    assert said["measured"] == "as far as stated"
    assert said["calibration_error"] == pytest.approx((0.1 + 0) / 3)
    assert [each["top_1"]["hits"] for each in said["sources"]] == [2, 0]
    both = evaluation(("engine", scored(answers, labels)), ("other", scored(answers[::-1], labels)))
    assert both.comparison is not None and both.comparison.first.depth == STATED
    assert "full codes cannot be judged" in both.verdict
    assert page(both).count(">-</td>") > 1  # no share of the labels that are deeper


def test_the_share_that_is_right_is_beside_the_mean_confidence_of_each_tenth() -> None:
    rows = {0.15: "10000", 0.85: "1" * 36 + "0000"}  # a fifth and nine tenths are right
    answers = [
        answer("45000000" if mark == "1" else "39000000", confidence=confidence)
        for confidence, marks in rows.items()
        for mark in marks
    ]
    found = evaluation(("engine", scored(answers, ["45000000"] * 45)))
    tenths = {section.name: section.rows for section in sections(found.subjects, None, None)}
    assert tenths["confidence"] == [
        ["10 to 20 %", "5", "15.0 %", "1 of 5"],
        ["80 to 90 %", "40", "85.0 %", "90.0 %"],
    ]


def test_the_shares_of_a_level_are_drawn_behind_one_another_the_longest_first() -> None:
    right = answer("45233140")
    later = answer("39000000", "45233140")
    last = answer(*["39000000"] * 5, "45233140")
    found = evaluation(("engine", scored([right] * 5 + [later] * 7 + [last] * 8, LABELS[:20])))
    table = page(found).split('<h2 id="levels">')[1].split("</table>")[0]
    for cell in re.findall(r'<td class="meter a">(.*?)</td>', table):
        assert re.findall(r"width:([\d.]+)%", cell) == ["100.0", "60.0", "25.0"]


def test_two_subjects_are_side_by_side_with_the_verdict() -> None:
    found = evaluation(ONE, TWO)
    text = page(found)
    assert "is not significant" in found.verdict
    assert "is not significant" in text
    assert "Side by side" in text
    assert text.count("B minus A, points") > 1, "in the head, and on a phone with each figure"
    assert text.count("Most frequent confusions") == 2


def test_what_a_table_or_a_service_says_cannot_become_markup() -> None:
    bad = '<script>alert("x")</script>'
    answers = [answer("45000000"), answer(bad)]
    scores = scored(answers, ["45000000", "39000000"], [bad] * 2)
    text = page(evaluation((bad, scores), table=bad))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("rows", [1, 2])
def test_a_page_of_hardly_any_rows_can_be_drawn(rows: int) -> None:
    text = page(evaluation(("engine", scored([answer()] * rows, ["45000000"] * rows))))
    assert "0.0\N{NO-BREAK SPACE}%" in text
    assert '<p class="value">-</p>' in text  # no label is deeper than a division


def test_the_error_about_a_page_that_cannot_be_written_names_its_option(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError) as refused:
        page_file(tmp_path / "file" / "p.html").write(page(evaluation(ONE)))
    assert refused.value.hint.endswith("write elsewhere: --report FILE.html.")


@pytest.mark.parametrize("name", ["r.csv", "r", "r.html.gz", ".html"])
def test_a_page_has_the_suffix_of_a_page(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"does not end in \.html, so a browser") as refused:
        page_file(tmp_path / name).check(overwrite=True)
    assert refused.value.hint == "Give it that suffix: --report FILE.html."
    for right in ("r.htm", "R.HTML"):
        page_file(tmp_path / right).check(overwrite=False)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    shown = evaluation(ONE)._repr_html_()
    assert shown.startswith("<iframe")
    assert "<html" not in shown
    assert "&lt;html" in shown
    assert "this.style.height=" in shown, "the page is shown whole"


LABELS = ["45233140"] * 100
RIGHT = [place < 60 or place % 2 == 0 for place in range(100)]  # 60 sure ones, then every second
FOUND = [
    answer("45233140" if right else "39130000", confidence=0.99 - place / 200)
    for place, right in enumerate(RIGHT)
]


def test_the_most_confident_rows_that_reach_an_accuracy_can_go_through() -> None:
    found = evaluation(("engine", scored(FOUND, LABELS))).coverage([*np.array([0.9, 0.8])])
    assert found["rows"].tolist() == [75, 100]
    for line in found.to_dict("records"):
        least = line["min_confidence"]
        taken = [right for right, one in zip(RIGHT, confidences(), strict=True) if one >= least]
        assert len(taken) == line["rows"] == 100 * line["share"]
        assert sum(taken) / len(taken) == line["right"] >= line["accuracy"]


def confidences() -> list[float]:
    return [one.matches[0].confidence for one in FOUND]  # type: ignore[union-attr]


def test_an_accuracy_that_no_ten_rows_reach_has_none_and_each_subject_has_its_line() -> None:
    wrong = scored([answer("39130000")] * 100, LABELS)
    found = evaluation(("engine", scored(FOUND, LABELS)), ("mine", wrong)).coverage(0.95)
    assert found["subject"].tolist() == ["engine", "mine"]
    assert found["rows"].tolist() == [67, 0]
    assert pd.isna(found["min_confidence"][1])
    assert found["right"][0] == pytest.approx(0.95, abs=0.01)


def test_fewer_than_ten_rows_show_no_accuracy() -> None:
    few = [
        answer("45233140" if place < 9 else "39130000", confidence=0.99 - place / 200)
        for place in range(100)
    ]
    assert evaluation(("engine", scored(few, LABELS))).coverage(0.95)["rows"].tolist() == [0]


@pytest.mark.parametrize("accuracy", [90, [0.9, 1.01], "0.9", True])
def test_an_accuracy_that_is_not_a_fraction_is_refused(accuracy: Any) -> None:
    found = evaluation(("engine", scored(FOUND, LABELS)))
    with pytest.raises(SettingsError, match=r"must be a fraction from 0 to 1, such as 0\.5\.$"):
        found.coverage(accuracy)
