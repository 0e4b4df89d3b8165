"""Refuses forms that another site sends in a visitor's name (CSRF)."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from pipeline.service.web.errors import PageError
from pipeline.service.web.forms import Form
from pipeline.service.web.visitors import TOKEN_FIELD, Visitor

__all__ = ["check_origin", "check_token"]

OURS = ("same-origin", "none")
"""What browsers say of a request that comes from this site, or from no site at all."""


def check_origin(request: Request) -> None:
    """Refuse a request that a browser says comes from elsewhere.

    What a browser says of the site counts more than the origin, since a proxy may have put
    another host into the request than the browser sees.

    Raises:
        PageError: it does.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        if site not in OURS:
            raise PageError(403)
        return
    origin = request.headers.get("Origin")
    if origin is not None and not _is_host(origin, request.headers.get("Host", "")):
        raise PageError(403)


def check_token(visitor: Visitor, form: Form) -> None:
    """Refuse a form that was not made for this visitor.

    Raises:
        PageError: it was not.
    """
    if not visitor.knows(form.value(TOKEN_FIELD)):
        raise PageError(403)


def _is_host(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False
