"""Finds the exclusions in a text, such as "except food": they do not say what is bought."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["clauses"]

WORDS = (
    *("except", "excepting", "excluding", "exclusive of", "other than", "not including"),
    *("with the exception of", "sauf", "excepte", r"a l\Wexception", r"a l\Wexclusion"),
    *("ausser", "ausgenommen", "mit ausnahme", "excepto", "salvo", "exceto", "con excepcion"),
    *("a excepcion", "com excecao", "eccetto", "tranne", "ad eccezione", "behalve"),
    *("uitgezonderd", "met uitzondering", "z wyjatkiem", "oprocz", "s vyjimkou", "cu exceptia"),
)
"""The words that begin an exclusion, in lower case and without accents."""

IN_BRACKETS = ("excl", "exclus", "excluded", "excludes", "hors", "ohne", "escluso", "esclusa")
"""The words that begin one at the start of a bracket; elsewhere they may mean something else."""

STEMS = (
    *("exc", "other than", "not including", "sauf", "ausser", "ausgenommen", "ausnahme", "salvo"),
    *("eccet", "eccez", "tranne", "behalve", "uitgezonderd", "uitzondering", "wyjatk", "oprocz"),
    *("vyjimk", "hors", "ohne", "esclus"),
)
"""Each of those words contains one of these: a text without them has no exclusion."""

REACH = 60
REACH_IN_BRACKETS = 200
"""Characters that an exclusion has at most, in a clause and in a bracket."""

EXCEPTION = re.compile(
    rf"(?<=\()\s*(?:{'|'.join(WORDS + IN_BRACKETS)})\b"
    rf"([^()]{{0,{REACH_IN_BRACKETS}}}(?:\([^()]*\)[^()]{{0,{REACH_IN_BRACKETS}}})*)"
    rf"|\b(?:{'|'.join(WORDS)})\b([^.;:()]{{0,{REACH}}}(?:(?<=\w)\w+)?)"
)
"""At the start of a bracket, the whole bracket; elsewhere, the rest of the clause."""


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text in their order, each with whether it is excluded.

    Args:
        text: in lower case, without accents.

    >>> list(clauses("stores (except food) and markets"))
    [('stores (', False), (' food', True), (') and markets', False)]
    """
    if not any(map(text.__contains__, STEMS)):
        yield text, False
        return
    at = 0
    for exception in EXCEPTION.finditer(text):
        yield text[at : exception.start()], False
        yield exception[1] or exception[2] or "", True
        at = exception.end()
    yield text[at:], False
