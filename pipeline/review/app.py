"""The page of a review as an ASGI application, for the one browser that opened its link."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Lock
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.errors import OutputError
from pipeline.review.pages import STATIC, Pages
from pipeline.review.queue import Filters
from pipeline.review.session import Review
from pipeline.service.accounts import row_number
from pipeline.service.http.messages import cookie_of
from pipeline.service.http.security_headers import SecurityHeaders
from pipeline.service.web.forms import Form, PageError, read_form
from pipeline.service.web.static_files import FOLDER

START = "/start"


class Access:
    """A link that admits one browser, and the cookie and form token that it is exchanged for.

    Attributes:
        token: the token of the link.
        form_token: must be in every form.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.form_token = secrets.token_urlsafe(32)
        self._cookie = f"tender_review_{port}"  # cookies do not tell ports apart
        self._session = secrets.token_urlsafe(32)
        self._used = False
        self._lock = Lock()

    def begin(self, request: Request) -> Response:
        """Exchange the token of the link for the cookie; a browser that has it just goes on.

        Raises:
            PageError: the token is wrong or was used.
        """
        if self._is_admitted(request):
            return RedirectResponse("/", 303)
        right = _same(request.query_params.get("token", ""), self.token)
        with self._lock:
            if not right or self._used or request.method != "GET":
                raise PageError(
                    403,
                    "This link is not valid, or was used already. Use the browser that opened it, "
                    "or stop the review in the terminal and start it again.",
                )
            self._used = True
        response = RedirectResponse("/", 303)
        # Lax, because a link in a terminal's web page would not send a strict cookie at first.
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="lax", path="/")
        return response

    def check(self, request: Request) -> None:
        """Refuse a browser that did not open the link.

        Raises:
            PageError: its cookie is missing or wrong.
        """
        if not self._is_admitted(request):
            raise PageError(403, "Open the link that the review printed in the terminal.")

    def check_form(self, form: Form) -> None:
        """Refuse a form that another page sent; `read_form` has checked its origin.

        Raises:
            PageError: its token is wrong.
        """
        if not _same(form.value("form_token"), self.form_token):
            raise PageError(403)

    def _is_admitted(self, request: Request) -> bool:
        return _same(cookie_of(request, self._cookie), self._session)


class LoopbackHosts:
    """Refuses requests for other hosts, as DNS rebinding makes a page of another site send them."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is for this machine."""
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
                await Response("This page is for this machine only.\n", 421)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


Action: TypeAlias = Callable[[Review, Form, Filters], Response]


def create_app(review: Review, access: Access, port: int) -> Starlette:
    """Build the page of a review, to be served at a port."""
    pages = Pages(review, access.form_token)
    app = Starlette(
        routes=[
            Route(START, access.begin),
            Route("/", _shown(access, pages.show)),
            Route("/accept", _shown(access, pages.show_accept)),
            Route("/decide", _done(review, access, _decide), methods=["POST"]),
            Route("/undo", _done(review, access, _undo), methods=["POST"]),
            Route("/accept", _done(review, access, _accept), methods=["POST"]),
            Route(FOLDER + "/{name}", STATIC.serve),
        ],
        exception_handlers=dict.fromkeys(
            (PageError, OutputError, HTTPException, Exception), pages.answer_error
        ),
    )
    app.add_middleware(partial(LoopbackHosts, port=port))
    app.add_middleware(SecurityHeaders)  # the last is the outermost
    return app


def _shown(access: Access, page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:  # not async: ranking takes a while, in a thread
        access.check(request)
        return page(request)

    return endpoint


def _done(
    review: Review, access: Access, action: Action
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        access.check(request)
        form = await read_form(request)
        access.check_form(form)
        filters = Filters.of({name: form.value(name) for name in form.values})
        return await run_in_threadpool(action, review, form, filters)

    return endpoint


def _decide(review: Review, form: Form, filters: Filters) -> Response:
    number = row_number(form.value("item"))
    if number is None or not review.choose(number, form.value("choice")):
        raise PageError(422, "This is not a decision about a text of the table. Choose again.")
    return _back(filters)


def _undo(review: Review, form: Form, filters: Filters) -> Response:  # noqa: ARG001 - an action
    item = review.undo()
    return _back(filters, f"item={item.number}" if item else "nothing=1")


def _accept(review: Review, form: Form, filters: Filters) -> Response:
    count = row_number(form.value("count"))
    if count is not None and review.accept_all(filters, count):
        return _back(filters)
    return RedirectResponse(f"/accept?changed=1&{filters.query}", 303)


def _back(filters: Filters, more: str = "") -> Response:
    query = "&".join(part for part in (filters.query, more) if part)
    return RedirectResponse(f"/?{query}" if query else "/", 303)
