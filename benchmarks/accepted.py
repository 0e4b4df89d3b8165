"""Compares the engine's codes with those that experts accept.

    python -m benchmarks.accepted JUDGED [--by language|source]

JUDGED has a JSON object a line, may be packed with gzip, and is what ``evaluate --decisions`` reads
(docs/how-to/evaluate.md), with all systems in a line; ``lang`` and ``source`` are optional.

Prints a line for each system: how many first codes are accepted, right but too general, wrong, and
not judged; for how many texts one of ten is accepted; how many rows can go through if 90, 85 or
80 % of them must be accepted; how far the confidence is off; how many rows are ok, and how many of
these are accepted; and of the texts that do not say what is bought, how many are ok (best: none).

The shipped models have learned from judged texts. For texts among these, the figures are too good:
docs/explanation/accuracy.md has those of models that had not learned the texts of a source.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pipeline
from benchmarks.command_line import parser_for
from pipeline.answers import SYSTEMS, System
from pipeline.decisions import Decision, Verdict
from pipeline.engine.model.calibration import calibration_error

FEWEST = 20
"""Rows that an accuracy must have; that of the few most confident rows is noise."""

HEADER = (
    "system   rows  accepted general wrong unjudged  of ten   .90  .85  .80  off by"
    "    ok  of ok  says nothing, ok"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A text, where it is from, and the decision about it in each system; None for no verdict."""

    text: str
    language: str
    source: str
    decisions: dict[System, Decision | None]


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a text in a system; no verdict if the text says nothing."""

    verdict: Verdict | None
    any_accepted: bool
    confidence: float
    is_ok: bool


def read(path: Path) -> Iterator[Judged]:
    """Yield the judged texts of a file."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for written in file:
            found = {each.system: each for each in Decision.of_line(written)}
            text = next(iter(found.values())).text
            about = json.loads(written)
            judged = {
                system: None if each.choice == "skip" else each for system, each in found.items()
            }
            yield Judged(text, about.get("lang", ""), about.get("source", ""), judged)


def through(rows: Sequence[Row], wanted: float) -> float:
    """Return the share of the rows that can go through if so many of them must be accepted."""
    ranked = sorted(rows, key=lambda row: (row.confidence, row.verdict == "accepted"), reverse=True)
    right = np.cumsum([row.verdict == "accepted" for row in ranked])
    counts = np.arange(1, len(ranked) + 1)
    reach = np.flatnonzero((counts >= FEWEST) & (right >= wanted * counts))
    return float(counts[reach[-1]] / len(ranked)) if len(reach) else 0.0


def line(name: str, rows: Sequence[Row]) -> str:
    """Return the line of a system, or of a language or a source of it."""
    usable = [row for row in rows if row.verdict is not None]
    known = [row for row in usable if row.verdict != "unjudged"]
    nothing = [row for row in rows if row.verdict is None]
    ok = [row for row in known if row.is_ok]
    right = np.array([row.verdict == "accepted" for row in known])
    shares = [
        _share(row.verdict == each for row in known) for each in ("accepted", "general", "wrong")
    ]
    off = calibration_error(np.array([row.confidence for row in known]), right)
    return (
        f"{name:<8} {len(usable):>4,}  {shares[0]:>8.3f} {shares[1]:>7.3f} {shares[2]:>5.3f} "
        f"{_share(row.verdict == 'unjudged' for row in usable):>8.3f} "
        f"{_share(row.any_accepted for row in usable):>7.3f}  "
        + " ".join(f"{through(known, wanted):>4.2f}" for wanted in (0.9, 0.85, 0.8))
        + f" {off:>7.3f} {len(ok) / len(known):>5.2f} "
        f"{_share(row.verdict == 'accepted' for row in ok):>6.2f} "
        f"{_share(row.is_ok for row in nothing):>17.2f}"
    )


def _share(hits: Any) -> float:
    found = [*hits]
    return sum(found) / len(found) if found else 0.0


def _row(system: System, decision: Decision | None, answer: dict[str, Any]) -> Row:
    codes = [str(match["code"]) for match in answer[f"{system}_matches"] or ()]
    confidence, is_ok = answer[f"{system}_confidence"] or 0.0, answer[f"{system}_status"] == "ok"
    if decision is None:
        return Row(None, False, confidence, is_ok)
    verdicts = [decision.verdict(code) for code in codes]
    return Row(verdicts[0] if codes else "wrong", "accepted" in verdicts, confidence, is_ok)


def main() -> None:
    """Print the table."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--by", choices=["language", "source"])
    asked = parser.parse_args()
    judged = [*read(asked.judged)]
    answers = pipeline.classify(
        [each.text for each in judged], top=10, jobs="auto"
    ).table.to_pylist()
    print(HEADER)
    for system in SYSTEMS:
        groups: dict[str, list[Row]] = defaultdict(list)
        for each, answer in zip(judged, answers, strict=True):
            if system in each.decisions:
                row = _row(system, each.decisions[system], answer)
                groups[system].append(row)
                if asked.by:
                    groups[f"  {getattr(each, asked.by)}"].append(row)
        for name, rows in groups.items():
            known = sum(row.verdict not in (None, "unjudged") for row in rows)
            if known >= (1 if name == system else FEWEST):
                print(line(name, rows))


if __name__ == "__main__":
    main()
