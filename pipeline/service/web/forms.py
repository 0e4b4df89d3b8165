"""Reads forms: only what a page's own form sends, and never more of it than may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from pipeline.service.web.errors import PageError

__all__ = ["MAX_FORM", "Form", "read_form"]

URLENCODED = "application/x-www-form-urlencoded"

MAX_FORM = 256 * 1024
"""Bytes: room for the longest description with every character escaped."""

MAX_FIELDS = 20


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed into a form, and what is wrong with it.

    Attributes:
        values: the values of each field.
        errors: what is wrong with a field and how to mend it; "" stands for the whole form.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Return what a field holds; "" if the form has none of that name."""
        values = self.values.get(name, ())
        return values[0] if values else ""

    def chosen(self, name: str, value: str) -> bool:
        """Tell whether a box is ticked."""
        return value in self.values.get(name, ())

    def wrong(self, errors: Mapping[str, str]) -> Form:
        """Return the same with what is wrong."""
        return replace(self, errors=errors)


async def read_form(request: Request) -> Form:
    """Return the form in a request's body.

    Raises:
        PageError: it holds none, or more than may be.
    """
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != URLENCODED:
        raise PageError(415)
    try:
        pairs = parse_qsl(
            (await _body(request)).decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise PageError(400, "The form cannot be read. Send it from the page itself.") from error
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return Form(values)


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM:
                raise PageError(413)
    except ClientDisconnect as error:
        raise PageError(400, "The form broke off. Send it again.") from error
    return bytes(body)
