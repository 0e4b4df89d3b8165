"""Measures how much `train --decisions` improves the codes of rows that nobody reviewed.

    python -m benchmarks.learning LABELLED --system unspsc --source unspsc_austender_contracts

LABELLED is a table with the columns text, code and source, such as ``dev/unspsc.csv.gz``, of rows
that the models of the package were not trained on. Half of the texts of one source are held out.
The others arrive in equal parts, one part a night. Each night, they are classified with the model
so far, and a person, whose decision is always the label, reviews the first doubtful ones. The
decisions so far then train the next model.

Prints how good the codes of the held-out texts are, for the model of the package and after each
night, with 95 % intervals, and the difference on the same texts with the p-value of McNemar's test.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import pipeline
from benchmarks.command_line import parser_for
from pipeline.answers import OK_FROM, SYSTEMS, System
from pipeline.codes import find_code, load
from pipeline.decisions.decision_file import Decision, DecisionLog
from pipeline.evaluation.metrics import EXACT, STATED, Depth, Share
from pipeline.evaluation.significance import Difference

__all__: list[str] = []

DOUBTFUL = ("review", "no_match")

LINE = "{:>9} {:>7} {:>20} {:>20} {:>20} {:>6} {:>20} {:>22} {:>8}"

HEADINGS = (
    "decisions",
    "weight",
    "exact first",
    "exact among 5",
    "as far as stated",
    "ok",
    "ok and right",
    "exact first, change",
    "p",
)


@dataclass(frozen=True)
class Answers:
    """The answers of a model for rows with labels.

    Attributes:
        system: the system.
        labels: the right codes.
        codes: the best five codes of each row, best first.
        statuses: the status of each row.
    """

    system: System
    labels: Sequence[str]
    codes: Sequence[Sequence[str]]
    statuses: Sequence[str]

    def right(self, depth: Depth, top: int) -> list[bool]:
        """Return which rows have a code that is right to this depth among the first ``top``."""
        rows = zip(self.labels, self.codes, strict=True)
        return [0 < depth.rank(self.system, label, codes) <= top for label, codes in rows]

    def shares(self) -> Iterator[Share]:
        """Yield the shares to print, the last one of the rows with the status ``ok``."""
        for depth, top in ((EXACT, 1), (EXACT, 5), (STATED, 1)):
            yield Share(sum(self.right(depth, top)), len(self.labels))
        rows = zip(self.statuses, self.right(STATED, 1), strict=True)
        sure = [right for status, right in rows if status == "ok"]
        yield Share(sum(sure), len(sure))


def main() -> None:
    """Measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("labelled", type=Path)
    parser.add_argument("--system", choices=SYSTEMS, required=True)
    parser.add_argument("--source", required=True, help="the publisher in the column source")
    parser.add_argument("--nights", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200, help="texts that are reviewed in a night")
    parser.add_argument("--held-out", type=int, default=2_000, help="the most rows to measure on")
    asked = parser.parse_args()
    arriving, held_out = _halves(_rows(asked.labelled, asked.system, asked.source))
    held_out = held_out[: asked.held_out]
    print(f"{asked.source}: {len(arriving):,} texts arrive, {len(held_out):,} are held out")
    print(LINE.format(*HEADINGS))
    shipped = _answers(held_out, asked.system)
    print(LINE.format(0, "", *_shown(shipped), "", ""), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file, model = Path(folder, "decisions.jsonl"), Path(folder, "model")
        for new in np.array_split(np.arange(len(arriving)), asked.nights):
            _review(arriving.iloc[new], asked.system, model, file, asked.rows)
            began = time.perf_counter()
            trained = pipeline.train(decisions=file, system=asked.system, output=model)
            seconds = time.perf_counter() - began
            known = sum(1 for _ in file.open())
            weight = trained.figures["weight_of_the_history"]
            now = _answers(held_out, asked.system, model)
            compared = _compared(shipped, now)
            print(LINE.format(known, f"{weight:.2f}", *_shown(now), *compared), flush=True)
        print(f"the last training took {seconds:.0f} s")


def _rows(path: Path, system: System, source: str) -> pd.DataFrame:
    """Return each text of the source once; texts whose code is not in the table are left out."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = table[table["source"] == source].drop_duplicates("text")
    codes = load(system)
    rows = rows.assign(code=rows["code"].map(lambda code: find_code(codes, code)))
    return rows.dropna(subset="code")[["text", "code"]]


def _halves(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two random halves; no text of one differs from one of the other in case alone."""
    order = np.random.default_rng(0).permutation(len(rows))
    arriving = rows.iloc[order[: len(rows) // 2]]
    held_out = rows.iloc[order[len(rows) // 2 :]]
    known = {*arriving["text"].map(_normal)}
    return arriving, held_out[[_normal(text) not in known for text in held_out["text"]]]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def _classified(rows: pd.DataFrame, system: System, model: Path | None) -> pa.Table:
    models = [model] if model is not None and model.exists() else []
    result = pipeline.classify(
        rows,
        systems=system,
        text_columns="text",
        top=5,
        models=models,
        progress=False,
        min_confidence=OK_FROM[system],  # so few decisions show no threshold of their own
    )
    return result.table


def _answers(rows: pd.DataFrame, system: System, model: Path | None = None) -> Answers:
    found = _classified(rows, system, model)
    codes = [
        [match["code"] for match in matches or []]
        for matches in found[f"{system}_matches"].to_pylist()
    ]
    return Answers(system, [*rows["code"]], codes, found[f"{system}_status"].to_pylist())


def _review(rows: pd.DataFrame, system: System, model: Path, file: Path, most: int) -> None:
    """Append the decisions about the first doubtful rows; each is the label."""
    found = _classified(rows, system, model).to_pylist()
    doubtful = [row for row in found if row[f"{system}_status"] in DOUBTFUL][:most]
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    decisions = [
        Decision(
            system=system,
            text=row["text"],
            choice="code",
            by="label",
            at=at,
            code=row["code"],
            title=load(system).titles.get(row["code"], ""),
            best=row[f"{system}_code"] or "",
            confidence=row[f"{system}_confidence"],
        )
        for row in doubtful
    ]
    with DecisionLog(file) as log:
        log.append(decisions)


def _shown(answers: Answers) -> list[str]:
    *shares, sure = answers.shares()
    return [*map(_share, shares), str(sure.rows), _share(sure)]


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.1%} ({low:.1%}-{high:.1%})"


def _compared(before: Answers, after: Answers) -> tuple[str, str]:
    rows = list(zip(before.right(EXACT, 1), after.right(EXACT, 1), strict=True))
    found = Difference(EXACT, len(rows), rows.count((True, False)), rows.count((False, True)))
    low, high = found.interval
    return f"{100 * found.value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})", f"{found.p:.2g}"


if __name__ == "__main__":
    main()
