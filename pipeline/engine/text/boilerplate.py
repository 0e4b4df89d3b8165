"""The words and numbers of notices that say how to bid, not what is bought.

They are in ``words.toml`` and ``bidding.toml``, without case and accents, as `cleaning.readable`
returns texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
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
"""What begins an exclusion; see `pipeline.engine.text.cleaning.clauses`."""

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
