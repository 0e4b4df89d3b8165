"""The comparison of `python -m benchmarks`, and the figures of `python -m benchmarks.accepted`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.accepted import line, read
from benchmarks.comparison import OURS, Turn, order, picture, results
from tests.decisions.samples import chose
from tests.evaluation.labels import answer


def test_each_contender_begins_a_round_in_turn() -> None:
    assert [order("abc", number)[0] for number in range(4)] == ["a", "b", "c", "a"]
    assert all(sorted(order("abc", number)) == list("abc") for number in range(4))


ROUNDS = [
    {OURS: Turn(1.0, 0.5, 100.0), "script": Turn(4.0, 2.0, 50.0)},
    {OURS: Turn(2.0, 0.6, 120.0), "script": Turn(4.0, 2.2, 60.0)},
    {OURS: Turn(1.0, 0.7, 110.0), "script": Turn(10.0, 2.1, 55.0)},
]


def test_the_figures_are_medians_over_the_rounds() -> None:
    script = results(ROUNDS, 1000)["script"]
    assert (script.rows_per_second, script.lowest, script.highest) == (250.0, 100.0, 250.0)
    assert (round(script.cpu_us), script.memory_mib) == (2100, 55.0)
    assert script.ours_is == 4.0, "of each round, so that a slow moment slows both"
    assert results(ROUNDS, 1000)[OURS].ours_is == 1.0


def test_the_picture_is_an_svg_file_that_needs_no_style_sheet() -> None:
    drawn = ElementTree.fromstring(picture(results(ROUNDS, 1000), "Rows a second"))
    style = drawn[0].text
    assert style is not None and ".whisker" in style
    assert "script: 250 rows/s" in drawn.attrib["aria-label"]
    widths = [float(rect.attrib["width"]) for rect in drawn if rect.tag.endswith("rect")]
    assert widths == [508, 127]


def test_judged_texts_are_read_with_a_verdict_for_each_system(tmp_path: Path) -> None:
    systems = {"cpv": {"best": "45000000", "candidates": ["45000000"]}, "psc": {"unknowable": True}}
    path = tmp_path / "judged.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"text": "a", "systems": systems}).encode()))
    (found,) = read(path)
    cpv = found.decisions["cpv"]
    assert cpv is not None
    assert cpv.verdict("45000000") == "accepted"
    assert found.decisions["psc"] is None
    assert "naics" not in found.decisions


def test_ok_codes_are_counted_also_of_texts_that_say_nothing() -> None:
    kept = chose("a", "45233140")
    sure, unsure, other = (
        answer(code, confidence=confidence)
        for code, confidence in (("45233140", 0.9), ("45233140", 0.1), ("39000000", 0.9))
    )
    rows = [(sure, kept), (sure, kept), (unsure, kept), (other, None), (unsure, None)]
    shares = "1.000 0.000 0.000 0.000 1.000"
    assert line("all", "cpv", rows).split()[1:7] == ["3", *shares.split()]
    assert line("all", "cpv", rows).split()[-3:] == ["0.67", "1.00", "0.50"]
    assert line("all", "cpv", [(sure, None)]) == ""
