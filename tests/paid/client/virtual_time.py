"""An event loop whose clock jumps to the next timer, so that an hour passes in a moment."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

START = 1000.0
TURN = 1e-6
"""What a turn of the loop takes, seconds: a clock that stood still would let waiters spin."""


class SkippingSelector(selectors.SelectSelector):
    """Where a loop would sleep, the time is over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("Every task waits for something that no timer will bring.")
        self.now += timeout + TURN
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time."""

    def __init__(self) -> None:
        self._virtual = SkippingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


VIRTUAL = "asyncio", {"loop_factory": VirtualTimeLoop}
"""The ``anyio_backend`` of tests in virtual time."""


class MovedLoop(asyncio.SelectorEventLoop):
    """A loop for real sockets, on whose clock more time passes than on the machine's."""

    moved = 0.0

    def time(self) -> float:
        return super().time() + self.moved


async def pass_time(seconds: float = 0.05) -> None:
    """Let a moment pass for all tasks of a `MovedLoop`, after what has just arrived for them."""
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, MovedLoop)
    loop.moved += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, on virtual time that starts at 1000 seconds.

    Raises:
        AssertionError: all tasks wait, and no timer is set.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
