"""Something that happens while a request is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Meanwhile:
    """Does something while a request, by its number from 0, is under way."""

    def __init__(self, app: Any, number: int, do: Callable[[], None]) -> None:
        self._app = app
        self._left = number
        self._do = do

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._left -= 1
        if self._left == -1:
            await asyncio.to_thread(self._do)  # it may buy, too
        await self._app(scope, receive, send)
