"""How often the embedded engine finds the code that a buyer gave, on labelled tenders.

    python -m benchmarks.accuracy cpv LABELLED.csv [--text-column text] [--code-column code]

Prints the share of rows whose code is the first match, among the first 5 and the first 10, and the
expected calibration error of the first match's confidence over ten bins.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pipeline
from pipeline.settings import parse_systems


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean gap between confidence and share of right answers, over ten bins."""
    gaps = [0.0] * 10
    for confidence, hit in zip(confidences, right, strict=True):
        gaps[min(9, int(confidence * 10))] += confidence - hit
    return sum(map(abs, gaps)) / len(right)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system")
    parser.add_argument("labelled")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--code-column", default="code")
    arguments = parser.parse_args()
    (system,) = parse_systems(arguments.system)
    result = pipeline.classify(
        arguments.labelled, systems=[system], text_columns=arguments.text_column, top=10, jobs=2
    )
    truths = result.table[arguments.code_column].to_pylist()
    ranked = [
        [match["code"] for match in matches or []]
        for matches in result.table[f"{system}_matches"].to_pylist()
    ]
    hits = [
        sum(truth in codes[:top] for truth, codes in zip(truths, ranked, strict=True))
        for top in (1, 5, 10)
    ]
    confidences = [value or 0.0 for value in result.table[f"{system}_confidence"].to_pylist()]
    right = [codes[:1] == [truth] for truth, codes in zip(truths, ranked, strict=True)]
    shares = " / ".join(f"{hit / len(truths):.3f}" for hit in hits)
    error = calibration_error(confidences, right)
    print(f"{system}: {shares} of {len(truths):,} texts, calibration error {error:.3f}")


if __name__ == "__main__":
    main()
