"""Reads the key, a cookie and the body of a request: JSON or a form."""

from __future__ import annotations

from email.message import Message
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from pipeline.service.errors import ValidationError

__all__ = ["JSON", "MAX_BODY", "body_of", "cookie_of", "form_of", "key_of"]

JSON = "application/json"

FORM = "application/x-www-form-urlencoded"

MAX_BODY = 256 * 1024
"""Bytes: enough for the longest description with every character escaped."""

UTF_8 = {"utf-8", "utf8"}

LONGEST_TYPE = 256
"""Characters of a media type with its parameters: some versions of Python take seconds to read
60,000, and nothing else is answered meanwhile."""


def key_of(request: Request) -> str | None:
    """Return the API key of a request; several headers make one key, which is unknown."""
    keys = _values(request, b"x-api-key")
    return ",".join(keys) if keys else None


def cookie_of(request: Request, name: str) -> str:
    """Return the value of a cookie of ours, which needs no quotes; "" without one.

    Some versions of Python take seconds to unquote the cookies of a large request, as
    `request.cookies` does.
    """
    for pair in ";".join(_values(request, b"cookie")).split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


async def body_of(request: Request) -> bytes:
    """Read a JSON body.

    Raises:
        ValidationError: its headers do not say JSON in UTF-8, or it is too large.
        ClientDisconnect: the client closed the connection before the end.
    """
    _check_media_type(request)
    _check_coding(request)
    _check_length(request)
    body = await _read_at_most(request, MAX_BODY)
    if body is None:
        raise _too_large()
    return body


async def form_of(request: Request, size: int, fields: int) -> list[tuple[str, str]]:
    """Read a URL-encoded form, of at most so many bytes and fields; return the names and values.

    Raises:
        ValidationError: it is not a form, or too large.
        ClientDisconnect: the client closed the connection before the end.
    """
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != FORM:
        raise ValidationError(f"The body is not a form. Send it with Content-Type: {FORM}.", 415)
    body = await _read_at_most(request, size)
    if body is None:
        raise ValidationError(f"The form is too large. Send {size:,} bytes at most.", 413)
    try:
        text = body.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=fields)
    except ValueError as error:
        raise ValidationError("The form cannot be read. Send URL-encoded UTF-8.") from error


async def _read_at_most(request: Request, size: int) -> bytes | None:
    """Return a body; None if it has more than `size` bytes, of which no more are read."""
    body = bytearray()
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > size:
            return None
    return bytes(body)


def _values(request: Request, name: bytes) -> list[str]:
    """Return the values of a header, whose name is in lower case.

    It takes a third of the time of `Headers.getlist`, which decodes every header of the request.
    """
    return [value.decode("latin-1") for key, value in request.scope["headers"] if key == name]


def _check_media_type(request: Request) -> None:
    stated = _values(request, b"content-type")
    if stated == [JSON]:
        return
    header = Message()
    one = stated[0] if len(stated) == 1 else ""
    header["Content-Type"] = one if len(one) <= LONGEST_TYPE else ""
    if header.get_content_type() != JSON:
        raise ValidationError(f"The body is not JSON. Send it with Content-Type: {JSON}.", 415)
    if str(header.get_param("charset", "utf-8")).lower() not in UTF_8:
        raise ValidationError(f"The body is not UTF-8. Send it with Content-Type: {JSON}.", 415)


def _check_coding(request: Request) -> None:
    coding = ",".join(_values(request, b"content-encoding")).strip().lower()
    if coding not in ("", "identity"):
        refusal = ValidationError("The body is compressed. Send it uncompressed.", 415)
        refusal.headers["Accept-Encoding"] = "identity"
        raise refusal


def _check_length(request: Request) -> None:
    """Refuse a body that is too large before it is sent, if the client waits (RFC 9110, 10.1.1).

    The HTTP server refuses lengths that are not numbers; without a length, the bytes are counted.
    """
    stated = _values(request, b"content-length")
    if stated and stated[0].isdecimal() and float(stated[0]) > MAX_BODY:
        raise _too_large()


def _too_large() -> ValidationError:
    return ValidationError(f"The body is too large. Send {MAX_BODY:,} bytes at most.", 413)
