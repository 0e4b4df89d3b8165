"""The act of a purchase: whether something is supplied, built, done, repaired, installed or leased.

A code has one act, because each system separates them: the PSC by its first letter, the CPV by its
divisions. The act of a text is in its verbs, which a model of the things that are bought hears
badly: "hire of excavators" has most words in common with "excavators". The words and the codes of
each act are in ``acts.toml``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.answers import System
from pipeline.engine.text.cleaning import KEPT, clauses, cleaned, readable
from pipeline.files.regular import read_toml


class Act(IntEnum):
    """What is done for the buyer; the number is its place in the array of `acts_of_text`."""

    SUPPLY = 0
    WORKS = 1
    SERVICE = 2
    REPAIR = 3
    INSTALLATION = 4
    LEASE = 5
    RESEARCH = 6


_DATA = read_toml(Path(__file__).with_suffix(".toml"))


@cache
def _beginnings(system: System) -> dict[str, Act]:
    acts = _DATA["codes"][system].items()
    return {start: Act[act.upper()] for act, starts in acts for start in starts.split()}


def acts_of_codes(system: System, codes: npt.NDArray[np.str_]) -> npt.NDArray[np.intp]:
    """Return the act of each code, as `pipeline.codes.normalized` writes it."""
    acts = np.full(len(codes), Act.SERVICE, np.intp)
    order = np.argsort(codes)
    for start, act in sorted(_beginnings(system).items()):  # the longest that a code has comes last
        first, end = np.searchsorted(codes, [start, f"{start}~"], sorter=order)
        acts[order[first:end]] = act
    return acts


GENERAL = "general"
"""Words such as "services", which name an act that the next words may say better."""

RENOVATION = "renovation"
"""Words of works on what exists: they mean repair as well."""

PLANNING = "planning"
"""Services about works. They decide wherever they are: "building a school, supervision"."""

GREEN = "green"
"""Plants and grounds: to maintain them is a service, and no repair."""

_NO_THING = """(?! (?:agents?|aids?|articles?|chemicals?|compounds?|consumables?|equipment|free
    |hangars?|kits?|machin(?:es?|ery)|materials?|parts?|products?|shops?|suppl(?:y|ies)|tools?
    |vehicles?|software|manuals?|trucks?|tape|simulators?|devices?|ammunition|rounds?|trailers?
    |monitors?|facilit(?:y|ies)|cent(?:er|re)s?|depots?)(?!\\w))""".replace("\n    ", "")
"""In English, the thing comes last: "repair kits" are no repair."""

_WORK_ON: Mapping[Act | str, tuple[Act, ...]] = {
    RENOVATION: (Act.WORKS, Act.REPAIR),
    PLANNING: (Act.SERVICE,),
    **{act: (act,) for act in Act},
}

_NEGATIONS, _AND = (frozenset(readable(words).split()) for words in _DATA["before"].values())

READ = 600
"""Characters of a text in which acts are looked for: what follows does not say what is bought."""

HALF = 120
"""Characters after which a word counts half as much as at the beginning."""

NEXT = 0.6
"""What each further act counts: "supply and maintenance" is a supply first."""

JOINED = 60
"""Characters between a supply and its installation, which then belongs to the supply."""

ALONE = 0.8
"""What "services" counts in a text without a word of another act."""

BELONGS = 0.3
"""What such an installation counts, or the purchase in "purchase of services"."""


class _Word(NamedTuple):
    """What begins a word of an act.

    Attributes:
        literal: how it is written.
        kind: what it says.
        context: a regular expression of what follows.
        inside: whether it may be inside a word, too.
    """

    literal: str
    kind: Act | str
    context: str
    inside: bool


FIRST = 3
"""Characters by which words are looked up: none is shorter."""


@cache
def _words() -> tuple[re.Pattern[str], Mapping[str, Sequence[_Word]]]:
    """Return what finds the places of words, and the words by how they begin, the longest first.

    One pattern of all words would take longer to compile than a short text to classify.
    """
    words: dict[str, list[_Word]] = defaultdict(list)
    for name, text in _DATA["stems"].items():
        kind = Act[name.upper()] if name.upper() in Act.__members__ else name
        for stem in (each for each in text.split() if not each.endswith(":")):
            word = _word(stem, kind)
            words[word.literal[:FIRST]].append(word)
    for some in words.values():
        some.sort(key=lambda word: (word.inside, -len(word.literal)))
    inside = "|".join(start for start, some in words.items() if any(word.inside for word in some))
    return re.compile(rf"(?<!\w)(?=(.{{{FIRST}}}))|(?=({inside}))", re.DOTALL), words


def _word(stem: str, kind: Act | str) -> _Word:
    """Return the word of a stem as ``acts.toml`` writes it."""
    written = re.split(r"[_@(]", stem.lstrip("~"))[0]
    marks, bracket, rest = stem.lstrip("~")[len(written) :].partition("(")
    end = r"(?!\w)" if "_" in marks else ""
    context = end + _NO_THING * ("@" in marks) + bracket + rest
    return _Word(readable(written.replace("·", " ")), kind, context, stem[0] == "~")


@lru_cache(maxsize=KEPT)
def acts_of_text(text: str) -> npt.NDArray[np.float32]:
    """Return how strongly a text names each act, from 0 to 1, in the order of `Act`.

    All are 0 for a text without a word of any act, such as "excavators". What is excluded or
    negated does not count, and "supply and installation" is a supply.
    """
    strengths = np.zeros(len(Act), np.float32)
    beginning = cleaned(text)[:READ]
    mentions = [*_mentions("".join(" " * len(s) if out else s for s, out in clauses(beginning)))]
    general = [at for at, kind, _ in mentions if kind == GENERAL]
    green = [at for at, kind, _ in mentions if kind == GREEN]
    supplied = [at for at, kind, _ in mentions if kind == Act.SUPPLY]
    seen: set[Act] = set()
    for at, kind, joined in mentions:
        first, following = HALF / (HALF + at), NEXT ** len(seen)
        if kind == GENERAL:
            strengths[Act.SERVICE] = max(strengths[Act.SERVICE], BELONGS * first)
        elif kind == PLANNING:
            strengths[[Act.WORKS, Act.REPAIR, Act.INSTALLATION]] *= NEXT
        for act in _WORK_ON.get(kind, ()):
            if act == Act.REPAIR and _near(at, green, JOINED):
                act = Act.SERVICE
            if act == Act.SUPPLY and _near(at, general, JOINED / 2):
                strengths[Act.SERVICE] = max(strengths[Act.SERVICE], NEXT * first)
                strengths[act] = max(strengths[act], BELONGS * first)
                continue
            decides = act in seen or act == Act.LEASE or kind == PLANNING
            weight = first if decides else following * first
            if act == Act.INSTALLATION and (joined or _near(at, supplied, JOINED)):
                weight *= BELONGS
            strengths[act] = max(strengths[act], weight)
            seen.add(act)
    if general and not seen:  # "legal services"
        strengths[Act.SERVICE] = max(strengths[Act.SERVICE], ALONE * HALF / (HALF + general[0]))
    if strengths[Act.LEASE]:
        strengths[Act.SUPPLY] *= BELONGS  # "supply by way of hire"
    strengths.flags.writeable = False  # it is cached
    return strengths


def _near(at: int, positions: Iterable[int], reach: float) -> bool:
    return any(abs(at - position) < reach for position in positions)


def _mentions(text: str) -> Iterator[tuple[int, Act | str, bool]]:
    """Yield where each word is, its kind, and whether it follows an "and"."""
    beginnings, words = _words()
    end = 0
    for beginning in beginnings.finditer(text):
        start, first = beginning.start(), beginning[1] or beginning[2]
        for word in words.get(first, ()) if start >= end else ():
            after = start + len(word.literal)
            if (
                (word.inside or beginning[1])
                and text.startswith(word.literal, start)
                and re.compile(word.context).match(text, after)
            ):
                end = after
                before = text[max(0, start - 12) : start].split()
                if not (before and before[-1] in _NEGATIONS):
                    yield start, word.kind, bool(before and before[-1] in _AND)
                break
