"""Compares the embedded engine with two other ways to rank CPV codes offline, on this machine.

    python -m benchmarks.engine_peers [--rows 2000 20000] [--rounds 3]
        [--output outputs/engine]

Every contender is a process of its own with one thread, measured from its start to its end: it
reads a CSV file of distinct texts, and writes the table with the best CPV code of each row. The
scikit-learn pipeline has the engine's shape (hashed words, pairs and n-grams, 256 dimensions, 9,454
codes) and random weights, since only its speed is compared. BM25 ranks by the words of the English
titles. Both have no languages, boilerplate, exclusions or calibrated confidence. The contenders
take turns, each round in another order. Prints medians for each size, and writes ``FOLDER-ROWS``
as JSON, as a page and as a picture.

    pip install scikit-learn rank-bm25
"""

from __future__ import annotations

import csv
import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.command_line import parser_for
from benchmarks.comparison import OURS, Turn, installed, machine, results, rounds_of, show, turn
from benchmarks.texts import made_texts, write_texts
from pipeline.codes import load

FEATURES, WIDTH, AT_ONCE = 1 << 17, 256, 512

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def with_sklearn(texts: Sequence[str]) -> list[str]:
    """Rank with hashed features and two linear layers."""
    text, union = (
        importlib.import_module(f"sklearn.{name}")
        for name in ("feature_extraction.text", "pipeline")
    )
    codes = np.array([*load("cpv").titles])
    random = np.random.default_rng(0)
    features = random.standard_normal((FEATURES, WIDTH), np.float32)
    heads = random.standard_normal((WIDTH, len(codes)), np.float32)
    hashing = union.make_union(
        text.HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=FEATURES // 2),
        text.HashingVectorizer(ngram_range=(1, 2), n_features=FEATURES // 2),
    )
    found: list[str] = []
    for at in range(0, len(texts), AT_ONCE):
        hidden = hashing.transform(texts[at : at + AT_ONCE]).astype(np.float32) @ features
        scores = np.asarray(hidden) @ heads
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        found += codes[shares.argmax(axis=1)].tolist()
    return found


def with_bm25(texts: Sequence[str]) -> list[str]:
    """Rank by the words of the titles."""
    rank_bm25 = importlib.import_module("rank_bm25")
    titles = load("cpv").titles
    index = rank_bm25.BM25Okapi([title.lower().split() for title in titles.values()])
    codes = [*titles]
    return [codes[int(index.get_scores(text.lower().split()).argmax())] for text in texts]


class Peer(NamedTuple):
    """A way to rank: the module that it needs, and its function."""

    module: str
    rank: Callable[[Sequence[str]], list[str]]


PEERS: Mapping[str, Peer] = {
    "scikit-learn": Peer("sklearn", with_sklearn),
    "BM25 of titles": Peer("rank_bm25", with_bm25),
}


def classify(name: str, source: Path, output: Path) -> None:
    """Run one peer."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    codes = PEERS[name].rank([row["description"] for row in rows])
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0], "code"])
        writer.writerows([*row.values(), code] for row, code in zip(rows, codes, strict=True))


def _rounds(rows: int, rounds: int) -> list[dict[str, Turn]]:
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.csv", Path(folder) / "out.csv"
        write_texts(source, made_texts(rows))
        files = [str(source), str(output)]
        ours = ["run", files[0], "--systems", "cpv", "--jobs", "1", "--output", files[1]]

        def take(name: str, _number: int, _place: int) -> Turn:
            if name != OURS:
                return turn(["benchmarks.engine_peers", "--peer", name, *files], **ONE_THREAD)
            return turn(["pipeline", *ours, "--overwrite"], **ONE_THREAD)

        needed = {name: peer.module for name, peer in PEERS.items()}
        return rounds_of(installed(needed), rounds, take)


def main() -> None:
    """Measure, print and write."""
    if sys.argv[1:2] == ["--peer"]:
        classify(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
        return
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("outputs/engine"))
    arguments = parser.parse_args()
    for rows in arguments.rows:
        found = results(_rounds(rows, arguments.rounds), rows)
        heading = f"{rows:,} rows, one thread, medians of {arguments.rounds} rounds, {machine()}"
        output = arguments.output.with_name(f"{arguments.output.name}-{rows}")
        show(found, "Rows classified a second", heading, output)


if __name__ == "__main__":
    main()
