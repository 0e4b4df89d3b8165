"""Who looks at a page: their cookies, and the token that ties a form to them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["TOKEN_FIELD", "Visitor", "visitor_of"]

SESSION, MARK = "tender_session", "tender_visitor"
"""The cookies: of a session, and of a visitor who has none but is shown a form."""

TOKEN_FIELD = "form_token"  # noqa: S105 - a field's name
"""The form field that no other site can fill in."""

MEMBERS = (
    ("/dashboard", "Dashboard"),
    ("/statement", "Statement"),
    ("/try", "Try it"),
    ("/docs", "Docs"),
    ("/account", "Account"),
)
GUESTS = (
    ("/try", "Try it"),
    ("/docs", "Docs"),
    ("/login", "Log in"),
    ("/signup", "Sign up"),
)


@dataclass(slots=True)
class Visitor:
    """Whoever sent a request.

    Attributes:
        secure: whether the request came over https.
        session: the token of the session; None without one.
        mark: a random cookie that stands for a visitor without a session; None before a form.
        account_id: the account of the session, once that was looked up.
        leaving: whether a session cookie must be taken away, since the session is over.
        marked: whether the mark is new, so that its cookie must be set.
    """

    secure: bool
    session: str | None
    mark: str | None
    account_id: int | None = None
    leaving: bool = False
    marked: bool = False

    @property
    def signed_in(self) -> bool:
        """Whether there is a session, as far as is known."""
        return self.session is not None

    @property
    def member(self) -> int:
        """The account, on a page that nobody without one gets to see."""
        assert self.account_id is not None  # noqa: S101 - the router sees to it
        return self.account_id

    @property
    def places(self) -> Sequence[tuple[str, str]]:
        """Where the visitor can go, with the names of the places."""
        return MEMBERS if self.signed_in else GUESTS

    @property
    def token(self) -> str:
        """What a form of this visitor must bring along: it cannot be told from outside.

        The cookie is the key: it is random, and no script and no other site can read it.
        """
        if self.session is None and self.mark is None:
            self.mark, self.marked = secrets.token_urlsafe(32), True
        return _token(self.session or self.mark or "")

    @property
    def token_field(self) -> Markup:
        """The token as a hidden field, for templates."""
        return Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN_FIELD, self.token)

    def knows(self, token: str) -> bool:
        """Tell whether a form was made for this visitor."""
        cookie = self.session or self.mark
        return cookie is not None and hmac.compare_digest(_token(cookie).encode(), token.encode())

    def end(self) -> None:
        """Take the session away from the browser."""
        self.session, self.account_id, self.leaving = None, None, True

    def give_cookies(self, response: Response, session_seconds: int | None = None) -> None:
        """Set the cookies that changed.

        Args:
            response: what they are sent with.
            session_seconds: how long a session that begins now lasts; None: none begins.
        """
        if session_seconds is not None and self.session is not None:
            self._set(response, SESSION, self.session, session_seconds)
            self._set(response, MARK, "", 0)
            return
        if self.leaving:
            self._set(response, SESSION, "", 0)
        if self.marked and self.mark is not None:
            self._set(response, MARK, self.mark)

    def _set(self, response: Response, name: str, value: str, seconds: int | None = None) -> None:
        response.set_cookie(
            _name(name, self.secure),
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )


def visitor_of(request: Request) -> Visitor:
    """Return the visitor that the cookies tell of; whether the session is one is not looked up."""
    secure = request.scope["scheme"] == "https"
    session = request.cookies.get(_name(SESSION, secure))
    mark = request.cookies.get(_name(MARK, secure))
    return Visitor(secure, session or None, mark or None)


def _name(name: str, secure: bool) -> str:
    """Over https a browser takes the prefix only from this very host, for all of its paths."""
    return f"__Host-{name}" if secure else name


def _token(cookie: str) -> str:
    return hmac.new(cookie.encode("latin-1", "replace"), b"form of these pages", sha256).hexdigest()
