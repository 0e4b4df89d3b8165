"""A strict server of language models, which keeps its own books and plays every failure."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pipeline.money import total
from pipeline.paid.client.client import SYSTEM
from tests.paid.serving import Buyer, buyer, serving

KNOWN = {"model", "messages", "response_format", "temperature", "max_tokens"}
CANDIDATE = re.compile(r"^([A-T]) (\S+) .+$", re.MULTILINE)
TENDER = re.compile(r"<tender>\n(.*)\n</tender>", re.DOTALL)

TEXTS = [
    "Maintenance of lifts",
    "",
    "Winterdienst auf Gehwegen",
    "Maintenance of lifts",
    "Software",
]
DISTINCT = 3
PRICES = "0.15/0.60"

Answer = tuple[int, Mapping[str, str], Any]


def error(status: int, message: str = "No.", **named: Any) -> Answer:
    headers = named.pop("headers", {})
    return status, headers, {"error": {"message": message, **named}}


FAULTS: dict[str, Answer] = {
    "filtered": error(400, code="content_filter"),
    "wrong model": error(404, "no such model"),
    "wrong key": error(401, "Incorrect API key"),
    "no money": error(429, code="insufficient_quota"),
    "broke": error(402, "Payment required"),
    "limited": error(429, headers={"x-ratelimit-reset-requests": "20ms"}),
    "busy": error(503),
    "internal": error(500, "CUDA out of memory"),
    "gateway": (502, {}, "<html>Bad gateway</html>"),
    "router": (200, {}, {"error": {"code": 429, "message": "Slow down"}}),
}
"""What costs nothing; a gateway may hide a charge."""


@dataclass
class ChatServer:
    """Chooses by a map from text to letter, or the first candidate, for all keys in ``keys``.

    Attributes:
        choices: the letter, or what else the model says, by text.
        script: what happens to the next requests: a name of `FAULTS`, ``lost``, ``silent`` (no
            usage), ``refusal``, ``html``, ``empty`` or ``""`` for an answer; then answers.
        refuses: fields that the server does not accept, as strict ones do.
        requires: what ``max_tokens`` must be called.
        charged: what all answers cost, whether they arrived or not.
        told: the part of it that arrived with a count of tokens.
        asked: the system message's classification and the text of each request.
    """

    key: str | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    script: list[str] = field(default_factory=list)
    refuses: frozenset[str] = frozenset()
    prices: tuple[Decimal, Decimal] = (Decimal("0.15"), Decimal("0.60"))
    more: int = 0
    charged: Decimal = Decimal(0)
    told: Decimal = Decimal(0)
    asked: list[tuple[str, str]] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    before: Callable[[int], None] = lambda number: None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        wanted = None if self.key is None else f"Bearer {self.key}"
        assert request.headers.get("authorization") == wanted
        assert "x-api-key" not in request.headers
        assert (request.method, request.url.path) == ("POST", "/v1/chat/completions")
        what = self._answered(await request.json())
        self.before(len(self.asked))
        if what is None:  # billed, but the answer never comes
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": True})
            await asyncio.sleep(0)
            raise ConnectionError
        status, headers, content = what
        raw = content if isinstance(content, str) else json.dumps(content)
        await Response(raw, status, headers)(scope, receive, send)

    def _answered(self, request: dict[str, Any]) -> Answer | None:
        allowed = (KNOWN | {"max_completion_tokens"}) - self.refuses
        for name in request:
            if name not in allowed:
                return error(400, f"Unsupported parameter: '{name}'", param=name)
        system, user = request["messages"]
        assert system == {"role": "system", "content": SYSTEM}
        listed = dict(CANDIDATE.findall(user["content"].partition("\nCandidates:\n")[2]))
        stated = request["response_format"]["json_schema"]["schema"]["properties"]["choice"]["enum"]
        assert stated == [*sorted(listed), "none"]
        (text,) = TENDER.findall(user["content"])
        self.asked.append((user["content"].partition("Classification: ")[2][:4], text))
        self.models.append(request["model"])
        what = self.script.pop(0) if self.script else ""
        if what in FAULTS:
            return FAULTS[what]
        usage = {
            "prompt_tokens": sum(len(each["content"]) for each in request["messages"]) // 4,
            "completion_tokens": 8 + self.more,
        }
        price = self._price(usage)
        self.charged = total([self.charged, price])
        if what == "lost":
            return None
        if what != "silent" and what != "html":
            self.told = total([self.told, price])
        message = {"role": "assistant", "content": self._said(text)}
        if what == "refusal":
            message = {"role": "assistant", "content": "", "refusal": "I cannot."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        full = {"choices": [] if what == "empty" else [choice], "usage": usage}
        if what == "silent":
            del full["usage"]
        return 200, {}, "<html>" if what == "html" else full

    def _said(self, text: str) -> str:
        said = self.choices.get(text, "A")
        return json.dumps({"choice": said}) if len(said) in (1, 4) else said

    def _price(self, usage: Mapping[str, int]) -> Decimal:
        one, other = self.prices
        read, written = usage["prompt_tokens"], usage["completion_tokens"]
        return total([one * read, other * written]) / 1_000_000


@contextmanager
def chatting(folder: Path, server: ChatServer, **terms: Any) -> Iterator[Buyer]:
    """Run a server, with a buyer who asks it in a folder with a table."""
    with serving(server) as address:
        usual: dict[str, Any] = {"language_model": "small-1", "token_prices": PRICES}
        user = buyer(folder, f"{address}/v1", server.key, **usual | terms)
        user.write(TEXTS)
        yield user
