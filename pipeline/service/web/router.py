"""All pages: which function shows which address, and what is checked before it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.accounts import Accounts
from pipeline.service.matching.calls import Calls
from pipeline.service.spec.terms import Terms
from pipeline.service.web import (
    account,
    authentication,
    dashboard,
    docs,
    keys,
    landing,
    statement,
    trial,
)
from pipeline.service.web.csrf import check_origin, check_token
from pipeline.service.web.errors import PageError, error_page
from pipeline.service.web.forms import Form, read_form
from pipeline.service.web.redirects import redirect_to_log_in
from pipeline.service.web.site import Site
from pipeline.service.web.static_files import FOLDER, serve_static
from pipeline.service.web.visitors import Visitor, visitor_of

__all__ = ["router"]

Page: TypeAlias = Callable[[Site, Request, Visitor], Response]
Action: TypeAlias = Callable[[Site, Request, Visitor, Form], Awaitable[Response]]

OPEN_PAGES: dict[str, Page] = {
    "/": landing.show,
    "/docs": docs.show,
    "/login": authentication.show_log_in,
    "/signup": authentication.show_sign_up,
    "/try": trial.show,
}
PAGES: dict[str, Page] = {
    "/account": account.show,
    "/dashboard": dashboard.show,
    "/keys/{key_id}/revoke": keys.ask_revoke,
    "/keys/{key_id}/rotate": keys.ask_rotate,
    "/statement": statement.show,
    "/statement.csv": statement.download,
}
OPEN_ACTIONS: dict[str, Action] = {
    "/login": authentication.log_in,
    "/signup": authentication.sign_up,
    "/try": trial.ask,
}
ACTIONS: dict[str, Action] = {
    "/account": account.change_password,
    "/keys": keys.make,
    "/keys/{key_id}/revoke": keys.revoke,
    "/keys/{key_id}/rotate": keys.rotate,
    "/logout": authentication.log_out,
}
"""Without a session, what is not open leads to the page where one logs in."""


def router(accounts: Accounts, calls: Calls, terms: Terms) -> APIRouter:
    """Return the routes of all pages.

    Args:
        accounts: whose pages they are.
        calls: answers what is tried.
        terms: how the deployment is set, to be told.
    """
    site = Site(accounts, calls, terms)
    routes = APIRouter(include_in_schema=False)
    for pages, members in ((OPEN_PAGES, False), (PAGES, True)):
        for path, page in pages.items():
            routes.add_api_route(path, _shown(site, page, members), methods=["GET", "HEAD"])
    for actions, members in ((OPEN_ACTIONS, False), (ACTIONS, True)):
        for path, action in actions.items():
            routes.add_api_route(path, _done(site, action, members), methods=["POST"])
    routes.add_api_route(FOLDER + "/{name}", serve_static, methods=["GET", "HEAD"])
    return routes


def _shown(site: Site, page: Page, members: bool) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:  # not async: it may block, in a thread
        visitor = visitor_of(request)
        _recognise(site, request, visitor)
        if members and visitor.account_id is None:
            return redirect_to_log_in(request, visitor)
        try:
            return page(site, request, visitor)
        except PageError as error:
            return error_page(request, error.status, error.message, visitor=visitor)

    return endpoint


def _done(site: Site, action: Action, members: bool) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        visitor = visitor_of(request)
        try:
            check_origin(request)
            form = await read_form(request)
            if members and visitor.session is None:  # logged out in another window, say
                return redirect_to_log_in(request, visitor)
            check_token(visitor, form)  # of the session that the form was made in, even if over
            await run_in_threadpool(_recognise, site, request, visitor)
            if members and visitor.account_id is None:
                return redirect_to_log_in(request, visitor)
            response = await action(site, request, visitor, form)
            _note(request, visitor)  # who has logged in
            return response
        except PageError as error:
            return error_page(request, error.status, error.message, visitor=visitor)

    return endpoint


def _recognise(site: Site, request: Request, visitor: Visitor) -> None:
    site.recognise(visitor)
    _note(request, visitor)


def _note(request: Request, visitor: Visitor) -> None:
    """Leave for the access log whose session it is."""
    if visitor.account_id is not None:
        request.state.account_id = visitor.account_id
