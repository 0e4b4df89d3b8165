"""Parses JSON records without changing a number, finds texts in them and types their keys."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pipeline.errors import InputError
from pipeline.quoting import quoted
from pipeline.tables.texts import check_absent, encodable, find_columns, join_parts, own_name
from pipeline.wording import option

__all__ = [
    "NAN",
    "NESTED_NAMES",
    "CellText",
    "Kind",
    "Number",
    "check_found",
    "find_cell_texts",
    "holders",
    "item_spans",
    "kind_of",
    "member_spans",
    "merged",
    "nested_names",
    "parsed",
    "raw_members",
    "texts_at",
]

Kind: TypeAlias = Literal["null", "bool", "int", "large int", "float", "text", "nested"]
"""What the values of a key are; ``int`` fits in 53 bits, ``large int`` in 64."""

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


def parsed(text: str, start: int = 0) -> dict[str, Any]:
    """Return a record; its numbers are of type `Number`.

    Args:
        text: the record.
        start: where what the user wrote begins in it, for the place in an error.

    Raises:
        ValueError: the text is not one JSON object, or a key occurs twice in an object.
    """
    try:
        record = DECODER.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise ValueError(f"{what} at character {error.pos + 1 - start}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(record, dict):
        raise ValueError(f"it is {_described(record)}, not an object")
    return record


def raw_members(text: str) -> dict[str, str]:
    """Return the JSON text of each value of a record that `parsed` accepts."""
    return {key: text[start:end] for key, (start, end) in member_spans(text).items()}


def member_spans(text: str, at: int = 0) -> dict[str, tuple[int, int]]:
    """Return where the values of an object begin and end; the object begins at a position."""
    found: dict[str, tuple[int, int]] = {}
    at = _after_space(text, at) + 1
    while text[at := _after_space(text, at)] != "}":
        key, at = DECODER.raw_decode(text, _after_space(text, at + (text[at] == ",")))
        start = _after_space(text, _after_space(text, at) + 1)
        _, at = DECODER.raw_decode(text, start)
        found[key] = start, at
    return found


def item_spans(text: str, at: int) -> list[tuple[int, int]]:
    """Return where the items of a list begin and end; the list begins at a position."""
    found: list[tuple[int, int]] = []
    at = _after_space(text, at) + 1
    while text[at := _after_space(text, at)] != "]":
        start = _after_space(text, at + (text[at] == ","))
        _, at = DECODER.raw_decode(text, start)
        found.append((start, at))
    return found


def texts_at(record: Mapping[str, Any], path: str) -> list[str] | None:
    """Return the texts at a path such as ``tender.title``; None if the record lacks it.

    A key may itself contain dots. A list on the way stands for all its items.

    Raises:
        ValueError: the path ends at an object.
    """
    found = list(_values(record, path))
    return [text for value in found for text in _texts(value, path)] if found else None


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


def merged(one: Kind, other: Kind) -> Kind:
    """Return the kind that holds the values of two kinds unchanged."""
    kinds = {one, other} - {"null"}
    if len(kinds) < 2:
        return kinds.pop() if kinds else "null"
    if "nested" in kinds:
        return "nested"
    if kinds == {"int", "large int"}:
        return "large int"
    return "float" if kinds == {"int", "float"} else "text"


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
            raise ValueError(f"{quoted(path)} is {_described(value)}, not text")


def _described(value: Any) -> str:
    names = {"dict": "an object", "list": "an array", "Number": "a number", "str": "a text"}
    return names.get(type(value).__name__, json.dumps(value))


def _after_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise ValueError(f"the key {quoted(twice)} occurs twice in an object")
    return found


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=Number, parse_float=Number, parse_constant=Number
)


@dataclass(slots=True)
class CellText:
    """Where the text of a row is.

    Attributes:
        place: the position of the column.
        column: its name.
        path: the field in the JSON of its cells, such as ``title``; "" for the cell itself.
        is_settled: whether a cell had the field, or a warning said that none has.
        fields: the fields that cells had, until one had it.
    """

    place: int
    column: str
    path: str = ""
    is_settled: bool = False
    fields: dict[str, None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the text column, such as ``tender.title``."""
        return f"{self.column}.{self.path}" if self.path else self.column

    def of(self, cell: str | None) -> str | None:
        """Return the text in a cell of the column; the items of a list are joined.

        Raises:
            InputError: the cell holds no JSON with such fields.
        """
        if not self.path or not cell or cell.isspace():
            return cell
        key = f"{{{json.dumps(self.column)}:"
        try:
            record = parsed(f"{key}{cell}}}", len(key))
            if isinstance(record[self.column], str | bool):
                raise ValueError(f"{quoted(cell)} is a single value")
            texts = texts_at(record, self.name)
            self._note(record, texts is not None)
            return encodable([join_parts(texts or ())])[0]
        except ValueError as error:
            raise InputError(
                f"{quoted(self.name)} cannot be read from the JSON in column "
                f"{quoted(self.column)}: {error}.",
                "If the column itself is the text, name it: "
                f"{option('text_columns', repr(self.column))}.",
            ) from error

    def _note(self, record: dict[str, Any], is_found: bool) -> None:
        if self.is_settled or is_found:
            self.is_settled = True
        elif len(self.fields) < NESTED_NAMES:
            self.fields |= dict.fromkeys(nested_names(record))


def check_found(
    cells: Iterable[CellText], names: Sequence[str], wanted: Sequence[str], table: Path | str
) -> None:
    """Refuse a field that no row of a table had, once all of it is read; see `check_absent`.

    Raises:
        InputError: there are other fields, but not this one.
    """
    absent = [cell for cell in cells if cell.fields and not cell.is_settled]
    fields = dict.fromkeys(name for cell in absent for name in cell.fields)
    check_absent([*names, *fields], [cell.name for cell in absent], wanted, table)
    for cell in absent:
        cell.is_settled = True


def find_cell_texts(
    names: Sequence[str],
    wanted: Sequence[str],
    table: Path | str,
    may_hold: Collection[str] | None = None,
) -> list[CellText]:
    """Return where the texts are; ``tender.title`` may be in the JSON of the column ``tender``.

    Only the columns that ``may_hold`` JSON are looked into; None for all.

    Raises:
        InputError: a column is missing, or several have its name.
    """
    may_hold = names if may_hold is None else may_hold
    split = [_split(names, name, may_hold) for name in wanted]
    places = find_columns(names, [column for column, _ in split], table)
    return [
        CellText(place, column, path) for place, (column, path) in zip(places, split, strict=True)
    ]


def holders(names: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return the column that each text is in, as the table names it; the wanted name without one.

    ``tender.title`` may be in the column ``tender``.
    """
    return [_split(names, name, names)[0] for name in wanted]


def _split(names: Sequence[str], wanted: str, may_hold: Collection[str]) -> tuple[str, str]:
    """Split a wanted name into that of a column and of a field in it; the field is often ""."""
    if own := own_name(names, wanted):
        return own, ""
    column, dot, path = wanted.rpartition(".")
    while dot and own_name(may_hold, column) is None:
        column, dot, _ = column.rpartition(".")
        path = wanted[len(column) + 1 :]
    return (own_name(may_hold, column) or column, path) if dot else (wanted, "")
