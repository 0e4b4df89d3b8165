"""The service as an ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from pipeline.answers import SYSTEMS, Matcher, System
from pipeline.engine import Engine
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.accounts import Accounts
from pipeline.service.http.access_log import AccessLog
from pipeline.service.http.bodies import Metadata, description_in, success
from pipeline.service.http.exception_handlers import answer_failures
from pipeline.service.http.health import health
from pipeline.service.http.paths import EncodedSlashes
from pipeline.service.http.requests import JSON, body_of, key_of
from pipeline.service.http.security_headers import SecurityHeaders
from pipeline.service.matching.calls import Calls
from pipeline.service.matching.pricing import MAX_MATCHES
from pipeline.service.spec.openapi import HEALTH, described, operation
from pipeline.service.spec.terms import Terms
from pipeline.service.web import error_page, router

__all__ = ["create_app", "engine_matchers"]


def engine_matchers() -> dict[System, Matcher]:
    """Return the embedded engine, one matcher for each system."""
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
        accounts: the accounts; the caller closes them.
        matchers: the matcher of each system.
        metadata: the form of the metadata in responses.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """
    calls = Calls(matchers, accounts, key_rate, demo_rate)
    terms = Terms(metadata, key_rate, demo_rate)
    app = FastAPI(title="tender-pipeline", openapi_url=None, redirect_slashes=False)
    app.add_middleware(AccessLog, failed=answer_failures(app, error_page))
    app.add_middleware(SecurityHeaders)
    app.add_middleware(EncodedSlashes)  # the last is the outermost
    for system in SYSTEMS:
        endpoint = _endpoint(calls, system, metadata)
        app.post(f"/api/{system}/match", **operation(system, terms))(endpoint)
    well = health(accounts)
    app.get("/health", **HEALTH)(well)
    app.head("/health", include_in_schema=False)(well)
    _describe(app, terms)
    app.include_router(router(accounts, calls, terms))
    return app


def _endpoint(
    calls: Calls, system: System, metadata: Metadata
) -> Callable[[Request], Awaitable[Response]]:
    async def match(request: Request) -> Response:
        holder = calls.holder(key_of(request))
        if holder is not None:
            request.state.account_id = holder.account_id
        calls.count(holder, request.client.host if request.client else "")
        description = description_in(await body_of(request))
        answered = await calls.answer(holder, system, description)
        request.state.price_usd = answered.price.final
        body = success(system, description, answered.matches, answered.price, metadata)
        return Response(body, media_type=JSON)

    return match


def _describe(app: FastAPI, terms: Terms) -> None:
    routes = list(app.routes)

    @cache  # it takes longer than the rest of building a service, and few ask for it
    def document() -> bytes:
        return described(routes, terms)

    async def openapi(request: Request) -> Response:  # noqa: ARG001 - its shape
        return Response(document(), media_type=JSON)

    app.add_route("/openapi.json", openapi, ["GET"], include_in_schema=False)  # and HEAD with it
