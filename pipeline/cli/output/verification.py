"""What the commands print that check books: ``ledger verify`` and ``accounts verify``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pipeline.cli.output.console import say

__all__ = ["counted", "print_problems"]

PRINTED = 100
"""Problems that are printed; badly damaged books may have a million."""


def counted(problems: Iterator[str]) -> tuple[list[str], int]:
    """Return the first problems, in words, and how many there are."""
    first = list(islice(problems, PRINTED))
    return first, len(first) + sum(1 for _ in problems)


def print_problems(
    first: Sequence[str], count: int, totals: str, figures: Mapping[str, Any] | None
) -> None:
    """Print the first problems, and what was checked; as JSON if there are figures."""
    if figures is not None:
        say(json.dumps({**figures, "problems": count, "first_problems": first}))
        return
    more = [f"and {count - PRINTED:,} more"] if count > PRINTED else []
    agree = [] if count else ["everything agrees"]
    say("\n".join([*first, *more, totals, *agree]))
