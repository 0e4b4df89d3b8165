"""Makes texts for measurements: as varied as real ones, and the same in every run."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "sample_inputs" / "tenders.csv"


def made_texts(count: int, seed: int = 1) -> list[str]:
    """Return distinct texts composed of the clauses of the sample tenders."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        descriptions = [row["description"] for row in csv.DictReader(file)]
    clauses = [
        clause.strip() for text in descriptions for clause in text.split(",") if clause.strip()
    ]
    chance = random.Random(seed)
    return [
        ", ".join([*chance.sample(clauses, chance.randint(1, 3)), f"lot {number}"])
        for number in range(count)
    ]


def write_texts(path: Path, texts: Iterable[str]) -> None:
    """Write a CSV file with a number and a text in each row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "description"])
        writer.writerows(enumerate(texts))
