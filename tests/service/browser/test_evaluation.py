"""The page of an evaluation in a real browser, on narrow screens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pipeline.evaluation.evaluation import page as page_of
from tests.evaluation.labels import ONE, TWO, evaluation
from tests.service.browser.conftest import complaints, watched


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
    charts = page.locator("section[aria-labelledby=levels] svg").filter(visible=True)
    assert charts.count() == 1
    texts = charts.locator("text")
    boxes = texts.evaluate_all("all => all.map(one => one.getBoundingClientRect().toJSON())")
    assert all(box["left"] >= 0 and box["right"] <= width for box in boxes)
    rows = [(box["top"], box["left"], box["right"]) for box in boxes if box["width"]]
    for top, left, right in rows:
        beside = [each for each in rows if abs(each[0] - top) < 1 and each[1] > left]
        assert all(each[1] >= right for each in beside)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not [*complaints(page)]
    for name in ("answered first", "off by"):  # what the hidden header row says on wide screens
        assert page.locator(f"td[data-name='{name}']").first.is_visible()
    context.close()
