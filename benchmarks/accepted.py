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
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.command_line import parser_for
from pipeline.answers import OK_FROM, SYSTEMS, Answer, System
from pipeline.classification.columns import status
from pipeline.codes import load
from pipeline.decisions.decision_file import Decision
from pipeline.engine import Engine
from pipeline.evaluation.metrics import Scores, figures

FEWEST = 20
"""Rows that a language or a source must have to be printed."""

AT_ONCE = 512
"""Texts of a batch."""

Row: TypeAlias = tuple[Answer | None, Decision | None]
"""The answer for a text in a system, and the decision about it; None if the text says nothing."""

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


def line(name: str, system: System, rows: Sequence[Row]) -> str:
    """Return the line of a system, or of a language or a source of it; "" if none was judged."""
    asked = [(answer, decision) for answer, decision in rows if decision is not None]
    scores = Scores(system)
    for answer, decision in asked:
        scores.add([answer], [decision.code], [""], [decision])
    verdicts, confidence = np.array(scores.verdicts), np.array(scores.confidence)
    known = verdicts != "unjudged"
    if not known.any():
        return ""
    found = figures(scores, load(system))
    is_ok = known & (confidence >= OK_FROM[system])
    nothing = [_is_ok(system, answer) for answer, decision in rows if decision is None]
    shares = [share.value for share in (found.verdicts or {}).values()]
    through = [found.coverage(wanted)["share"] or 0 for wanted in (0.9, 0.85, 0.8)]
    return (
        f"{name:<8} {len(asked):>4,}  {shares[0]:>8.3f} {shares[1]:>7.3f} {shares[2]:>5.3f} "
        f"{shares[3]:>8.3f} {found.right[10].value:>7.3f}  "
        + " ".join(f"{share:>4.2f}" for share in through)
        + f" {found.calibration_error:>7.3f} {is_ok.sum() / known.sum():>5.2f} "
        f"{np.mean(verdicts[is_ok] == 'accepted') if is_ok.any() else 0:>6.2f} "
        f"{np.mean(nothing or [False]):>17.2f}"
    )


def _is_ok(system: System, answer: Answer | None) -> bool:
    return status(answer, OK_FROM[system]) == "ok"


def main() -> None:
    """Print the table."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--by", choices=["language", "source"])
    asked = parser.parse_args()
    judged = [*read(asked.judged)]
    texts = [each.text for each in judged]
    batches = [texts[at : at + AT_ONCE] for at in range(0, len(texts), AT_ONCE)]
    answers = [*Engine(SYSTEMS, jobs="auto").answers(batches)]
    print(HEADER)
    for system in SYSTEMS:
        groups: dict[str, list[Row]] = defaultdict(list)
        found = chain.from_iterable(batch[system] for batch in answers)
        for each, answer in zip(judged, found, strict=True):
            if system in each.decisions:
                groups[system].append((answer, each.decisions[system]))
                if asked.by:
                    groups[f"  {getattr(each, asked.by)}"].append(groups[system][-1])
        for name, rows in groups.items():
            if (name == system or len(rows) >= FEWEST) and (written := line(name, system, rows)):
                print(written)


if __name__ == "__main__":
    main()
