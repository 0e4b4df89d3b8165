"""Measures how many texts a second the embedded engine answers on one core, by system.

    python -m benchmarks.engine_speed [--texts 4000] [--repeats 5] [--engine learned]

The texts are ranked in batches as in a run, for one system and then for all four, and one by one.
The figures printed are medians of the repeats. Set OPENBLAS_NUM_THREADS=1 for one core.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS, System
from pipeline.engine import Engine, Ranker, ranker
from pipeline.settings import ENGINES, EngineName
from pipeline.tables.table import BATCH_ROWS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--engine", choices=ENGINES, default="learned")
    arguments = parser.parse_args()
    texts = made_texts(arguments.texts)
    mean = sum(map(len, texts)) / len(texts)
    print(f"{len(texts):,} distinct texts of {mean:.0f} characters on average")
    for system in SYSTEMS:
        started = time.perf_counter()
        ranks = ranker(system, arguments.engine)
        ranks.rank(texts[:1], 1)
        loaded = time.perf_counter() - started
        single = statistics.median(_seconds(_one_by_one(ranks), texts[:200]))
        rate = _rate([system], arguments.engine, texts, arguments.repeats)
        print(
            f"{system:<9}{rate:>8,.0f} texts/s   one alone in {1000 * single:.1f} ms   "
            f"loaded in {loaded:.2f} s",
            flush=True,
        )
    rate = _rate(SYSTEMS, arguments.engine, texts, arguments.repeats)
    print(f"{'all four':<9}{rate:>8,.0f} texts/s")


def _one_by_one(ranks: Ranker) -> Callable[[str], object]:
    return lambda text: ranks.rank([text], 1)


def _rate(
    systems: Sequence[System], engine: EngineName, texts: Sequence[str], repeats: int
) -> float:
    """Return how many texts a second get codes of all systems."""
    answering = Engine(systems, 1, engine=engine)
    batches = [texts[at : at + BATCH_ROWS] for at in range(0, len(texts), BATCH_ROWS)]
    times = _seconds(lambda _: list(answering.answers(batches)), [""] * repeats)
    return len(texts) / statistics.median(times)


def _seconds(work: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    times = []
    for text in texts:
        started = time.perf_counter()
        work(text)
        times.append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    main()
