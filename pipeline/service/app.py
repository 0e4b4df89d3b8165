"""The service as an ASGI application."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from pipeline.answers import SYSTEMS, Matcher, System
from pipeline.engine import Engine
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from pipeline.service.accounts import Accounts
from pipeline.service.calls import Calls
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    Metadata,
    body_of,
    description_in,
    key_of,
    success,
)
from pipeline.service.http.outcomes import AccessLog, answer_failures, envelope
from pipeline.service.pricing import MAX_MATCHES
from pipeline.service.reconcile.endpoints import AnyOrigin, reconcile_routes
from pipeline.service.spec import Terms, describe_api
from pipeline.service.web import account, public
from pipeline.service.web.browsers import (
    FormError,
    PageError,
    PageFiles,
    SecurityHeaders,
    read_form,
)
from pipeline.service.web.rendering import error_page, page_of
from pipeline.service.web.site import Site, Visitor, redirect_to_log_in

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
    site, description = Site(accounts, calls, terms), describe_api(terms)

    def check_health(_: Request) -> Response:  # for monitoring: without a key and a limit
        try:
            accounts.check()
        except sqlite3.Error as error:
            log.error("the accounts cannot be used", exc_info=error)
            return envelope(503, "The accounts cannot be used. See the log.")
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
            *(_route(site, *described) for described in ROUTES),
            Mount("/static", PageFiles("pipeline.service.web")),
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


Page: TypeAlias = Callable[[Site, Visitor], Response | Awaitable[Response]]
"""A page or what a form does; one that is not a coroutine runs in a thread."""

ROUTES: tuple[tuple[str, bool, Page | None, Page | None], ...] = (
    ("/", False, partial(public.show_terms, "landing.html"), None),
    ("/docs", False, partial(public.show_terms, "docs.html"), None),
    ("/login", False, account.show_log_in, account.log_in),
    ("/signup", False, account.show_sign_up, account.sign_up),
    ("/try", False, public.show_trial, public.try_call),
    ("/account", True, account.show_account, account.change_password),
    ("/dashboard", True, account.show_dashboard, None),
    ("/keys", True, account.show_dashboard, account.make_key),
    ("/keys/{key_id}/revoke", True, account.ask_key, account.revoke_key),
    ("/logout", True, None, account.log_out),
    ("/statement", True, account.show_statement, None),
    ("/statement.csv", True, account.download_statement, None),
)
"""Each path, whether it is for members only, its page, and what its form does.

Without a session, the paths for members redirect to the login. A `FormError` shows the page again.
"""


def _route(site: Site, path: str, members: bool, page: Page | None, action: Page | None) -> Route:
    async def shown(page: Page | None, visitor: Visitor) -> Response:
        assert page is not None  # noqa: S101 - the methods say so
        answer = await run_in_threadpool(page, site, visitor)
        return await answer if isinstance(answer, Awaitable) else answer

    async def endpoint(request: Request) -> Response:
        visitor = Visitor.of(request)
        try:
            if is_form := request.method == "POST":
                visitor.form = await read_form(request)
            await run_in_threadpool(site.recognise, visitor)
            if members and visitor.account_id is None:  # logged out in another window, say
                return redirect_to_log_in(visitor)
            return await shown(action if is_form else page, visitor)
        except FormError as error:
            visitor.form = replace(visitor.form, errors=error.errors, wait=error.wait)
            return await shown(page, visitor)
        except PageError as error:
            return page_of(error, visitor)

    methods = ["GET"] * (page is not None) + ["POST"] * (action is not None)
    return Route(path, endpoint, methods=methods)
