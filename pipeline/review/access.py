"""Admits one browser to the page: the one on this machine that opened the link."""

from __future__ import annotations

import secrets
from threading import Lock

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.http.requests import cookie_of
from pipeline.service.web.forms import Form, PageError

__all__ = ["START", "Access", "LoopbackHosts"]

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
