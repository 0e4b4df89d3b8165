"""Finds the part of a notice that says what is wanted, so that boilerplate does not drown it."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from pipeline.engine.text.bidding_words import PROCEDURE, SUPPORT
from pipeline.engine.text.boilerplate import FORMULA, OPENING, POSTAL, REFERENCE, SUBJECT

__all__ = ["MAX_CHARS", "meaning", "readable", "said"]

MAX_CHARS = 100_000
"""Nothing behind this place of a text is looked at, so that a huge cell costs little."""

TITLE = 160
"""Characters: a single line no longer than this is a title; no boilerplate is looked for in it."""

ENOUGH = 4_000
"""Characters that say what is wanted; no more are looked for."""

LONGEST = 250
"""Characters of a sentence; longer ones are lists, tables and lost full stops, and are cut."""

BRIEF = 120
"""Characters of a sentence that a formula makes boilerplate whatever else it says."""

FEW = 3
"""So many words of bidding are no accident."""

HINTED = 0.2
HOLLOW = 0.6
"""A sentence says how to bid if this share of its own words does, with a formula and without."""

HIDDEN = re.compile(r"<(?:style|script)\b[^<>]*>[^<]*", re.IGNORECASE)
BLOCK = re.compile(r"</?(?:p|br|div|li|tr|td|th|h\d|ul|ol|table)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
LINK = re.compile(r"https?://\S+|www\.\S+")
MAIL = re.compile(r"(?<!\S)[^\s@]+@\S+")
STOP = re.compile(r"\s(?:(?<=\n)|(?<=[^\W\d]{2}[.!?;)]\s)|(?<=[\d)\"'][.!?;]\s))")
PIECE = re.compile(rf"\S.{{0,{LONGEST}}}(?!\S)|\S{{{LONGEST}}}", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,60}")
DIGITS = re.compile(r"\d\d")

KEPT = 512
"""Texts whose meaning is remembered: more than are scored at once, so that it is found once."""


@lru_cache(maxsize=KEPT)
def said(text: str) -> str:
    """Return what a text says is wanted, without case and accents."""
    return meaning(readable(text))


def readable(text: str) -> str:
    """Return a text without case, accents, HTML and addresses; its lines stay apart."""
    text = text[:MAX_CHARS]
    if "<" in text or "&" in text:
        text = html.unescape(text)  # first: feeds escape their tags
        text = TAG.sub(" ", BLOCK.sub("\n", HIDDEN.sub(" ", text)))
    if "@" in text:
        text = MAIL.sub(" ", text)
    if "://" in text or "www." in text:
        text = LINK.sub(" ", text)
    text = unicodedata.normalize("NFKD", text).casefold()
    if not text.isascii():
        text = "".join(c for c in text if not unicodedata.combining(c))
    return text


def meaning(text: str) -> str:
    """Return the sentences that say what is wanted, without numbers that say nothing.

    If those are but a word, the others follow, so that a text with words always keeps some.

    Args:
        text: as `readable` returns it.
    """
    if len(text) > TITLE or "\n" in text:
        text = _telling(text)
    if DIGITS.search(text):
        without = REFERENCE.sub(" ", text)
        text = without if WORD.search(without) else text
    return text


def _telling(text: str) -> str:
    telling, others, length = [], [], 0
    for sentence in _sentences(text):
        if _says_how_to_bid(sentence):
            others.append(sentence)
        else:
            telling.append(sentence)
            length += len(sentence)
        if length > ENOUGH:
            break
    found = "\n".join(telling)
    return found if len(WORD.findall(found)) > 1 else "\n".join([found, *others])


def _sentences(text: str) -> Iterator[str]:
    for line in STOP.split(text):
        for sentence in OPENING.split(line):
            if len(sentence) <= LONGEST:
                yield sentence
            else:
                yield from PIECE.findall(sentence)


def _says_how_to_bid(sentence: str) -> bool:
    """Return whether a formula of notices or hardly any words but those of bidding stand in it."""
    formula = FORMULA.search(f" {sentence}") is not None
    if formula and len(sentence) <= BRIEF:
        return not SUBJECT.search(sentence)
    words = WORD.findall(sentence)
    own = len(words) - sum(map(SUPPORT.__contains__, words))
    bidding = sum(map(PROCEDURE.__contains__, words))
    if bidding >= max(FEW, (HINTED if formula else HOLLOW) * own):
        return not SUBJECT.search(sentence)
    return POSTAL.match(sentence) is not None
