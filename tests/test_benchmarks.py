"""The comparison of `python -m benchmarks`: its order, its medians and its page."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.comparison import OURS, Turn, order, page, picture, results


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


def test_the_page_shows_every_contender_and_the_machine() -> None:
    shown = page(results(ROUNDS, 1000), "2 processors <here>")
    assert "script: 250 rows/s, 2,100 µs of processor time" in shown
    assert OURS in shown and "2 processors &lt;here&gt;" in shown


def test_the_picture_is_an_svg_file_that_needs_no_style_sheet() -> None:
    drawn = ElementTree.fromstring(picture(results(ROUNDS, 1000), "Rows a second"))
    style = drawn[0].text
    assert style is not None and ".whisker" in style
    assert "script: 250 rows/s" in "".join(drawn.itertext())
