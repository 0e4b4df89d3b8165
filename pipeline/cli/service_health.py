"""Checks the way to a paid service without buying: key, locks, connection and clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from pipeline.cli.health import CLOCK_OFF_S, Finding, checked
from pipeline.errors import LedgerError

if TYPE_CHECKING:  # imported only if they are needed
    import httpx

    from pipeline.paid.service import PaidService

__all__ = ["check_service"]

KEY_HINT = "Set TENDER_PIPELINE_API_KEY, or name a file with the key: --api-key-file."

PATIENCE_S = 10.0

ABOUT_STATUS = {
    404: "; only the first call shows whether the address is right",
    405: ", as expected: GET buys nothing",
}


def check_service(service: PaidService) -> Iterator[Finding]:
    """Check the key, the locks and the connection; one request is sent, which buys nothing."""
    from pipeline.paid.client.urls import in_the_clear

    if service.is_demo:
        yield Finding("key", "warning", "no API key: demo requests only, 10 an hour", KEY_HINT)
    elif not service.api_key:
        yield Finding("key", "ok", "no API key; servers of your own seldom need one")
    elif in_the_clear(service.base_url):
        yield Finding("key", "warning", f"goes to {service.base_url} unencrypted", "Use https.")
    else:
        found = "has a valid form; only the first call shows whether it is right"
        yield Finding("key", "ok", found)
    yield checked("locks", _locks, service)
    yield from _connection(service)


def _locks(service: PaidService) -> Finding:
    from pipeline.paid.ledger.locks import buyer_lock, ledger_lock

    try:
        with buyer_lock(service.base_url, service.key_fingerprint, wait=False):
            if service.ledger.exists():
                with ledger_lock(service.ledger, service.base_url, wait=False):
                    pass
    except LedgerError as error:
        return Finding("locks", "warning", error.message, error.hint)
    return Finding("locks", "ok", "no other run buys with this key or ledger")


def _connection(service: PaidService) -> Iterator[Finding]:
    import httpx

    from pipeline.paid.client.client import cause
    from pipeline.paid.client.urls import match_url

    chat = service.chat is not None
    url = f"{service.base_url}/models" if chat else match_url(service.base_url, "cpv")
    try:
        response, seconds = asyncio.run(_asked(url))
    except (httpx.HTTPError, TimeoutError, OSError) as error:
        hint = "Check --base-url, the network, the proxy and the service's certificate."
        found = f"{service.base_url} does not answer ({cause(error)[0]})"
        yield Finding("service", "error", found, hint)
        return
    status = response.status_code
    about = f"HTTP {status}{ABOUT_STATUS.get(status, '')}"
    found = f"{service.base_url} answers in {1000 * seconds:.0f} ms ({about})"
    if status in (301, 302, 307, 308):
        hint = "Use the address that it redirects to as --base-url."
        yield Finding("service", "error", f"{found} and redirects", hint)
    else:
        yield Finding("service", "ok", found)
    yield from _clock(response)


async def _asked(url: str) -> tuple[httpx.Response, float]:
    """Send a GET request without the key: the service sells answers to POST requests only."""
    import httpx

    from pipeline.paid.client.transport import Transport

    transport = Transport(httpx.URL(url))
    started = time.perf_counter()
    async with httpx.AsyncClient(transport=transport) as client:
        response = await asyncio.wait_for(client.get(url), PATIENCE_S)
    return response, time.perf_counter() - started


def _clock(response: httpx.Response) -> Iterator[Finding]:
    try:
        service_time = parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return
    off = time.time() - service_time
    found = f"{abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the service's"
    if abs(off) > CLOCK_OFF_S:
        yield Finding("clock", "warning", found, "Synchronise this machine's clock (NTP).")
    else:
        yield Finding("clock", "ok", "agrees with the service's")
