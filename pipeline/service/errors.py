"""The errors that the service answers with.

RefusedError          500: the service failed at this call; also 401 and 402
├── ValidationError   400 and other 4xx: the request is not valid
└── RateLimitError    429: too many requests

Any other exception becomes a 500.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

SCHEME = "APIKey"
"""The scheme in the WWW-Authenticate header of a 401; none is registered for X-API-Key."""

INTERNAL_ERROR = "INTERNAL_ERROR"

TYPES = {
    401: "UNAUTHORIZED",
    402: "INSUFFICIENT_BALANCE",
    408: INTERNAL_ERROR,  # a slow request is not invalid: the client may send it again
    429: "RATE_LIMIT_EXCEEDED",
}


def error_type(status: int) -> str:
    """Return the interface's type of an error, which follows from the HTTP status."""
    return TYPES.get(status, "VALIDATION_ERROR" if status < 500 else INTERNAL_ERROR)


class RefusedError(Exception):
    """A call that gets no matches and costs nothing.

    Attributes:
        message: what is wrong and what to do about it.
        status: the HTTP status.
        headers: further headers of the response.
    """

    def __init__(
        self, message: str, status: int = 500, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.headers = message, status, headers or {}


class ValidationError(RefusedError):
    """The request is not valid; the same one will always be refused."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message, status)


class RateLimitError(RefusedError):
    """The rate limit is reached.

    Attributes:
        reason: which limit is reached.
        wait: the seconds until the request would be taken.
    """

    def __init__(self, message: str, wait: float) -> None:
        self.reason, self.wait = message, max(1, ceil(wait))
        text = f"{message} Wait {self.wait} s before the next request."
        super().__init__(text, 429, {"Retry-After": str(self.wait)})
