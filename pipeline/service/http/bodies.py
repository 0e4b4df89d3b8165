"""The bodies of requests and responses, as the interface writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypeAlias, get_args
from zlib import crc32

import simplejson

from pipeline.answers import Match, System
from pipeline.service.errors import ValidationError
from pipeline.service.matching.pricing import MARKUP_PERCENTAGE, Price

__all__ = [
    "MAX_CHARACTERS",
    "METADATA",
    "SUCCESS",
    "Metadata",
    "checked_description",
    "description_in",
    "failure",
    "success",
]

Metadata: TypeAlias = Literal["detailed", "compact", "mixed"]

METADATA: tuple[Metadata, ...] = get_args(Metadata)
"""The interface's two forms of the metadata; mixed gives either, always the same to a text."""

MAX_CHARACTERS = 20_000
"""The longest description that is classified; the interface leaves the bound open."""

SUCCESS = "API call was successful"

EXAMPLE = 'Send {"description": "..."}.'


def description_in(body: bytes) -> str:
    """Return the description that a request asks about, as it was sent; other names are ignored.

    Raises:
        ValidationError: the body is not a JSON object with one that can be classified.
    """
    request = _parsed(body)
    if not isinstance(request, dict):
        raise ValidationError(f"The body is {_kind(request)}, not an object. {EXAMPLE}")
    if "description" not in request:
        raise ValidationError(f"There is no description. {EXAMPLE}")
    description = request["description"]
    if not isinstance(description, str):
        raise ValidationError(f"The description is {_kind(description)}. Send it as a string.")
    return checked_description(description)


def checked_description(description: str) -> str:
    """Return a description that can be classified.

    Raises:
        ValidationError: it cannot.
    """
    if not description.strip():
        raise ValidationError("The description is empty. Say what is to be bought.")
    if len(description) > MAX_CHARACTERS:
        raise ValidationError(
            f"The description has {len(description):,} characters. "
            f"Shorten it to {MAX_CHARACTERS:,}."
        )
    if any("\ud800" <= character <= "\udfff" for character in description):
        raise ValidationError("The description has half a surrogate pair. Send whole characters.")
    return description


def success(
    system: System, description: str, matches: Sequence[Match], price: Price, metadata: Metadata
) -> bytes:
    """Write the response to a successful call."""
    detailed = metadata == "detailed" or (
        metadata == "mixed" and crc32(description.encode()) % 2 == 0
    )
    data: list[dict[str, Any]] = [
        {
            "code": match.code,
            "title": match.title,
            "confidence": match.confidence,
            "codeType": system,
        }
        for match in matches
    ]
    if detailed:
        for item, share in zip(data, price.shares, strict=True):
            item["cost"] = share
    return _written(
        {
            "success": True,
            "message": SUCCESS,
            "data": data,
            "metadata": _detailed(price) if detailed else {"cost": {"apiCost": price.final}},
        }
    )


def failure(error: str, message: str) -> bytes:
    """Write the response to a call that failed."""
    return _written({"success": False, "error": error, "message": message})


def _detailed(price: Price) -> dict[str, Any]:
    return {
        "costBreakdown": {
            "apiCost": price.base,
            "markupPercentage": MARKUP_PERCENTAGE,
            "markupAmount": price.markup,
            "finalCost": price.final,
            "currency": "USD",
        }
    }


def _written(body: dict[str, Any]) -> bytes:
    """Write JSON; decimals become numbers digit by digit, never by way of a float."""
    return simplejson.dumps(body, ensure_ascii=False, use_decimal=True).encode()


def _parsed(body: bytes) -> Any:
    """Read JSON as RFC 8259 and RFC 7493 have it: in UTF-8 and with no name twice."""
    try:
        text = body.decode("utf-8-sig")  # some programs put a mark before UTF-8
    except UnicodeDecodeError as error:
        raise ValidationError("The body is not UTF-8. Send JSON in UTF-8.") from error
    try:
        return JSON.decode(text)
    except RecursionError as error:
        raise ValidationError(f"The body is nested too deeply. {EXAMPLE}") from error
    except ValueError as error:
        raise ValidationError(f"The body is not valid JSON. {EXAMPLE}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; which of two values under one name is meant, nobody can know."""
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValidationError("The body has a name twice in one object. Send each name once.")
    return named


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # Python would take NaN and Infinity, which JSON has not


def _kind(value: object) -> str:
    return KINDS[type(value)]


JSON = json.JSONDecoder(object_pairs_hook=_once, parse_int=float, parse_constant=_refuse)
"""No number matters, so whole ones are not read digit by digit, of which Python allows 4,300."""

KINDS = {
    type(None): "null",
    bool: "a boolean",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
