"""A small labelled table of our own, scores by hand, and subjects that tests compare or draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.answers import Answer, Failed, Match, Matched, System
from pipeline.codes import load
from pipeline.evaluation.dataset import Labelled, LeftOut, labelled
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.findings import Evaluated
from pipeline.evaluation.metrics import Scores, figures
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.evaluation.significance import compare
from pipeline.tables.arrow import ArrowReader

ROWS = [
    ("Strassenbau", "45233140", "de"),
    ("Büromöbel", "39130000", "de"),
    ("office chairs", "39112000", "en"),
    ("works of any kind", "45000000", "en"),
    ("cleaning of offices", "90919200-4", "en"),
    ("nettoyage", "", "fr"),
    ("", "45000000", "fr"),
    ("odd", "road", "fr"),
    ("retired", "45999999", ""),
]


def table(rows: Sequence[tuple[str, str, str]] = ROWS) -> pa.Table:
    return pa.table(
        dict(zip(("description", "code", "lang"), zip(*rows, strict=True), strict=True))
    )


def csv_file(path: Path, rows: Sequence[tuple[str, str, str]] = ROWS) -> Path:
    lines = ["description,code,lang", *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def read(rows: pa.Table, **settings: object) -> Labelled:
    asked = EvaluationSettings(**{"system": "cpv", **settings})  # type: ignore[arg-type]
    return labelled(ArrowReader(rows, asked.text_columns), asked, "The table")


def answer(*codes: str, confidence: float = 0.5) -> Answer:
    return Matched(tuple(Match(code, f"Title of {code}", confidence) for code in codes))


def scored(
    answers: Sequence[Answer],
    labels: Sequence[str],
    sources: Sequence[str] = "",
    system: System = "cpv",
) -> Scores:
    """Return scores; each letter of the sources is a row's."""
    scores = Scores(system)
    scores.add(answers, labels, list(sources) or [""] * len(labels))
    return scores


REFUSED = Failed("VALIDATION_ERROR")


def evaluation(*subjects: tuple[str, Scores], **more: object) -> Evaluation:
    """Return what was found out about subjects by hand."""
    codes = load("cpv")
    found = [Evaluated(name, "engine", figures(scores, codes)) for name, scores in subjects]
    comparison = compare(subjects[0][1], subjects[1][1]) if len(subjects) == 2 else None
    rows = found[0].figures.rows
    left_out = LeftOut(rows=rows)
    fields = {
        "settings": EvaluationSettings("cpv", source_column="lang"),
        "table": "tenders.csv",
        "table_sha256": "",
        "edition": codes.edition,
        "left_out": left_out,
        "subjects": found,
        "comparison": comparison,
        **more,
    }
    return Evaluation(**fields)  # type: ignore[arg-type]


def subject(right: str) -> Scores:
    """Return the scores of a subject that is right where the text has a 1."""
    answers = [answer("45000000" if mark == "1" else "39000000") for mark in right]
    return scored(answers, ["45000000"] * len(right))


TRUTHS = [
    "45233140",
    "45233140",
    "45000000",
    "45000000",
    "39112000",
    "39112000",
    "90910000",
    "90910000",
    "03111000",
    "03111000",
]
ANSWERS = [
    answer("45233140", confidence=0.95),  # right in full
    answer("45233000", "45233140", confidence=0.85),  # second; right as a category
    answer("45233140", confidence=0.75),  # right as far as stated
    answer("45000000", confidence=0.65),  # right in full
    answer("39130000", *["39120000"] * 8, "39112000", confidence=0.55),  # tenth; group right
    answer("45000000", confidence=0.45),  # wrong
    answer("90910000", confidence=0.35),  # right in full
    answer(),  # no match
    REFUSED,  # no answer
    answer("45000000", confidence=0.05),  # wrong
]

ONE = ("embedded engine", scored(ANSWERS, TRUTHS, "aaaabbbbcc"))
TWO = ("model mine", scored([answer("45233140", confidence=0.9)] * 10, TRUTHS, "aaaabbbbcc"))
