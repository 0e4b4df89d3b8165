from __future__ import annotations

from pipeline.remembered import ENTRY_BYTES, Remembered


def test_a_function_is_called_once_for_each_text() -> None:
    called: list[str] = []

    def length(text: str) -> int:
        called.append(text)
        return len(text)

    lengths = Remembered(length)
    assert [lengths[text] for text in ("a", "bb", "a", "bb", "")] == [1, 2, 1, 2, 0]
    assert called == ["a", "bb", ""]


def test_what_is_remembered_stays_within_its_memory() -> None:
    lengths = Remembered(len, most_bytes=10 * (3 + ENTRY_BYTES))
    for number in range(1_000):
        assert lengths[f"{number:03}"] == 3
        assert len(lengths) <= 11
    assert lengths["999"] == 3
