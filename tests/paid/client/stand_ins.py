"""What takes the place of the network."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from pipeline.paid.client.transport import Exchange, HttpTransport


class StandIn(HttpTransport):
    """A transport that asks a function for the response to each request."""

    def __init__(self, answer: Callable[[httpx.Request], httpx.Response]) -> None:
        self._answer = answer

    async def send(self, exchange: Exchange, most: int) -> None:
        headers, content = list(exchange.headers), exchange.begin()
        request = httpx.Request(exchange.method, exchange.url, headers=headers, content=content)
        response = self._answer(request)
        exchange.status, exchange.fields = response.status_code, response.headers.raw
        exchange.body += response.content

    async def aclose(self) -> None:
        pass
