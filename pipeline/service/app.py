"""The service as an ASGI application."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipeline.answers import SYSTEMS, Matcher, System
from pipeline.engine import Engine
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.accounts import Accounts
from pipeline.service.errors import INTERNAL_ERROR
from pipeline.service.http.exception_handlers import answer_failures, envelope
from pipeline.service.http.logs import AccessLog
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    Metadata,
    body_of,
    description_in,
    key_of,
    success,
)
from pipeline.service.http.security_headers import SecurityHeaders
from pipeline.service.matching.calls import Calls
from pipeline.service.matching.pricing import MAX_MATCHES
from pipeline.service.reconcile.endpoints import AnyOrigin, reconcile_routes
from pipeline.service.spec import Terms, describe_api
from pipeline.service.web.rendering import error_page
from pipeline.service.web.router import routes

log = logging.getLogger("pipeline.service")


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
) -> Starlette:
    """Build the service; the caller closes the accounts. See `Terms` for the other arguments."""
    calls = Calls(matchers, accounts, key_rate, demo_rate)
    terms = Terms(metadata, key_rate, demo_rate)
    description = describe_api(terms)

    def check_health(_: Request) -> Response:  # for monitoring: without a key and a limit
        try:
            accounts.check()
        except sqlite3.Error as error:
            log.error("the accounts cannot be used", exc_info=error)
            return envelope(503, INTERNAL_ERROR, "The accounts cannot be used. See the log.")
        return JSONResponse({"status": "ok"})

    def show_description(_: Request) -> Response:
        return Response(description, media_type=JSON)

    app = Starlette(
        routes=[
            *(
                Route(path, _endpoint(calls, system, metadata), methods=["POST"])
                for path, system in ENDPOINTS.items()
            ),
            Route("/health", check_health),
            Route("/openapi.json", show_description),
            *reconcile_routes(calls, terms),
            *routes(accounts, calls, terms),
        ]
    )
    app.router.redirect_slashes = False
    app.add_middleware(AnyOrigin)
    app.add_middleware(AccessLog, failed=answer_failures(app, error_page))
    app.add_middleware(SecurityHeaders)  # the last is the outermost
    return app


def _endpoint(
    calls: Calls, system: System, metadata: Metadata
) -> Callable[[Request], Awaitable[Response]]:
    async def match(request: Request) -> Response:
        request.state.system = system
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
