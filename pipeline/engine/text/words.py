"""The words of a text, as the titles of codes are compared with it."""

from __future__ import annotations

import re

from pipeline.engine.text.cleaning import readable

__all__ = ["split_words", "words"]

MAX_WORDS = 400
"""Words of a text that are read: a long notice begins with what is bought, the rest is terms."""

WORD = re.compile(r"[^\W\d_]{2,60}")


def words(text: str) -> list[str]:
    """Return the words of a text: letters only, without case, accents, HTML and addresses."""
    return split_words(readable(text))


def split_words(text: str) -> list[str]:
    """Return the words of a text that `readable` or `cleaned` returned."""
    return WORD.findall(text)[:MAX_WORDS]
