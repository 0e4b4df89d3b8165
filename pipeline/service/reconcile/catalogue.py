"""The codes of a system as entities: names, types, further columns, and a search while typing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from threading import Thread
from typing import TypeAlias

from pipeline.answers import System
from pipeline.codes import CodeTable, load, titles_in
from pipeline.engine import searched
from pipeline.engine.search import RANKED
from pipeline.settings import LANGUAGES

Entity: TypeAlias = dict[str, str]
"""The `id` and `name` of a code, a type or a property, as the API writes them."""


Values: TypeAlias = Callable[[str], list[Entity]]
"""Returns the values of a property for a code of the table."""


class Catalogue:
    """The codes of one system.

    A code's entity has the code as its id and the title as its name. There is one type for all
    codes, with the system as its id, and one for each level, such as `division`.
    """

    def __init__(self, table: CodeTable) -> None:
        self.table = table
        # The titles in 24 languages take a second and 100 MB: only whoever reconciles needs them.
        self._loading = Thread(target=self._found, args=("?",), daemon=True)
        self._loading.start()

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
    def properties(self) -> Mapping[str, tuple[str, bool, Values]]:
        """By id: the name of a property, whether its values are codes, and the values."""
        table = self.table
        languages = sorted(LANGUAGES.keys() - {"en"}) if self.system == "cpv" else []
        return {
            "title": ("title", False, lambda code: [{"str": table.titles[code]}]),
            "level": ("level", False, lambda code: [{"str": table.level(code)}]),
            "parent": ("parent", True, lambda code: self.entities(table.ancestors(code)[:1])),
            "path": ("path from the top", True, lambda code: self.entities(self.path(code))),
            **{
                kind["id"]: (level, True, partial(self._at_level, level))
                for level, kind in self.levels.items()
            },
            **{
                f"title-{name}": (f"title ({name})", False, partial(_title_in, name))
                for name in languages
            },
        }

    def entity(self, code: str) -> Entity:
        """Return the entity of a code of the table."""
        return {"id": code, "name": self.table.titles[code] or code}

    def entities(self, codes: Iterable[str | None]) -> list[Entity]:
        """Return the entities of codes of the table."""
        return [self.entity(code) for code in codes if code is not None]

    def path(self, code: str) -> list[str]:
        """Return the codes above a code of the table from the top down, and the code itself."""
        return [*reversed(self.table.ancestors(code)), code]

    def at_level(self, code: str, level: str) -> str | None:
        """Return the code or the one above it that is of a level; None without one."""
        return next((above for above in self.path(code) if self.table.level(above) == level), None)

    def _at_level(self, level: str, code: str) -> list[Entity]:
        return self.entities([self.at_level(code, level)])

    def description(self, code: str) -> str:
        """Return a code's level, and the title above it: ``group in Construction work``."""
        level, above = self.table.level(code), self.table.parents[code]
        return f"{level} in {self.entity(above)['name']}" if above else level

    def search(self, typed: str) -> list[str]:
        """Return the codes that begin with the text, then those that `searched` finds."""
        self._loading.join()  # a second search at the same time would load all titles again
        number = typed.upper().partition("-")[0]
        beginning = [code for code in self.table.titles if number and code.startswith(number)]
        return [*dict.fromkeys([*beginning, *self._found(typed)])]

    def _found(self, typed: str) -> list[str]:
        return [match.code for match in searched(self.system, typed, RANKED, every_level=True)]


def _title_in(language: str, code: str) -> list[Entity]:
    return [{"str": titles_in(language)[code]}]


@cache
def catalogue(system: System) -> Catalogue:
    """Return the codes of a system."""
    return Catalogue(load(system))
