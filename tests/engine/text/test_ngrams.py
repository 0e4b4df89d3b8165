from __future__ import annotations

from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engine.text.ngrams import gram_hashes, word_hashes

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8)


@settings(max_examples=30)
@given(WORDS)
def test_the_hash_of_a_word_is_that_of_its_marked_bytes(words: list[str]) -> None:
    assert word_hashes(words).tolist() == [crc32(f"={word}".encode()) for word in words]


@settings(max_examples=30)
@given(WORDS, st.sampled_from([(3, 4, 5), (5,)]))
def test_the_hashes_of_n_grams_are_those_of_their_bytes_in_any_script(
    words: list[str], lengths: tuple[int, ...]
) -> None:
    hashes, owners = gram_hashes(words, lengths)
    for place, word in enumerate(words):
        marked = f"<{word}>"
        grams = [
            marked[start : start + length]
            for length in lengths
            for start in range(len(marked) - length + 1)
        ]
        expected = sorted(crc32(gram.encode()) for gram in grams)
        assert sorted(hashes[owners == place].tolist()) == expected
