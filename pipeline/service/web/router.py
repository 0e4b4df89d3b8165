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
from pipeline.service.spec import Terms
from pipeline.service.web import authentication, dashboard, docs, trial
from pipeline.service.web.forms import Form, PageError, read_form
from pipeline.service.web.rendering import page_of
from pipeline.service.web.site import Site, Visitor, redirect_to_log_in
from pipeline.service.web.static_files import FOLDER, serve_static

Page: TypeAlias = Callable[[Site, Visitor], Response]
Action: TypeAlias = Callable[[Site, Visitor, Form], Response | Awaitable[Response]]
"""An action that is not a coroutine runs in a thread, as a page does."""

ROUTES: tuple[tuple[str, bool, Page | None, Action | None], ...] = (
    ("/", False, docs.show_home, None),
    ("/docs", False, docs.show_docs, None),
    ("/login", False, authentication.show_log_in, authentication.log_in),
    ("/signup", False, authentication.show_sign_up, authentication.sign_up),
    ("/try", False, trial.show, trial.ask),
    ("/account", True, authentication.show_account, authentication.change_password),
    ("/dashboard", True, dashboard.show, None),
    ("/keys", True, None, dashboard.make_key),
    ("/keys/{key_id}/revoke", True, dashboard.ask_key, dashboard.revoke_key),
    ("/keys/{key_id}/rotate", True, dashboard.ask_key, dashboard.rotate_key),
    ("/logout", True, None, authentication.log_out),
    ("/statement", True, dashboard.show_statement, None),
    ("/statement.csv", True, dashboard.download_statement, None),
)
"""Each path, whether it is for members only, its page, and what its form does.

Without a session, the paths for members redirect to the login.
"""


def routes(accounts: Accounts, calls: Calls, terms: Terms) -> list[Route]:
    """Return the routes of all pages."""
    site = Site(accounts, calls, terms)
    return [
        *(_route(site, *described) for described in ROUTES),
        Route(FOLDER + "/{name}", serve_static),
    ]


def _route(site: Site, path: str, members: bool, page: Page | None, action: Action | None) -> Route:
    async def endpoint(request: Request) -> Response:
        visitor = Visitor.of(request)
        try:
            form = await read_form(request) if request.method == "POST" else None
            await run_in_threadpool(site.recognise, visitor)
            if members and visitor.account_id is None:  # logged out in another window, say
                return redirect_to_log_in(visitor)
            if page is not None and form is None:
                return await run_in_threadpool(page, site, visitor)
            assert action is not None and form is not None  # noqa: S101 - the methods say so
            answer = await run_in_threadpool(action, site, visitor, form)
            return await answer if isinstance(answer, Awaitable) else answer
        except PageError as error:
            return page_of(error, visitor)

    methods = ["GET"] * (page is not None) + ["POST"] * (action is not None)
    return Route(path, endpoint, methods=methods)
