"""Reads the bodies of requests and writes those of responses."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import cache, lru_cache
from json import JSONDecodeError
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
    "parse_json",
    "success",
]

Metadata: TypeAlias = Literal["detailed", "compact", "mixed"]

METADATA: tuple[Metadata, ...] = get_args(Metadata)
"""The two forms of the metadata; `mixed` picks one by the text."""

MAX_CHARACTERS = 20_000
"""The longest description that is classified."""

SUCCESS = "API call was successful"

KNOWN_TEXTS = 20_000
"""How many codes with their titles are known as JSON: most answers repeat those of others."""

EXAMPLE = 'Send {"description": "..."}.'


def description_in(body: bytes) -> str:
    """Return the description in a request's body; other names are ignored.

    Raises:
        ValidationError: the body is not a JSON object with a usable description.
    """
    request = parse_json(body)
    if not isinstance(request, dict):
        raise ValidationError(f"The body is {KINDS[type(request)]}, not an object. {EXAMPLE}")
    if "description" not in request:
        raise ValidationError(f"There is no description. {EXAMPLE}")
    description = request["description"]
    if not isinstance(description, str):
        raise ValidationError(f"The description is {KINDS[type(description)]}. Send a string.")
    return checked_description(description)


def checked_description(description: str) -> str:
    """Return a description.

    Raises:
        ValidationError: it is empty, too long or not valid Unicode.
    """
    if not description.strip():
        raise ValidationError("The description is empty. Say what is to be bought.")
    if len(description) > MAX_CHARACTERS:
        raise ValidationError(
            f"The description has {len(description):,} characters. "
            f"Shorten it to {MAX_CHARACTERS:,}."
        )
    try:
        description.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(
            "The description has an unpaired surrogate. Send valid Unicode."
        ) from error
    return description


def success(
    system: System, description: str, matches: Sequence[Match], price: Price, metadata: Metadata
) -> bytes:
    """Write the response to a successful call."""
    detailed = metadata == "detailed" or (
        metadata == "mixed" and crc32(description.encode()) % 2 == 0
    )
    items = [
        f"{_code_and_title(match.code, match.title)}{float(match.confidence)!r}{rest}"
        for match, rest in zip(matches, _type_and_costs(system, price, detailed), strict=True)
    ]
    head = f'{{"success": true, "message": "{SUCCESS}", "data": ['
    return f'{head}{", ".join(items)}], "metadata": {_metadata(price, detailed)}}}'.encode()


def failure(error: str, message: str) -> bytes:
    """Write the response to a call that failed."""
    return _json({"success": False, "error": error, "message": message}).encode()


@lru_cache(KNOWN_TEXTS)
def _code_and_title(code: str, title: str) -> str:
    """Return the beginning of a match, up to its confidence."""
    written = f'"code": {_json(code)}, "title": {_json(title)}'
    return f'{{{written}, "confidence": '


@cache  # there are a few hundred prices
def _type_and_costs(system: System, price: Price, detailed: bool) -> tuple[str, ...]:
    """Return the end of each match, after its confidence."""
    costs = [f', "cost": {share}' if detailed else "" for share in price.shares]
    return tuple(f', "codeType": "{system}"{cost}}}' for cost in costs)


@cache
def _metadata(price: Price, detailed: bool) -> str:
    breakdown = {
        "apiCost": price.base,
        "markupPercentage": MARKUP_PERCENTAGE,
        "markupAmount": price.markup,
        "finalCost": price.final,
        "currency": "USD",
    }
    cost = {"costBreakdown": breakdown} if detailed else {"cost": {"apiCost": price.final}}
    return _json(cost)


def _json(content: object) -> str:
    """Write JSON; a decimal keeps all its digits."""
    return str(WRITER.encode(content))


def parse_json(content: bytes | str, what: str = "body", example: str = EXAMPLE) -> Any:
    """Read JSON by RFC 8259 and RFC 7493: UTF-8, no name twice in an object.

    Messages say what it is, and give an example of what to send in its place.

    Raises:
        ValidationError: it is not valid.
    """
    try:
        # Some programs send a byte order mark.
        text = content if isinstance(content, str) else content.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise ValidationError(f"The {what} is not UTF-8. Send JSON in UTF-8.") from error
    try:
        return JSON.decode(text)
    except _TwiceError as error:
        raise ValidationError(
            f"The {what} has a name twice in one object. Send each name once."
        ) from error
    except RecursionError as error:
        raise ValidationError(f"The {what} is nested too deeply. {example}") from error
    except ValueError as error:
        place = f" at character {error.pos + 1:,}" if isinstance(error, JSONDecodeError) else ""
        raise ValidationError(f"The {what} is not valid JSON{place}. {example}") from error


class _TwiceError(ValueError):
    """A name has two values in one object, which is ambiguous."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise _TwiceError
    return named


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # Python accepts NaN and Infinity, which are not JSON


JSON = json.JSONDecoder(object_pairs_hook=_once, parse_int=float, parse_constant=_refuse)
"""Integers are read as floats, as Python limits integers to 4,300 digits. No number is used."""

WRITER = simplejson.JSONEncoder(ensure_ascii=False, use_decimal=True)

KINDS = {
    type(None): "null",
    bool: "a boolean",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
