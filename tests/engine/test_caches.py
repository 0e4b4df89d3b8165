"""The engine's cache is bounded by bytes, so that memory does not grow with the rows."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from pipeline.engine.lexical import features

MIB = 1 << 20

LONGEST = "ö" * 40


def size(value: Any) -> int:
    return getsizeof(value) + (sum(map(getsizeof, value)) if isinstance(value, tuple) else 0)


def test_a_cache_full_of_the_longest_words_fits_the_memory_it_may_take() -> None:
    cached: Any = features._features
    entry = size(LONGEST) + size(cached(LONGEST))
    assert cached.cache_info().maxsize * entry < 64 * MIB
    usual = "construction"
    assert cached.cache_info().maxsize * (size(usual) + size(cached(usual))) < 16 * MIB
