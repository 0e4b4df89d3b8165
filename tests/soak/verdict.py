"""Whether a bad night left everything as it must be, and a few figures of it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from pipeline.answers import SYSTEMS
from pipeline.money import total
from tests.money_trail.books import (
    Attempt,
    Output,
    Service,
    read_attempts,
    read_jobs,
    read_output,
    read_service,
)
from tests.money_trail.checks import (
    agree,
    cells_are_right,
    record_agrees,
    totals_agree,
)
from tests.soak.night import Night

Figures: TypeAlias = Mapping[str, Mapping[Any, int | Decimal]]
"""Counts by what is counted, and amounts in US dollars."""


def lines(figures: Figures) -> str:
    """Return figures as lines for people, the largest first."""
    return "\n".join(
        f"{name}: "
        + ", ".join(
            f"{key} {figure:,}"
            for key, figure in sorted(some.items(), key=lambda each: each[1], reverse=True)
        )
        for name, some in figures.items()
    )


def verdict(night: Night) -> Figures:
    """Compare every book of a night with every other, and return a few figures.

    Raises:
        AssertionError: something is not as it must be.
    """
    service = read_service(night.service)
    attempts = read_attempts(night.ledger)
    agree(
        record_agrees(service, attempts, night.kills, night.plan.timeout, night.plan.rate),
        no_refusal_but_the_scripts(service),
        no_traceback(night),
    )
    outputs = [read_output(path) for path in night.outputs]
    for job, output in zip(read_jobs(night.ledger), outputs, strict=True):
        so_far = [attempt for attempt in attempts if attempt.job <= job]
        agree(
            totals_agree([attempt for attempt in so_far if attempt.job == job], output),
            table_is_whole(night, output),
            cells_are_right(output, so_far, job),
        )
    return _figures(night, service, attempts, outputs)


def no_refusal_but_the_scripts(service: Service) -> list[str]:
    """The service's own limit, the same as the run's, was never passed."""
    return [
        f"request {one.number} was refused: the limit was passed"
        for one in service.requests
        if one.status == 429 and one.fault != "refuse"
    ]


def no_traceback(night: Night) -> list[str]:
    """Nobody said anything that is not for people."""
    return [
        f"there is a traceback in {name}: {said[said.index('Traceback') :][:2000]}"
        for name, said in night.said()
        if "Traceback" in said
    ]


def table_is_whole(night: Night, output: Output) -> list[str]:
    """The rows that went in came out, in their order and with their values."""
    with night.source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = [{name: row[name] for name in rows[0]} for row in output.rows]
    return [] if kept == rows else ["the output has not the rows that went in"]


def _figures(
    night: Night, service: Service, attempts: list[Attempt], outputs: list[Output]
) -> Figures:
    first, *_, second = (
        Counter(row[f"{system}_status"] for row in output.rows for system in SYSTEMS)
        for output in outputs
    )
    return {
        "runs by exit code": Counter(night.exits),
        "attempts": Counter(attempt.state for attempt in attempts),
        "requests by fault": Counter(one.fault or "none" for one in service.requests),
        "cells of the first output": first,
        "cells of the second": second,
        "USD": {
            "billed": total(each.billed_usd for each in service.requests if each.billed_usd),
            "confirmed": total(each.cost_usd for each in attempts if each.cost_usd),
        },
    }
