"""The errors that the service answers with.

RefusedError                   500: the service failed at this call
├── ValidationError            400 and other 4xx: the request is not valid
├── UnauthorizedError          401: the key is unknown or revoked
├── InsufficientBalanceError   402: the balance does not cover the price
└── RateLimitError             429: too many requests

Any other exception becomes `INTERNAL_ERROR`, 500.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

INTERNAL_ERROR = "INTERNAL_ERROR"

SCHEME = "APIKey"
"""The scheme in the WWW-Authenticate header of a 401; none is registered for X-API-Key."""


class RefusedError(Exception):
    """A call that gets no matches and costs nothing.

    Attributes:
        status: the HTTP status.
        error: the interface's error type.
        message: what is wrong and what to do about it.
        headers: further headers of the response.
    """

    status = 500
    error = INTERNAL_ERROR

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message, self.headers = message, headers or {}


class ValidationError(RefusedError):
    """The request is not valid; the same one will always be refused."""

    error = "VALIDATION_ERROR"

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class UnauthorizedError(RefusedError):
    """The request has an unknown or revoked key."""

    status = 401
    error = "UNAUTHORIZED"


class InsufficientBalanceError(RefusedError):
    """The account's balance does not cover the price of the answer."""

    status = 402
    error = "INSUFFICIENT_BALANCE"


class RateLimitError(RefusedError):
    """The rate limit is reached.

    Attributes:
        reason: which limit is reached.
        wait: the seconds until the request would be taken.
    """

    status = 429
    error = "RATE_LIMIT_EXCEEDED"

    def __init__(self, message: str, wait: float) -> None:
        self.reason, self.wait = message, max(1, ceil(wait))
        text = f"{message} Wait {self.wait} s before the next request."
        super().__init__(text, {"Retry-After": str(self.wait)})
