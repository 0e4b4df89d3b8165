"""Parses JSON without changing a number, and finds the values at a path and their kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from pipeline.tables.cells import Kind
from pipeline.wording import quoted

NESTED_NAMES = 1_000
"""How many nested names an error about a missing column may choose its suggestion from."""

SPACE = re.compile(r"[ \t\r\n]*")


class Number(str):
    """A number as written, so that 1.10 and 20-digit integers keep their digits.

    Python and other programs also write NaN, Infinity and -Infinity.
    """

    __slots__ = ()


NAN = Number("NaN")
"""What programs write for a missing value, also of texts."""


def after_space(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    space = SPACE.match(text, at)
    return space.end() if space else at


def json_error(error: ValueError | RecursionError, start: int = 0) -> str:
    """Return what is wrong with JSON that begins at a position of the text."""
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case json.JSONDecodeError():
            return f"{error.msg.removesuffix(' at')} at character {error.pos + 1 - start}"
        case _:
            return str(error)


def spans(text: str, at: int = 0) -> dict[Any, tuple[int, int]]:
    """Return where the values of an object or a list begin and end, by their key or position.

    It is one that `DECODER` accepts, and begins at a position of the text.
    """
    spans_by_key: dict[Any, tuple[int, int]] = {}
    at = after_space(text, at)
    is_object = text[at] == "{"
    at += 1
    while text[at := after_space(text, at)] not in "}]":
        key, at = len(spans_by_key), after_space(text, at + (text[at] == ","))
        if is_object:
            key, at = DECODER.raw_decode(text, at)
            at = after_space(text, after_space(text, at) + 1)
        _, end = DECODER.raw_decode(text, at)
        spans_by_key[key] = at, end
        at = end
    return spans_by_key


def texts_at(record: Mapping[str, Any], path: str) -> list[str] | None:
    """Return the texts at a path such as ``tender.title``; None if the record lacks it.

    A key may itself contain dots. A list on the way stands for all its items.

    Raises:
        ValueError: the path ends at an object.
    """
    values = list(_values(record, path))
    return [text for value in values for text in _texts(value, path)] if values else None


def nested_names(record: dict[str, Any], prefix: str = "", depth: int = 4) -> Iterator[str]:
    """Yield the dotted names of values within a record's objects."""
    for key, value in record.items():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict) and depth:
            yield from nested_names(inner, f"{prefix}{key}.", depth - 1)
        elif prefix:
            yield prefix + key


def kind_of(value: Any) -> Kind:
    """Return the kind of a parsed value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case Number():
            return _kind_of_number(value)
        case str():
            return "text"
        case _:
            return "nested"


def _kind_of_number(number: str) -> Kind:
    if number.lstrip("-").isdigit() and number != "-0":
        if len(number) > 20 or not -(2**63) <= int(number) < 2**63:
            return "text"
        return "int" if abs(int(number)) <= 2**53 else "large int"
    try:
        exact = number == NAN or Decimal(number) == Decimal(repr(float(number)))
    except InvalidOperation:  # an exponent of twenty digits
        exact = False
    return "float" if exact else "text"


def _values(value: Any, path: str) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _values(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict):
        for key in _keys(path):
            if key in value:
                yield from _values(value[key], path[len(key) + 1 :])
                return


def _keys(path: str) -> Iterator[str]:
    """Yield the keys that a path may begin with, the longest first."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _texts(value: Any, path: str) -> Sequence[str]:
    match value:
        case None:
            return []
        case Number() if value == NAN:
            return []
        case bool():
            return ["true" if value else "false"]
        case str():
            return [value]
        case _:
            raise ValueError(f"{quoted(path)} is {describe(value)}, not text")


def describe(value: Any) -> str:
    """Return what a parsed value is, in words."""
    names = {"dict": "an object", "list": "an array", "Number": "a number", "str": "a text"}
    return names.get(type(value).__name__, json.dumps(value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise ValueError(f"the key {quoted(twice)} occurs twice in an object")
    return values


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=Number, parse_float=Number, parse_constant=Number
)
"""Parses JSON; numbers are of type `Number`, and a key that occurs twice is a ValueError."""
