"""Reports and evaluations in a real browser: light, dark, narrow, on paper."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from pipeline.answers import Answer, Failed, Matched, System
from pipeline.evaluation.evaluation import page as page_of
from pipeline.report.changes import Changed, Compared
from tests.evaluation.labels import ANSWERS, TRUTHS, answer, evaluation, scored
from tests.report.samples import HOSTILE, matched, reported
from tests.service.browser.conftest import complaints, watched

HOSTILE_TEXTS: dict[str, Answer | None] = {
    HOSTILE: matched(0.1, "<b>1", HOSTILE),
    "\u202eright to left \u0645\u0646\u0627\u0642\u0635\u0629": matched(0.2, title=HOSTILE),
    '=HYPERLINK("https://evil.example","click")': Failed("TIMEOUT"),
    "x" * 100_000: matched(0.3, "9" * 1_000, "y" * 100_000),
    "</table></main><style>*{display:none}</style>": matched(0.4),
    **{f"road {number}": matched(number / 8) for number in range(8)},
}


@pytest.fixture
def context(browser: Browser) -> BrowserContext:
    return browser.new_context(viewport={"width": 1100, "height": 800})


@pytest.fixture
def page(context: BrowserContext, tmp_path: Path) -> Page:
    codes: dict[System, tuple[str | None, str | None]] = {"cpv": ("45233140", "9" * 1_000)}
    rows = [Changed(place, text[:300], codes) for place, text in enumerate(HOSTILE_TEXTS)]
    compared = Compared(5, 3, Counter[System]({"cpv": 35}), rows[:5])
    before = {"finished": "2026-11-21T02:00:00+00:00", "summary": {"rows": 28}}
    file = tmp_path / "report.html"
    file.write_text(reported(HOSTILE_TEXTS, before, compared=compared), "utf-8")
    page = watched(context)
    page.goto(file.as_uri())
    return page


def test_the_counts_of_a_usual_run_fit_on_a_phone(context: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    answers: dict[str, Answer | None] = {
        "sure": matched(0.9),
        "likely": matched(0.5),
        "doubtful": matched(0.1),
        "unknown": Matched(()),
        "": None,
        **{f"road {number}": matched(number / 10) for number in range(10)},
    }
    file.write_text(reported(answers).replace(">CPV<", ">UNSPSC<"), "utf-8")  # the longest name
    page = watched(context)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(file.as_uri())
    through = page.locator(".scroll:has(.coverage)")
    assert through.evaluate("one => one.scrollWidth <= one.clientWidth")
    table = page.locator("section[aria-labelledby=worth] .scroll")
    assert "no match\nno text" in table.inner_text().replace("\t", "\n")
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
    context.close()


def test_a_report_of_hostile_texts_can_be_read_on_every_screen_and_on_paper(
    context: BrowserContext, page: Page
) -> None:
    assert page.locator("script, a, b:has-text('road')").count() == 0
    assert page.get_by_role("region", name="Since the last run").is_visible()
    assert page.get_by_text("HYPERLINK").first.is_visible()  # as text, not as a link
    for width in (1100, 375):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        heights = page.locator(".rows tr").evaluate_all("all => all.map(one => one.offsetHeight)")
        assert max(heights) < 400  # no column is squeezed by a word without end
        found = [*complaints(page)]
        assert not found, "\n".join(found)
    page.emulate_media(media="print", color_scheme="dark")
    paper, ink = page.evaluate(
        "['backgroundColor', 'color'].map(name => getComputedStyle(document.body)[name])"
    )
    assert (paper, ink) == ("rgba(0, 0, 0, 0)", "rgb(27, 35, 45)")  # dark ink, whatever the theme
    bar = "document.querySelector('.stack i')"
    assert page.evaluate(f"getComputedStyle({bar}).printColorAdjust") == "exact"
    names = "document.querySelector('.rows tr')"
    assert page.evaluate(f"getComputedStyle({names}).breakAfter") == "avoid", "not alone on a page"
    assert page.pdf(format="A4").count(b"/Type /Page\n") < 8
    context.close()


LABELS, SOURCES = 2 * TRUTHS, 2 * "aaaabbbbcc"
ONE = ("embedded engine", scored(2 * ANSWERS, LABELS, SOURCES))
TWO = ("model mine", scored([answer("45233140", confidence=0.9)] * 20, LABELS, SOURCES))
"""Subjects of so many rows that their shares are drawn."""


@pytest.mark.parametrize("subjects", [[ONE], [ONE, TWO]])
@pytest.mark.parametrize("width", [320, 390])
def test_nothing_scrolls_sideways_on_a_phone(
    browser: Browser, tmp_path: Path, width: int, subjects: list[tuple[str, object]]
) -> None:
    file = tmp_path / "evaluation.html"
    file.write_text(page_of(evaluation(*subjects)), "utf-8")  # type: ignore[arg-type]
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = watched(context)
    page.goto(file.as_uri())
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    wide = page.locator(".scroll").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
    )
    assert not wide
    bars = page.locator("section[aria-labelledby=levels] td.meter i")
    assert min(bars.evaluate_all("all => all.map(one => one.offsetHeight)")) >= 9
    longest = max(bars.evaluate_all("all => all.map(one => one.offsetWidth)"))
    assert longest > 0.45 * width, "the division is among ten codes for 60 % of the rows"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not [*complaints(page)]
    for name in ("answered first", "confidence"):  # what the hidden header row says on wide screens
        assert page.locator(f"td[data-name='{name}']").first.is_visible()
    page.set_viewport_size({"width": 640, "height": 800})
    short = page.locator("td .name-of, .how code").filter(visible=True)
    lines = short.evaluate_all("all => all.map(one => one.getClientRects().length)")
    assert {*lines} == {1}, "neither the letter of a subject nor an option is broken"
    context.close()
