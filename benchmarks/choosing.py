"""Measures how well a language model chooses among the engine's candidates, beside the engine.

    python -m benchmarks.choosing JUDGED --base-url URL --language-model NAME --token-prices IN/OUT
        [--rows 50] [--workers 4] [--timeout 5min] [--max-cost 0.50] [--request-field NAME=JSON]

JUDGED is a file as for `benchmarks.accepted`: judged texts with all systems in a line, or the
decisions of a review; where it is missing, nothing is measured. The rows are drawn at random, the
same ones with the same seed. Answers are kept in the ledger, so that a run that stopped continues.

Prints for each system how many first codes of the engine and of the model are accepted, of the
texts that were judged; how often the model says none, and how often that is right, because the
engine's first code is not accepted either; how many answers are unreadable; what a row costs. Then
the calls a minute. Codes that were not judged count as neither.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pipeline
from benchmarks.accepted import Judged, read
from benchmarks.command_line import parser_for
from pipeline.answers import SYSTEMS, System
from pipeline.decisions.decision import Decision

HEADER = "system   rows  engine accepted  model accepted   none  none is right  unreadable"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a text in a system: the verdicts, None where no code was given.

    Attributes:
        engine, model: the verdicts on the first codes.
        status: that of the model's answer.
    """

    engine: str | None
    model: str | None
    status: str


def line(name: str, answers: Sequence[Answer]) -> str:
    """Return the line of a system."""
    none = [each for each in answers if each.status == "no_match"]
    unreadable = sum(each.status == "MALFORMED_RESPONSE" for each in answers)
    return (
        f"{name:<8} {len(answers):>4,}  {_accepted(each.engine for each in answers):>15}  "
        f"{_accepted(each.model for each in answers):>14}  {_share(len(none), len(answers)):>5}  "
        f"{_share(sum(each.engine != 'accepted' for each in none), len(none)):>13}  "
        f"{_share(unreadable, len(answers)):>10}"
    )


def _accepted(verdicts: Iterable[str | None]) -> str:
    known = [verdict for verdict in verdicts if verdict != "unjudged"]
    return _share(sum(verdict == "accepted" for verdict in known), len(known))


def _share(hits: int, of: int) -> str:
    return f"{hits / of:.2f}" if of else "-"


def _drawn(path: Path, rows: int, seed: int) -> list[Judged]:
    usable = [each for each in read(path) if any(each.decisions.values())]
    return random.Random(seed).sample(usable, min(rows, len(usable)))


def _answers(
    system: System, judged: Sequence[Judged], engine: Sequence[Any], model: Sequence[Any]
) -> list[Answer]:
    return [
        Answer(_verdict(decision, by, system), _verdict(decision, by_model, system), status)
        for each, by, by_model in zip(judged, engine, model, strict=True)
        if (decision := each.decisions.get(system)) and (status := by_model[f"{system}_status"])
    ]


def _verdict(decision: Decision, row: dict[str, Any], system: System) -> str | None:
    code = row[f"{system}_code"]
    return decision.verdict(str(code)) if code else None


def _service(asked: argparse.Namespace) -> pipeline.PaidService:
    return pipeline.PaidService(
        asked.base_url,
        language_model=asked.language_model,
        token_prices=asked.token_prices,
        request_fields=asked.request_field,
        workers=asked.workers,
        timeout=asked.timeout,
        max_cost=asked.max_cost,
        max_price=asked.max_price,
        ledger=asked.ledger,
    )


def main() -> None:
    """Print the table."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--language-model", required=True)
    parser.add_argument("--token-prices", required=True)
    parser.add_argument("--request-field", action="append", default=[])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--timeout", default="5min")
    parser.add_argument("--max-cost", default="0.50")
    parser.add_argument("--max-price", default="0.01")
    parser.add_argument("--ledger", default="outputs/choosing.db")
    asked = parser.parse_args()
    if not asked.judged.exists():
        print(f"{asked.judged} is not there: nothing is measured.")
        return
    judged = _drawn(asked.judged, asked.rows, asked.seed)
    texts = [each.text for each in judged]
    engine = pipeline.classify(texts, systems=asked.systems, jobs="auto").table.to_pylist()
    began = time.perf_counter()
    result = pipeline.classify(texts, systems=asked.systems, service=_service(asked))
    minutes = (time.perf_counter() - began) / 60
    print(HEADER)
    for system in asked.systems.split(","):
        print(line(system, _answers(system, judged, engine, result.table.to_pylist())))
    paid = result.summary.paid
    attempts = paid.attempts if paid else 0
    print(
        f"{result.cost_usd / len(texts):f} USD a row, {attempts:,} calls, "
        f"{attempts / minutes:,.0f} calls a minute"
    )


if __name__ == "__main__":
    main()
