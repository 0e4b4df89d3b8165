"""The page of a review as an ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pipeline.errors import OutputError
from pipeline.review.access import START, Access, LoopbackHosts
from pipeline.review.filters import Filters
from pipeline.review.pages import STATIC, Pages
from pipeline.review.session import Review
from pipeline.service.accounts import row_number
from pipeline.service.http.security_headers import SecurityHeaders
from pipeline.service.web.forms import Form, PageError, read_form
from pipeline.service.web.static_files import FOLDER

__all__ = ["create_app"]

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
