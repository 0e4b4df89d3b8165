"""The titles of a system as a sparse matrix, cached in the user's cache folder."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from filelock import FileLock, Timeout
from scipy import sparse

from pipeline.codes import CodeTable, titles_by_language
from pipeline.engine.evidence import GRAM
from pipeline.engine.lexical.features import FEATURES, GRAM_LENGTHS, counted
from pipeline.engine.text.ngrams import Hashes, gram_hashes, word_hashes
from pipeline.errors import SettingsError
from pipeline.files.directories import cache_folder

__all__ = ["Index", "build_index", "kept_index", "weighted"]

Floats = np.ndarray[tuple[int], np.dtype[np.float32]]
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

FORM = 5
"""Version of the arrays; increase it when they or their computation change."""

PATIENCE_S = 120.0
"""How long a process waits for another that builds the same index."""

CODES_AT_ONCE = 512
"""Codes whose weights are merged at once: few enough for the caches of a processor."""

ARRAYS = ("weights", "places", "ends", "rarity", "named", "codes")

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
        place = np.minimum(np.searchsorted(self.named, hashes), len(self.named) - 1)
        known: Bools = self.named[place] == hashes
        return known


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

    The arrays are memory-mapped, so that processes share them. Without a usable cache folder the
    index is built in memory.
    """
    titles = titles_by_language(table)
    try:
        folder = cache_folder() / "indexes" / f"{table.system}-{_key(titles)}"
        return _load(folder)
    except SettingsError:
        return build_index(titles)
    except (OSError, ValueError, EOFError):
        pass
    with _one_builder(folder):
        try:
            return _load(folder)  # another process may have built it meanwhile
        except (OSError, ValueError, EOFError):
            shutil.rmtree(folder, ignore_errors=True)  # a damaged folder would block the new one
            index = build_index(titles)
        try:
            _save(index, folder)
        except OSError as error:
            log.debug("the index of %s is not cached: %s", table.system, error)
    return index


@contextmanager
def _one_builder(folder: Path) -> Iterator[None]:
    """Wait until no other process builds an index; if no lock can be had, build it all the same."""
    with ExitStack() as held:
        with suppress(OSError, Timeout, NotImplementedError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder.parent.with_name("indexes.lock"), timeout=PATIENCE_S)
            held.enter_context(lock)
        yield


def _key(titles: Sequence[Sequence[str]]) -> str:
    digest = sha256(repr((FORM, FEATURES, GRAM_LENGTHS)).encode())
    for language in titles:
        digest.update("\n".join(language).encode())
    return digest.hexdigest()[:16]


def _load(folder: Path) -> Index:
    """Map the arrays into memory.

    Raises:
        OSError, EOFError, ValueError: one is missing or damaged.
    """
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    if np.load(folder / "checksum.npy").item() != _checksum(arrays):
        raise ValueError("the index is damaged")  # SciPy would follow it out of bounds
    shape = (FEATURES, int(arrays["codes"][0]))
    matrix = (arrays["weights"], arrays["places"], arrays["ends"])
    rarity = np.asarray(arrays["rarity"], np.float32)
    return Index(sparse.csr_matrix(matrix, shape), rarity, arrays["named"])


def _checksum(arrays: Mapping[str, Any]) -> int:
    checksum = 0
    for name in ARRAYS:
        checksum = crc32(np.ascontiguousarray(arrays[name]).data, checksum)
    return checksum


def _save(index: Index, folder: Path) -> None:
    """Write the arrays to a temporary folder and move it into place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    arrays = {
        "weights": index.titles.data,
        "places": index.titles.indices,
        "ends": index.titles.indptr,
        "rarity": index.rarity,
        "named": index.named,
        "codes": np.array([index.titles.shape[1]]),
    }
    arrays["checksum"] = np.array(_checksum(arrays))
    try:
        for name, values in arrays.items():
            np.save(draft / f"{name}.npy", values)
        draft.replace(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    system, _, _ = folder.name.partition("-")
    for old in folder.parent.glob(f"{system}-*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)  # of an older version or another table
