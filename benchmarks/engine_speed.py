"""How many texts a second the embedded engine answers on one core, system by system.

    python -m benchmarks.engine_speed [--texts 4000] [--repeats 5]

The texts are ranked in batches as a run ranks them; what is printed is the median of the repeats.
"""

from __future__ import annotations

import argparse
import statistics
import time

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.engine import ranker
from pipeline.tables.table import BATCH_ROWS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    texts = made_texts(arguments.texts)
    mean = sum(map(len, texts)) / len(texts)
    print(f"{len(texts):,} distinct texts of {mean:.0f} characters on average")
    for system in SYSTEMS:
        started = time.perf_counter()
        ranks = ranker(system)
        ranks.rank(texts[:1], 1)
        loaded = time.perf_counter() - started
        rates = []
        for _ in range(arguments.repeats):
            started = time.perf_counter()
            for start in range(0, len(texts), BATCH_ROWS):
                ranks.rank(texts[start : start + BATCH_ROWS], 1)
            rates.append(len(texts) / (time.perf_counter() - started))
        print(f"{system:<7}{statistics.median(rates):>8,.0f} texts/s   loaded in {loaded:.2f} s")


if __name__ == "__main__":
    main()
