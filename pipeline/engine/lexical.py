"""Ranks codes by how well a text matches their titles, with an index of words and n-grams."""

from __future__ import annotations

import logging
import shutil
from array import array
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain, compress
from math import exp, sqrt
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from pipeline.answers import Match
from pipeline.codes import CodeTable, titles_by_language
from pipeline.engine.evidence import GRAM, enough_known
from pipeline.engine.model.matrices import Bools, Floats, Ints, find, highest
from pipeline.engine.text.boilerplate import BUYING_WORDS
from pipeline.engine.text.cleaning import cleaned, meaning, readable, split_words
from pipeline.engine.text.ngrams import Hashes, gram_hashes, word_hashes
from pipeline.errors import OutputError, SettingsError
from pipeline.files.atomic import new_file
from pipeline.files.paths import cache_folder

FEATURES = 1 << 20
"""Features are hashed into this many columns, so that no vocabulary has to be kept."""

GRAM_LENGTHS = (4, 5)

HALF_AT_WORD = 20
"""The position of the word that counts half as much as the first."""

LIGHTER = 0.25
"""The weight of a word that does not say what is bought; see `buying_words`."""


def term_counts(texts: Sequence[str], lighter: Container[str] = ()) -> sparse.csr_matrix:
    """Count the features of cleaned texts; earlier words have more weight than later ones.

    The weight of lighter words is multiplied by `LIGHTER`.

    Returns:
        One row a text, `FEATURES` columns, float32.
    """
    vocabulary: dict[str, int] = {}
    columns: list[int] = []
    weights: list[float] = []
    ends = [0]
    for text in texts:
        for place, word in enumerate(_wanted_words(text)):
            columns.append(vocabulary.setdefault(word, len(vocabulary)))
            weight = HALF_AT_WORD / (HALF_AT_WORD + place)
            weights.append(weight * LIGHTER if word in lighter else weight)
        ends.append(len(columns))
    shape = (len(texts), len(vocabulary))
    by_word = sparse.csr_matrix((np.array(weights, np.float32), columns, ends), shape)
    # Each distinct word is cut into n-grams once, however often it occurs.
    # A product as wide as all features would cost more for one text than the rest together.
    features, owners = _spellings(list(vocabulary))
    present, local = np.unique(features, return_inverse=True)
    counts = by_word @ _rows(local, owners, (len(vocabulary), len(present)))
    columns = present[counts.indices]
    return sparse.csr_matrix((counts.data, columns, counts.indptr), (len(texts), FEATURES))


def _wanted_words(text: str) -> list[str]:
    return split_words(cleaned(text))


def _spellings(words: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the features of words, and the index of each one's word, ascending.

    They are the n-grams of a word with its borders marked, and the word itself.
    """
    grams, cut_from = gram_hashes(words, GRAM_LENGTHS)
    hashes = np.concatenate([grams, word_hashes(words)]) % np.uint32(FEATURES)
    owners = np.concatenate([cut_from, np.arange(len(words))])
    order = np.argsort(owners, kind="stable")
    return hashes[order].astype(np.int32), owners[order]


def _rows(columns: Ints, owners: Ints, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Return a matrix of ones, from the columns of each row; the rows ascend."""
    ends = np.searchsorted(owners, np.arange(shape[0] + 1))
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape)


def counted(titles: Iterable[str]) -> tuple[sparse.csr_matrix, sparse.csr_matrix, list[str]]:
    """Count the words of titles, and cut each distinct word into n-grams once.

    Returns:
        Titles x words, and words x features: their product is what `term_counts` returns for the
        titles. Last, all distinct words, also those that do not say what is bought.
    """
    vocabulary = defaultdict[str, int]()
    vocabulary.default_factory = vocabulary.__len__
    columns, ends = array("i"), array("i", [0])
    left_out: set[str] = set()
    for title in titles:
        whole = readable(title)
        wanted = meaning(whole)
        columns.extend(map(vocabulary.__getitem__, split_words(wanted)))
        ends.append(len(columns))
        if wanted != whole:
            left_out.update(split_words(whole))
    words = list(vocabulary)
    place = np.arange(len(columns)) - np.repeat(ends[:-1], np.diff(ends))
    weights = (HALF_AT_WORD / (HALF_AT_WORD + place)).astype(np.float32)
    by_word = sparse.csr_matrix((weights, columns, ends), (len(ends) - 1, len(words)))
    features = _rows(*_spellings(words), (len(words), FEATURES))
    return by_word, features, [*words, *left_out.difference(words)]


FORM = 6
"""Version of the arrays; increase it when they or their computation change."""

CODES_AT_ONCE = 512
"""Codes whose weights are merged at once: few enough for the caches of a processor."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Index:
    """The titles of one system as a matrix.

    Attributes:
        titles: features x codes, the weight of a feature in a code's titles.
        rarity: the weight of each feature in a text, larger for a feature of fewer codes.
        named: the hashes of the titles' words and of their parts, ascending; see
            `pipeline.engine.text.ngrams`. The hashed features cannot tell a word from noise.
    """

    titles: sparse.csr_matrix
    rarity: Floats
    named: Hashes

    def knows(self, hashes: Hashes) -> Bools:
        """Return which words, or parts of words, titles have; see `pipeline.engine.evidence`."""
        return find(self.named, hashes)[0]


def build_index(titles_by_language: Sequence[Sequence[str]]) -> Index:
    """Weight the features of all titles in all languages.

    A code's weight for a feature is the largest of all languages. So each language is compared by
    itself, and the language of a text need not be known.
    """
    codes, languages = len(titles_by_language[0]), len(titles_by_language)
    # The titles of a code are neighbours, so that its rows can be joined, and a block has them all.
    by_word, features, words = counted(chain.from_iterable(zip(*titles_by_language, strict=True)))
    ends = by_word.indptr[::languages]
    by_code = sparse.csr_matrix((by_word.data, by_word.indices, ends), (codes, by_word.shape[1]))
    codes_with = np.bincount((by_code @ features).indices, minlength=FEATURES)
    rarity = np.log1p(codes / (codes_with + 0.5)).astype(np.float32)
    step = CODES_AT_ONCE * languages
    blocks = [
        _largest(weighted(by_word[start : start + step] @ features, rarity), languages)
        for start in range(0, codes * languages, step)
    ]
    parts, _ = gram_hashes(words, [GRAM])
    named = np.sort(np.concatenate([word_hashes(words), parts]))
    named = named[np.append(True, named[1:] != named[:-1])]
    return Index(sparse.hstack(blocks, format="csr"), rarity, named)


def _largest(weights: sparse.csr_matrix, languages: int) -> sparse.csr_matrix:
    """Return features x codes: of each code's titles, which are neighbours, the largest weight."""
    by_feature = weights.tocsc()
    code = by_feature.indices // languages
    is_first = np.append(True, code[1:] != code[:-1])
    is_first[by_feature.indptr[:-1][np.diff(by_feature.indptr) > 0]] = True
    ends = np.append(0, np.cumsum(is_first))[by_feature.indptr]
    first = np.flatnonzero(is_first)
    shape = (weights.shape[1], weights.shape[0] // languages)
    return sparse.csr_matrix(
        (np.maximum.reduceat(by_feature.data, first), code[first], ends), shape
    )


def weighted(counts: sparse.csr_matrix, rarity: Floats) -> sparse.csr_matrix:
    """Return rows of unit length: damped counts, with more weight for rare features."""
    weights = counts.copy()
    weights.data = np.log1p(counts.data) * rarity[counts.indices]
    lengths = np.diff(weights.indptr)
    row = np.repeat(np.arange(len(lengths)), lengths)
    squares = np.bincount(row, weights.data.astype(np.float64) ** 2, len(lengths))
    weights.data = (weights.data / np.sqrt(squares)[row]).astype(np.float32)
    return weights


def kept_index(table: CodeTable) -> Index:
    """Return the index of a table from the user's cache folder; build it the first time.

    Without a usable cache folder it is built each time.
    """
    titles = titles_by_language(table)
    try:
        file = cache_folder() / "indexes" / f"{table.system}-{_key(titles)}.npz"
        return _load(file)
    except SettingsError:
        return build_index(titles)
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        index = build_index(titles)
    try:
        _save(index, file)
    except (OSError, OutputError) as error:  # another process may be saving it
        log.debug("the index of %s is not cached: %s", table.system, error)
    return index


def _key(titles: Sequence[Sequence[str]]) -> str:
    digest = sha256(repr((FORM, FEATURES, GRAM_LENGTHS)).encode())
    for language in titles:
        digest.update("\n".join(language).encode())
    return digest.hexdigest()[:16]


def _load(file: Path) -> Index:
    """Read the arrays; their checksums are those of a zip file.

    Raises:
        OSError, ValueError, EOFError, KeyError, BadZipFile: the file is missing or damaged.
    """
    with file.open("rb") as opened, np.load(opened) as arrays:
        matrix = (arrays["weights"], arrays["places"], arrays["ends"])
        shape = (FEATURES, arrays["codes"].item())
        return Index(sparse.csr_matrix(matrix, shape), arrays["rarity"], arrays["named"])


def _save(index: Index, file: Path) -> None:
    """Write the arrays, and remove those of other titles and of older versions."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with new_file(file) as draft, draft.open("wb") as opened:
        np.savez(
            opened,
            weights=index.titles.data,
            places=index.titles.indices,
            ends=index.titles.indptr,
            rarity=index.rarity,
            named=index.named,
            codes=np.array(index.titles.shape[1]),
        )
    system, _, _ = file.name.partition("-")
    for old in {*file.parent.glob(f"{system}-*")} - {file}:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


FROM_ABOVE = 0.2
"""Share of an ancestor's score that a code gets, multiplied for each level between them."""

FROM_BELOW = 0.2
"""Share of a descendant's score that a code gets, multiplied for each level between them and
divided by the root of its number of descendants: else a segment with thousands always wins."""

SCORES_AT_ONCE = 4_000_000
"""Texts times codes scored in one matrix; bounds the memory."""

LEAST_KNOWN = 0.1
"""The least share of a text's words that titles must have; a text with less gets no match, because
equal hashed parts are no evidence. With the CPV titles, in 23 languages, that excludes 0 to 4 of
1,000 labelled texts, and of generated noise 88 % of strings of letters, 86 % of strings of adjacent
keys and 99 % of UUIDs."""

# Logistic regression of "the best code is the buyer's" on the best score and its lead over the
# second, fitted on 24,000 labelled tenders, 6,000 of each system; expected calibration error on
# them: .011 to .033.
INTERCEPT, PER_SCORE, PER_LEAD = -3.61, 2.56, 4.00


class LexicalRanker:
    """Ranks the codes of one system; see `pipeline.engine.model.ranker.Ranker`."""

    def __init__(self, table: CodeTable, index: Index) -> None:
        assignable = [table.assignable(code) for code in table.titles]
        self._codes = list(compress(table.titles, assignable))
        self._titles = [table.titles[code] for code in self._codes]
        self._index = index
        self._kinship = _kinship(table)[assignable]

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text, best first; none for a text that matches no title."""
        queries = weighted(_counts(tuple(texts)), self._index.rarity)
        step = max(1, SCORES_AT_ONCE // self._index.titles.shape[1])
        ranked: list[tuple[Match, ...]] = []
        for start in range(0, len(texts), step):
            ranked += self._rank(self._scores(queries[start : start + step]), top)
        known = enough_known(texts, lambda hashes, _: self._index.knows(hashes), LEAST_KNOWN)
        return [found if enough else () for found, enough in zip(ranked, known, strict=True)]

    def _scores(self, queries: sparse.csr_matrix) -> Floats:
        """Return the score of each assignable code: texts x codes."""
        own = (queries @ self._index.titles).toarray()
        return np.ascontiguousarray((self._kinship @ own.T).T)

    def _rank(self, scores: Floats, top: int) -> list[tuple[Match, ...]]:
        order, best = highest(scores, max(top, 2))
        return [
            self._matches(places, values, top)
            for places, values in zip(order.tolist(), best.tolist(), strict=True)
        ]

    def _matches(self, places: list[int], values: list[float], top: int) -> tuple[Match, ...]:
        best, second = (*values, 0.0)[:2]  # a table may have one code only
        sure = _confidence(best, best - second)
        return tuple(
            Match(self._codes[place], self._titles[place], round(sure * value / best, 4))
            for place, value in zip(places[:top], values[:top], strict=True)
            if value > 0
        )


@lru_cache(maxsize=1)
def _counts(texts: tuple[str, ...]) -> sparse.csr_matrix:
    """Count the features of a batch once for all the systems that are asked about it."""
    return term_counts(texts, BUYING_WORDS)


def _confidence(score: float, lead: float) -> float:
    return 1 / (1 + exp(-(INTERCEPT + PER_SCORE * score + PER_LEAD * lead)))


def _kinship(table: CodeTable) -> sparse.csr_matrix:
    """Return codes x codes: the share of the column's score that the row's code gets."""
    place = {code: number for number, code in enumerate(table.titles)}
    below = Counter(above for code in place for above in table.ancestors(code))
    rows: list[int] = []
    columns: list[int] = []
    shares: list[float] = []
    for code, own in place.items():
        rows.append(own)
        columns.append(own)
        shares.append(1.0)
        for distance, above in enumerate(table.ancestors(code), start=1):
            rows += [own, place[above]]
            columns += [place[above], own]
            shares += [FROM_ABOVE**distance, FROM_BELOW**distance / sqrt(below[above])]
    size = (len(table), len(table))
    return sparse.csr_matrix((np.array(shares, np.float32), (rows, columns)), size)
