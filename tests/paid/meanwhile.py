"""Something that happens while a request is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Meanwhile:
    """Does something while a request, by its number from 0, is under way."""

    def __init__(self, app: Any, number: int, do: Callable[[], None]) -> None:
        self._app = app
        self._left = number
        self._do = do

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._left == 0:
            self._do()
        self._left -= 1
        await self._app(scope, receive, send)
