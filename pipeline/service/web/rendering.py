"""Turns templates into responses, with money, times and limits as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from http import HTTPStatus
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from pipeline.json_log import iso
from pipeline.money import plain
from pipeline.pages import environment
from pipeline.rate import Rate, duration
from pipeline.service.web.browsers import PageError
from pipeline.service.web.site import Visitor
from pipeline.wording import how_many

WORDS = {
    400: ("The form cannot be read", "Send it from the page itself."),
    403: ("This form did not come from this site", "Open the page here and send the form again."),
    404: ("Page not found", "Check the address, or start from the home page."),
    405: ("This address does not take this request", "Start from the home page."),
    413: ("The form is too large", "Go back and send less."),
    415: ("The form has the wrong format", "Send it from the page itself."),
    429: ("Too many requests", "Wait a while and try again."),
    500: ("The service failed", "It is not your fault. Try again later."),
}
"""The heading and the advice of error pages."""

DONE = {
    "logout": "You are logged out.",
    "password": "Password changed. Every other session of this account has ended.",
    "revoked": "Key revoked. Calls with it are refused from now on.",
}
"""What the page after a redirect says was done, by `done` in its address."""

WINDOWS = {1.0: "second", 60.0: "minute", 3600.0: "hour", 86400.0: "day"}


def render(
    visitor: Visitor,
    template: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a page from a template, which shows the values.

    It has the status and headers that the errors of the visitor's form call for.
    """
    request, form = visitor.request, visitor.form
    done = DONE.get(request.query_params.get("done", ""))
    values |= {"here": request.url.path, "base_url": visitor.base_url, "done": done, "form": form}
    text = templates().get_template(template).render(visitor=visitor, **values)
    response = HTMLResponse(text, status or form.status, headers or form.headers)
    visitor.set_cookie(response)
    return response


def error_page(request: Request, status: int) -> HTMLResponse:
    """Return the page for an HTTP status."""
    return page_of(PageError(status), Visitor.of(request))


def page_of(error: PageError, visitor: Visitor) -> HTMLResponse:
    """Return the page that an error is answered with."""
    status = error.status
    heading, usual = WORDS.get(status) or (HTTPStatus(status).phrase, "Go back and try again.")
    message = error.message or usual
    return render(visitor, "error.html", status, heading=heading, message=message)


@cache
def templates() -> Environment:
    """Return the templates of all pages, with the filters that they use."""
    jinja = environment("pipeline.service.web")
    jinja.filters |= {"duration": duration, "rate": _rate, "usd": usd, "when": when}
    return jinja


def usd(amount: Decimal, decimals: int = 2) -> str:
    """Write an amount exactly, with at least `places` decimal places."""
    text = plain(abs(amount))
    whole, _, fraction = text.partition(".")
    sign = "\N{MINUS SIGN}" if amount < 0 else ""
    return f"{sign}{int(whole):,}.{fraction.ljust(decimals, '0')}"


def when(at: float) -> Markup:
    """Write a time for people: UTC, to the second."""
    moment = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}">{}</time>').format(iso(at), f"{moment:%Y-%m-%d %H:%M:%S}")


def _rate(rate: Rate | None) -> str:
    """Write a limit: 100 requests a minute."""
    if rate is None:
        return "any number of requests"
    window = WINDOWS.get(rate.window)
    words = f"a{'n' if window == 'hour' else ''} {window}" if window else f"in {rate.window:g} s"
    return f"{how_many(rate.slots, 'request')} {words}"
