"""A client that does what OpenRefine does, with the service in the same process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from tests.service.conftest import SCRIPTED, client_of

OPENREFINE = "http://127.0.0.1:3333"


class Refine:
    """OpenRefine: its pages send GET from another origin, its server sends forms.

    Args:
        app: the service.
        path: that of the reconciliation service, which the user adds.
    """

    def __init__(self, app: Starlette, path: str = "/reconcile/cpv") -> None:
        self.client = client_of(app, headers={"Origin": OPENREFINE})
        self.path = path

    async def get(self, place: str = "", **query: str) -> httpx.Response:
        """Send what a page sends, whose script may read the response."""
        response = await self.client.get(f"{self.path}{place}", params=query)
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        return response

    async def post(self, name: str, content: Any) -> httpx.Response:
        """Send a form with one field of JSON, or of text that is sent as it is."""
        value = content if isinstance(content, str) else json.dumps(content)
        return await self.client.post(self.path, data={name: value})

    async def reconcile(self, queries: Mapping[str, Any]) -> dict[str, Any]:
        response = await self.post("queries", queries)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        assert list(found) == list(queries)
        return found

    async def candidates(self, text: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.reconcile({"q": {"query": text, **query}}))["q"][
            "result"
        ]
        return found


@pytest.fixture
def app(accounts: Accounts) -> Starlette:
    return create_app(accounts, SCRIPTED, demo_rate=None)


@pytest.fixture
def refine(app: Starlette) -> Refine:
    return Refine(app)
