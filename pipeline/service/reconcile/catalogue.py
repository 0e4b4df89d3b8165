"""The codes of a system as entities: names, types, further columns, and a search while typing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, TypeAlias

from pipeline.answers import System
from pipeline.codes import CodeTable, cpv_titles, find_code, load
from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import parse_json

__all__ = ["Catalogue", "Entity", "catalogue", "extended", "properties"]


NO_WORD = re.compile(r"[\W_]+")

Entity: TypeAlias = dict[str, str]
"""The `id` and `name` of a code, a type or a property, as the API writes them."""


class Catalogue:
    """The codes of one system.

    A code's entity has the code as its id and the title as its name. There is one type for all
    codes, with the system as its id, and one for each level, such as `division`.
    """

    def __init__(self, table: CodeTable) -> None:
        self.table = table

    @property
    def system(self) -> System:
        """The system."""
        return self.table.system

    @property
    def any_code(self) -> Entity:
        """The type of all codes."""
        return {"id": self.system, "name": f"any {self.system.upper()} code"}

    @cached_property
    def levels(self) -> Mapping[str, Entity]:
        """The types of the levels by name, from the top down."""
        return {
            name: {"id": name.replace(" ", "-"), "name": f"{self.system.upper()} {name}"}
            for name in self.table.counts
        }

    @property
    def types(self) -> Sequence[Entity]:
        """All types."""
        return [self.any_code, *self.levels.values()]

    @cached_property
    def languages(self) -> Mapping[str, Mapping[str, str]]:
        """The titles in other languages than English: by language, then by code."""
        if self.system != "cpv":
            return {}
        titles = {name: some for name, some in cpv_titles().items() if name != "en"}
        codes = list(self.table.titles)
        return {name: dict(zip(codes, some, strict=True)) for name, some in titles.items()}

    def entity(self, code: str) -> Entity:
        """Return the entity of a code of the table."""
        return {"id": code, "name": self.table.titles[code] or code}

    def find(self, written: str) -> str | None:
        """Return the code that somebody wrote; None if the table has no such code."""
        return find_code(self.table, written)

    def path(self, code: str) -> list[str]:
        """Return the codes above a code of the table from the top down, and the code itself."""
        return [*reversed(self.table.ancestors(code)), code]

    def at_level(self, code: str, level: str) -> str | None:
        """Return the code or the one above it that is of a level; None without one."""
        return next((each for each in self.path(code) if self.table.level(each) == level), None)

    def description(self, code: str) -> str:
        """Return a code's level, and the title above it: ``group in Construction work``."""
        level, above = self.table.level(code), self.table.parents[code]
        return f"{level} in {self.entity(above)['name']}" if above else level

    def search(self, typed: str) -> Iterator[str]:
        """Yield the codes that begin with the text, then those whose titles have all its words.

        Titles may have longer words that begin so. English titles that begin with the text come
        first, and other languages last.
        """
        text = _words_of(typed)
        words = [f" {word}" for word in text.split()]
        if not words:
            return
        number = typed.strip().upper().partition("-")[0]
        yield from (code for code in self.table.titles if code.startswith(number))
        beginning: list[str] = []
        within: list[str] = []
        in_others: list[str] = []
        for code, english, others in self._searchable:
            if all(word in english for word in words):
                (beginning if english.startswith(text) else within).append(code)
            elif others and all(word in others for word in words):
                in_others.append(code)
        yield from (*beginning, *within, *in_others)

    @cached_property
    def _searchable(self) -> Sequence[tuple[str, str, str]]:
        others = [titles.values() for titles in self.languages.values()]
        joined = map("\n".join, zip(*others, strict=True)) if others else [""] * len(self.table)
        return [
            (code, _words_of(title), _words_of(other))
            for (code, title), other in zip(self.table.titles.items(), joined, strict=True)
        ]


def _words_of(text: str) -> str:
    """Return the words of a text in lower case, each after a space."""
    return " " + NO_WORD.sub(" ", text.casefold()).strip()


@cache
def catalogue(system: System) -> Catalogue:
    """Return the codes of a system."""
    return Catalogue(load(system))


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
