"""What all pages use: the accounts, the calls, the limits of one visitor, and those of guessing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from math import ceil
from typing import TypeVar, TypeVarTuple
from urllib.parse import urlencode

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from pipeline.rate import Rate, duration
from pipeline.service.accounts import LIFETIME, Accounts, canonical_email
from pipeline.service.calls import Calls
from pipeline.service.http.messages import cookie_of
from pipeline.service.limits import SlidingWindow, network_of
from pipeline.service.spec import Terms
from pipeline.service.web.browsers import Form, FormError

PAIR, ADDRESS, ACCOUNT, LATE = Rate(10, 900), Rate(100, 900), Rate(100, 900), Rate(1, 900)
"""Wrong passwords allowed: per account and address, per address, per account, and after that per
account and address again."""


class PasswordTries:
    """Decides which passwords are checked.

    The policy, in windows of 15 minutes:

    1. Only wrong passwords count. An attempt counts until its password turns out right, so that
       many at once are not taken for one.
    2. From one address, an account allows 10 wrong passwords.
    3. From one address, all accounts together allow 100.
    4. From all addresses together, an account allows 100; after that, 1 more from each address. So
       the owner gets in, from an address of his own.
    5. Open sessions and API keys are not affected. The current password in the form to change it
       follows the same rules.
    6. E-mail addresses without an account count like those with one, so they look the same.

    The address is the one that trusted proxies report; a /64 of IPv6 is one address. Behind a proxy
    that is not trusted everybody shares the proxy's address and its attempts.
    """

    def __init__(self) -> None:
        self._pair, self._address = SlidingWindow(PAIR), SlidingWindow(ADDRESS)
        self._account, self._late = SlidingWindow(ACCOUNT), SlidingWindow(LATE)

    async def account(
        self, email: str, address: str, look: Callable[[], Awaitable[int | None]]
    ) -> int | None:
        """Return the account if `look` finds that the password is right, else None.

        Raises:
            FormError: the password is not checked.
        """
        name = sha256(canonical_email(email).encode()).hexdigest()  # whatever its length
        network = network_of(address)
        pair = f"{name} {network}"
        counted: list[tuple[SlidingWindow, str]] = []

        def take(window: SlidingWindow, caller: str) -> float:
            if not (wait := window.wait(caller)):
                counted.append((window, caller))
            return wait

        wrong = False
        try:
            wait = take(self._pair, pair) or take(self._address, network)
            if wait := wait or (take(self._account, name) and take(self._late, pair)):
                raise too_many_attempts(wait)
            account = await look()
            wrong = account is None
        finally:
            if not wrong:
                for window, caller in counted:
                    window.give_back(caller)
        return account


def too_many_attempts(seconds: float) -> FormError:
    """Return the error of a form that may be sent again in some seconds."""
    wait = ceil(seconds)
    return FormError({"": f"Too many attempts. Try again in {duration(wait)}."}, wait)


SESSION = "tender_session"
"""The session cookie."""

HOME = "/dashboard"

MEMBERS = (
    (HOME, "Dashboard"),
    ("/statement", "Statement"),
    ("/try", "Try it"),
    ("/docs", "Docs"),
    ("/account", "Account"),
)
PLACES = frozenset(path for path, _ in MEMBERS)
"""The pages that a visitor may be sent to after logging in."""

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
        request: the request.
        session: the token of the session; None without one.
        form: what the request sends.
        account_id: the account of the session, once it was looked up.
        cookie: the session cookie that the browser gets, and for how many seconds; None if it
            does not change.
    """

    request: Request
    session: str | None
    form: Form = field(default_factory=Form)
    account_id: int | None = None
    cookie: tuple[str, int] | None = None

    @classmethod
    def of(cls, request: Request) -> Visitor:
        """Return the visitor with the request's cookie, whose session is not looked up yet."""
        return cls(request, cookie_of(request, _cookie(request)) or None)

    @property
    def member(self) -> int:
        """The account, on a page that is for members."""
        assert self.account_id is not None  # noqa: S101 - the router checks it
        return self.account_id

    @property
    def places(self) -> Sequence[tuple[str, str]]:
        """The paths in the navigation, with their names."""
        return GUESTS if self.session is None else MEMBERS

    @property
    def address(self) -> str:
        """The address that the request comes from."""
        return self.request.client.host if self.request.client else ""

    @property
    def base_url(self) -> str:
        """Where the visitor reaches this service, without a slash at the end."""
        return str(self.request.base_url).rstrip("/")

    def enter(self, account: int) -> None:
        """Take the account of the session, for the pages and for the access log."""
        self.account_id = self.request.state.account_id = account

    def begin(self, token: str, account: int) -> None:
        """Give the browser a session that begins now."""
        self.session, self.cookie = token, (token, LIFETIME)
        self.enter(account)

    def end(self) -> None:
        """Take the session away from the browser."""
        self.session, self.account_id, self.cookie = None, None, ("", 0)

    def set_cookie(self, response: Response) -> None:
        """Set or drop the session cookie where it changed."""
        if self.cookie is None:
            return
        value, seconds = self.cookie
        response.set_cookie(
            _cookie(self.request),
            value,
            max_age=seconds,
            path="/",
            secure=self.request.scope["scheme"] == "https",
            httponly=True,
            samesite="lax",
        )


def _cookie(request: Request) -> str:
    """Name the cookie; browsers accept the prefix only over https, from this very host."""
    return f"__Host-{SESSION}" if request.scope["scheme"] == "https" else SESSION


def safe_path(path: str) -> str:
    """Return a path if it may follow the login, else the dashboard's: no open redirect."""
    return path if path in PLACES else HOME


def redirect(path: str, visitor: Visitor) -> Response:
    """Send a visitor to a path of this site."""
    response = RedirectResponse(path, 303)
    visitor.set_cookie(response)
    return response


def redirect_to_log_in(visitor: Visitor) -> Response:
    """Send a visitor without a session to the login, and from there to the page asked for."""
    path = safe_path(visitor.request.scope["path"])
    return redirect(f"/login?{urlencode({'next': path})}", visitor)


Result = TypeVar("Result")
Values = TypeVarTuple("Values")

SIGN_UP = Rate(20, 3600)
"""Sign-ups allowed from one address, including failed ones."""

AT_ONCE = 2
"""Passwords hashed at the same time: each takes 64 MiB and a core."""


@dataclass(frozen=True)
class Site:
    """What all pages use."""

    accounts: Accounts
    calls: Calls
    terms: Terms
    _tries: PasswordTries = field(default_factory=PasswordTries)
    _sign_ups: SlidingWindow = field(default_factory=lambda: SlidingWindow(SIGN_UP))
    _hashing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(AT_ONCE))

    def recognise(self, visitor: Visitor) -> None:
        """Look up the account of a visitor's session; drop a session that has ended."""
        if visitor.session is None:
            return
        account = self.accounts.sessions.account_of(visitor.session)
        if account is None:
            visitor.end()
        else:
            visitor.enter(account)

    async def account_of(self, visitor: Visitor, email: str, password: str) -> int | None:
        """Return the account that an e-mail address and password belong to; None if wrong.

        Raises:
            FormError: see `PasswordTries`.
        """
        look = partial(self.hashing, self.accounts.log_in, email, password)
        return await self._tries.account(email, visitor.address, look)

    def count_sign_up(self, visitor: Visitor) -> None:
        """Count a sign-up.

        Raises:
            FormError: there were too many.
        """
        if wait := self._sign_ups.wait(network_of(visitor.address)):
            raise too_many_attempts(wait)

    async def hashing(self, work: Callable[[*Values], Result], *values: *Values) -> Result:
        """Run work that hashes a password in a thread, a few at once."""
        return await anyio.to_thread.run_sync(work, *values, limiter=self._hashing)
