"""A review in a real browser, by keyboard alone, under the rules that axe-core can check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.classification.enriched import open_enriched
from pipeline.decisions.decision_file import DecisionLog, read_decisions
from pipeline.review.pages import Access, create_app
from pipeline.review.queue import Queue
from pipeline.review.session import Review
from pipeline.service.server import listening
from tests.paid.serving import served
from tests.review.conftest import TEXTS, table
from tests.service.browser.conftest import complaints, watched

__all__ = ["table"]

COVERED = """[...document.querySelectorAll("li:has(.below)")].filter(each => {
  const words = document.createRange(), link = each.querySelector(".below").getBoundingClientRect();
  words.selectNodeContents(each.querySelector(".what"));
  return [...words.getClientRects()].some(
    line => line.right > link.left && line.bottom > link.top + 1);
}).map(each => each.innerText)"""
"""The candidates whose text is under the link to the codes below."""


@pytest.fixture
def page(browser: Browser, table: Path, tmp_path: Path) -> Iterator[Page]:
    described = open_enriched(table)
    with (
        closing(Queue(described)) as queue,
        DecisionLog(tmp_path / "d.jsonl") as log,
        listening("127.0.0.1", 0) as listener,
    ):
        port = listener.getsockname()[1]
        access = Access(port)
        app = create_app(Review(described, queue, log, "Anna"), access)
        with served(app, listener) as address:
            context = browser.new_context(viewport={"width": 1100, "height": 900})
            context.set_default_timeout(20_000)
            expect.set_options(timeout=20_000)
            opened = watched(context)
            opened.goto(f"{address}/start?token={access.token}")
            yield opened
            context.close()


def test_a_sitting_by_keyboard(page: Page, tmp_path: Path) -> None:
    found = [*complaints(page)]
    text = page.get_by_role("region", name="Text")
    expect(text).to_have_text(TEXTS[1])
    expect(page.get_by_role("button", name=re.compile("^1 "))).to_be_focused()

    page.keyboard.press("o")
    page.keyboard.type("09134")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="codes for “09134”")).to_be_visible()
    found += complaints(page)
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate(COVERED) == []
    expect(page.get_by_text("id 1")).to_be_visible()
    page.set_viewport_size({"width": 1100, "height": 900})
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="codes for")).to_have_count(0)
    page.wait_for_load_state()  # keys need the script of the page

    page.keyboard.press("n")
    expect(page.get_by_role("status")).to_have_text("Saved: CPV, no code fits.")
    page.keyboard.press("u")
    expect(text).to_have_text(TEXTS[1])
    page.keyboard.press("s")
    expect(page.get_by_role("status")).to_contain_text("Skipped")
    expect(text).to_have_text(TEXTS[2])
    page.keyboard.press("n")
    expect(text).to_have_text(TEXTS[5])
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved: CPV")
    expect(text).to_have_text(TEXTS[1])
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    for name in ("None fits", "Skip", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    page.keyboard.press("2")
    expect(page.get_by_role("heading", name="Nothing is left to review.")).to_be_focused()
    found += complaints(page)
    page.keyboard.press("u")
    expect(text).to_have_text(TEXTS[1])
    page.get_by_text("Filters and order").click()
    page.get_by_role("link", name="Accept the best match").click()
    expect(page.get_by_role("heading", name="Accept the best match of 1 text")).to_be_visible()
    found += complaints(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Turn the keys off").click()
    page.keyboard.press("n")
    expect(page.get_by_role("button", name="Turn the keys on")).to_be_visible()
    assert not found, "\n".join(found)
    outcomes = [each.choice for each in read_decisions(tmp_path / "d.jsonl").decisions]
    assert outcomes == ["none", "undo", "skip", "none", "code", "code", "undo"]
