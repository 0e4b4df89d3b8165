"""Removes boilerplate from a notice and keeps the part that says what is bought.

The words are in ``words.toml`` and ``bidding.toml``, without case and accents, as `readable`
returns texts.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from itertools import islice, pairwise
from pathlib import Path

from pipeline.files.regular import read_toml

_DATA = read_toml(Path(__file__).with_name("words.toml"))

STOP_WORDS = frozenset(
    # The names of languages end in a colon or a comma.
    word
    for word in _DATA["words"]["function"].split()
    if not word.endswith((":", ","))
)
"""Function words."""

EXCLUDING = _DATA["excluding"]
"""What begins an exclusion; see `clauses`."""

LETTER, LETTER_OR_DIGIT = r"[^\W\d_]", r"[^\W_]"


class WordPattern:
    """A pattern that matches letters of any script.

    Args:
        pattern: a regular expression without groups, for texts in lower case.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self._pattern)

    @cached_property
    def _ascii(self) -> re.Pattern[str]:
        ascii_only = self._pattern.replace(LETTER, "[a-z]").replace(LETTER_OR_DIGIT, "[a-z0-9]")
        return re.compile(ascii_only, re.ASCII)

    def findall(self, text: str) -> list[str]:
        """Return the matches in a text."""
        return (self._ascii if text.isascii() else self._any).findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return (self._ascii if text.isascii() else self._any).finditer(text)


MAX_CHARS = 100_000
"""Characters of a text that are read, so that a huge cell costs little."""

MAX_WORDS = 400
"""Words of a text that are read: a long notice begins with what is bought, the rest is terms."""

TITLE = 160
"""Characters: a single line up to this length is a title and has no boilerplate."""

ENOUGH = 4_000
"""Characters without boilerplate after which the search stops."""

LONGEST = 250
"""Characters of a sentence; longer ones are lists, tables or lack full stops, and are cut."""

FEW = 2
"""Words that a reference number or the like may have."""

LONGEST_HEADED, LONGEST_ITEM = 300, 8
"""Characters of a text that may be a heading and one item; words of the item."""

REFERENCE = re.compile(
    r"""
      \b (?:
          (?= [a-z]{0,5}\d ) (?:
              [a-z0-9]{6} -? \d\d -? [a-z] -? (?= [a-z]{0,3}\d ) [a-z0-9]{4,5}  # W912DY-24-R-0001
            | (?:19|20)\d\d / s \s? \d{1,3} \s? - \s? \d{5,8}                   # 2024/S 123-456789
            | (?<! \w[.,/-] ) (?:
                  \d{1,2} [./-] \s? \d{1,2} [./-] \s? (?:19|20)\d\d             # 15.03.2024
                | (?:19|20)\d\d - \d\d - \d\d                                   # 2024-03-15
              ) (?! -? \w )
            | \d{1,3} (?: [., ] \d{3} ){1,4} [.,] \d\d \s? (?:eur|usd|\u20ac|\$)  # 125.000,00 EUR
          ) (?! \w )
        | (?= [ftmp] ) (?: tel(?:e[fp]h?on[eo]?)? | phone | fax | mobile ) \b \.? \s? :? \s?
            [(+]? \d [\d ()/.-]{5,20} \d                                    # tel.: 01 23 45 67 89
      )
    | [$\u20ac\u00a3] \s? \d{1,3} (?: [., ]? \d{3} ){0,4} (?: [.,] \d\d? )? \b  # $19,000.00
    | \( \d{3} \) \s? \d{3} [ .-] \d{4} \b                                  # (478) 555-0134
    | \+ \d{1,3} [ (/-] [\d ()/-]{6,20} \d                                  # +49 30 1234567-89
    """,
    re.VERBOSE,
)
"""Notice numbers, dates, amounts and telephone numbers: they do not say what is bought.

Every part is bounded, so that the search is linear in the text.
"""

POSTAL = re.compile(r"\W*\d{1,5} [^\n]{3,80}, [a-z]{2}\.? \d{5}(?:-\d{4})?\W*\Z")
"""A line that is only a postal address of the United States."""

PART = re.compile(r"(?<=[.;:!?])\s+|\s[-\u2013\u2014|]\s+|\n+")
HIDDEN = re.compile(r"<(?:style|script)\b[^<>]*>[^<]*", re.IGNORECASE)
BLOCK = re.compile(r"</?(?:p|br|div|li|tr|td|th|h\d|ul|ol|table)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
LINK = re.compile(r"https?://\S+|www\.\S+")
MAIL = re.compile(r"(?<!\S)[^\s@]+@\S+")
STOP = re.compile(r"\s(?:(?<=\n)|(?<=[^\W\d]{2}[.!?;)]\s)|(?<=[\d)\"'][.!?;]\s))")
PIECE = re.compile(rf"\S.{{0,{LONGEST}}}(?!\S)|\S{{{LONGEST}}}", re.DOTALL)
WORD = WordPattern(r"[^\W\d_]{2,60}")
DIGITS = re.compile(r"\d\d")
ACCENTS = re.compile("[\u0300-\u034e\u0350-\u036f]+")
OTHER_SCRIPT = re.compile("[^\0-\u0482\u2000-\u20cf]")
"""Matches where characters may combine that are not in ACCENTS: not in Latin, Greek, Cyrillic."""

REACH = 60
REACH_IN_BRACKETS = 200
"""Characters that an exclusion has at most, in a clause and in a bracket."""

EXCEPTION = re.compile(
    rf"(?<=\()\s*(?:{'|'.join([*EXCLUDING['words'], *EXCLUDING['in_brackets']])})\b"
    rf"([^()]{{0,{REACH_IN_BRACKETS}}}(?:\([^()]*\)[^()]{{0,{REACH_IN_BRACKETS}}})*)"
    rf"|\b(?:{'|'.join(EXCLUDING['words'])})\b([^.;:()]{{0,{REACH}}}(?:(?<=\w)\w+)?)"
)
"""At the start of a bracket, the whole bracket; elsewhere, the rest of the clause."""

KEPT = 512
"""Texts whose cleaned form is cached: more than are scored at once, for several systems."""


@lru_cache(maxsize=KEPT)
def cleaned(text: str) -> str:
    """Return the part of a text that says what is bought, without case and accents."""
    return meaning(readable(text))


def readable(text: str) -> str:
    """Return a text without case, accents, HTML and addresses; it keeps its line breaks."""
    text = text[:MAX_CHARS]
    if "<" in text or "&" in text:
        text = html.unescape(text)  # first: feeds escape their tags
        text = TAG.sub(" ", BLOCK.sub("\n", HIDDEN.sub(" ", text)))
    if "@" in text:
        text = MAIL.sub(" ", text)
    if "://" in text or "www." in text:
        text = LINK.sub(" ", text)
    text = unicodedata.normalize("NFKD", text).casefold()
    return text if text.isascii() else _without_accents(text)


def _without_accents(text: str) -> str:
    text = ACCENTS.sub("", text)
    return text.translate(_WITHOUT_ACCENTS) if OTHER_SCRIPT.search(text) else text


class _WithoutAccents(dict[int, int | None]):
    """Deletes combining characters; asks of each character once whether it is one."""

    def __missing__(self, point: int) -> int | None:
        self[point] = None if unicodedata.combining(chr(point)) else point
        return self[point]


_WITHOUT_ACCENTS = _WithoutAccents()


def meaning(text: str) -> str:
    """Return the sentences that say what is bought, without reference numbers and the like.

    If they have only a word, the other sentences follow: a text with words always keeps some.

    Args:
        text: as `readable` returns it.
    """
    if len(text) > TITLE or "\n" in text:
        text = _without_boilerplate(text)
    if DIGITS.search(text):
        without = REFERENCE.sub(" ", text)
        text = without if _has_words(without, 1) else text
    return text


def written_sentences(text: str) -> list[tuple[str, bool]]:
    """Split a text into sentences as they are written, each with whether it is boilerplate.

    As for `meaning`, a title has none, nor has a text that would have nothing else.
    """
    ends = [*(match.end() for match in STOP.finditer(text)), len(text)]
    written = [text[start:end] for start, end in pairwise([0, *ends])]
    read = (readable(sentence).strip() for sentence in written)
    dull = [not each or all(map(_is_boilerplate, sentences(each))) for each in read]
    is_title = len(text) <= TITLE and "\n" not in text
    return [(text, False)] if is_title or all(dull) else list(zip(written, dull, strict=True))


def item_of(text: str) -> str:
    """Return the last part of a short text that has several, if it is brief; otherwise nothing.

    Tables of lots often begin each text alike, such as "Purchase of hardware. Claw hammers".
    """
    if len(text) > LONGEST_HEADED:
        return ""
    parts = [part for part in PART.split(text) if _has_words(part, 1)]
    return parts[-1] if len(parts) > 1 and len(parts[-1].split()) <= LONGEST_ITEM else ""


def _without_boilerplate(text: str) -> str:
    kept, excluded, length = [], [], 0
    for sentence in sentences(text):
        if _is_boilerplate(sentence):
            excluded.append(sentence)
        else:
            kept.append(sentence)
            length += len(sentence)
        if length > ENOUGH:
            break
    text_kept = "\n".join(kept)
    return text_kept if _has_words(text_kept, 2) else "\n".join([text_kept, *excluded])


def _has_words(text: str, count: int) -> bool:
    return len([*islice(WORD.finditer(text), count)]) == count


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that `readable` returned, long ones in pieces."""
    for sentence in STOP.split(text):
        if len(sentence) <= LONGEST:
            yield sentence
        else:
            yield from PIECE.findall(sentence)


BEGINNING = 7
"""Letters of a word that count: most that follow them are an ending."""


@cache
def _bidding() -> tuple[int, Mapping[str, int]]:
    """Return where a sentence starts and what each word adds; long texts alone need them."""
    data = read_toml(Path(__file__).with_name("bidding.toml"))
    levels = ((int(level), words.split()) for level, words in data["weights"].items())
    return data["start"], {word: level for level, words in levels for word in words}


def beginnings(words: Iterable[str]) -> set[str]:
    """Return the beginnings of the words of a sentence that are no function words."""
    return {word[:BEGINNING] for word in words if word not in STOP_WORDS}


def says_how_to_bid(words: Iterable[str]) -> bool:
    """Return whether a sentence of these words says how to bid rather than what is bought.

    The weights are those of a logistic regression over the words of sentences; see
    ``workshop/sentences.py``.
    """
    start, weights = _bidding()
    return start + sum(weights.get(word, 0) for word in beginnings(words)) > 0


def _is_boilerplate(sentence: str) -> bool:
    words_found = WORD.findall(sentence)
    if says_how_to_bid(words_found) or POSTAL.match(sentence):
        return True
    # A word or two may be all of a telephone number, as in "Phone: (478) 555-0134".
    return 0 < len(words_found) <= FEW and not _has_words(REFERENCE.sub(" ", sentence), 1)


def words(text: str) -> list[str]:
    """Return the words of a text: letters only, without case, accents, HTML and addresses."""
    return split_words(readable(text))


def split_words(text: str) -> list[str]:
    """Return the words of a text that `readable` or `cleaned` returned."""
    return WORD.findall(text)[:MAX_WORDS]


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text in their order, each with whether it is excluded.

    Args:
        text: in lower case, without accents.

    >>> list(clauses("stores (except food) and markets"))
    [('stores (', False), (' food', True), (') and markets', False)]
    """
    if not any(map(text.__contains__, EXCLUDING["stems"])):
        yield text, False
        return
    at = 0
    for exception in EXCEPTION.finditer(text):
        yield text[at : exception.start()], False
        yield exception[1] or exception[2] or "", True
        at = exception.end()
    yield text[at:], False
