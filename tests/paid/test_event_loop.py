"""A purchase runs in uvloop's event loop where uvloop is installed, else in asyncio's own."""

from __future__ import annotations

import asyncio
import importlib.util
import sys

import pytest

from pipeline.interruption import Interruption
from pipeline.paid.runner import StopRequest, buy_in_thread
from pipeline.purchases import Parked


def loop_of_a_purchase() -> str:
    async def buying(stop_request: StopRequest) -> Parked | None:
        return Parked(0, type(asyncio.get_running_loop()).__module__, "")

    parked = buy_in_thread(buying, Interruption())
    assert parked is not None
    return parked.message


@pytest.mark.skipif(not importlib.util.find_spec("uvloop"), reason="uvloop is not installed")
def test_uvloop_is_used_where_it_is_installed() -> None:
    assert loop_of_a_purchase() == "uvloop"


def test_a_purchase_runs_without_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_of_a_purchase().startswith("asyncio.")
