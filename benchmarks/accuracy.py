"""Prints the figures of docs/explanation/accuracy.md for the models in the package.

    python -m benchmarks.accuracy

Prints how often the codes of the held-back texts were right (as the models say of themselves: they
learned those texts after that), how often a CPV title in another language gets the code of the
English one, and how many descriptions of the sample files get a code that a person would accept.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pipeline
from benchmarks.command_line import parser_for
from benchmarks.everyday import (
    BLIND,
    EVERYDAY,
    LANGUAGES,
    SAMPLES,
    accepted,
    answered,
    descriptions,
)
from pipeline.answers import OK_FROM, SYSTEMS, System
from pipeline.codes import cpv_titles
from pipeline.engine.model import shipped_model

__all__: list[str] = []

SURE = 0.5
"""The confidence of an English title from which its code is compared with the other languages'."""


def main() -> None:
    """Print all figures."""
    parser_for(__file__, __doc__).parse_args()
    _cards()
    _parallel_titles()
    _divisions()
    for path in (EVERYDAY, LANGUAGES, BLIND):
        _accepted(path)


def _cards() -> None:
    print("system: specific code first, among 5, among 10, as stated, general, ok from, ok, error")
    for system in SYSTEMS:
        about = json.loads((shipped_model(system).path / "model.json").read_text("utf-8"))["about"]
        held = about[system]["held_back"]
        specific = [held[f"specific_{top}"] for top in (1, 5, 10)]
        others = (held["stated"], held["general"], held["ok"]["confidence"], held["ok"]["rows"])
        shares = (*specific, *others, held["calibration_error"])
        print(f"{system}:", *(f"{share:.3f}" for share in shares))


def _parallel_titles() -> None:
    titles = cpv_titles()
    for system in SYSTEMS[1:]:
        english = _best(titles["en"], system)
        sure = [place for place, (_, confidence) in enumerate(english) if confidence >= SURE]
        same = rows = 0
        for language in ("de", "fr", "es", "pl"):
            found = _best([titles[language][place] for place in sure], system)
            same += sum(
                code == english[place][0] for place, (code, _) in zip(sure, found, strict=True)
            )
            rows += len(found)
        print(f"{system}: {same / rows:.2f} of {rows} titles get the code of the English one")


def _best(texts: Sequence[str], system: System) -> list[tuple[str, float]]:
    table = pipeline.classify([*texts], systems=system, progress=False).table
    codes = table[f"{system}_code"].to_pylist()
    sure = table[f"{system}_confidence"].to_pylist()
    return [(code or "", confidence or 0) for code, confidence in zip(codes, sure, strict=True)]


def _divisions() -> None:
    with (SAMPLES / "tenders.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["expected_cpv_division"]]
    found = _best([row["description"] for row in rows], "cpv")
    right = sum(
        code[:2] == row["expected_cpv_division"] for (code, _), row in zip(found, rows, strict=True)
    )
    print(f"the CPV division is right for {right} of {len(rows)} sample tenders")


def _accepted(path: Path) -> None:
    pairs = list(zip(descriptions(path), answered(path), strict=True))
    for system in SYSTEMS:
        hits = [
            [accepted(row, system, str(match["code"])) for match in answer[system]]
            for row, answer in pairs
        ]
        first, any_of_ten = sum(any(hit[:1]) for hit in hits), sum(map(any, hits))
        likely = [
            any(hit[:1])
            for hit, (_, answer) in zip(hits, pairs, strict=True)
            if answer[system] and float(str(answer[system][0]["confidence"])) >= OK_FROM[system]
        ]
        print(
            f"{path.stem} {system}: {first} first, {any_of_ten} among ten, of {len(hits)};",
            f"{sum(likely)} of {len(likely)} that are ok",
        )


if __name__ == "__main__":
    main()
