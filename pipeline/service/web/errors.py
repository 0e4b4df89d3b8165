"""The error that a page raises."""

from __future__ import annotations

__all__ = ["PageError"]


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
