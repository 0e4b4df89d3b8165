"""Data extension: adds columns with the titles, levels and parents of codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from pipeline.service.errors import ValidationError
from pipeline.service.http.bodies import parse_json
from pipeline.service.reconcile.catalogue import Catalogue, Entity

__all__ = ["extended", "properties"]

MOST_IDS = 1_000
"""Codes that are looked up in one request."""

EXAMPLE = 'Send {"ids": ["..."], "properties": [{"id": "title"}]}.'

Cell: TypeAlias = dict[str, Any]

Values: TypeAlias = Callable[[str], list[Cell]]
"""Returns the values of a property for a code of the table."""


def properties(codes: Catalogue) -> Sequence[Entity]:
    """Return the properties of codes."""
    return [{"id": name, "name": title} for name, (title, _) in _properties(codes).items()]


def extended(request: str, codes: Catalogue) -> dict[str, Any]:
    """Return the values that a request, in JSON, asks for; none for an unknown code.

    Raises:
        ValidationError: the request is not valid.
    """
    ids, wanted = _read(request)
    known = _properties(codes)
    for name in wanted:
        if name not in known:
            raise ValidationError(f"A property is unknown. Send some of {', '.join(known)}.")
    rows: dict[str, dict[str, list[Cell]]] = {}
    for written in ids:
        code = codes.find(written)
        rows[written] = {
            name: [] if code is None else known[name][1](code) for name in dict.fromkeys(wanted)
        }
    meta = [_meta(name, known[name][0], codes) for name in dict.fromkeys(wanted)]
    return {"meta": meta, "rows": rows}


def _meta(name: str, title: str, codes: Catalogue) -> dict[str, Any]:
    """Describe a property; values that are codes have a type, so that they are matched cells."""
    is_code = name in ("parent", "path") or name in {each["id"] for each in codes.levels.values()}
    return {"id": name, "name": title, **({"type": codes.any_code} if is_code else {})}


def _properties(codes: Catalogue) -> Mapping[str, tuple[str, Values]]:
    """Return the name of each property and its values, by id."""
    table = codes.table
    return {
        "title": ("title", lambda code: [{"str": table.titles[code]}]),
        "level": ("level", lambda code: [{"str": table.level(code)}]),
        "parent": ("parent", lambda code: list(map(codes.entity, table.ancestors(code)[:1]))),
        "path": ("path from the top", lambda code: list(map(codes.entity, codes.path(code)))),
        **{
            kind["id"]: (level, partial(_at_level, codes, level))
            for level, kind in codes.levels.items()
        },
        **{
            f"title-{language}": (f"title ({language})", partial(_translated, titles))
            for language, titles in codes.languages.items()
        },
    }


def _at_level(codes: Catalogue, level: str, code: str) -> list[Cell]:
    found = codes.at_level(code, level)
    return [] if found is None else [codes.entity(found)]


def _translated(titles: Mapping[str, str], code: str) -> list[Cell]:
    return [{"str": titles[code]}]


def _read(request: str) -> tuple[list[str], list[str]]:
    found = parse_json(request, "value of extend", EXAMPLE)
    match found:
        case {"ids": list(ids), "properties": list(wanted)}:
            names: list[Any] = [each.get("id") for each in wanted if isinstance(each, dict)]
        case _:
            raise ValidationError(f"The value of extend lacks ids or properties. {EXAMPLE}")
    if len(names) < len(wanted) or not all(isinstance(each, str) for each in [*ids, *names]):
        raise ValidationError(f"An id in the value of extend is not a string. {EXAMPLE}")
    if len(ids) > MOST_IDS:
        raise ValidationError(f"There are {len(ids):,} ids. Send {MOST_IDS:,} at most.", 413)
    return ids, names
