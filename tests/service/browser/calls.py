"""A call to the API with a key that a page has shown."""

from __future__ import annotations

import httpx

from tests.service.browser.conftest import Site

TEXT = "Winter road maintenance: snow clearing and gritting of municipal streets"


def call(site: Site, key: str) -> httpx.Response:
    """Call the interface as a program does."""
    return httpx.post(
        f"{site.address}/api/cpv/match",
        json={"description": TEXT},
        headers={"X-API-Key": key},
        timeout=None,
    )
