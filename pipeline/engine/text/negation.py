"""Finds what a text excludes: it speaks for other codes than what the text is about."""

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
"""What begins an exception, as `features.tokens` spells it: lower case, without accents."""

IN_BRACKETS = ("excl", "exclus", "excluded", "excludes", "hors", "ohne", "escluso", "esclusa")
"""What begins one at the start of a bracket; elsewhere it may well mean something else."""

REACH = 60
REACH_IN_BRACKETS = 200
"""Characters that an exception extends to, if its clause goes on or its bracket is not closed."""

EXCEPTION = re.compile(
    rf"(?<=\()\s*(?:{'|'.join(WORDS + IN_BRACKETS)})\b"
    rf"([^()]{{0,{REACH_IN_BRACKETS}}}(?:\([^()]*\)[^()]{{0,{REACH_IN_BRACKETS}}})*)"
    rf"|\b(?:{'|'.join(WORDS)})\b([^.;:()]{{0,{REACH}}}(?:(?<=\w)\w+)?)"
)
"""At the start of a bracket all of it, with brackets within; elsewhere the rest of the clause."""


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what a text says, in its order, and whether each part of it is excluded.

    Args:
        text: in lower case, without accents.

    >>> list(clauses("stores (except food) and markets"))
    [('stores (', False), (' food', True), (') and markets', False)]
    """
    at = 0
    for exception in EXCEPTION.finditer(text):
        yield text[at : exception.start()], False
        yield exception[1] or exception[2] or "", True
        at = exception.end()
    yield text[at:], False
