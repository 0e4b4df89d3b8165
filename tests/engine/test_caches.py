"""The engine's caches are bounded by bytes, so that memory does not grow with the rows."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import pytest

from pipeline.engine import evidence
from pipeline.engine.lexical import features as lexical
from pipeline.engine.model import features

MIB = 1 << 20

LONGEST = "ö" * 40


def size(value: Any) -> int:
    return getsizeof(value) + (sum(map(getsizeof, value)) if isinstance(value, tuple) else 0)


@pytest.mark.parametrize("cached", [features._spelling, lexical._features, evidence._names])
def test_a_cache_full_of_the_longest_words_fits_the_memory_it_may_take(cached: Any) -> None:
    entry = size(LONGEST) + size(cached(LONGEST))
    assert cached.cache_info().maxsize * entry < 64 * MIB
    usual = "construction"
    assert cached.cache_info().maxsize * (size(usual) + size(cached(usual))) < 16 * MIB
