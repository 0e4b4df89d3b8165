from __future__ import annotations

from collections.abc import Sequence

from pipeline.cache import ENTRY_BYTES, Cache


class Lengths:
    """Returns the lengths of texts, and notes them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.asked += sorted(texts)
        return [*map(len, texts)]


def test_a_function_is_called_once_for_each_text() -> None:
    function = Lengths()
    lengths = Cache(function)
    assert lengths(["a", "bb", "a", ""]) == [1, 2, 1, 0]
    assert lengths(["bb", "ccc", "a"]) == [2, 3, 1]
    assert lengths([]) == []
    assert function.asked == ["", "a", "bb", "ccc"]


def test_what_is_remembered_stays_within_its_memory() -> None:
    function = Lengths()
    lengths = Cache(function, most_bytes=10 * (3 + ENTRY_BYTES))
    for number in range(12):
        assert lengths([f"{number:03}"]) == [3]
    assert lengths(["011", "000"]) == [3, 3]
    assert function.asked.count("000") == 2
    assert function.asked.count("011") == 1


def test_the_memory_of_results_counts() -> None:
    function = Lengths()
    lengths = Cache(function, most_bytes=2 * ENTRY_BYTES + 10, size=lambda length: length * 10)
    assert [lengths([text]) for text in ("a", "a", "bb", "a")] == [[1], [1], [2], [1]]
    assert function.asked == ["a", "bb", "a"]
