"""The page of an evaluation in a real browser, on narrow screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pipeline.evaluation.evaluation import page as page_of
from tests.evaluation.labels import ANSWERS, TRUTHS, answer, evaluation, scored
from tests.service.browser.conftest import complaints, watched

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
