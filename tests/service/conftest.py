"""What the service's tests share: accounts in a folder of their own and calls without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from pipeline.answers import SYSTEMS, Answer, BatchAnswers, Matcher, System
from pipeline.service.accounts import Accounts
from tests.fakes import ScriptedMatcher

SCRIPTED: dict[System, Matcher] = {system: ScriptedMatcher((system,)) for system in SYSTEMS}


@dataclass
class Answering:
    """Answers any text to a system with what a function returns."""

    system: System
    answer: Callable[[str], Answer]

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for texts in batches:
            yield {self.system: [self.answer(text) for text in texts]}


class VirtualClock:
    """A clock that only tests move."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def client_of(app: Starlette, address: str = "192.0.2.1", **options: Any) -> httpx.AsyncClient:
    """Return a client at an address that calls an application in this process."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 50_000))
    return httpx.AsyncClient(transport=transport, **{"base_url": "http://service"} | options)


class Caller:
    """Calls an application as a client at an address does."""

    def __init__(self, app: Starlette, key: str | None = None, address: str = "192.0.2.1") -> None:
        self.app = app
        self.client = client_of(app, address, headers={} if key is None else {"X-API-Key": key})

    async def match(self, description: str = "road", system: str = "cpv") -> httpx.Response:
        return await self.client.post(f"/api/{system}/match", json={"description": description})


def exact(response: httpx.Response) -> Any:
    """Parse a body with every number that has a point as it was written."""
    return json.loads(response.content, parse_float=Decimal)


def envelope(response: httpx.Response) -> tuple[int, str]:
    """Return status and error type of a failure, which has the interface's envelope."""
    body = response.json()
    assert response.headers["Content-Type"] == "application/json"
    assert list(body) == ["success", "error", "message"]
    assert body["success"] is False
    assert body["message"].endswith(".")
    return response.status_code, body["error"]


@contextmanager
def virtual_limits(clock: VirtualClock) -> Iterator[None]:
    """Let the limits go by a clock."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipeline.service.limits.time", SimpleNamespace(monotonic=clock))
        yield


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """A clock that the limits go by."""
    virtual = VirtualClock()
    with virtual_limits(virtual):
        yield virtual


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    opened = Accounts(tmp_path / "data")
    yield opened
    opened.close()


ROAD_PRICE = Decimal("0.0000765")  # 51 and half: two matches, titles of fourteen characters
