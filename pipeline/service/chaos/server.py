"""An ASGI application around the service that injects the faults of a script."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.answers import System
from pipeline.service.chaos import kinds
from pipeline.service.chaos.exchange import (
    HTML,
    PAGE,
    Exchange,
    Response,
    digest_in,
    garbled,
    read_messages,
)
from pipeline.service.chaos.record import Record
from pipeline.service.chaos.script import Dice, Script
from pipeline.service.http.messages import ENDPOINTS, JSON, failure, path_of

__all__ = ["FaultServer"]

log = logging.getLogger("pipeline.service")


class FaultServer:
    """Passes calls to a service and injects faults; other requests pass unchanged.

    It needs uvicorn with `DroppableConnections` as the protocol.
    """

    def __init__(self, app: ASGIApp, script: Script, record: Record) -> None:
        self._app = app
        self._dice = Dice(script)
        self._record = record
        self._started = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        system = _system(scope)
        if system is None:
            await self._app(scope, receive, send)
            return
        arrived = time.time()
        throw = self._dice.throw(system, time.monotonic() - self._started)
        messages = await read_messages(receive)
        number = self._record.arrived(arrived, system, digest_in(messages))
        exchange = Exchange(self._app, scope, messages, receive, send, self._record, number)
        await asyncio.sleep(throw.delay)
        if throw.fault is None:
            response = await exchange.work()
            await exchange.answer(response, None, response.billed_usd)
            return
        log.info("request %d (%s): %s", number, system, throw.fault.kind)
        await _before(exchange, throw.fault, throw.chance)


def _system(scope: Scope) -> System | None:
    """Return the system of a call; None for other requests."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    return ENDPOINTS.get(path_of(scope))


async def _before(exchange: Exchange, fault: kinds.Fault, chance: Random) -> None:
    """Strike a request before the work, or go on to the faults that strike after it."""
    match fault:
        case kinds.DropBefore():
            await exchange.drop(fault.kind)
        case kinds.Refuse():
            await exchange.answer(_refusal(fault), fault.kind)
        case kinds.Error():
            await exchange.answer(_error(fault), fault.kind)
        case kinds.Redirect(to=to):
            target = to.rstrip("/") + exchange.scope["path"]
            await exchange.answer(Response(307, b"", {"Location": target}), fault.kind)
        case kinds.Stall(seconds=seconds):
            await asyncio.sleep(seconds)
            response = await exchange.work()
            await exchange.answer(response, fault.kind, response.billed_usd)
        case _:
            response = await exchange.work()
            if response.billed_usd is None:  # the service refused it: there is nothing to spoil
                await exchange.answer(response)
            else:
                await _after(exchange, response, fault, chance)


async def _after(
    exchange: Exchange, response: Response, fault: kinds.Fault, chance: Random
) -> None:
    """Strike a billed answer."""
    assert response.billed_usd is not None  # noqa: S101 - the caller checks it
    match fault:
        case kinds.DropAfter():
            await exchange.drop(fault.kind)
        case kinds.Cut():
            await exchange.cut(response, fault.kind)
        case kinds.Drip(seconds=seconds):
            await exchange.drip(response, fault.kind, seconds)
        case kinds.Duplicate():
            await exchange.duplicate(response, fault.kind)
        case kinds.Gateway(status=status):
            await exchange.answer(Response(status, PAGE, HTML), fault.kind)
        case kinds.Garbage(form=form):
            chosen = chance.choice(kinds.FORMS) if form == "any" else form
            bad, stated = garbled(chosen, response.body, response.billed_usd)
            await exchange.answer(bad, f"{fault.kind} {chosen}", stated)
        case kinds.IdleClose(seconds=seconds, jitter=jitter):
            await exchange.answer(response, fault.kind, response.billed_usd)
            await exchange.close_behind(seconds + chance.uniform(0, jitter))


def _refusal(fault: kinds.Refuse) -> Response:
    headers = {"Content-Type": JSON}
    if fault.retry_after == "seconds":
        headers["Retry-After"] = str(fault.seconds)
    elif fault.retry_after == "date":
        until = datetime.now(UTC) + timedelta(seconds=fault.seconds)
        headers["Retry-After"] = format_datetime(until, usegmt=True)
    return Response(429, failure("RATE_LIMIT_EXCEEDED", "Too many requests."), headers)


def _error(fault: kinds.Error) -> Response:
    if not fault.envelope:
        return Response(fault.status, PAGE, HTML)
    return Response(fault.status, failure("INTERNAL_ERROR", "The service failed."))
