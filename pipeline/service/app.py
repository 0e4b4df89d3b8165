"""The service as an ASGI application: the interface's endpoints, limits and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pipeline.answers import SYSTEMS, Matcher, System
from pipeline.engine import Engine
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.access_log import AccessLog
from pipeline.service.accounts import Accounts
from pipeline.service.bodies import Metadata, description_in, failure, success
from pipeline.service.calls import Calls
from pipeline.service.refusals import RefusedError, ValidationError

__all__ = ["create_app", "engine_matchers"]

MAX_MATCHES = 10

MAX_BODY = 256 * 1024
"""Bytes: room for the longest description with every character escaped, as JSON may."""

JSON = "application/json"


def engine_matchers() -> dict[System, Matcher]:
    """Return the embedded engine for each system on its own."""
    return {system: Engine((system,), MAX_MATCHES) for system in SYSTEMS}


def create_app(
    accounts: Accounts,
    matchers: Mapping[System, Matcher],
    *,
    metadata: Metadata = "detailed",
    key_rate: Rate | None = AUTHENTICATED,
    demo_rate: Rate | None = DEMO,
) -> FastAPI:
    """Build the service.

    Args:
        accounts: who may call and pays; the caller closes it.
        matchers: who answers for each system.
        metadata: the form of the responses.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """
    calls = Calls(matchers, accounts, key_rate, demo_rate)
    app = FastAPI(title="tender-pipeline", openapi_url=None, redirect_slashes=False)
    app.add_middleware(AccessLog)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(HTTPException, _not_routed)
    app.add_exception_handler(Exception, _failed)
    for system in SYSTEMS:
        app.post(f"/api/{system}/match")(_endpoint(calls, system, metadata))
    app.get("/health")(_health)
    return app


def _endpoint(
    calls: Calls, system: System, metadata: Metadata
) -> Callable[[Request], Awaitable[Response]]:
    async def match(request: Request) -> Response:
        holder = calls.holder(request.headers.get("X-API-Key"))
        if holder is not None:
            request.state.account_id = holder.account_id
        calls.count(holder, request.client.host if request.client else "")
        description = description_in(await _body(request))
        answered = await calls.answer(holder, system, description)
        request.state.price_usd = answered.price.final
        return _json(success(system, description, answered.matches, answered.price, metadata))

    return match


async def _health() -> dict[str, str]:
    return {"status": "ok"}


async def _body(request: Request) -> bytes:
    """Read a JSON body, and never more of it than may be."""
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise ValidationError(f"The body is not JSON. Send it with Content-Type: {JSON}.", 415)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise ValidationError(
                    f"The body is too large. Send {MAX_BODY:,} bytes at most.", 413
                )
    except ClientDisconnect as error:
        raise ValidationError("The body broke off. Send it again.") from error
    return bytes(body)


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001 - the handler's shape
    assert isinstance(error, RefusedError)  # noqa: S101 - what it is registered for
    return _json(failure(error.error, error.message), error.status, error.headers)


async def _not_routed(request: Request, error: Exception) -> Response:  # noqa: ARG001 - as above
    """Answer for a path or a method that there is not."""
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    paths = ", ".join(f"/api/{system}/match" for system in SYSTEMS)
    message = f"{error.detail}. Send POST to one of {paths}."
    return _json(failure(ValidationError.error, message), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:  # noqa: ARG001 - as above
    """Say nothing of what went wrong: the server's log has it."""
    return _json(failure("INTERNAL_ERROR", "The service failed. Try again later."), 500)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, JSON)
