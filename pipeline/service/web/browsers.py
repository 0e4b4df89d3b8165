"""What browsers need: forms of this site only, security headers, and the files that pages load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import form_of

MAX_FORM = 256 * 1024
"""Bytes: enough for the longest description with every character escaped."""

MAX_FIELDS = 20

OURS = ("same-origin", "none")
"""The values of Sec-Fetch-Site for a request from this site, or from the address bar."""


class PageError(Exception):
    """A request to a page that is answered with an error page.

    Attributes:
        status: the HTTP status.
        message: what to do about it; None for the usual message of the status.
    """

    def __init__(self, status: int, message: str | None = None) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class FormError(Exception):
    """A form that changes nothing: its page is shown again, with what was typed.

    Attributes:
        errors: see `Form`.
        wait: see `Form`.
    """

    def __init__(self, errors: Mapping[str, str], wait: int = 0) -> None:
        super().__init__(errors, wait)
        self.errors, self.wait = errors, wait


def check(**errors: str) -> None:
    """Check fields, each by what is wrong with it; "" if nothing is.

    Raises:
        FormError: something is wrong.
    """
    if wrong := {name: error for name, error in errors.items() if error}:
        raise FormError(wrong)


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed into a form, and what is wrong with it.

    Attributes:
        values: the values of each field.
        errors: what is wrong with each field and how to correct it; "" is the whole form.
        wait: seconds to wait before the form may be sent again; 0 if it may be sent now.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    wait: int = 0

    def value(self, name: str) -> str:
        """Return the value of a field; "" without such a field."""
        return next(iter(self.values.get(name, ())), "")

    def chosen(self, name: str, value: str) -> bool:
        """Return whether a box is ticked."""
        return value in self.values.get(name, ())

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows the form."""
        return 429 if self.wait else 422 if self.errors else 200

    @property
    def headers(self) -> dict[str, str]:
        """The headers of that page."""
        return {"Retry-After": str(self.wait)} if self.wait else {}


async def read_form(request: Request) -> Form:
    """Return the form in a request's body.

    Raises:
        PageError: another site sent it, it is not a form, or too large.
        ClientDisconnect: the browser closed the connection before the end.
    """
    _check_origin(request)
    try:
        pairs = await form_of(request, MAX_FORM, MAX_FIELDS)
    except ValidationError as error:
        raise PageError(error.status) from error
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return Form(values)


def _check_origin(request: Request) -> None:
    """Refuse a form unless the browser says that a page of this site sent it (CSRF).

    Sec-Fetch-Site counts first, because a proxy may have replaced the host that the browser sees.
    Browsers without it send Origin, and older ones Referer, as the pages' Referrer-Policy asks.

    Raises:
        PageError: another site sent it, or the browser does not say.
    """
    site = request.headers.get("Sec-Fetch-Site")
    sender = request.headers.get("Origin", request.headers.get("Referer", ""))
    host = request.headers.get("Host", "")
    if site not in OURS if site is not None else not _is_host(sender, host):
        raise PageError(403)


def _is_host(url: str, host: str) -> bool:
    try:
        return urlsplit(url).netloc.lower() == host.lower() != ""
    except ValueError:
        return False


POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)

FRAMING = ((b"content-security-policy", POLICY), (b"x-frame-options", b"DENY"))
"""For responses without a policy of their own, which says who may frame them."""

HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""A year, for this host only: other hosts of the domain may belong to someone else."""


class SecurityHeaders:
    """Adds the security headers to all responses of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ())]
                names = {name for name, _ in headers}
                headers.extend(header for header in HEADERS if header[0] not in names)
                if FRAMING[0][0] not in names:
                    headers.extend(FRAMING)
                if scope.get("scheme") == "https":
                    headers.append(HTTPS_ONLY)
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, adding)


class PageFiles(StaticFiles):
    """The files in the folders ``static`` of some packages, which pages load.

    Browsers keep them for a while: the keys of a page need its script.
    """

    def __init__(self, *packages: str) -> None:
        super().__init__(
            packages=[(package, "static") for package in packages],
            follow_symlink=True,  # some installers make each file a link into a cache
        )

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Return a file."""
        response = super().file_response(*args, **options)
        response.headers["Cache-Control"] = "max-age=300"
        return response
