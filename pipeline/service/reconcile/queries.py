"""Reads batches of reconciliation queries and requests for further columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pipeline.codes import find_code
from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import read_json
from pipeline.service.pricing import MAX_MATCHES
from pipeline.service.reconcile.catalogue import Catalogue

MORE_TEXT = {"id": "text", "name": "more text"}
"""The property with further text about what is bought."""

USUAL_LIMIT = 5.0
"""How many candidates a query gets that does not say."""

MOST_IDS = 1_000
"""Codes that are looked up in one request."""


class Property(Struct, frozen=True):
    """A further column of a query: its id, and its value or values."""

    pid: str
    v: Any


class Query(Struct, frozen=True):
    """A query of the Reconciliation API; names that it does not have here are ignored."""

    query: str = ""
    properties: list[Property] = []
    type: str | list[str] = []
    type_strict: Literal["any", "should", "all"] = "any"
    limit: Annotated[float, Meta(ge=1)] | None = USUAL_LIMIT

    @property
    def text(self) -> str:
        """The text of the cell and of the property with further text; others are ignored."""
        parts = [self.query]
        for column in self.properties:
            if column.pid == MORE_TEXT["id"]:
                parts += map(_text, column.v if isinstance(column.v, list) else [column.v])
        return ". ".join(filter(None, (" ".join(part.split()) for part in parts)))

    @property
    def most(self) -> int:
        """The maximum number of candidates."""
        return int(min(self.limit or USUAL_LIMIT, MAX_MATCHES))

    def levels(self, codes: Catalogue) -> list[str]:
        """Return the levels that candidates must be of, each once; none for any level.

        Raises:
            ValidationError: there is no such type.
        """
        names = [self.type] if isinstance(self.type, str) else self.type
        by_id = {kind["id"]: level for level, kind in codes.levels.items()}
        if codes.any_code["id"] in names:
            return []
        if not by_id.keys() >= set(names):
            known = ", ".join(kind["id"] for kind in codes.types)
            raise ValidationError(f"A query's type is unknown. Send one of {known}.")
        return [by_id[name] for name in dict.fromkeys(names)]


class Named(Struct, frozen=True):
    """A property to look up."""

    id: str


class Extension(Struct, frozen=True):
    """A request for the properties of codes."""

    ids: list[str]
    properties: list[Named]


def queries_in(batch: str, most: int) -> dict[str, Query]:
    """Return the queries of a batch, in JSON, by their names; it has at most `most`.

    Raises:
        ValidationError: the batch is not valid.
    """
    queries = read_json(
        batch, dict[str, Query], "value of queries", 'Send {"q0": {"query": "..."}}.'
    )
    if len(queries) > most:
        raise ValidationError(
            f"The batch has {len(queries):,} queries. Send {most:,} at most.", 413
        )
    return queries


def extend(request: str, codes: Catalogue) -> dict[str, Any]:
    """Return the values that a request, in JSON, asks for; none for an unknown code.

    Raises:
        ValidationError: the request is not valid.
    """
    example = 'Send {"ids": ["..."], "properties": [{"id": "title"}]}.'
    asked = read_json(request, Extension, "value of extend", example)
    if len(asked.ids) > MOST_IDS:
        raise ValidationError(f"There are {len(asked.ids):,} ids. Send {MOST_IDS:,} at most.", 413)
    wanted = {wanted.id: codes.properties.get(wanted.id) for wanted in asked.properties}
    known = {name: found for name, found in wanted.items() if found is not None}
    if len(known) < len(wanted):
        names = ", ".join(codes.properties)
        raise ValidationError(f"A property is unknown. Send some of {names}.")
    rows: dict[str, dict[str, list[dict[str, str]]]] = {}
    for written in asked.ids:
        code = find_code(codes.table, written)
        rows[written] = {
            name: [] if code is None else values(code) for name, (_, _, values) in known.items()
        }
    # Values that are codes have a type, so that they are matched cells.
    meta = [
        {"id": name, "name": title, **({"type": codes.any_code} if are_codes else {})}
        for name, (title, are_codes, _) in known.items()
    ]
    return {"meta": meta, "rows": rows}


def _text(value: Any) -> str:
    """Return a value's text; of a cell that was matched, its name."""
    if isinstance(value, Mapping):
        value = value.get("name", value.get("id"))
    is_text = isinstance(value, str | float | int) and not isinstance(value, bool)
    return str(value) if is_text else ""
