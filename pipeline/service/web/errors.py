"""What a browser is shown when there is no page to show."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.web.rendering import render
from pipeline.service.web.visitors import Visitor

__all__ = ["PageError", "error_page"]

WORDS = {
    403: ("This form is out of date", "Go back, load the page again and send the form once more."),
    404: ("There is no such page", "Check the address, or start from the first page."),
    405: ("This address takes no such request", "Start from the first page."),
    413: ("That is too much at once", "Go back and send less."),
    415: ("The form came in another form than this page's", "Send it from the page itself."),
    429: ("Too many requests", "Wait a while and try again."),
    500: ("The service failed", "It is not your fault. Try again later."),
}
"""What errors are called, and what can be done about them."""


class PageError(Exception):
    """A request that no page comes of.

    Attributes:
        status: the HTTP status.
        message: what to do about it; None: what is always said with this status.
    """

    def __init__(self, status: int, message: str | None = None) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


def error_page(
    request: Request,
    status: int,
    message: str | None = None,
    *,
    visitor: Visitor | None = None,
) -> Response:
    """Return a page that says what went wrong.

    Args:
        request: what it went wrong with.
        status: the HTTP status.
        message: what to do about it; None: what is always said with this status.
        visitor: who asked; None: whoever the cookies say.
    """
    heading, always = WORDS.get(status) or (HTTPStatus(status).phrase, "Go back and try again.")
    told = message or always
    return render(request, "error.html", status, visitor=visitor, heading=heading, message=told)
