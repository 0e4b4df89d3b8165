"""Reads the bodies of requests and writes those of responses."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, TypeAlias, TypeVar, get_args
from urllib.parse import parse_qsl
from zlib import crc32

import msgspec
from starlette.requests import ClientDisconnect, Request

from pipeline.answers import SYSTEMS, Match, System
from pipeline.service.errors import ValidationError, error_type
from pipeline.service.pricing import MARKUP_PERCENTAGE, Price

JSON = "application/json"

FORM = "application/x-www-form-urlencoded"

MAX_BODY = 256 * 1024
"""Bytes: enough for the longest description with every character escaped."""


def key_of(request: Request) -> str | None:
    """Return the API key of a request; several headers make one key, which is unknown."""
    keys = request.headers.getlist("X-API-Key")
    return ",".join(keys) if keys else None


def cookie_of(request: Request, name: str) -> str:
    """Return the value of a cookie of ours, which needs no quotes; "" without one.

    Some versions of Python take seconds to unquote the cookies of a large request, as
    `request.cookies` does.
    """
    for pair in ";".join(request.headers.getlist("Cookie")).split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


async def body_of(request: Request) -> bytes:
    """Read a JSON body.

    Raises:
        ValidationError: its headers do not say JSON, or it is too large.
        ClientDisconnect: the client closed the connection before the end.
    """
    _check_media_type(request, JSON, "JSON")
    return await _read(request, "body", MAX_BODY)


async def form_of(request: Request, size: int, fields: int) -> list[tuple[str, str]]:
    """Read a URL-encoded form, of at most so many bytes and fields; return the names and values.

    Raises:
        ValidationError: it is not a form, or too large.
        ClientDisconnect: the client closed the connection before the end.
    """
    _check_media_type(request, FORM, "a form")
    body = await _read(request, "form", size)
    try:
        text = body.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=fields)
    except ValueError as error:
        raise ValidationError("The form cannot be read. Send URL-encoded UTF-8.") from error


def _check_media_type(request: Request, media_type: str, name: str) -> None:
    stated = request.headers.get("Content-Type", "").partition(";")[0]
    if stated.strip().lower() != media_type:
        raise ValidationError(
            f"The body is not {name}. Send it with Content-Type: {media_type}.", 415
        )


async def _read(request: Request, what: str, most: int) -> bytes:
    """Return a body, of which no more than `most` bytes are read.

    One whose head says that it is larger is refused before it is sent, if the client waits
    (RFC 9110, 10.1.1).
    """
    coding = ",".join(request.headers.getlist("Content-Encoding")).strip().lower()
    if coding not in ("", "identity"):
        refusal = ValidationError(f"The {what} is compressed. Send it uncompressed.", 415)
        refusal.headers = {"Accept-Encoding": "identity"}
        raise refusal
    body, size = bytearray(), float(request.headers.get("Content-Length", 0))
    has_more = size <= most
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        size = len(body)
        has_more = message.get("more_body", False) and size <= most
    if size > most:
        raise ValidationError(f"The {what} is too large. Send {most:,} bytes at most.", 413)
    return bytes(body)


ENDPOINTS: dict[str, System] = {f"/api/{system}/match": system for system in SYSTEMS}
"""The paths of calls."""

RECONCILE = "/reconcile"
"""Where the paths of the Reconciliation API begin."""

Metadata: TypeAlias = Literal["detailed", "compact", "mixed"]

METADATA: tuple[Metadata, ...] = get_args(Metadata)
"""The two forms of the metadata; `mixed` picks one by the text."""

MAX_CHARACTERS = 20_000
"""The longest description that is classified."""

SUCCESS = "API call was successful"

EXAMPLE = 'Send {"description": "..."}.'


Read = TypeVar("Read")


class MatchRequest(msgspec.Struct):
    """The body of a call; other names are ignored."""

    description: str


def description_in(body: bytes) -> str:
    """Return the description in a request's body.

    Raises:
        ValidationError: the body is not a JSON object with a usable description.
    """
    # Some programs send a byte order mark.
    request = read_json(body.removeprefix(BOM_UTF8), MatchRequest, "body", EXAMPLE)
    if error := description_error(request.description):
        raise ValidationError(error)
    return request.description


def read_json(content: bytes | str, kind: type[Read], what: str, example: str) -> Read:
    """Read JSON in UTF-8 as a type; a message says what it is, and what to send in its place.

    Raises:
        ValidationError: it is not valid.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValidationError(f"The {what} cannot be read: {error}. {example}") from error


def description_error(description: str) -> str:
    """Return what is wrong with a description; "" if it can be classified."""
    if not description.strip():
        return "The description is empty. Say what is to be bought."
    if len(description) > MAX_CHARACTERS:
        return (
            f"The description has {len(description):,} characters. "
            f"Shorten it to {MAX_CHARACTERS:,}."
        )
    return ""


def success(
    system: System, description: str, matches: Sequence[Match], price: Price, metadata: Metadata
) -> bytes:
    """Write the response to a successful call."""
    detailed = metadata == "detailed" or (
        metadata == "mixed" and crc32(description.encode()) % 2 == 0
    )
    items = [
        {
            "code": match.code,
            "title": match.title,
            "confidence": float(match.confidence),
            "codeType": system,
            **({"cost": share} if detailed else {}),
        }
        for match, share in zip(matches, price.shares, strict=True)
    ]
    breakdown = {
        "apiCost": price.base,
        "markupPercentage": MARKUP_PERCENTAGE,
        "markupAmount": price.markup,
        "finalCost": price.final,
        "currency": "USD",
    }
    cost = {"costBreakdown": breakdown} if detailed else {"cost": {"apiCost": price.final}}
    return write_json({"success": True, "message": SUCCESS, "data": items, "metadata": cost})


def failure(status: int, message: str) -> bytes:
    """Write the response to a call that failed."""
    return write_json({"success": False, "error": error_type(status), "message": message})


parse_exactly = msgspec.json.Decoder(float_hook=Decimal).decode
"""Reads JSON; a number with a point is a decimal with all its digits."""

write_json = msgspec.json.Encoder(decimal_format="number").encode
"""Writes JSON; a decimal keeps all its digits."""
