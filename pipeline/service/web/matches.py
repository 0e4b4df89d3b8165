"""What the page to try the service shows of a match: its title, its place in the tree, its band."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipeline.answers import Match, System
from pipeline.bands import Band, band
from pipeline.codes import CodeTable, load, titles_in
from pipeline.codes.levels import stem

__all__ = ["ShownMatch", "shown"]


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """One row of the table of matches.

    Attributes:
        code: the code.
        title: its title, in the language asked for if there is one.
        language: the language of the title.
        confidence: how sure the matcher is.
        band: what the first code is worth; None for the others, for which bands are not measured.
        above: the codes above it from the top, each short and with its title.
    """

    code: str
    title: str
    language: str
    confidence: float
    band: Band | None
    above: tuple[tuple[str, str], ...]


def shown(system: System, matches: Iterable[Match], language: str) -> Iterator[ShownMatch]:
    """Yield what to show of some matches of a system."""
    titles = titles_in(language) if system == "cpv" and language != "en" else {}
    table = load(system)
    for rank, match in enumerate(matches):
        title = titles.get(match.code)
        yield ShownMatch(
            match.code,
            title or match.title,
            language if title else "en",
            match.confidence,
            None if rank else band(system, match.confidence),
            _above(table, match.code, titles),
        )


def _above(table: CodeTable, code: str, titles: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    above = reversed(table.ancestors(code)) if code in table else ()
    return tuple(
        (
            each if "-" in each else stem(table.system, each),
            titles.get(each) or table.titles[each],
        )
        for each in above
    )
