"""Answers the everyday descriptions, and says how many best codes an expert would accept.

    python -m benchmarks.everyday [sample_inputs/blind.csv]

Prints the best code of each description in each system: + where it is right, - where it is not.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pipeline
from benchmarks.command_line import parser_for
from pipeline.answers import SYSTEMS, System

SAMPLES = Path(__file__).parents[1] / "sample_inputs"
EVERYDAY, LANGUAGES = SAMPLES / "everyday.csv", SAMPLES / "languages.csv"
BLIND = SAMPLES / "blind.csv"


def descriptions(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file: description and accepted leading digits."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def answered(path: Path) -> list[Mapping[System, Sequence[Mapping[str, object]]]]:
    """Return the matches of each description by system, best first."""
    rows = pipeline.classify(path, top=10).table.to_pylist()
    return [{system: row[f"{system}_matches"] or [] for system in SYSTEMS} for row in rows]


def accepted(row: Mapping[str, str], system: System, code: str) -> bool:
    """Tell whether an expert would accept a code for a description."""
    return code.startswith(tuple(row[f"accepted_{system}"].split()))


def main() -> None:
    """Print the answers, then how many are right."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("file", type=Path, nargs="?", default=EVERYDAY)
    path = parser.parse_args().file
    rows, answers = descriptions(path), answered(path)
    right: dict[System, list[int]] = {system: [0, 0] for system in SYSTEMS}
    for row, answer in zip(rows, answers, strict=True):
        print(f"\n{row['id']} {row['language']} {row['description']}")
        for system in SYSTEMS:
            hits = [accepted(row, system, str(match["code"])) for match in answer[system]]
            right[system][0] += any(hits[:1])
            right[system][1] += any(hits)
            for match in answer[system][:1]:
                sign, sure = "+" if hits[0] else "-", match["confidence"]
                print(f"  {sign} {system:6} {match['code']} {match['title']} ({sure:.2f})")
    print("\nright first, and among the matches:")
    for system in SYSTEMS:
        print(f"  {system:6} {right[system][0]} and {right[system][1]} of {len(rows)}")


if __name__ == "__main__":
    main()
