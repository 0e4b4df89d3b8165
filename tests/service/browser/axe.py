"""Checks a page with axe, by the rules of WCAG."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

RULES: dict[Literal["light", "dark"], dict[str, list[str]]] = {
    "light": {"resultTypes": ["violations"]},
    # The theme changes nothing else, and every rule takes time.
    "dark": {"resultTypes": ["violations"], "runOnly": ["cat.color"]},
}

AXE = Axe()


def complaints(page: Page) -> Iterator[str]:
    """Yield what axe-core finds wrong on a page in either theme."""
    for scheme, options in RULES.items():
        page.emulate_media(color_scheme=scheme)
        for each in AXE.run(page, options=options).response["violations"]:
            for node in each["nodes"]:
                yield f"{page.url} ({scheme}): {each['id']}: {node['html']}"
