"""Routes: the function of each page and action, and the checks before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipeline.service.accounts import Accounts
from pipeline.service.matching.calls import Calls
from pipeline.service.spec.terms import Terms
from pipeline.service.web import authentication, dashboard, docs, trial
from pipeline.service.web.forms import Form, PageError, read_form
from pipeline.service.web.rendering import page_of
from pipeline.service.web.site import Site, Visitor, redirect_to_log_in
from pipeline.service.web.static_files import FOLDER, serve_static

__all__ = ["routes"]

Page: TypeAlias = Callable[[Site, Visitor], Response]
Action: TypeAlias = Callable[[Site, Visitor, Form], Awaitable[Response]]

OPEN_PAGES: dict[str, Page] = {
    "/": docs.show_home,
    "/docs": docs.show_docs,
    "/login": authentication.show_log_in,
    "/signup": authentication.show_sign_up,
    "/try": trial.show,
}
PAGES: dict[str, Page] = {
    "/account": authentication.show_account,
    "/dashboard": dashboard.show,
    "/keys/{key_id}/revoke": dashboard.ask_revoke,
    "/keys/{key_id}/rotate": dashboard.ask_rotate,
    "/statement": dashboard.show_statement,
    "/statement.csv": dashboard.download_statement,
}
OPEN_ACTIONS: dict[str, Action] = {
    "/login": authentication.log_in,
    "/signup": authentication.sign_up,
    "/try": trial.ask,
}
ACTIONS: dict[str, Action] = {
    "/account": authentication.change_password,
    "/keys": dashboard.make_key,
    "/keys/{key_id}/revoke": dashboard.revoke_key,
    "/keys/{key_id}/rotate": dashboard.rotate_key,
    "/logout": authentication.log_out,
}
"""Without a session, only the open ones are shown; the others redirect to the login."""


def routes(accounts: Accounts, calls: Calls, terms: Terms) -> list[Route]:
    """Return the routes of all pages."""
    site = Site(accounts, calls, terms)
    return [
        *(Route(path, _shown(site, page, False)) for path, page in OPEN_PAGES.items()),
        *(Route(path, _shown(site, page, True)) for path, page in PAGES.items()),
        *(_post(path, _done(site, action, False)) for path, action in OPEN_ACTIONS.items()),
        *(_post(path, _done(site, action, True)) for path, action in ACTIONS.items()),
        Route(FOLDER + "/{name}", serve_static),
    ]


def _post(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, endpoint, methods=["POST"])


def _shown(site: Site, page: Page, members: bool) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:  # not async: it may block, in a thread
        visitor = Visitor.of(request)
        site.recognise(visitor)
        if members and visitor.account_id is None:
            return redirect_to_log_in(visitor)
        try:
            return page(site, visitor)
        except PageError as error:
            return page_of(error, visitor)

    return endpoint


def _done(site: Site, action: Action, members: bool) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        visitor = Visitor.of(request)
        try:
            form = await read_form(request)
            await run_in_threadpool(site.recognise, visitor)
            if members and visitor.account_id is None:  # logged out in another window, say
                return redirect_to_log_in(visitor)
            return await action(site, visitor, form)
        except PageError as error:
            return page_of(error, visitor)

    return endpoint
