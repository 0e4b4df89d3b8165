"""Reads the forms of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from starlette.requests import Request

from pipeline.service.errors import ValidationError
from pipeline.service.http.requests import form_of
from pipeline.service.web.errors import PageError

__all__ = ["MAX_FORM", "Form", "read_form"]

MAX_FORM = 256 * 1024
"""Bytes: enough for the longest description with every character escaped."""

MAX_FIELDS = 20


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

    def wrong(self, errors: Mapping[str, str], wait: int = 0) -> Form:
        """Return the form with errors."""
        return replace(self, errors=errors, wait=wait)

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
        PageError: it is not a form, or too large.
        ClientDisconnect: the browser closed the connection before the end.
    """
    try:
        pairs = await form_of(request, MAX_FORM, MAX_FIELDS)
    except ValidationError as error:
        raise PageError(error.status) from error
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return Form(values)
